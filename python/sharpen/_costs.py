"""The setting `cost_bps`: one rate for all, a file, or a table of rates by asset."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Iterable, List, Tuple

from . import _settings
from ._core import InputError

Row = Tuple[Any, ...]


def text(value: Any) -> Any:
    """A number or a path as it is; a table as the lines of its file, asset,bps or
    date,asset,bps."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "columns"):
        return _lines(*_rows(value))
    if hasattr(value, "items"):  # a dict or a Series
        return _lines(["asset", "bps"], value.items())
    return value


def _rows(table: Any) -> Tuple[List[str], Iterable[Row]]:
    """Of a DataFrame: columns asset, bps and perhaps date; a column bps with the assets as its
    index; or dates by assets."""
    names = list(table.columns)
    if "asset" in names and "bps" in names:
        titles = [*(["date"] if "date" in names else []), "asset", "bps"]
        return titles, zip(*(table[title] for title in titles))
    if names == ["bps"]:
        return ["asset", "bps"], table["bps"].items()
    if not all(hasattr(date, "isoformat") or isinstance(date, str) for date in table.index):
        raise InputError(
            "cost_bps: a DataFrame has the columns asset and bps, a column bps with assets as its "
            "index, or dates as its index and a column for each asset"
        )
    dated = ((date, a, bps) for date, row in table.iterrows() for a, bps in row.items())
    return ["date", "asset", "bps"], (row for row in dated if row[2] == row[2])


def _lines(titles: List[str], rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    for row in rows:
        *names, bps = row
        if isinstance(bps, bool) or not hasattr(bps, "__float__") or hasattr(bps, "__len__"):
            raise TypeError(f"cost_bps of {names[-1]}: {bps!r} is no number")
        dates = ["" if _missing(date) else _settings.text("cost_bps", date) for date in names[:-1]]
        writer.writerow([*dates, names[-1], repr(float(bps))])
    return out.getvalue()


def _missing(date: Any) -> bool:
    """What pandas makes of an empty field, NaN, NaT or NA; or None."""
    return date is None or type(date).__name__ == "NAType" or bool(date != date)


_settings.writers["cost_bps"] = text
