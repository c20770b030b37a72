"""What tools/torture disturbs: commands, their inputs, and what they write undisturbed.

A job has a command line, what it needs in its folder, and what it writes. Its state is that output
as something that can be compared; None where there is none, REFUSED where readers refuse it.
"""

import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HANG = 20.0  # seconds
REFUSED = "refused"

LEARN = "--lookback 20 --hidden 8 --batch 16 --epochs 4 --ensemble 2 -k 2 --patience 9"
STUDY = """\
k = [1, 2]
seeds = 2
lookback = 20
hidden = [4]
epochs = 2
batch = 32
[[market]]
prices = "prices.csv"
[[method]]
framework = "pfl"
optimizer = "greedy"
[[method]]
framework = "dfl"
optimizer = "greedy"
alpha = 0.5
[[method]]
optimizer = "equal"
"""
ORDERS = "predict --framework rolling --prices IN/prices.csv --lookback 20 -k 2 --lot 1"
# Moments, an account, and tables about the names S001 to S006 of the simulated prices.
TEXTS = {
    "moments.txt": "3\n0.01 0.2\n0.02 0.3\n-0.01 0.1\n"
                   "1 1 1\n1 2 0.3\n1 3 -0.1\n2 2 1\n2 3 0.2\n3 3 1\n",
    "held.csv": "asset,shares,date\nS001,70,2015-08-11\nS003,-30,2015-08-11\n"
                "cash,20000,2015-08-11\n",
    "members.csv": "date,ticker,member\n2014-12-01,S001,in\n2014-12-01,S002,in\n"
                   "2014-12-01,S003,in\n2015-05-01,S002,out\n2015-05-01,S005,in\n",
    "costs.csv": "date,asset,bps\n" + "".join(
        f"{day},S00{i},{i}\n" for day in ("2015-01-01", "2015-06-01") for i in range(1, 7)),
    "groups.csv": "asset,group,date\nS001,Tech,\nS002,Tech,\nS003,Banks,\n"
                  "S003,Tech,2015-04-01\n",
    "limits.toml": """\
groups = "GROUPS"
max_weight = "60%"
min_weight = -0.4
max_gross = 1.8
rows = ["Tech <= 0.7", "-0.5 <= S004 - S005", "beta <= 1.5"]
[names]
Tech = 2
""",
}


class Wrong(Exception):
    """What a trial found."""


def check(fine, what):
    if not fine:
        raise Wrong(what)


class Job:
    def __init__(self, name, line, inputs, output, again="", before=None):
        self.name, self.line, self.inputs, self.output = name, line, inputs, output
        self.again = again  # flags with which a disturbed run is gone on with
        self.before = before  # makes an older output; others begin without
        self.old = self.new = None  # states; the new one of an undisturbed run
        self.calls, self.seconds = 1, 0.1

    def folder(self, folder):
        return folder

    def command(self, extra=""):
        return f"{self.line} {extra}".split()

    def state(self, world, folder):
        file = folder / self.output
        return file.read_bytes() if file.exists() else None

    def expected(self):
        """Names that may be in the folder when all is done."""
        return {self.output, *self.inputs}


class Folder(Job):
    """A folder of files: whole, or refused by who reads it."""

    def __init__(self, name, line, out, files, reader, **more):
        super().__init__(name, line, [], out, **more)
        self.files, self.reader = files.split(), reader

    def folder(self, folder):
        return folder / self.output if " . " in self.line + " " else folder

    def state(self, world, folder):
        place = folder / self.output
        found = {n: (place / n).read_bytes() for n in self.files if (place / n).exists()}
        if not found:
            return None
        notes = place / "notes.txt"
        check(not notes.exists() or notes.read_text() == "mine", "a file that is not ours changed")
        if b'"incomplete"' in found.get("metrics.json", b""):
            code, out = world.run(self.reader.split(), folder)
            check(code == 2 and ("not whole" in out or "cut short" in out),
                  f"{self.reader} reads what is incomplete: {out}")
            return REFUSED
        return found


def run_job(name, out, **more):
    """A backtest."""
    files = ("returns.csv weights.csv trades.csv weights_last.csv positions.csv benchmark.csv "
             "metrics.json")
    line = f"backtest --prices IN/prices.csv --lookback 20 --out {out}"
    return Folder(name, line, "run", files, "compare run run", **more)


def orders_job(name, out, **more):
    """The orders of a day, by a date of its own, as ages are in its answer."""
    line = f"{ORDERS} --positions IN/held.csv --asof 2015-08-12 --out-dir {out}"
    return Folder(name, line, "next", "orders.csv positions.csv metrics.json",
                  f"{ORDERS} --positions next/positions.csv", **more)


class Study(Job):
    def state(self, world, folder):
        file = folder / "s" / "study.db"
        if not file.exists() or file.stat().st_size == 0:
            return None
        code, out = world.run(["study", "--list", "--out", "s"], folder)
        check(code in (0, 2), f"study --list: {code} {out}")
        if code == 2:
            check("again" in out, f"study --list: {out}")  # says what to do
            return REFUSED
        ordered = folder / "ordered"
        shutil.copytree(folder / "s", ordered)  # SQLite plays the journal back
        base = sqlite3.connect(ordered / "study.db")
        tables = {table: base.execute(f"SELECT * FROM {table}").fetchall()
                  for table in ("metrics", "runs")}
        cells = base.execute(
            "SELECT cell, k, seed, state, reason FROM cells WHERE state = 'done'").fetchall()
        base.close()
        shutil.rmtree(ordered)
        return {"cells": cells, **tables}

    def expected(self):
        return {"s", *self.inputs}

    def inside(self):
        """Names that may be in the study's folder when all is done."""
        return {"study.db"}

    def part_of_new(self, state):
        """Whether it is a study that was cut short: every row is one of the whole."""
        return all(set(map(repr, state[table])) <= set(map(repr, self.new[table]))
                   for table in self.new)


class Merge(Study):
    """Parts put together, whole or not at all; again beside the study that is there."""

    def inside(self):
        return {"study.db", "study-1.db"}

    def part_of_new(self, state):
        return False


def older_run(*others):
    def make(world, folder):
        line = "backtest --prices IN/prices.csv --lookback 30 --benchmark S001 --out run"
        check(world.run(line.split(), folder)[0] == 0, line)
        for name in others:
            (folder / name).write_text("mine")

    return make


def older_orders(*others):
    def make(world, folder):
        line = f"{ORDERS} --capital 9000 --asof 2015-08-10 --out-dir next"
        check(world.run(line.split(), folder)[0] == 0, line)
        for name in others:
            (folder / name).write_text("mine")

    return make


def older_file(name):
    return lambda world, folder: (folder / name).write_bytes(b"old")


def older_page(world, folder):
    line = "report IN/s --format html --replications 60 --out page.html"
    check(world.run(line.split(), folder)[0] == 0, line)


def jobs():
    return [
        run_job("backtest-new", "run"),
        run_job("backtest-again", "run", before=older_run()),
        run_job("backtest-beside", "run --force", before=older_run("run/notes.txt")),
        run_job("backtest-here", ".", before=older_run()),
        orders_job("orders-new", "next"),
        orders_job("orders-again", "next", before=older_orders()),
        orders_job("orders-beside", "next --force", before=older_orders("next/notes.txt")),
        orders_job("orders-here", ".", before=older_orders()),
        Job("train", f"train --prices IN/prices.csv {LEARN} --out m.sharpen", [], "m.sharpen",
            again="--resume"),
        Study("study", "study --config study.toml --threads 2 --out s",
              ["study.toml", "prices.csv"], "s"),
        Merge("merge", "merge IN/part1 IN/part2 --out s", [], "s", again="--force"),
        Job("simulate", "simulate --assets 4 --days 60 --out p.csv", [], "p.csv",
            before=older_file("p.csv")),
        Job("doctor", "doctor IN/prices.csv --out clean.csv", [], "clean.csv",
            before=older_file("clean.csv")),
        Job("predict", "predict --model IN/m.sharpen --prices IN/prices.csv --out w.csv", [],
            "w.csv", before=older_file("w.csv")),
        Job("report", "report IN/s --format html --replications 50 --out page.html", [],
            "page.html", before=older_page),
    ]


CONTINUE = "predict --continue . --prices IN/prices.csv"
# Inputs and the commands that read them; those with a checksum must be refused.
READERS = {
    "prices.csv": ["solve --prices X -k 2", "doctor X --json",
                   "backtest --prices X --lookback 20 --json",
                   f"train --prices X {LEARN} --out n.sharpen"],
    "m.sharpen": ["inspect X", "predict --model X --prices IN/prices.csv"],
    "member-1": [f"train --prices IN/prices.csv {LEARN} --out m.sharpen --resume"],
    "study.db": ["report X --replications 50", "study --list --out .",
                 "study --config IN/study.toml --out .", "merge X IN/s --out w"],
    "backtest.toml": ["backtest --config X", "backtest --config X --print-config"],
    "study.toml": ["study --config X --dry-run", "study --config X --print-config"],
    "w.csv": ["predict --model IN/m.sharpen --prices IN/prices.csv --previous X"],
    "moments.txt": ["solve --moments X -k 2 --certify"],
    "mean.csv": ["solve --mean X --cov IN/cov.csv -k 2"],
    "cov.csv": ["solve --mean IN/mean.csv --cov X -k 2"],
    "signal.csv": ["backtest --prices IN/prices.csv --framework signal --signal X --lookback 20"],
    "held.csv": [f"{ORDERS} --positions X"],
    "members.csv": ["backtest --prices IN/prices.csv --members X --lookback 20"],
    "costs.csv": ["backtest --prices IN/prices.csv --cost-bps X --lookback 20"],
    "tradable.csv": ["backtest --prices IN/prices.csv --tradable X --lookback 20"],
    "benchmark.csv": ["backtest --prices IN/prices.csv --benchmark X --lookback 20"],
    "groups.csv": ["solve --prices IN/prices.csv -k 3 --groups X --limits IN/limits.toml"],
    "limits.toml": ["solve --prices IN/prices.csv -k 3 --limits X --explain",
                    "backtest --prices IN/prices.csv --limits X --lookback 20 -k 3"],
    "decisions.toml": ["doctor IN/dirty.csv --decisions X",
                       "backtest --prices IN/dirty.csv --decisions X --lookback 20"],
    "returns.csv": ["compare . IN/run --replications 50", CONTINUE],
    "metrics.json": ["compare . IN/run --replications 50", CONTINUE],
    "positions.csv": [CONTINUE],
}
OF_RUN = {"returns.csv", "metrics.json", "positions.csv"}  # in the folder of a backtest
CHECKSUMMED = {"m.sharpen", "member-1"}
HOSTILE = [b"1e309", b"nan", b"-inf", b"0x1p3", b'"', b"\n\n", b"\x00" * 9, b"\xff\xfe", b",,,,,,,",
           b"9" * 400, b"\x1b[2J", b"[" * 300, b"a." * 200 + b"a = 1\n", b"\xe2\x80\xae",
           b"2015-02-30"]


class World:
    """The program, inputs that trials share, and what undisturbed runs write."""

    def __init__(self, program, folder):
        self.program, self.inputs = str(Path(program).resolve()), folder / "inputs"
        self.shim = folder / "faults.so"
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", self.shim,
                        ROOT / "tests/app/faults.cpp", "-ldl"], check=True)
        self.inputs.mkdir()
        for line in ("simulate --assets 6 --days 160 --out prices.csv",
                     f"train --prices prices.csv {LEARN} --out m.sharpen",
                     "backtest --prices prices.csv --lookback 20 --out run",
                     "predict --model m.sharpen --prices prices.csv --out w.csv",
                     "simulate --assets 6 --days 160 --seed 2 --out signal.csv"):
            check(self.run(line.split(), self.inputs)[0] == 0, line)
        (self.inputs / "study.toml").write_text(STUDY)
        (self.inputs / "backtest.toml").write_text(
            self.run("backtest --prices prices.csv --lookback 20 --print-config".split(),
                     self.inputs)[1].replace("prices.csv", str(self.inputs / "prices.csv")))
        self.write_tables()
        names = [f"A{i}" for i in range(5)]
        (self.inputs / "mean.csv").write_text(
            "asset,mean\n" + "".join(f"{n},{0.01 * i + 0.01}\n" for i, n in enumerate(names)))
        (self.inputs / "cov.csv").write_text(",".join(["", *names]) + "\n" + "".join(
            ",".join([n, *(str(0.04 if m == n else 0.01) for m in names)]) + "\n" for n in names))
        check(self.run("study --config study.toml --out s".split(), self.inputs)[0] == 0, "study")
        shutil.copy(self.inputs / "s/study.db", self.inputs / "study.db")
        for part in (1, 2):
            line = f"study --config study.toml --shard {part}/2 --out part{part}"
            check(self.run(line.split(), self.inputs)[0] == 0, line)
        for name in OF_RUN:
            shutil.copy(self.inputs / "run" / name, self.inputs / name)
        self.run(f"train --prices prices.csv {LEARN} --out n.sharpen".split(), self.inputs,
                 fault="linkat:3:kill")
        shutil.copy(self.inputs / "n.sharpen.partial/member-1", self.inputs / "member-1")
        self.small_disks = self.can_mount(folder)
        self.jobs = {job.name: job for job in jobs()}
        for job in self.jobs.values():
            self.measure(job, folder / "measure")

    def write_tables(self):
        for name, text in TEXTS.items():
            (self.inputs / name).write_text(
                text.replace("GROUPS", str(self.inputs / "groups.csv")))
        header, *rows = (self.inputs / "prices.csv").read_text().splitlines()
        dates = [row.split(",")[0] for row in rows]
        (self.inputs / "tradable.csv").write_text(header + "\n" + "".join(
            f"{date},1,1,{int(i % 7 > 0)},1,1,0\n" for i, date in enumerate(dates)))
        (self.inputs / "benchmark.csv").write_text("date,index\n" + "".join(
            f"{date},{100 + i % 11 + 0.1 * i}\n" for i, date in enumerate(dates)))
        cells = [row.split(",") for row in rows]  # a split, a misprint and a gap
        for row in cells[80:]:
            row[1] = str(float(row[1]) / 4)
        cells[50][2] = str(float(cells[50][2]) * 10)
        cells[60][3] = cells[61][3] = ""
        (self.inputs / "dirty.csv").write_text(
            "\n".join([header, *(",".join(row) for row in cells)]) + "\n")
        line = "doctor dirty.csv --decide decisions.toml"
        check(self.run(line.split(), self.inputs)[0] == 0, line)

    def can_mount(self, folder):
        place = folder / "mount"
        place.mkdir()
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place],
                stderr=subprocess.DEVNULL).returncode != 0:
            return False
        return subprocess.run(["umount", place]).returncode == 0

    def prepare(self, job, folder):
        folder.mkdir(parents=True)
        for name in job.inputs:
            shutil.copy(self.inputs / name, folder / name)
        if job.before:
            job.before(self, folder)

    def measure(self, job, folder):
        """What the job finds and writes, and how many calls and seconds it takes."""
        self.prepare(job, folder)
        job.old = job.state(self, folder)
        start = time.monotonic()
        log = folder.parent / "calls"
        code, out = self.run(job.command(), job.folder(folder), calls=log)
        check(code == 0, f"{job.name}: {out}")
        job.seconds = time.monotonic() - start
        job.calls = len(log.read_text().splitlines())
        log.unlink()
        job.new = job.state(self, folder)
        check(job.new is not None, f"{job.name} writes nothing")
        shutil.rmtree(folder)

    def start(self, arguments, folder, fault=None, calls=None, limit=None):
        line = [self.program, *(a.replace("IN/", f"{self.inputs}/") for a in arguments)]
        if limit is not None:
            line = ["prlimit", f"--fsize={limit}", *line]
        variables = dict(os.environ)
        if fault or calls:
            variables["LD_PRELOAD"] = str(self.shim)
        if fault:
            variables["SHARPEN_FAULT"] = fault
        if calls:
            variables["SHARPEN_CALLS"] = str(calls)
        return subprocess.Popen(line, cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace")

    def finish(self, process):
        try:
            out, _ = process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            line = " ".join(map(str, process.args))
            raise Wrong(f"takes more than {HANG:.0f} s: {line}") from None
        return process.returncode, out

    def run(self, arguments, folder, **how):
        """Exit code, and what was said on standard output and standard error."""
        return self.finish(self.start(arguments, folder, **how))
