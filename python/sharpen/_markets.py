"""Markets of a study that are in memory: files beside it, so that it can be repeated."""

from __future__ import annotations

import filecmp
import os
import tempfile
from pathlib import Path
from typing import Any, List, Mapping, Optional, Tuple

from . import _core, _data
from ._core import InputError


def files_of(markets: Any, name: str, out: Any, kept: "Markets") -> List[str]:
    """Those that are named, and those that are made of tables."""
    if isinstance(markets, Mapping):
        named = [(str(key), value) for key, value in markets.items()]
    elif isinstance(markets, (list, tuple)):
        named = [("", value) for value in markets]
    else:
        named = [("market", markets)]
    files = []
    for key, value in named:
        if isinstance(value, (str, os.PathLike)):
            files.append(os.fspath(value))
        else:
            files.append(kept.add(key, _market(key, value, name, out), name))
    for file in files:
        if "," in file:
            raise InputError(f"{name}: {file!r} has a comma, which separates files; rename it")
    return files


def _market(key: str, value: Any, name: str, out: Any) -> _core.Panel:
    """A market from memory, that can be kept beside the study."""
    table = _data.table(value, name)
    if not table.dated:
        raise InputError(f"{name}: a study needs dates; give a DataFrame with one row for each")
    if out is None:
        raise InputError(f"{name} in memory is kept beside the study; give out, its folder")
    if not key:
        raise InputError(f"{name}: give markets names: {{'name': prices, ...}}")
    if Path(key).name != key or key.startswith("."):
        raise InputError(f"{name}: {key!r} cannot be the name of a file; rename it")
    return _core.Panel(table.values, table.names, table.labels, True, name, name)


class Markets:
    """Files of markets from memory: beside the study, or for as long as a dry run takes.

    What is there already stays: the same data are not written again, other data are an error, or
    get another name by force. What was written for a study that did not begin goes again.
    """

    def __init__(self, out: Any, force: bool) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="sharpen-")
        self._out = None if out is None else Path(out)
        self._force = force
        self._store = None if out is None else _identity(Path(out) / "study.db")
        self._made: List[Path] = []  # files and folders, in the order they were made
        self._moved: List[Tuple[Path, Path]] = []  # from, to
        self._begun = False

    @property
    def set_aside(self) -> List[str]:
        """For the user."""
        return [f"{file.name}, which held other data, is now {to}" for file, to in self._moved]

    def __enter__(self) -> "Markets":
        return self

    def begun(self) -> None:
        """The study has its markets: whatever ends it now, they stay."""
        self._begun = True

    def add(self, key: str, panel: _core.Panel, name: str) -> str:
        scratch = Path(self._scratch.name) / f"{key}.csv"
        panel.write(str(scratch))
        if self._out is None:
            return str(scratch)
        if self._out.exists() and not self._out.is_dir():
            raise InputError(f"out = {self._out} is a file, not a folder; choose another name")
        file = self._out / scratch.name
        if os.path.lexists(file):
            if file.is_file() and filecmp.cmp(file, scratch, shallow=False):
                return str(file)
            if not self._force:
                raise InputError(
                    f"{name}: {file} is there already and holds other data than market {key!r}; "
                    "give the market another name, or another out, or force to set the file aside"
                )
            self._moved.append((file, _moved_aside(file)))
        else:
            self._made_folder(self._out)
            self._made.append(file)
        panel.write(str(file))
        return str(file)

    def _made_folder(self, folder: Path) -> None:
        if not folder.exists():
            self._made_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            self._made.append(folder)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._scratch.cleanup()
        if error is None or self._out is None or self._begun:
            return
        store = _identity(self._out / "study.db")
        refused = isinstance(error, InputError) or (self._force and store == self._store)
        if store is not None and not refused:
            return  # it has begun, and needs its markets
        for path in reversed(self._made):
            try:
                path.rmdir() if path.is_dir() else path.unlink()
            except OSError:
                pass  # somebody else has put something there
        for file, other in self._moved:
            os.replace(other, file)


def _identity(file: Path) -> Optional[Tuple[int, int]]:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _moved_aside(file: Path) -> Path:
    number = 1
    while os.path.lexists(file.with_name(f"{file.stem}-{number}{file.suffix}")):
        number += 1
    return file.rename(file.with_name(f"{file.stem}-{number}{file.suffix}"))
