"""Measures one peer on one problem, in a process of its own.

    python -m sharpen_peers.worker PEER PROBLEM THREADS SECONDS [limited]

Prints a JSON object after every stage, the last one complete, so that a run cut short still says
what it has seen. Times are wall clock, in seconds; warm ones are medians. A peer whose first answer
is wrong, for any of its signals, is not timed any further. `limited`: the layer under limits.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
import warnings

from .kinds import KINDS
from .problem import disagreement, worst_error


def resident_mb(what: str) -> float:
    """VmRSS, resident now, or VmHWM, the most so far."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) / 1024.0
    return 0.0


def forget_peak() -> None:
    """VmHWM starts again from what is resident now: reading packages and problem takes more than
    is kept. Where the kernel does not allow it, the peak includes that, for every peer alike."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def say(result: dict) -> None:
    print(json.dumps({**result, "peak_mb": resident_mb("VmHWM")}), flush=True)


def main(name: str, path: str, threads: int, budget: float, kind: str = "plain") -> None:
    warnings.simplefilter("ignore")
    result: dict = {}
    peers, load = KINDS[kind]
    peer = peers[name]()
    clock = time.perf_counter
    start = clock()
    peer.load()
    result["import"] = clock() - start
    problem = load(pathlib.Path(path))
    forget_peak()
    result["loaded_mb"] = resident_mb("VmRSS")

    start = clock()
    peer.construct(problem, threads)
    result["construction"] = clock() - start
    result["note"] = peer.note
    say(result)
    start = clock()
    peer.forward()
    peer.backward()
    result["first"] = clock() - start

    def right() -> bool:
        """Whether this call's answer is right; errors are the largest of all calls looked at."""
        w, gradient = peer.wanted(problem)
        found = worst_error(peer.weights(), w), worst_error(peer.gradients(), gradient)
        for what, error in zip(("weights_error", "gradient_error"), found):
            result[what] = max(error, result.get(what, 0.0))
        return not disagreement(*found, peer.tolerance)

    all_are_right = right()
    for _ in range(peer.signals - 1):
        peer.forward()
        peer.backward()
        all_are_right = right() and all_are_right
    say(result)
    if not all_are_right:
        return

    forwards: list[float] = []
    backwards: list[float] = []
    begun = clock()
    while not forwards or (clock() - begun < budget and len(forwards) < 20000):
        start = clock()
        peer.forward()
        between = clock()
        peer.backward()
        backwards.append(clock() - between)
        forwards.append(between - start)
    result.update(
        forward=statistics.median(forwards),
        backward=statistics.median(backwards),
        calls=len(forwards),
    )
    right()  # the last call, too
    say(result)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:])
    os._exit(0)  # the answer is out
