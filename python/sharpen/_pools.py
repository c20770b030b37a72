"""Engines of one machine and of job queues: pools of threads and processes, submitit."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Collection, Dict, Iterable, List, Set

from . import _worker
from ._core import Failure
from ._engine import Ended, Engine, Task, gone

_WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "UNKNOWN")  # states of SLURM's jobs


class Pool(Engine):
    """Any concurrent.futures.Executor. Which worker gets a task nobody knows, so that a market goes
    with its first tasks, and later to workers that ask."""

    def __init__(self, executor: concurrent.futures.Executor) -> None:
        super().__init__()
        self._executor = executor
        self._sent: Dict[str, int] = {}
        self._hung: List[Any] = []

    def workers(self) -> int:
        """Less those that are at a task for which nobody waits any more."""
        self._hung = [handle for handle in self._hung if not handle.done()]
        left = self._size() - len(self._hung)
        if left <= 0:
            raise Failure("executor: all its workers are at tasks that took longer than "
                          "task_timeout, and cannot be ended; what is finished is kept: go on with "
                          "the same call and a new executor")
        return left

    def _size(self) -> int:
        for name in ("_max_workers", "max_workers", "num_workers"):
            count = getattr(self._executor, name, None)
            if isinstance(count, int) and count > 0:
                return count
        return os.cpu_count() or 1

    def submit(self, task: Task) -> Any:
        sent = self._sent.get(task.market, 0)
        market = None
        if task.with_market or sent < self.workers():
            self._sent[task.market] = sent + 1
            market = self.bytes_of(task.market)
        return self._watched(self._executor.submit(_worker.run, task.data, task.market, market))

    def running(self, handles: Iterable[Any]) -> Dict[Any, Any]:
        return super().running(handle for handle in handles if handle.running())

    def kill(self, handle: Any) -> None:
        if not handle.cancel():
            self._hung.append(handle)

    def _outcome(self, handle: Any) -> Ended:
        found = super()._outcome(handle)
        if isinstance(found.error, concurrent.futures.BrokenExecutor):
            found.stop = gone(found.error)
        return found


class _Process:
    """A pool of one process."""

    def __init__(self, like: Any) -> None:
        self.pool = ProcessPoolExecutor(
            1, like._mp_context, _worker.begin, (like._initializer, like._initargs)
        )
        self.pid = self.pool.submit(os.getpid)  # starts it
        self.markets: Set[str] = set()
        self.future: Any = None

    def kill(self) -> None:
        try:
            os.kill(self.pid.result(timeout=10.0), signal.SIGKILL)
        except Exception:
            pass  # it is dead already
        self.pool.shutdown(wait=False)


class Processes(Engine):
    """As many processes as a ProcessPoolExecutor has, made as it makes them. Such a pool breaks as a
    whole when one of its processes dies, and does not say whose task that was: so it is taken as a
    pattern, and each process is a pool of its own."""

    depth = 1

    def __init__(self, like: Any) -> None:
        super().__init__()
        self._like = like
        self._processes = [_Process(like) for _ in range(like._max_workers)]
        try:
            for process in self._processes:
                process.pid.result()
        except BrokenProcessPool:
            self.close()
            raise Failure(
                "executor: its processes end as they begin; a script that makes some needs "
                "`if __name__ == '__main__':`, and their initializer must not fail"
            ) from None
        except BaseException:
            self.close()
            raise

    def workers(self) -> int:
        return len(self._processes)

    def submit(self, task: Task) -> Any:
        place = next(i for i, p in enumerate(self._processes) if p.future is None)
        try:
            return self._sent(self._processes[place], task)
        except BrokenProcessPool:  # it died between two tasks
            self._renew(place)
            return self._sent(self._processes[place], task)

    def _sent(self, process: _Process, task: Task) -> Any:
        known = task.market in process.markets and not task.with_market
        market = None if known else self.bytes_of(task.market)
        process.future = process.pool.submit(_worker.run, task.data, task.market, market)
        process.markets.add(task.market)
        return self._watched(process.future)

    def _outcome(self, handle: Any) -> Ended:
        found = super()._outcome(handle)
        for place, process in enumerate(self._processes):
            if process.future is handle:
                process.future = None
                if isinstance(found.error, BrokenProcessPool):
                    self._renew(place)
        return found

    def _renew(self, place: int) -> None:
        self._processes[place].pool.shutdown(wait=False)
        self._processes[place] = _Process(self._like)

    def kill(self, handle: Any) -> None:
        for place, process in enumerate(self._processes):
            if process.future is handle:
                process.kill()
                self._renew(place)

    def close(self) -> None:
        for process in self._processes:
            process.kill()


class Jobs(Engine):
    """What has submit() and gives jobs with done() and result(), such as submitit's executors. Every
    job may be a process of its own, so that its market goes with each."""

    depth = 1
    bounded = False
    grace = 1.0

    def __init__(self, executor: Any) -> None:
        super().__init__()
        self._executor = executor
        kind = getattr(executor, "cluster", type(executor).__name__)  # of AutoExecutor
        # For a job that died submitit waits for a while: its result may be late on a shared disk.
        self._readers = concurrent.futures.ThreadPoolExecutor(16, "sharpen-reader")
        self._read: Set[Any] = set()
        self._here = "local" in str(kind).lower() or "debug" in str(kind).lower()

    def workers(self) -> int:
        """On this machine every job begins at once; what a queue can do nobody knows."""
        return (os.cpu_count() or 1) if self._here else 100

    def submit(self, task: Task) -> Any:
        market = self.bytes_of(task.market)
        return self._executor.submit(_worker.run, task.data, task.market, market)

    def ended(self, handles: Collection[Any], seconds: float) -> List[Ended]:
        until = time.monotonic() + seconds
        while True:
            for handle in handles:
                if handle not in self._read and handle.done():
                    self._read.add(handle)
                    self._watched(self._readers.submit(_outcome_of, handle))
            found = super().ended(handles, min(0.1, until - time.monotonic()))
            if found or time.monotonic() >= until:
                return found

    def _outcome(self, handle: Any) -> Ended:
        found: Ended = handle.result()  # of a reader
        self._read.discard(found.handle)
        return found

    def running(self, handles: Iterable[Any]) -> Dict[Any, Any]:
        """All that their queue does not hold back."""
        return {each: None for each in handles if getattr(each, "state", "") not in _WAITING}

    def cancel(self, handle: Any) -> None:
        with contextlib.suppress(Exception):  # it has none, or the queue has no such job any more
            handle.cancel()

    def close(self) -> None:
        self._readers.shutdown(wait=False)


def _outcome_of(job: Any) -> Ended:
    try:
        return Ended(job, job.result())
    except Exception as error:
        return Ended(job, error=error)
