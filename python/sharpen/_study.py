"""sharpen.study and sharpen.report: grids of backtests, and what they come to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple, Union, overload

from . import _cluster, _commands, _core, _dates, _markets, _panels, _progress, _settings
from ._core import InputError

PathLike = Union[str, "os.PathLike[str]"]


class Study:
    """The cells of a study: one market, number of names, method and seed each.

    ``Study.load(path)`` reads the folder or file that ``sharpen.study`` or the program wrote.
    """

    def __init__(
        self,
        file: str,
        tally: Optional[Dict[str, Any]] = None,
        warnings: Optional[List[str]] = None,
    ) -> None:
        self.file = file
        self.tally = dict(tally or {})
        self.warnings: List[str] = list(warnings or [])
        self._read: Optional[_core.Study] = None

    @classmethod
    def load(cls, path: PathLike) -> "Study":
        """From the folder of a study, or its ``study.db``."""
        found = cls(_file_of(path))
        found._core()
        return found

    def _core(self) -> _core.Study:
        if self._read is None:  # without tests: they take time, and cells do not need them
            self._read = _core.read_study(self.file, {"replications": "100"}, False, None)
        return self._read

    @property
    def cells(self) -> Any:
        """A DataFrame with a row for each cell: what it is, its state, and its figures, a year
        where they are annualised; NaN unless it is done."""
        frame = _panels.need_pandas("cells").DataFrame(self._core().cells())
        return frame.astype({"seed": "Int64"}) if len(frame) else frame

    @property
    def returns(self) -> Any:
        """A DataFrame of the daily returns of the cells that are done, a column for each, named by
        market, k, method and seed."""
        pandas = _panels.need_pandas("returns")
        cells = self._core().cells()
        columns: Dict[Tuple[Any, ...], Any] = {}
        for number, dates, values in self._core().runs():
            cell = cells[number]
            seed = "" if cell["seed"] is None else cell["seed"]
            index = _dates.to_index(dates).rename("date")
            name = (cell["market"], cell["k_given"], cell["method"], seed)
            columns[name] = pandas.Series(values, index=index)
        if not columns:
            return pandas.DataFrame()
        frame = pandas.concat(columns, axis=1)
        frame.columns.names = ["market", "k", "method", "seed"]
        return frame

    def __getstate__(self) -> Dict[str, Any]:
        """Copies and pickles name the file, and read it again."""
        return {**self.__dict__, "file": os.path.abspath(self.file), "_read": None}

    def report(self, **arguments: Any) -> "Report":
        """``sharpen.report(self, ...)``."""
        return report(self, **arguments)

    def __repr__(self) -> str:
        cells = self._core().cells()
        done = sum(cell["state"] == "done" for cell in cells)
        failed = sum(cell["state"] == "failed" for cell in cells)
        lost = f", {failed} failed" if failed else ""
        return f"<sharpen.Study {self.file}: {done} of {len(cells)} cells done{lost}>"


def _file_of(path: Any) -> str:
    given = Path(_panels.path_text(path, "study"))
    if given.is_dir():
        given = given / "study.db"
        if not given.exists():
            raise InputError(f"study: {given.parent} holds no study.db; name the folder of a study")
    return str(given)


@overload
def study(
    prices: Any = ..., *, dry_run: Literal[True], **settings: Any
) -> Dict[str, Any]: ...


@overload
def study(
    prices: Any = ..., *, dry_run: Literal[False] = ..., **settings: Any
) -> Study: ...


@overload
def study(
    prices: Any = ..., *, dry_run: bool, **settings: Any
) -> Union[Study, Dict[str, Any]]: ...


@_settings.documented("study")
def study(
    prices: Any = None,
    *,
    returns: Any = None,
    gross: bool = False,
    preset: Optional[str] = None,
    config: Optional[PathLike] = None,
    out: Optional[PathLike] = None,
    force: bool = False,
    dry_run: bool = False,
    progress: Optional[bool] = None,
    executor: Any = None,
    task_timeout: Optional[float] = None,
    **settings: Any,
) -> Union[Study, Dict[str, Any]]:
    """A grid of backtests into one file, ``out/study.db``, that can be stopped and gone on with.

    ``prices`` (or ``returns``, with ``gross=True`` of 1 + r) is one market or several: a path, a
    DataFrame with dates, a list of paths, or a dict of names and either. DataFrames are written
    beside the study, ``out/name.csv``, so that it can be repeated; a file of that name with other
    data is an error, or set aside with ``force=True``, as ``study.db`` is. ``preset``: ``"demo"``,
    ``"paper"``, ``"alpha"``. Other keyword arguments are the settings of ``sharpen study`` with
    underscores: ``k``, ``frameworks``, ``optimizers``, ``trainings``, ``alphas``, ``costs``,
    ``seeds``, ``threads`` and so on, lists where it takes lists; ``config`` is a file as the
    program reads it.

    Cells that are done already are not computed again. A cell that fails does not stop the others:
    it is in ``cells`` with its reason, and ``retry=True`` tries it again. With ``dry_run`` a dict:
    cells, those that are done, failed and missing, and the trainings, minutes and gigabytes that
    what is left would take; nothing is written.

    ``executor`` says who computes, with the same bits as the threads of this machine, which do
    without it: a ``concurrent.futures.Executor`` (of a ``ProcessPoolExecutor`` the size, start
    method and initializer are taken, and processes of its kind made), a ``distributed.Client``
    (Dask), ``"ray"`` or ``"ray://host:port"``, an executor of submitit or what else has
    ``submit()`` and gives jobs with ``done()`` and ``result()``. Workers need this version of
    sharpen, and no file: this process alone writes the study. ``threads`` is then the most tasks
    that run at a time. A worker that dies, or takes longer over a task than ``task_timeout``
    seconds, costs that task, which is sent again; the third time it counts as failed.
    """
    lists = {name: value for name, value in settings.items() if name != "k"}
    k = settings.get("k")
    if k is not None:
        lists["k"] = ",".join(str(_count(item)) for item in _as_list(k))
    given = _commands.texts("study", lists)
    force, dry_run = _panels.switch("force", force), _panels.switch("dry_run", dry_run)
    if preset is not None:
        given["preset"] = str(preset)
    if out is not None:
        given["out"] = _panels.path_text(out, "out")
    for name, on in (("force", force), ("dry-run", dry_run)):
        if on:
            given[name] = "true"
    if prices is not None and returns is not None:
        raise TypeError("study() takes either prices or returns=, not both")
    if _panels.switch("gross", gross):
        given["gross"] = "true"
    if executor is None and task_timeout is not None:
        raise InputError("task_timeout goes with executor; threads of this machine are waited for")
    file = "" if config is None else _panels.path_text(config, "config")
    name, value = ("returns", returns) if prices is None else ("prices", prices)
    with _markets.Markets(None if dry_run else out, force) as markets:
        if value is not None:
            place = "." if dry_run and out is None else out  # a dry run keeps nothing
            given[name] = ",".join(_markets.files_of(value, name, place, markets))
        with _progress.bar(progress) as report_to:
            if executor is None or dry_run:
                text, messages = _core.run_study(given, file, report_to)
            else:
                text, messages = _cluster.run(given, file, report_to, executor, task_timeout,
                                              _tasks_at_once(given, settings), markets.begun)
    facts = json.loads(text)
    tally = {key: value for key, value in facts.items() if key in _COUNTS}
    if dry_run:
        _commands.warn(messages)
        return tally
    if tally["failed"]:
        lost = f"{tally['failed']} of {tally['cells']} cells failed"
        messages.append(f"{lost}; cells has the reasons, retry=True tries them again")
    messages = [*markets.set_aside, *messages]
    _commands.warn(messages)
    return Study(facts["db"], tally, messages)


def _tasks_at_once(given: Dict[str, str], settings: Dict[str, Any]) -> Optional[int]:
    """Threads that this call asks for; those of set_threads are of this machine."""
    return int(given["threads"]) if settings.get("threads") is not None else None


_COUNTS = "cells done failed missing computed trainings seconds minutes gigabytes".split()


def _as_list(value: Any) -> List[Any]:
    return list(value) if _settings.is_sequence(value) else [value]


def _count(k: Any) -> Any:
    if isinstance(k, bool) or not (isinstance(k, str) or hasattr(k, "__index__")):
        raise TypeError(f"k = {k!r} is neither a count such as 5 nor a share such as '10%'")
    return k if isinstance(k, str) else k.__index__()


class Report:
    """Tables and findings of a study."""

    def __init__(self, core: _core.Study, file: str, settings: Dict[str, str]) -> None:
        self._read: Optional[_core.Study] = core
        self._settings = settings
        self._facts: Dict[str, Any] = json.loads(core.json())
        self.file = file
        self.out: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        """Copies and pickles have the figures, and read the study again for documents."""
        return {**self.__dict__, "file": os.path.abspath(self.file), "_read": None}

    def _core(self) -> _core.Study:
        if self._read is None:
            self._read = _core.read_study(self.file, self._settings, True, None)
        return self._read

    @property
    def findings(self) -> List[str]:
        """What stands out, in sentences that claim no more than the tests do."""
        return list(self._facts["findings"])

    @property
    def tables(self) -> List[str]:
        """Names of the tables."""
        return [table["name"] for table in self._facts["tables"]]

    def table(self, name: str) -> Any:
        """A table as a DataFrame, a row for each figure."""
        pandas = _panels.need_pandas("table")
        for table in self._facts["tables"]:
            if table["name"] == name:
                frame = pandas.DataFrame(table["figures"])
                frame.attrs["title"] = table["title"]
                return frame
        hint = _core.did_you_mean(str(name), self.tables)
        raise InputError(f"name = {name!r} is none of the tables{hint}; there are "
                         f"{', '.join(self.tables)}")

    def text(self, format: str = "text", tables: Union[str, Sequence[str], None] = None) -> str:
        """The report in a format: ``text``, ``md``, ``latex``, ``csv`` or ``html``; ``tables``
        names those that are wanted."""
        return str(self._core().document(str(format), _names(tables, "tables")))

    def _repr_markdown_(self) -> str:
        return self.text("md")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        facts = self._facts
        return f"<sharpen.Report of {self.file}: {facts['done']} of {facts['cells']} cells done>"


def _names(tables: Any, argument: str) -> List[str]:
    if tables is None:
        return []
    if isinstance(tables, str):
        return [tables]
    if not _settings.is_sequence(tables) or not all(isinstance(name, str) for name in tables):
        raise TypeError(f"{argument} is {tables!r}; give names of tables")
    return list(tables)


@_settings.documented("report")
def report(
    study: Union[Study, PathLike],
    out: Optional[PathLike] = None,
    *,
    format: Optional[str] = None,
    table: Union[str, Sequence[str], None] = None,
    force: bool = False,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Report:
    """The tables and tests of a study, a ``Study`` or its folder; with ``out`` also a file.

    ``format`` is ``html`` (a page with charts), ``text``, ``md``, ``latex`` or ``csv``, by the
    ending of ``out`` if it is not given; ``table`` names the tables to write. Settings:
    ``replications``, ``seed``, ``threads``. The same study gives the same bytes as the program.
    """
    given = _commands.texts("report", settings)
    force = _panels.switch("force", force)
    file = study.file if isinstance(study, Study) else _file_of(study)
    place = None if out is None else _panels.path_text(out, "out")
    names = _names(table, "table")
    if place is not None:
        _core.check_report_file(place, file, force)
    elif force:
        raise InputError("force has no meaning here; it goes with out")
    wanted = format or _core.report_format(place or "")
    with _progress.bar(progress) as report_to:
        core = _core.read_study(file, given, True, report_to)
    found = Report(core, file, given)
    if place is not None:
        _core.write_text(place, core.document(str(wanted), names))
        found.out = place
    elif format is not None or names:
        core.document(str(wanted), names)  # a wrong name is an error now
    return found
