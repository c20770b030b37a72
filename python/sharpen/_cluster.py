"""A study whose tasks are done elsewhere: one coordinator here, workers of any engine.

The coordinator alone knows the study's file. It is asked for tasks and given their results, which
are bytes both; a result is finished once it is committed.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import math
import re
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Set, Tuple

from . import _core, _pools, _worker
from ._core import Failure, InputError
from ._engine import Ended, Engine, Task, brief, gone, in_brief

_PATIENCE = 0.5  # seconds between two looks at the clock
_GROUP = 0.05  # seconds for which results are gathered, to be committed together


def run(
    given: Dict[str, str],
    config: str,
    report: Any,
    executor: Any,
    task_timeout: Optional[float],
    workers: Optional[int],
    begun: Callable[[], None],
) -> Tuple[str, List[str]]:
    """As ``_core.run_study``; ``begun`` is called once the study's file is open."""
    timeout = _seconds(task_timeout)
    engine = engine_of(executor)
    try:
        at_once = _at_once(engine, workers)
        coordinator = _core.Coordinator(given, config, report, at_once)
        begun()
        engine.bytes_of = coordinator.market
        study = _Run(coordinator, engine, timeout, workers)
        try:
            study.to_end()
        except BaseException:
            _closed_anyhow(coordinator)
            raise
        text, messages = coordinator.close()
        return text, [*messages, *study.messages()]
    finally:
        engine.close()


def _closed_anyhow(coordinator: _core.Coordinator) -> None:
    """The error's trace would hold it, and it the lock of the study."""
    coordinator.stop()
    with contextlib.suppress(Exception):  # there is an error on its way already
        coordinator.close()


def _at_once(engine: Engine, workers: Optional[int]) -> int:
    """Tasks that may run at the same time."""
    if not workers:
        return engine.workers()
    return min(workers, engine.workers()) if engine.bounded else workers


def _seconds(task_timeout: Optional[float]) -> float:
    if task_timeout is None:
        return math.inf
    if isinstance(task_timeout, bool) or not isinstance(task_timeout, (int, float)):
        raise TypeError(f"task_timeout is of type {type(task_timeout).__name__}; give seconds")
    if not task_timeout > 0.0:
        raise InputError(f"task_timeout = {task_timeout:g} is not above 0; give seconds, or None "
                         "to wait for as long as it takes")
    return float(task_timeout)


class _Run:
    """Tasks out and back."""

    def __init__(self, coordinator: _core.Coordinator, engine: Engine, timeout: float,
                 workers: Optional[int]) -> None:
        self._coordinator, self._engine = coordinator, engine
        self._timeout, self._limit = timeout, workers
        self._out: Dict[Any, Task] = {}  # by handle, the longest out first
        self._again: Deque[Task] = deque()  # whose worker has asked for the market
        self._deaths: Dict[int, Tuple[int, str]] = {}  # by number: not counted yet, and their reason
        self._suspects: Set[int] = set()  # numbers
        self._held: Deque[Task] = deque()  # suspects, while others are out
        self._short = False  # more could run, once what waits for results may begin
        self._committed = 0.0
        self._lost = 0
        self._why = ""

    def to_end(self) -> None:
        try:
            while not self._coordinator.finished():
                self._send()
                with _in_words():
                    ended = self._engine.ended(self._out, self._patience())
                self._take(ended)
                self._send()  # before the disk is waited for
                self._commit_group()
                self._lose_overdue()
        except BaseException:
            self._keep_finished()
            raise
        finally:
            with contextlib.suppress(Exception):  # an engine that is gone has nothing to cancel
                for handle in self._out:
                    self._engine.cancel(handle)

    def messages(self) -> List[str]:
        """For the user."""
        if not self._lost:
            return []
        tasks = "1 task was" if self._lost == 1 else f"{self._lost} times a task was"
        return [f"{tasks} lost and sent again; the last one: {self._why}"]

    def _send(self) -> None:
        self._short = False
        with _in_words():
            room = self._room()
        while len(self._out) < room:
            task = self._next()
            self._short = task is None
            if task is None:
                return
            with _in_words():
                self._out[self._engine.submit(task)] = task

    def _room(self) -> int:
        """Tasks that may be out: with a limit no more, as any of them may run."""
        if self._limit and not self._engine.bounded:
            return self._limit
        room = self._engine.workers() * self._engine.depth
        return min(self._limit, room) if self._limit else room

    def _next(self) -> Optional[Task]:
        if self._again:
            return self._again.popleft()
        if self._held and self._suspect_may_go():
            return self._held.popleft()
        while True:
            found: Any = self._coordinator.next()  # number, market and bytes
            if found is None:
                return None
            task = Task(*found)
            left, why = self._deaths.get(task.number, (0, ""))
            task.suspect = task.number in self._suspects
            if left:
                self._deaths[task.number] = left - 1, why  # one of those that it has cost already
                self._coordinator.lost(task.number, why)
            elif task.suspect and not self._suspect_may_go():
                self._held.append(task)
            else:
                return task

    def _suspect_may_go(self) -> bool:
        """Few go at a time, so that one that kills its workers is not among others again."""
        out = sum(task.suspect for task in self._out.values())
        return out < max(1, self._engine.workers() // 4)

    def _patience(self) -> float:
        if not self._out and not self._coordinator.waiting() and not self._coordinator.finished():
            raise Failure("the study has tasks left but none to begin with; this is an error of "
                          "Sharpen, what is finished is kept")
        if not self._out:
            return 0.0
        return min(_GROUP if self._coordinator.waiting() else _PATIENCE, self._timeout / 4.0)

    def _take(self, ended: List[Ended]) -> None:
        stop: Optional[Exception] = None
        # Where several are lost together, one that was not suspected before may have done it.
        sure = all(self._out[found.handle].suspect for found in ended
                   if found.handle in self._out and found.error is not None and found.deaths > 1)
        for found in ended:
            task = self._out.get(found.handle)
            if task is not None:  # else it came too late
                stop = self._took(task, found, sure) or stop
                del self._out[found.handle]
        if stop is not None:
            raise stop

    def _took(self, task: Task, found: Ended, sure: bool) -> Optional[Exception]:
        """What the study has to stop for. sure: a suspect that was lost is to blame for it."""
        if found.stop is not None:
            return found.stop
        if found.error is not None:
            missing = _missing(found.error)
            if missing is not None:
                return missing
            if found.deaths > 1:
                self._suspects.add(task.number)
            self._lose(task, f"its worker was lost: {in_brief(found.error)}",
                       found.deaths if task.suspect and sure else 1)
            return None
        kind, payload, program = _read(found.answer)
        if kind == _worker.RESULT and isinstance(payload, bytes):
            refused = self._coordinator.put(task.number, payload)
            if refused:
                self._lose(task, f"its result was refused: {refused}")
        elif kind == _worker.NEEDS_MARKET and not task.with_market:
            task.with_market, task.began = True, None
            self._again.append(task)
        elif kind == _worker.REFUSED and program != _core.program():
            return InputError(str(payload))
        else:
            if kind == _worker.NEEDS_MARKET:
                payload = "it asks for a market that it was sent"
            self._lose(task, f"its worker gave no result: {payload}")
        return None

    def _lose(self, task: Task, why: str, deaths: int = 1) -> None:
        self._lost, self._why = self._lost + 1, brief(why)
        self._deaths[task.number] = deaths - 1, self._why
        self._coordinator.lost(task.number, self._why)

    def _lose_overdue(self) -> None:
        if self._timeout == math.inf:
            return
        with _in_words():
            now, running = time.monotonic(), self._engine.running(self._out)
        for handle, task in list(self._out.items()):
            where = running.get(handle)
            if handle not in running:
                task.began = None
            elif task.began is None or task.where != where:  # it may have begun again elsewhere
                task.began, task.where = now, where
            elif now - task.began > self._timeout:
                del self._out[handle]
                with _in_words():
                    self._engine.kill(handle)
                self._lose(task, f"it took longer than task_timeout = {self._timeout:g} seconds")

    def _commit_group(self) -> None:
        if self._short or time.monotonic() - self._committed > _GROUP:
            self._commit()

    def _commit(self) -> None:
        if self._coordinator.waiting():
            self._coordinator.commit()
            self._committed = time.monotonic()

    def _keep_finished(self) -> None:
        """What came back while something went wrong."""
        until = time.monotonic() + self._engine.grace
        try:
            with contextlib.suppress(Exception):  # what went wrong may be the engine
                self._put(self._engine.ended(self._out, 0.0))
                while self._out and time.monotonic() < until:
                    self._put(self._engine.ended(self._out, until - time.monotonic()))
        finally:
            self._commit()

    def _put(self, ended: List[Ended]) -> None:
        for found in ended:
            task = self._out.pop(found.handle, None)
            kind, payload, _ = _read(found.answer)
            if task is not None and kind == _worker.RESULT and isinstance(payload, bytes):
                self._coordinator.put(task.number, payload)


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """What an engine raises in the middle of a study."""
    try:
        yield
    except (Failure, InputError):
        raise
    except Exception as error:
        raise gone(error) from error


def _read(answer: Any) -> Tuple[Any, Any, Any]:
    if isinstance(answer, tuple) and len(answer) == 3:
        return answer
    return None, "it answered with something else", None


def _missing(error: Optional[BaseException]) -> Optional[Exception]:
    """A worker without Sharpen will not have it the next time either."""
    while error is not None:
        named = isinstance(error, ImportError) and (error.name or "").split(".")[0] == "sharpen"
        if named or re.search(r"No module named '?sharpen\b", in_brief(error)):
            return InputError(f"a worker cannot import what it needs ({in_brief(error)}); install "
                              f"sharpen {_core.version} where the workers are")
        error = error.__cause__
    return None


def engine_of(executor: Any) -> Engine:
    """The adapter of what a user gave."""
    if isinstance(executor, str):
        return _by_name(executor)
    if isinstance(executor, ProcessPoolExecutor) and _submits_plainly(executor):
        return _pools.Processes(executor)
    if isinstance(executor, concurrent.futures.Executor):
        return _pools.Pool(executor)
    distributed = sys.modules.get("distributed")  # who has a client has imported it
    if distributed is not None and isinstance(executor, distributed.Client):
        from . import _dask

        return _dask.Dask(executor)
    if callable(getattr(executor, "submit", None)) and not isinstance(executor, type):
        return _pools.Jobs(executor)
    raise TypeError(
        f"executor is of type {type(executor).__name__}, which has no submit(); give a "
        "concurrent.futures.Executor, a distributed.Client, an executor of submitit, or 'ray'"
    )


def _submits_plainly(executor: ProcessPoolExecutor) -> bool:
    """What has a submit() of its own wants to be asked, and cannot be taken as a pattern."""
    return getattr(executor.submit, "__func__", None) is ProcessPoolExecutor.submit


def _by_name(name: str) -> Engine:
    if name in ("ray", "auto") or name.startswith("ray://"):
        from . import _ray

        return _ray.Ray(name)
    if name == "dask" or name.startswith(("tcp://", "tls://")):
        raise InputError(f"executor = {name!r}: for Dask give distributed.Client(...), connected to "
                         "its scheduler (pip install 'sharpen[dask]')")
    hint = _core.did_you_mean(name, ["ray", "auto"])
    raise InputError(f"executor = {name!r} is no executor{hint}; give 'ray', 'ray://HOST:10001', or "
                     "an object that has submit()")
