"""The ratios with a bound: every layer in one process, taking turns, so that what else the machine
does falls on all alike.

    python -m sharpen_peers.alternate KIND PROBLEM THREADS ROUNDS PEER...

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

from .kinds import KINDS
from .layers import TorchPeer
from .problem import disagreement, worst_error

SLOW = 0.02  # seconds; a turn of such a peer is one call, in the first three rounds only


def ready(peer: TorchPeer, problem, threads: int) -> TorchPeer | str:
    """The peer after a first call for each of its signals, or why there is none."""
    try:
        peer.load()
        peer.construct(problem, threads)
        for _ in range(peer.signals):
            peer.forward()
            peer.backward()
            w, gradient = peer.wanted(problem)
            errors = worst_error(peer.weights(), w), worst_error(peer.gradients(), gradient)
            if why := disagreement(*errors, peer.tolerance):
                return why
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return peer


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


def main(kind: str, path: str, threads: int, rounds: int, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    known, load = KINDS[kind]
    problem = load(pathlib.Path(path))
    tried = {name: ready(known[name](), problem, threads) for name in names}
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
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
