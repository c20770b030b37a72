"""The settings `members`, `tradable` and `benchmark`: files, or the lines they would have."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Iterable, List

from . import _data, _settings
from ._core import InputError


def members(value: Any) -> Any:
    """A path as it is. A DataFrame with columns date, ticker and one of in and out, or one of
    dates by assets with True or 1 for members."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    names = [str(name).lower() for name in getattr(value, "columns", [])]
    if len(names) == 3 and "date" in names and ("ticker" in names or "asset" in names):
        titles = list(value.columns)
        at = names.index("date")
        rows = zip(*(value[title] for title in titles))
        return _lines(
            titles,
            ([_settings.text("members", v) if i == at else v for i, v in enumerate(row)]
             for row in rows),
        )
    if "date" in names and ("ticker" in names or "asset" in names):
        raise InputError(
            f"members has the columns {', '.join(map(str, value.columns))}; give date, ticker and one "
            "of in and out, or dates by assets with True for members"
        )
    return states(value, "members")


def tradable(value: Any) -> Any:
    """A path as it is. A DataFrame of dates by assets with True or 1 where a name can be traded."""
    return os.fspath(value) if isinstance(value, os.PathLike) else states(value, "tradable")


def benchmark(value: Any) -> Any:
    """A ticker or a path as it is. A Series of prices or returns by date."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not hasattr(value, "items") or isinstance(value, dict):
        return value
    if hasattr(value, "columns"):
        if value.shape[1] != 1:
            raise InputError(f"benchmark has {value.shape[1]} columns; give one")
        value = value.iloc[:, 0]
    title = "benchmark" if value.name is None else str(value.name)
    rows = ([_settings.text("benchmark", date), repr(float(v))] for date, v in value.dropna().items())
    return _lines(["date", title], rows)


def states(value: Any, name: str) -> Any:
    """A table of True and False, or 1 and 0, as the lines of its file."""
    if isinstance(value, str):
        return value
    table = _data.table(value.astype(float) if hasattr(value, "astype") else value, name)
    if not table.dated:
        raise InputError(f"{name} needs dates; give a DataFrame with one row for each")
    rows = (
        [label, *("" if v != v else repr(int(v)) if v == int(v) else repr(float(v)) for v in row)]
        for label, row in zip(table.labels, table.values)
    )
    return _lines(["date", *table.names], rows)


def _lines(titles: List[Any], rows: Iterable[List[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()


_settings.writers.update(members=members, tradable=tradable, benchmark=benchmark)
