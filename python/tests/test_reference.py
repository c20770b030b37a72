"""The reference of the package: it builds without a warning, and leaves nothing out."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sharpen
import sharpen.data
import sharpen.torch

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", [sharpen, sharpen.data, sharpen.torch])
def test_every_public_name_says_what_it_is(module):
    for name in module.__all__:
        found = getattr(module, name)
        if name.startswith("__") or inspect.ismodule(found):
            continue
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            hints = inspect.signature(found)
            assert hints.return_annotation is not inspect.Signature.empty, name
            for parameter in hints.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)


def test_the_reference_builds_without_warnings(tmp_path):
    ran = subprocess.run(
        [str(ROOT / "python" / "reference"), str(tmp_path), sys.executable],
        capture_output=True, text=True,
    )
    assert ran.returncode == 0 and ran.stderr == "" and ran.stdout == "", ran.stderr
    page = (tmp_path / "sharpen.html").read_text()
    for name in sharpen.__all__:
        assert name in page
    assert (tmp_path / "sharpen" / "torch.html").exists()


def test_the_table_of_names_is_complete():
    """docs/python.md names every function, and every command that has one."""
    page = (ROOT / "docs" / "python.md").read_text()
    for name in sharpen.__all__:
        if not name.startswith("__"):
            assert f"{name}" in page, name
    for command in "solve simulate doctor backtest compare train predict study report".split():
        assert f"`sharpen {command}`" in page, command
