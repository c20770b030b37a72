"""What a study asks of those who compute its tasks: adapters are in _pools, _dask and _ray.

An engine is told by ``submit`` and asked by ``ended``; how a market gets to a worker is its own
affair. An exception that it raises means that it can do nothing more.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
from typing import Any, Callable, Collection, Dict, Iterable, List, Optional

from ._core import Failure

_LONGEST = 500  # characters of a reason
# Its first group is the line that says what was wrong.
_TRACE = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)", re.MULTILINE)


class Task:
    """A task that is out, and since when it is believed to run."""

    def __init__(self, number: int, market: str, data: bytes) -> None:
        self.number, self.market, self.data = number, market, data
        self.with_market = False  # a worker has asked for it
        self.suspect = False  # workers have died, and it may be why
        self.began: Optional[float] = None
        self.where: Any = None  # that was


class Ended:
    """A task that came back: what its worker answered, or why it did not."""

    def __init__(
        self,
        handle: Any,
        answer: Any = None,
        error: Optional[BaseException] = None,
        deaths: int = 1,
        stop: Optional[Exception] = None,
    ) -> None:
        self.handle, self.answer, self.error = handle, answer, error
        self.deaths = deaths  # of an error: of workers; more than one: others may be to blame
        self.stop = stop  # the engine has ended, not only the task


class Engine:
    """Of futures that tell when they are done."""

    depth = 2  # tasks out for each worker, so that none waits for the coordinator
    bounded = True  # by its workers; False: it queues, and runs as many as it likes
    grace = 0.0  # seconds for what is finished to arrive when the study is interrupted

    def __init__(self) -> None:
        self.bytes_of: Callable[[str], bytes]  # of a market, by its hash; set before the first task
        self._done: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._back: List[Ended] = []

    def workers(self) -> int:
        """That are there now."""
        raise NotImplementedError

    def submit(self, task: Task) -> Any:
        """Its handle."""
        raise NotImplementedError

    def ended(self, handles: Collection[Any], seconds: float) -> List[Ended]:
        """Those that have come back; waits for the first so long. They are told again while they are
        among the handles, as an interrupt may have come before their results were kept."""
        self._back = [found for found in self._back if found.handle in handles]
        with contextlib.suppress(queue.Empty):
            while True:
                wait = 0.0 if self._back else max(0.0, seconds)
                self._back.append(self._outcome(self._done.get(timeout=wait)))
        return self._back

    def running(self, handles: Iterable[Any]) -> Dict[Any, Any]:
        """Those that have begun, and where: tasks begin in the order in which they were sent."""
        return dict.fromkeys(itertools.islice(handles, self.workers()))

    def cancel(self, handle: Any) -> None:
        """Nobody waits for it any more: it need not begin."""
        handle.cancel()

    def kill(self, handle: Any) -> None:
        """Nor may it go on, where that can be helped."""
        self.cancel(handle)

    def close(self) -> None:
        """What was made for the study goes."""

    def _watched(self, future: Any) -> Any:
        future.add_done_callback(self._done.put)
        return future

    def _outcome(self, handle: Any) -> Ended:
        if handle.cancelled():
            return Ended(handle, error=RuntimeError("it was cancelled"))
        error = handle.exception()
        return Ended(handle, error=error) if error is not None else Ended(handle, handle.result())


def brief(text: str) -> str:
    """As much of it as a reason may have, without what cannot be written."""
    return text[:_LONGEST].encode("utf-8", "replace").decode("utf-8")


def in_brief(error: BaseException) -> str:
    """The first line of an error, or of the one whose trace it brings along, as submitit's do."""
    text = str(error).strip()
    traces = _TRACE.findall(text)
    if traces:
        return brief(traces[-1])
    lines = text.splitlines()
    return brief(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)


def gone(error: BaseException) -> Failure:
    """An engine can do nothing more."""
    return Failure(f"executor takes no more tasks ({in_brief(error)}); what is finished is kept: "
                   "go on with the same call and a new executor")
