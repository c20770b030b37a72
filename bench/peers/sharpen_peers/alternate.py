"""The ratios with a bound: every layer in one process, taking turns, so that what else the machine
does falls on all alike.

    python -m sharpen_peers.alternate PROBLEM THREADS ROUNDS PEER...

Prints {peer: seconds of forward + backward, the median over rounds}. A turn of a quick peer is
twelve calls, of which the last ten are timed: each finds its own caches warm. A peer that cannot be
loaded, fails or is wrong is left out, and "why" says so: {peer: reason}.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import sys
import time
import warnings

from .layers import PEERS, TorchPeer
from .problem import Problem, disagreement, worst_error

SLOW = 0.02  # seconds; a turn of such a peer is one call, in the first three rounds only


def ready(name: str, problem: Problem, threads: int) -> TorchPeer | str:
    """The peer after its first call, or why there is none."""
    peer = PEERS[name]()
    try:
        peer.load()
        peer.construct(problem, threads)
        peer.forward()
        peer.backward()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    gradient = problem.dL_dmu if peer.scope == "layer" else problem.dL_dm
    errors = worst_error(peer.weights(), problem.w), worst_error(peer.gradients(), gradient)
    return disagreement(*errors, peer.tolerance) or peer


def turn(peer: TorchPeer, calls: int) -> list[float]:
    import torch

    torch.set_num_threads(peer.threads)
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        peer.forward()
        peer.backward()
        times.append(time.perf_counter() - start)
    return times


def main(path: str, threads: int, rounds: int, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    problem = Problem.load(pathlib.Path(path))
    tried = {name: ready(name, problem, threads) for name in names}
    peers = {name: peer for name, peer in tried.items() if isinstance(peer, TorchPeer)}
    slow = {name for name, peer in peers.items() if turn(peer, 1)[0] > SLOW}
    times: dict[str, list[float]] = {name: [] for name in peers}
    for i in range(rounds):
        for name, peer in peers.items():
            if name not in slow:
                times[name] += turn(peer, 12)[2:]
            elif i < 3:
                times[name] += turn(peer, 1)
    why = {name: reason for name, reason in tried.items() if isinstance(reason, str)}
    print(json.dumps({"why": why, **{name: statistics.median(t) for name, t in times.items()}}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
