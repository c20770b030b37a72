"""The examples run as they stand, in a folder of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAYS = {
    "paper_study.py": "report.html: open it in a browser",
    "sklearn_pipeline.py": "The fitted ratio flatters",
    "torch_predictor.py": "decide",
}


def test_no_example_is_forgotten():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS))
def test_example_runs(name, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:sharpen", str(EXAMPLES / name)],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert SAYS[name] in ran.stdout
