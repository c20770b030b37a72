"""Ray as the engine of a study."""

from __future__ import annotations

import socket
import sys
import time
from typing import Any, Dict, Optional

from . import _worker
from ._core import Failure, InputError
from ._engine import Ended, Engine, Task, in_brief


class Ray(Engine):
    """A Ray cluster, the one that the program is connected to if there is one. A market lies in
    Ray's store, and a worker fetches it once."""

    def __init__(self, address: str) -> None:
        super().__init__()
        try:
            import ray
        except ImportError:
            raise ImportError(
                f"executor={address!r} needs Ray: pip install 'sharpen[ray]'"
            ) from None
        self._ray = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(ray, address)
        elif address not in ("ray", "auto"):
            raise InputError(f"executor = {address!r}: the program is connected to a Ray already; "
                             "give 'ray' to use that one, or call ray.shutdown() before")
        # Of a client of Ray's ("ray://") None: such a one notices itself.
        self._head = getattr(ray.get_runtime_context(), "gcs_address", None)
        self._run = ray.remote(max_retries=0, num_cpus=1)(_worker.run_on_ray)
        self._markets: Dict[str, Any] = {}
        self._references: Dict[Any, Any] = {}  # by future
        self._workers, self._counted = 0, -float("inf")

    def workers(self) -> int:
        if time.monotonic() - self._counted > 2.0:
            lost = self._lost()
            if lost is not None:
                raise lost
            self._workers = int(self._ray.cluster_resources().get("CPU", 0))
            self._counted = time.monotonic()
        return max(1, self._workers)

    def _lost(self) -> Optional[Failure]:
        """Without its head Ray would be silent, and end the program after a minute."""
        why = "it was shut down" if not self._ray.is_initialized() else _silence(self._head)
        if why is None:
            return None
        return Failure(f"executor: Ray is not there any more ({why}); what is finished is kept: "
                       "start it, and go on with the same call")

    def submit(self, task: Task) -> Any:
        if task.market not in self._markets:
            self._markets[task.market] = self._ray.put(self.bytes_of(task.market))
        reference = self._run.remote(task.data, task.market, [self._markets[task.market]], 1)
        future = reference.future()
        self._references[future] = reference
        return self._watched(future)

    def _outcome(self, handle: Any) -> Ended:
        self._references.pop(handle, None)
        found = super()._outcome(handle)
        found.error = getattr(found.error, "cause", None) or found.error  # of a RayTaskError
        found.stop = self._lost() if found.error is not None else None
        return found

    def cancel(self, handle: Any) -> None:
        self._cancel(handle, False)

    def kill(self, handle: Any) -> None:
        self._cancel(handle, True)

    def _cancel(self, handle: Any, force: bool) -> None:
        reference = self._references.pop(handle, None)
        if reference is not None:
            self._ray.cancel(reference, force=force)

    def close(self) -> None:
        self._references.clear()
        self._markets.clear()
        if self._lost() is None:
            if self._ours:
                self._ray.shutdown()  # where Ray is gone this would end the program
        elif sys.excepthook.__module__.startswith("ray."):
            sys.excepthook = sys.__excepthook__  # Ray's would tell the head first, and wait for it


def _connect(ray: Any, address: str) -> None:
    why = _silence(None if address in ("ray", "auto") else address)  # Ray tries for half a minute
    if why is not None:
        raise InputError(f"executor = {address!r}: nobody answers there ({why}); give the address "
                         "of a Ray that runs, such as 'ray://HOST:10001'")
    try:
        ray.init(address=None if address == "ray" else address, log_to_driver=False,
                 logging_level="warning")
    except Exception as error:
        raise InputError(
            f"executor = {address!r}: Ray cannot be reached ({in_brief(error)}); start it with "
            "`ray start --head`, or give 'ray' for one on this machine"
        ) from None


def _silence(address: Optional[str]) -> Optional[str]:
    """Why nobody answers there."""
    if address is None:
        return None
    host, _, port = address.split("://")[-1].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, ValueError, OverflowError) as error:
        return in_brief(error)
    return None
