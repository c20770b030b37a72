"""Runs the comparison: see README.md beside this package.

    python -m sharpen_peers --layers PYTHON --portfolios PYTHON --layer-peer PROGRAM --output FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import sys
import time

import numpy as np

from . import negative, sparse
from .layers import PEERS
from .limited_layers import LIMITED_PEERS, LimitedSharpen
from .limited_problem import make_limited_problem
from .problem import disagreement, make_problem
from .processes import ask
from .results import replace_file, write_results

CPP = "sharpen from C++"
HEADLINE = (100, 64)  # n, B of the ratios that have a bound
SMALL = (20, 1)  # where the call itself is what takes the time
LIMITED_THREADS = 1  # PIQP's solvers have one each


def progress(text: str) -> None:
    print(f"peers: {text}", file=sys.stderr, flush=True)


def judged(row: dict) -> dict:
    """The row of a layer; one that is wrong says so."""
    if "weights_error" in row:
        why = disagreement(row["weights_error"], row["gradient_error"], row["tolerance"])
        if why:
            row |= {"status": "disagrees", "reason": why}
    return row


class Run:
    def __init__(self, settings: argparse.Namespace):
        self.settings = settings
        self.work = settings.output / "problems"
        self.work.mkdir(parents=True, exist_ok=True)
        self.problems: dict[tuple[int, int], pathlib.Path] = {}

    def problem(self, n: int, B: int) -> pathlib.Path:
        if (n, B) not in self.problems:
            path = self.work / f"layer-n{n}-B{B}"
            make_problem(n, B, self.settings.seed).save(path)
            self.problems[n, B] = path
        return self.problems[n, B]

    def layer(self, name: str, n: int, B: int) -> dict:
        """One row: one peer on one problem."""
        path, settings = self.problem(n, B), self.settings
        budget = str(settings.seconds)
        if name == CPP:
            command = [settings.layer_peer, f"{path}.bin", str(settings.threads), budget]
            scope, tolerance = "layer", (1e-8, 1e-6)
        else:
            command = [settings.layers, "-m", "sharpen_peers.worker", name, str(path)]
            command += [str(settings.threads), budget]
            scope, tolerance = PEERS[name].scope, PEERS[name].tolerance
        row = {"peer": name, "scope": scope, "n": n, "B": B, "tolerance": tolerance}
        return judged(row | ask(command, settings.limit, settings.threads))

    def layers(self) -> list[dict]:
        rows = []
        for n in self.settings.sizes:
            for B in self.settings.batches:
                for name in [CPP, *PEERS]:
                    rows.append(self.layer(name, n, B))
                    row = rows[-1]
                    both = row.get("forward", np.nan) + row.get("backward", np.nan)
                    progress(f"layer, n = {n}, B = {B}: {name}: {row['status']}, {both:.3g} s")
        return rows

    def ratios(self) -> dict:
        path, settings = self.problem(*HEADLINE), self.settings
        progress(f"ratios, n = {HEADLINE[0]}, B = {HEADLINE[1]}, all layers taking turns")
        command = [settings.layers, "-m", "sharpen_peers.alternate", "plain", str(path)]
        command += [str(settings.threads), str(settings.rounds), *PEERS]
        return ask(command, 4 * settings.limit, settings.threads)

    def limited(self) -> dict:
        """The layer under limits: a row for each peer, and all of them taking turns."""
        settings = self.settings
        n, B = settings.limited_size
        path = self.work / f"limited-n{n}-B{B}"
        progress(f"layer under limits, n = {n}, B = {B}: making the problem")
        make_limited_problem(n, B, settings.seed).save(path)
        given = [str(LIMITED_THREADS), str(settings.seconds)]
        rows = []
        for name in [CPP, *LIMITED_PEERS]:
            command = [settings.layers, "-m", "sharpen_peers.worker", name, str(path), *given]
            command = [*command, "limited"]
            if name == CPP:
                command = [settings.layer_peer, f"{path}.bin", *given]
            peer = LIMITED_PEERS.get(name, LimitedSharpen)
            row = {"peer": name, "scope": peer.scope, "n": n, "B": B, "tolerance": peer.tolerance}
            rows.append(judged(row | ask(command, 2 * settings.limit, LIMITED_THREADS)))
            progress(f"layer under limits: {name}: {rows[-1]['status']}")
        command = [settings.layers, "-m", "sharpen_peers.alternate", "limited", str(path)]
        command += [str(LIMITED_THREADS), str(settings.rounds), *LIMITED_PEERS]
        ratios = ask(command, 8 * settings.limit, LIMITED_THREADS)
        return {"n": n, "B": B, "rows": rows, "ratios": ratios}

    def witness(self) -> dict:
        settings = self.settings
        progress("our solver under limits against PIQP, on random limits")
        command = [settings.layers, "-m", "sharpen_peers.witness", str(settings.witnessed)]
        return ask([*command, str(settings.seed)], 4 * settings.limit, settings.threads)

    def overhead(self) -> dict:
        """What the way through Python adds to the smallest call, in seconds."""
        progress("overhead of the Python call")
        inner, outer = self.layer(CPP, *SMALL), self.layer("sharpen from PyTorch", *SMALL)
        if inner["status"] != "ok" or outer["status"] != "ok":
            bad = inner if inner["status"] != "ok" else outer
            return {"status": bad["status"], "reason": bad.get("reason", "")}
        added = {what: outer[what] - inner[what] for what in ("forward", "backward")}
        return {"status": "ok", "calls": outer["calls"], **added}

    def sparse(self) -> list[dict]:
        settings = self.settings
        found = sparse.problems(settings.sizes, settings.seed, settings.data)
        return self.chosen("sparse", found, list(sparse.SOLVERS), settings.mip_limit)

    def capped(self) -> list[dict]:
        settings = self.settings
        found = sparse.capped_problems(settings.capped_sizes, settings.seed, settings.data)
        return self.chosen("capped", found, sparse.CAPPED_SOLVERS, settings.capped_limit)

    def proved(self) -> list[dict]:
        settings = self.settings
        found = sparse.proved_problems(settings.quick, settings.seed, settings.data)
        return self.chosen("proved", found, list(sparse.PROVING), settings.capped_limit)

    def chosen(self, what: str, found: dict, solvers: list[str], limit: float) -> list[dict]:
        rows, settings = [], self.settings
        for number, (problem, (mu, Sigma, k, *cap)) in enumerate(found.items()):
            path = self.work / f"{what}-{number}.npz"
            np.savez(path, mu=mu, Sigma=Sigma, k=k, **({"cap": cap[0]} if cap else {}))
            for solver in solvers:
                command = [settings.portfolios, "-m", "sharpen_peers.sparse", solver, str(path)]
                command += [str(limit), str(settings.threads)]
                row = {"problem": problem, "n": len(mu), "k": k, "solver": solver}
                # A solver looks at its clock when it pleases; the process ends in any case.
                row |= ask(command, 2 * limit + 30, settings.threads)
                rows.append(row)
                progress(f"{what}, {problem}: {solver}: {row['status']}, {row.get('sharpe')}")
        return rows

    def negative(self) -> list[dict]:
        rows, settings = [], self.settings
        cases = [("sharpen", 0.0)]
        cases += [(p, b) for p in negative.PACKAGES if p != "sharpen" for b in (0.0, 1.0, 5.0)]
        for package, bound in cases:
            command = [settings.portfolios, "-m", "sharpen_peers.negative", package, str(bound)]
            row = {"package": package, "bound": bound}
            rows.append(row | ask([*command, str(settings.seed)], 120, settings.threads))
            progress(f"negative market: {package}, bound {bound:g}: {rows[-1]['status']}")
        return rows


def machine(settings: argparse.Namespace) -> dict:
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "threads": settings.threads,
        "load_before": settings.load,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sharpen_peers")
    parser.add_argument("--layers", required=True, help="Python with the peers of the layer")
    parser.add_argument("--portfolios", required=True, help="Python with the portfolio packages")
    parser.add_argument("--layer-peer", required=True, help="the program layer_peer")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--installed", type=pathlib.Path, help="what could not be installed")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=20260801)
    parser.add_argument("--load", type=float, default=os.getloadavg()[0], help="before the run")
    parser.add_argument("--quick", action="store_true", help="small sizes, short limits")
    settings = parser.parse_args()
    quick = settings.quick
    settings.sizes = [20, 50] if quick else [20, 50, 100, 200]
    settings.batches = [64] if quick else [1, 64]
    settings.seconds = 0.5 if quick else 3.0  # of warm calls, per row
    settings.limit = 60.0 if quick else 240.0  # per row
    settings.rounds = 10 if quick else 40
    settings.mip_limit = 3.0 if quick else 40.0
    settings.limited_size = (200, 2) if quick else (200, 64)
    settings.capped_sizes = [20] if quick else [50, 100]
    settings.capped_limit = 3.0 if quick else 60.0
    settings.witnessed = 20 if quick else 300
    return settings


def main() -> int:
    settings = arguments()
    begun = time.time()
    if settings.load > 0.3 * (os.cpu_count() or 1):
        progress("the machine is busy: the times of this run will not mean much")
    run = Run(settings)
    results = {
        "schema_version": 1,
        "quick": settings.quick,
        "seed": settings.seed,
        "machine": machine(settings),
        "versions": {
            "layers": ask([settings.layers, "-m", "sharpen_peers.versions"], 120, 1),
            "portfolios": ask([settings.portfolios, "-m", "sharpen_peers.versions"], 120, 1),
        },
        "not_installed": settings.installed.read_text().splitlines() if settings.installed else [],
        "headline": {"n": HEADLINE[0], "B": HEADLINE[1]},
        "ratios": run.ratios(),
        "overhead": run.overhead(),
        "layers": run.layers(),
        "limited": run.limited(),
        "witness": run.witness(),
        "sparse": run.sparse(),
        "mip_limit": settings.mip_limit,
        "capped": run.capped(),
        "capped_limit": settings.capped_limit,
        "proved": run.proved(),
        "negative": run.negative(),
    }
    results["seconds"] = time.time() - begun
    replace_file(settings.output / "results.json", json.dumps(results, indent=1) + "\n")
    right = write_results(results, settings.output)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
