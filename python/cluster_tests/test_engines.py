"""Dask, Ray and submitit give the bits of one thread, and say in a sentence what is not there."""

import asyncio
import time

import pytest

import sharpen
from sharpen import _core


def study(config, out, executor, **arguments):
    return sharpen.study(config=config, out=out, executor=executor, progress=False, **arguments)


def test_dask_gives_the_bits_of_one_thread(small, alone_small, tables, tmp_path, dask_client):
    assert study(small, tmp_path, dask_client).warnings == []
    assert tables(tmp_path) == alone_small


def test_threads_of_dask_do_too(small, alone_small, tables, tmp_path):
    from distributed import Client

    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as one:
        study(small, tmp_path, one)
    assert tables(tmp_path) == alone_small


def test_ray_gives_the_bits_of_one_thread(small, alone_small, tables, tmp_path, ray_cluster):
    assert study(small, tmp_path, "ray").warnings == []
    assert tables(tmp_path) == alone_small
    assert ray_cluster.is_initialized()  # who has begun it ends it


def test_submitit_gives_the_bits_of_one_thread(program, tables, tmp_path):
    import submitit

    from conftest import alone, market

    config = tmp_path / "few.toml"
    config.write_text('k = 2\nlookback = 40\nframeworks = "rolling"\n' + market(220, 1)
                      + market(220, 2))
    executor = submitit.AutoExecutor(tmp_path / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    study(config, tmp_path / "s", executor, threads=2)
    assert tables(tmp_path / "s") == alone(program, tables, config, tmp_path / "alone")


def test_a_market_travels_to_a_worker_of_dask_once(grid, tmp_path, dask_client, monkeypatch):
    """One of four is sent by the coordinator, and fetched by the worker that has not got it."""
    sent = []

    class Counting(_core.Coordinator):
        def market(self, market_hash):
            sent.append(market_hash)
            return super().market(market_hash)

    def arrived(dask_worker):
        return [key for one in dask_worker.transfer_incoming_log for key in one["keys"]]

    monkeypatch.setattr(_core, "Coordinator", Counting)
    before = dask_client.run(arrived)
    assert study(grid, tmp_path, dask_client, epochs=2, seeds=1).warnings == []
    assert len(sent) == len(set(sent)) == 4
    for worker, keys in dask_client.run(arrived).items():
        fetched = keys[len(before[worker]):]
        assert len(fetched) == len(set(fetched)) <= 4 and all("-market-" in key for key in fetched)


def test_a_result_that_is_slow_to_arrive_keeps_no_other_waiting(small, tmp_path, dask_client,
                                                               monkeypatch):
    arrived, real = [], dask_client.gather

    async def gather(futures, **arguments):
        first = not arrived
        arrived.append(False)
        while first and sum(arrived) < 5:
            await asyncio.sleep(0.02)
        found = await real(futures, **arguments)
        arrived.append(True)
        return found

    monkeypatch.setattr(dask_client, "gather", gather)
    assert study(small, tmp_path, dask_client).warnings == []


def foreign():
    from sharpen import _core

    _core.program, _core.run_task = (lambda: "sharpen 9.9.9 (another)"), _refuse


def _refuse(*_):
    raise sharpen.InputError("a task of a study comes from sharpen, and this is sharpen 9.9.9")


def test_workers_of_another_version_stop_the_study(small, tmp_path):
    """Both are named; there are no three attempts."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            client.run(foreign)
            with pytest.raises(sharpen.InputError, match="this is sharpen 9.9.9"):
                study(small, tmp_path, client)


def test_a_scheduler_that_is_gone_gives_a_sentence(small, tmp_path):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    client = Client(cluster)
    client.close()
    cluster.close()
    with pytest.raises(sharpen.Failure, match="Dask's scheduler is not there"):
        study(small, tmp_path, client)
    assert not (tmp_path / "study.db").exists()


def test_a_ray_that_is_not_there_gives_a_sentence_at_once(small, tmp_path):
    import ray

    if ray.is_initialized():
        ray.shutdown()
    for address in ("ray://127.0.0.1:9", "ray://127.0.0.1", "ray://no.such.host.invalid:10001"):
        start = time.monotonic()
        with pytest.raises(sharpen.InputError, match=f"{address}.*nobody answers there"):
            study(small, tmp_path, address)
        assert time.monotonic() - start < 20.0
    assert not (tmp_path / "study.db").exists()
