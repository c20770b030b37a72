"""What the tests share: the real data, where there is some, and markets made up here."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data_folder() -> Path:
    """Real market data that is not part of the project (CONTRIBUTING.md)."""
    folder = Path(os.environ.get("SHARPEN_TEST_DATA", ROOT / ".." / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no test data: set SHARPEN_TEST_DATA, or put it in ../shared/data")
    return folder


@pytest.fixture
def program() -> str:
    """The command line, to compare with."""
    path = Path(os.environ.get("SHARPEN_BINARY", ROOT / "build" / "release" / "bin" / "sharpen"))
    assert path.exists(), f"{path} is missing: build it first, or set SHARPEN_BINARY"
    return str(path)


@pytest.fixture
def returns() -> np.ndarray:
    """(260, 12) daily returns with a common factor."""
    random = np.random.default_rng(7)
    market = random.normal(4e-4, 8e-3, (260, 1))
    return market * random.uniform(0.5, 1.5, 12) + random.normal(2e-4, 0.01, (260, 12))


@pytest.fixture
def prices(returns: np.ndarray):
    import pandas

    dates = pandas.bdate_range("2024-01-02", periods=len(returns) + 1)
    levels = 100.0 * np.vstack([np.ones(12), np.cumprod(1.0 + returns, axis=0)])
    return pandas.DataFrame(levels, index=dates, columns=[f"N{i}" for i in range(12)])
