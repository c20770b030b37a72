"""The package as it is installed: types, version, and what it brings along."""

import importlib.metadata
import re
import shutil
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
    leave = shutil.ignore_patterns(".libs", "*.so", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "sharpen", ignore=leave)
    (tmp_path / "user.py").write_text(
        "import numpy as np\n"
        "import sharpen\n"
        "found = sharpen.solve((np.ones(2), np.eye(2)), k=1, shrinkage=0.1)\n"
        "ratio: float = found.sharpe\n"
        "status: str = found.status\n"
        "wrong: int = found.sharpe\n"
        "counts: dict[str, object] = sharpen.study({}, preset='demo', dry_run=True)\n"
        "study: sharpen.Study = sharpen.study({}, preset='demo', out='folder')\n"
        "weights = sharpen.backtest('prices.csv', k=3).weights\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    run = dict(capture_output=True, text=True, cwd=tmp_path)
    package = subprocess.run([*mypy, "-p", "sharpen"], **run)
    assert package.returncode == 0, package.stdout + package.stderr
    user = subprocess.run([*mypy, "--strict", "user.py"], **run)
    errors = [line for line in user.stdout.splitlines() if line.startswith("user.py")]
    assert len(errors) == 1 and "user.py:6: error" in errors[0], user.stdout
