"""What the tests of executors share: a study of some hundred tasks, and its undisturbed tables."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sharpen

ROOT = Path(__file__).resolve().parents[2]
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

# Trainings, perfect foresight and cells, a tenth of a second each and more.
GRID = """
k = [2, 3, 4]
seeds = 3
lookback = 40
epochs = 20
frameworks = ["rolling", "dfl"]
optimizers = ["swap", "equal"]
"""
SMALL = """
k = [2, 3]
seeds = 2
lookback = 40
epochs = 2
frameworks = ["rolling", "dfl"]
optimizers = ["swap", "equal"]
"""


def market(days: int, seed: int) -> str:
    simulated = f"assets = 8, days = {days}, seed = {seed}, predictability = 0.3"
    return f'[[market]]\nname = "m{seed}"\nsimulate = {{ {simulated} }}\n'


@pytest.fixture(scope="session")
def grid(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("grid") / "grid.toml"
    file.write_text(GRID + "".join(market(300, seed) for seed in range(1, 5)))
    return file


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("small") / "small.toml"
    file.write_text(SMALL + market(220, 1))
    return file


@pytest.fixture(scope="session")
def program() -> str:
    return os.environ.get("SHARPEN_BINARY", str(ROOT / "build" / "release" / "bin" / "sharpen"))


@pytest.fixture(scope="session")
def tables(program):
    """The bytes of the tables, by the program."""

    def read(folder):
        command = [program, "report", str(folder), "--format", "csv", "--replications", "100",
                   "--table", "sharpe,drawdown,trading"]
        return subprocess.run(command, check=True, capture_output=True).stdout

    return read


def alone(program, tables, config, folder):
    """Of the study on one thread, by the program."""
    subprocess.run([program, "study", str(config), "--out", str(folder), "--threads", "1"],
                   check=True, capture_output=True)
    return tables(folder)


@pytest.fixture(scope="session")
def alone_grid(program, tables, grid, tmp_path_factory):
    return alone(program, tables, grid, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="session")
def alone_small(program, tables, small, tmp_path_factory):
    return alone(program, tables, small, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="session")
def dask_cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                      dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def dask_client(dask_cluster):
    from distributed import Client

    with Client(dask_cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="session")
def ray_cluster():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


def done(folder) -> set:
    """The cells that are finished."""
    try:
        cells = sharpen.Study.load(folder).cells
    except sharpen.InputError:
        return set()  # it has not begun
    names = cells[cells["state"] == "done"][["market", "k", "method", "seed"]]
    return {tuple(map(str, row)) for row in names.itertuples(index=False)}


def count_done(folder) -> int:
    """How many cells are finished, for those who must be quick about it."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder}/study.db?mode=ro", uri=True)) as file:
            return file.execute("SELECT count(*) FROM cells WHERE state = 'done'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0  # it has not begun


def wait_for(condition, seconds: float = 60.0, pause: float = 0.02):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(pause)
    return found


def coordinator(config, folder, executor: str, limit: int = 0,
                environment=None) -> "subprocess.Popen[str]":
    """A process that runs the study; `environment` is what it has besides that of the tests."""
    script = Path(__file__).with_name("coordinator.py")
    return subprocess.Popen(
        [sys.executable, str(script), str(config), str(folder), executor, str(limit)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **(environment or {})},
    )
