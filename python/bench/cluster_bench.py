"""What a study costs through Dask and Ray, two workers each, against two threads of this machine.

First the tables are compared, bit for bit; then the same study is timed, one executor after the
other; then tasks that take next to no time, of which what is left is overhead.
usage: cluster_bench.py [CELLS]
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from typing import Any, Dict, List, Tuple

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import sharpen  # noqa: E402

CELLS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
TINY = 400


def config(folder: str, name: str, markets: int, days: int, ks: List[int], optimizer: str) -> str:
    """A file of a study without trainings: every task is a cell."""
    lines = [f"k = {ks}", "lookback = 60", 'frameworks = "rolling"', f'optimizers = "{optimizer}"']
    for seed in range(1, markets + 1):
        simulated = f"assets = 40, days = {days}, seed = {seed}, predictability = 0.2"
        lines += ["[[market]]", f'name = "m{seed}"', f"simulate = {{ {simulated} }}"]
    file = os.path.join(folder, f"{name}.toml")
    with open(file, "w") as out:
        out.write("\n".join(lines) + "\n")
    return file


def run(file: str, **arguments: Any) -> Tuple[float, float, str]:
    """Seconds of the study, those that its workers say they had, and its tables."""
    with tempfile.TemporaryDirectory() as folder:
        found = sharpen.study(config=file, out=folder, progress=False, **arguments)
        if found.tally["done"] != found.tally["cells"]:
            raise SystemExit(f"cluster_bench: {found!r}")
        report = found.report(replications=100, progress=False)
        tables = report.text("csv", ["sharpe", "drawdown", "trading"])
        lines = report.text("csv", ["cells"]).splitlines()
        work = sum(float(line.split(",")[8]) for line in lines if ",seconds," in line)
        return float(found.tally["seconds"]), work, tables


def bench(name: str, value: float, bound: float, most: bool) -> str:
    good = value <= bound if most else value >= bound
    return f"bench: {name} {value:.3g} {bound:g} {'ok' if good else 'short'}"


def main() -> None:
    import ray
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    lines = []
    with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
        executors: Dict[str, Dict[str, Any]] = {
            "threads": dict(threads=2), "dask": dict(executor=client), "ray": dict(executor="ray"),
        }
        tiny = config(folder, "tiny", TINY // 20, 150, list(range(2, 22)), "equal")
        first = {name: run(tiny, **how) for name, how in executors.items()}  # workers warm up
        if len({tables for _, _, tables in first.values()}) != 1:
            raise SystemExit("cluster_bench: the executors give different tables")
        for name in ("dask", "ray"):
            seconds, work, _ = run(tiny, **executors[name])
            each = 1e3 * (seconds - work / 2.0) / TINY
            print(f"{name}: {TINY} tiny tasks in {seconds:.2f} s, {each:.1f} ms each")
            lines.append(bench(f"{name}_task_overhead_ms", each, 20.0, True))
        long = config(folder, "long", CELLS // 10, 2600, list(range(2, 12)), "swap")
        taken = {}
        for name, how in executors.items():
            taken[name], work, _ = run(long, **how)
            print(f"{name}: {CELLS} cells in {taken[name]:.1f} s, {work / CELLS:.2f} s of work each")
        for name in ("dask", "ray"):
            ratio = taken["threads"] / taken[name]
            lines.append(bench(f"{name}_throughput_of_two_threads", ratio, 0.9, False))
    ray.shutdown()
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
