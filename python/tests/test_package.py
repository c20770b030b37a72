"""The package as it is installed: types, version, and what it brings along."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sharpen
import sharpen._core

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(sharpen.__file__).parent


def test_version_is_the_librarys():
    stated = re.search(r"project\(sharpen VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert stated and sharpen.__version__ == stated[1]
    try:
        assert importlib.metadata.version("sharpen") == stated[1]
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed: imported from a build folder")


def test_everything_announced_is_there():
    for name in sharpen.__all__:
        assert getattr(sharpen, name) is not None
    assert issubclass(sharpen.InputError, ValueError)
    assert issubclass(sharpen.Failure, RuntimeError)


def test_types_are_shipped_and_right(tmp_path):
    """mypy in its strict mode, over the package and over a user of it."""
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()
    user = tmp_path / "user.py"
    user.write_text(
        "import numpy as np\n"
        "import sharpen\n"
        "found = sharpen.solve((np.ones(2), np.eye(2)), k=1, shrinkage=0.1)\n"
        "ratio: float = found.sharpe\n"
        "status: str = found.status\n"
        "wrong: int = found.sharpe  # E\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    ran = subprocess.run(
        [*mypy, "-p", "sharpen", "--config-file", str(ROOT / "pyproject.toml")],
        capture_output=True, text=True, cwd=PACKAGE.parent,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = subprocess.run(
        [*mypy, "--strict", str(user)], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    errors = [line for line in ran.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1 and "user.py:6" in errors[0], ran.stdout
