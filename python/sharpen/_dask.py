"""Dask as the engine of a study."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from typing import Any, Dict, Iterable, List, Optional

from . import _worker
from ._core import Failure, InputError
from ._engine import Ended, Engine, Task


class Dask(Engine):
    """A distributed.Client. A market is a task of its own, whose result Dask brings to a worker once
    and makes again if those who have it die."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        if client.asynchronous:
            raise InputError("executor is an asynchronous client; give distributed.Client(...) "
                             "without asynchronous=True")
        self._client = client
        self._key = f"sharpen-{uuid.uuid4().hex[:12]}"
        self._markets: Dict[str, Any] = {}
        self._seen: Dict[Any, float] = {}  # by worker and key: since when it is there
        self._tasks = 0
        self._workers, self._counted = 0, -float("inf")
        self.workers()

    def workers(self) -> int:
        """Clusters grow and shrink; one that has no worker yet gets tasks to wait for one."""
        if time.monotonic() - self._counted > 2.0:
            gone = self._gone()
            if gone is not None:
                raise gone
            self._workers = sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return max(1, self._workers)

    def _gone(self) -> Optional[Exception]:
        if self._client.status == "running":
            return None
        return Failure(f"executor: Dask's scheduler is not there (the client is "
                       f"{self._client.status}); start it, and go on with the same call and a client "
                       "that is connected")

    def submit(self, task: Task) -> Any:
        import dask

        # Dask warns of tasks that carry much; ours carry what no worker could load itself.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            self._tasks += 1
            future = self._client.submit(
                _worker.run, task.data, task.market, self._market(task.market),
                key=f"{self._key}-task-{self._tasks}", pure=False, retries=0,
                priority=-1 if task.suspect else 0,  # behind it none would be safe
            )
        self._client.loop.add_callback(self._fetch, future)
        return future

    def _market(self, market: str) -> Any:
        held = self._markets.get(market)
        if held is None or held.status in ("error", "cancelled"):  # it died with a task beside it
            held = self._markets[market] = self._client.submit(
                _worker.same, self.bytes_of(market),
                key=f"{self._key}-market-{self._tasks}", pure=False, priority=1,
            )
        return held

    async def _fetch(self, handle: Any) -> None:
        """Waits for the result of a task to be here, which may be done again before that if its
        worker dies; nothing else has to wait for it."""
        try:
            answer = await self._client.gather([handle], asynchronous=True)
            self._done.put(Ended(handle, answer[0]))
        except (Exception, asyncio.CancelledError) as error:
            self._done.put(Ended(handle, error=error, deaths=_deaths(handle, error),
                                 stop=self._gone()))

    def _outcome(self, handle: Ended) -> Ended:
        return handle  # as it was fetched

    def running(self, handles: Iterable[Any]) -> Dict[Any, Any]:
        """Of each worker as many as it has threads, those first that it had first: while it is
        started again, none."""
        ours = {handle.key: handle for handle in handles}
        place = {key: number for number, key in enumerate(ours)}
        threads, now, seen, found = self._client.nthreads(), time.monotonic(), self._seen, {}
        self._seen = {}
        for worker, keys in self._client.processing().items():
            there = [(seen.get((worker, key), now), place[key], key) for key in keys if key in ours]
            self._seen.update({(worker, key): since for since, _, key in there})
            for _, _, key in sorted(there)[: threads.get(worker, 0)]:
                found[ours[key]] = worker
        return found

    def kill(self, handle: Any) -> None:
        """What runs stops only with its worker, which a nanny must start again. That takes seconds,
        for which nobody waits."""
        on = [worker for worker, keys in self._client.processing().items() if handle.key in keys]
        self.cancel(handle)
        if on:
            threading.Thread(target=self._restart, args=(on,), daemon=True).start()

    def _restart(self, workers: List[str]) -> None:
        try:
            self._client.restart_workers(workers, raise_for_error=False)
        except Exception:
            pass  # no nanny: the worker stays at it, and nobody waits for what it finds

    def close(self) -> None:
        self._markets.clear()


def _deaths(handle: Any, error: BaseException) -> int:
    """Dask tries a task on some workers before it says so, and blames all that a dead worker had,
    those that waited too; a market among them is no fault of its task."""
    if getattr(error, "task", None) != handle.key:  # of a KilledWorker
        return 1
    return 1 + max(1, int(getattr(error, "allowed_failures", 0)))
