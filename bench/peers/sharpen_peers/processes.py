"""Work in processes of its own: a time limit, and the last line of JSON that was printed."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent


def environment(threads: int) -> dict[str, str]:
    """The same number of threads for every runtime that might bring its own."""
    names = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS RAYON_NUM_THREADS".split()
    settings = {name: str(threads) for name in names}
    return {**os.environ, **settings, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}


def last_object(text: str) -> dict:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:  # cut short while it was being written
                continue
    return {}


def reason_of(errors: str, code: int) -> str:
    """The last line that is not a traceback's frame: mostly the exception."""
    lines = [line.strip() for line in errors.splitlines() if line and not line[0].isspace()]
    said = [line for line in lines if ("Error" in line or "Exception" in line)]
    text = (said or lines or [""])[-1]
    text = text or (f"signal {-code}" if code < 0 else f"exit code {code}")
    return text if len(text) <= 300 else text[:297] + "..."


def ask(command: list[str], limit: float, threads: int) -> dict:
    """What the command printed last, with "status" ok, failed or time limit, and a reason."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment(threads),
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the group is the one started above
        output, errors = process.communicate()
        return {**last_object(output), "status": "time limit", "reason": f"{limit:g} s are over"}
    except BaseException:  # Ctrl-C does not reach another session by itself
        os.killpg(process.pid, signal.SIGKILL)
        raise
    result = last_object(output)
    if process.returncode != 0 or not result:
        missing = "ModuleNotFoundError" in errors
        return {
            **result,
            "status": "not installed" if missing else "failed",
            "reason": reason_of(errors, process.returncode),
        }
    return {"status": "ok", **result}
