"""Workers and coordinators that are killed, and a disk that is full: nothing finished is lost, and
the tables end up the same, bit for bit."""

import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import sharpen
from conftest import coordinator, count_done, done, wait_for

pytestmark = pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")


class Killer:
    """Kills one of some processes every now and then, while a study runs."""

    def __init__(self, processes, times, pause):
        self._processes, self._times, self._pause = processes, times, pause
        self.killed = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self):
        while len(self.killed) < self._times and not self._stop.wait(self._pause):
            fresh = sorted(set(self._processes()) - self.killed)
            if fresh:
                victim = random.Random(len(self.killed)).choice(fresh)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.killed.add(victim)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def through_kills(processes, times, pause, config, folder, executor, tables, expected):
    """Studies until so many of their workers were killed. Blind killing may hit the workers of one
    task three times, for which it is blamed: such a cell is tried again, and no other has failed."""
    with Killer(processes, times, pause) as killer:
        for number in range(20):
            out = folder / str(number)
            found = sharpen.study(config=config, out=out, executor=executor, progress=False)
            for _ in range(20):
                failed = found.cells[found.cells["state"] == "failed"]
                assert failed["reason"].str.contains("it was lost 3 times").all()
                if not len(failed):
                    break
                found = sharpen.study(config=config, out=out, executor=executor, progress=False,
                                      retry=True)
            assert tables(out) == expected
            if len(killer.killed) == times:
                return
    raise AssertionError(f"only {len(killer.killed)} workers were killed")


def test_dask_workers_killed_twenty_times(grid, alone_grid, tables, tmp_path, dask_cluster,
                                          dask_client):
    def processes():
        return [worker.pid for worker in list(dask_cluster.workers.values()) if worker.pid]

    through_kills(processes, 20, 0.35, grid, tmp_path, dask_client, tables, alone_grid)


def kills_what_computes(mark):
    """A plugin of workers, which those that are started again have, too."""
    from distributed import WorkerPlugin

    class Kills(WorkerPlugin):
        def setup(self, worker):
            from sharpen import _core

            real = _core.run_task

            def run_task(task, *rest):
                if mark in task:
                    time.sleep(0.3)  # others come to wait for this worker
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(task, *rest)

            _core.run_task = run_task

    return Kills()


def test_a_task_that_kills_workers_of_dask_fails_alone(small, tmp_path):
    """Though Dask blames those, too, that waited for the same worker."""
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set({"distributed.scheduler.allowed-failures": 2}), LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        client.register_plugin(kills_what_computes(b"oscar"))
        found = sharpen.study(config=small, out=tmp_path, executor=client, k=2, progress=False,
                              frameworks="rolling", optimizers=["swap", "oscar", "greedy", "equal"])
    failed = found.cells["state"] == "failed"
    assert found.cells["method"][failed].tolist() == ["rolling-oscar"] and found.tally["done"] == 3
    assert found.cells["reason"][failed].str.contains("it was lost 3 times.*KilledWorker").all()


def ray_workers():
    """Processes of Ray that run our tasks."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    title = file.read()
            except OSError:
                continue
            if title.startswith(b"ray::run_on_ray"):
                found.append(int(entry))
    return found


def test_ray_workers_killed_five_times(grid, alone_grid, tables, tmp_path, ray_cluster):
    through_kills(ray_workers, 5, 1.0, grid, tmp_path, "ray", tables, alone_grid)


def dask_head(folder):
    """A scheduler with its workers, to be killed, and how to get at it."""
    script = ("from distributed import LocalCluster\n"
              "if __name__ == '__main__':\n"
              "    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)\n"
              "    print(cluster.scheduler_address, flush=True)\n"
              "    input()\n")
    head = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            start_new_session=True)
    return head, head.stdout.readline().strip(), {}


def ray_head(folder):
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    environment = {"RAY_ADDRESS": f"127.0.0.1:{port}", "RAY_AUTH_MODE": "token",
                   "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    ray = os.path.join(os.path.dirname(sys.executable), "ray")
    head = subprocess.Popen(
        [ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=2",
         "--include-dashboard=false", f"--temp-dir={folder}"],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True)
    assert any("Ray runtime started" in line for line in head.stdout)
    return head, "ray", environment


@pytest.mark.parametrize("begin, name", [(dask_head, "Dask's scheduler"), (ray_head, "Ray")])
def test_a_scheduler_that_is_killed_gives_a_sentence(grid, tmp_path, begin, name):
    """And no cell has failed for it."""
    folder = tempfile.mkdtemp()  # tmp_path is too long for Ray's sockets
    head, executor, environment = begin(folder)
    try:
        running = coordinator(grid, tmp_path, executor, environment=environment)
        wait_for((tmp_path / "study.db").exists)
        time.sleep(1.0)  # tasks are out
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.communicate()
        shutil.rmtree(folder, ignore_errors=True)
    _, errors = running.communicate(timeout=60)
    assert running.returncode and f"sharpen._core.Failure: executor: {name} is not" in errors
    assert not sharpen.Study.load(tmp_path).cells["state"].eq("failed").any()


def test_coordinators_killed_five_times(grid, alone_grid, tables, tmp_path, dask_cluster):
    """With processes that are orphaned then, and with a cluster that lives on."""
    executors = ("processes", dask_cluster.scheduler_address)
    killed, number, kept = 0, 0, set()
    while killed < 5:
        out = tmp_path / str(number)
        running = coordinator(grid, out, executors[killed % 2])
        wait_for(lambda: len(done(out)) >= len(kept) + 4 or running.poll() is not None)
        if running.poll() is not None:  # faster than its killer: another study
            assert running.returncode == 0, running.communicate()
            assert tables(out) == alone_grid
            number, kept = number + 1, set()
            assert number < 5
            continue
        kept = done(out)
        running.kill()
        running.communicate()
        killed += 1
        assert kept <= done(out)
        kept = done(out)
        time.sleep(1.0)  # orphans look for their parent five times a second
    last = coordinator(grid, tmp_path / str(number), "processes")
    assert last.wait(timeout=120) == 0, last.communicate()
    last.communicate()
    assert len(done(tmp_path / str(number))) == 60 and tables(tmp_path / str(number)) == alone_grid


def test_a_full_disk_stops_the_coordinator_whole(grid, alone_grid, tables, tmp_path):
    running = coordinator(grid, tmp_path, "processes", 700_000)
    output, errors = running.communicate(timeout=120)
    assert running.returncode == 1 and "sharpen" in errors.strip().splitlines()[-1], errors
    kept = done(tmp_path)
    assert 0 < len(kept) < 60
    found = sharpen.study(config=grid, out=tmp_path, progress=False, threads=2)
    assert found.tally["computed"] == 60 - len(kept) and tables(tmp_path) == alone_grid


def test_ctrl_c_ends_processes_and_keeps_what_is_finished(grid, alone_grid, tables, tmp_path):
    for number in range(5):
        out = tmp_path / str(number)
        running = coordinator(grid, out, "processes")
        wait_for(lambda: count_done(out) >= 4 or running.poll() is not None, pause=0.001)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        if running.returncode != 0:
            break
        assert len(done(out)) == 60  # faster than whoever looks at it: another study
    assert errors.strip().splitlines()[-1] == "KeyboardInterrupt"
    kept = done(out)
    assert 4 <= len(kept) < 60
    found = sharpen.study(config=grid, out=out, progress=False, threads=2)
    assert found.tally["computed"] == 60 - len(kept) and tables(out) == alone_grid
