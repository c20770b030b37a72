"""The engines of a study one by one, before clients and clusters that are made up."""

import socket
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import sharpen
from sharpen import _cluster, _dask, _pools, _worker
from sharpen._engine import Ended, Task


def test_the_clock_of_a_task_begins_anew_with_it(monkeypatch):
    class Stage:
        """Coordinator, engine and clock of one task."""

        now, where, losses = 0.0, {}, 0

        def running(self, handles):
            return {handle: self.where[handle] for handle in handles if handle in self.where}

        def kill(self, handle):
            pass

        def lost(self, number, why):
            self.losses += 1

        def monotonic(self):
            return self.now

    stage = Stage()
    monkeypatch.setattr(_cluster, "time", stage)
    run, task = _cluster._Run(stage, stage, 10.0, None), Task(1, "market", b"")

    def lost_after(seconds, where):
        stage.now, stage.where = stage.now + seconds, {"handle": where} if where else {}
        run._out["handle"], before = task, stage.losses
        run._lose_overdue()
        return stage.losses > before

    assert not lost_after(0, "a") and not lost_after(9, "a")
    assert not lost_after(9, "b") and not lost_after(9, "b")  # its worker has died
    assert not lost_after(9, None) and not lost_after(9, "b")  # it waits to be run again
    run._take([Ended("handle", (_worker.NEEDS_MARKET, "market", ""))])
    assert not lost_after(9, "b") and not lost_after(9, "b") and lost_after(2, "b")


class DaskFuture:
    def __init__(self, key):
        self.key, self.status = key, "finished"


class DaskClient:
    """Of workers with one thread, and what each has."""

    asynchronous, status, there = False, "running", {}

    def nthreads(self):
        return {worker: 1 for worker in self.there}

    def processing(self):
        return self.there

    def submit(self, *arguments, key, **keywords):
        return DaskFuture(key)


def test_dask_is_believed_to_run_first_what_a_worker_had_first():
    first, second = handles = [DaskFuture("first"), DaskFuture("second")]
    client = DaskClient()
    engine = _dask.Dask(client)
    client.there = {"a": ["first"], "b": ["second"]}
    assert engine.running(handles) == {first: "a", second: "b"}
    client.there = {"b": ["first", "second"]}  # the other one has died
    assert engine.running(handles) == {second: "b"}
    client.there = {"b": ["first"]}
    assert engine.running(handles) == {first: "b"}


def test_a_market_that_has_died_on_dask_is_sent_again_and_costs_a_task_one_loss():
    class Killed(Exception):
        allowed_failures = 3

        def __init__(self, task):
            self.task = task

    engine = _dask.Dask(DaskClient())
    engine.bytes_of = lambda market: b""
    first = engine._market("m")
    assert engine._market("m") is first
    first.status, engine._tasks = "error", 7
    assert engine._market("m").key != first.key
    task = DaskFuture("task")
    assert _dask._deaths(task, Killed("task")) == 4 and _dask._deaths(task, Killed(first.key)) == 1


class FakeRay:
    """One that the program is connected to, and whose head can end."""

    def __init__(self):
        self.head = socket.create_server(("127.0.0.1", 0))
        self.gcs_address = "127.0.0.1:{}".format(self.head.getsockname()[1])
        self.is_initialized, self.get_runtime_context = (lambda: True), (lambda: self)
        self.cluster_resources = lambda: {"CPU": 2.0}

    def remote(self, **options):
        return lambda function: function


def test_another_ray_than_the_one_that_is_connected_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    with pytest.raises(sharpen.InputError, match="connected to a Ray already; give 'ray'"):
        _cluster.engine_of("ray://elsewhere:10001")


def test_what_fails_because_ray_is_gone_is_not_the_fault_of_its_task(monkeypatch):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    engine, future = _cluster.engine_of("ray"), Future()
    future.set_exception(RuntimeError("its node has died"))
    assert engine.workers() == 2 and engine._outcome(future).stop is None
    ray.head.close()
    assert "Ray is not there any more" in str(engine._outcome(future).stop)


def test_a_job_that_waits_in_its_queue_takes_no_time():
    class Job:
        def __init__(self, **state):
            self.__dict__.update(state)

    runs = [Job(state="RUNNING"), *(Job() for _ in range(200))]  # not all have a state
    engine = _pools.Jobs(ThreadPoolExecutor(1))
    assert list(engine.running([Job(state="PENDING"), *runs])) == runs


def test_a_pool_with_a_submit_of_its_own_is_asked():
    class Own(ProcessPoolExecutor):
        def submit(self, *arguments):
            return super().submit(*arguments)

    assert isinstance(_cluster.engine_of(Own(1)), _pools.Pool)
