"""What the workers of a study run: one task, on a market that they keep for the next."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import OrderedDict
from typing import Any, Callable, List, Optional, Tuple, Union

from . import _core
from ._core import InputError

# An answer travels as a plain tuple, which every version of this package can read:
# (kind, bytes of the result or a sentence, program of the worker).
Answer = Tuple[str, Union[bytes, str], str]
RESULT, NEEDS_MARKET, REFUSED = "result", "needs market", "refused"

_MARKETS_KEPT = 8
_markets: "OrderedDict[str, _core.TaskMarket]" = OrderedDict()  # by content, the latest used last
_lock = threading.Lock()  # workers may be threads


def run(task: bytes, market_hash: str, market: Optional[bytes], threads: int = 1) -> Answer:
    """The bytes of a task become those of its result. Without the bytes of its market the worker
    must have it from a task before; if it has not, it asks for them."""
    program = str(_core.program())
    try:
        held = _market(market_hash, market)
        if held is None:
            return NEEDS_MARKET, market_hash, program
        return RESULT, _core.run_task(task, held, threads), program
    except InputError as error:  # another version, or damage on the way
        return REFUSED, str(error), program


def run_on_ray(task: bytes, market_hash: str, reference: List[Any], threads: int) -> Answer:
    """The same where the market lies in Ray's store, in a list so that it is fetched only if the
    worker has not got it."""
    answer = run(task, market_hash, None, threads)
    if answer[0] == NEEDS_MARKET:
        import ray

        answer = run(task, market_hash, ray.get(reference[0]), threads)
    return answer


def same(market: bytes) -> bytes:
    """A market as a Dask task, which Dask makes again if the worker that holds it dies."""
    return market


def _market(market_hash: str, market: Optional[bytes]) -> Optional[_core.TaskMarket]:
    with _lock:
        held = _markets.get(market_hash)
        if held is None and market is not None:
            held = _markets[market_hash] = _core.TaskMarket(market)
        if held is not None:
            _markets.move_to_end(market_hash)
        while len(_markets) > _MARKETS_KEPT:
            _markets.popitem(last=False)
    return held


def begin(initializer: Optional[Callable[..., object]], arguments: Tuple[Any, ...]) -> None:
    """Of a process of a pool: it ends when its coordinator is killed. It would wait for ever, and
    hold what it has inherited, the lock of the study among it."""
    parent = os.getppid()  # the coordinator, or a server that ends with it

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the coordinator decides
    threading.Thread(target=watch, daemon=True, name="sharpen-parent").start()
    if initializer is not None:
        initializer(*arguments)
