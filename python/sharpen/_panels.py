"""Panels as arguments: a DataFrame or array goes to the library as it is, a path as a setting."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import numpy as np

from . import _core, _data, _dates
from ._core import InputError


@dataclass
class Source:
    """What a function reads: a panel in memory, or settings that name a file."""

    panel: Optional[_core.Panel]
    settings: Dict[str, str]
    dtype: np.dtype[Any]
    table: Optional[_data.Table] = None  # None: a file
    rows: Dict[str, int] = field(default_factory=dict)  # label of a row -> its number

    def index(self, labels: List[str]) -> Any:
        """A pandas Index for results: the caller's own values, or the dates of the file."""
        import pandas

        if self.table is None:
            dates = all(_dates.is_date(label) for label in labels)
            found = _dates.to_index(labels) if dates else pandas.Index(labels)
        else:
            own = self.table.index
            if own is None:
                own = pandas.RangeIndex(len(self.rows))
            elif isinstance(own, list):
                own = pandas.Index(own)
            found = own.take(np.array([self.rows[label] for label in labels], dtype=np.intp))
        return found.rename("date") if isinstance(found, pandas.DatetimeIndex) else found

    def names(self, texts: List[str]) -> Any:
        """What the caller called these assets."""
        return _data.relabelled(texts, None if self.table is None else self.table.columns)


def source(
    function: str,
    prices: Any,
    returns: Any,
    gross: Any,
    given: Dict[str, str],
    padded: bool = True,
) -> Source:
    """From the arguments ``prices``, ``returns`` and ``gross`` that most functions have. Rows
    without dates are numbered; ``padded``: with leading zeros."""
    gross = switch("gross", gross)
    if prices is None and returns is None:
        raise TypeError(f"{function}() needs prices, or returns=")
    if prices is not None and returns is not None:
        raise TypeError(f"{function}() takes either prices or returns=, not both")
    if gross and returns is None:
        raise InputError("gross has no meaning here; it goes with returns")
    name = "prices" if returns is None else "returns"
    data = prices if returns is None else returns
    if isinstance(data, (str, os.PathLike)):
        settings = {name: os.fspath(data)}
        if gross:
            settings["gross"] = "true"
        return Source(None, settings, np.dtype(np.float64))
    table = _data.table(data, name)
    for bound in ("from", "to"):
        if bound in given and not table.dated:
            raise InputError(
                f"{bound} needs a panel with dates; give a DataFrame with one row for each"
            )
    labels = row_labels(table) if padded else table.labels
    kind = "gross" if gross else name
    panel = _core.Panel(table.values, table.names, labels, table.dated, kind, name)
    return Source(panel, {}, table.dtype, table, {label: i for i, label in enumerate(labels)})


def row_labels(table: _data.Table) -> List[str]:
    """Labels that increase as text, in this panel and in one with more rows: rows without dates
    are numbered with leading zeros."""
    if table.dated:
        return table.labels
    if table.labels and not table.labels[0].startswith("row "):
        return table.labels  # several rows a day
    return [f"row {i:07d}" for i in range(len(table.labels))]


def matching(data: Any, name: str, rows: Source) -> _core.Panel:
    """A second panel, such as a signal, that goes with the rows and columns of the first."""
    table = _data.table(data, name)
    labels, names, dated = row_labels(table), table.names, table.dated
    if rows.table is not None:
        if dated and not rows.table.dated and table.moments is not None:
            labels, dated = table.moments(), False  # the first has several rows a day
        if labels and labels[0].startswith("row "):
            labels = _counted(table, name, rows)
        if table.columns is None and len(names) == len(rows.table.names):
            names = rows.table.names  # an array: its columns are the panel's, in their order
    return _core.Panel(table.values, names, labels, dated, "prices", name)


def _counted(table: _data.Table, name: str, rows: Source) -> List[str]:
    """Rows without dates: the panel's by their labels, or if they have none by their number. What
    has a date is never placed by its number: it could come to stand before it was known."""
    have, want = len(table.labels), len(rows.rows)
    index = None if rows.table is None else rows.table.index
    panel = list(range(want) if index is None else index)
    own = panel if table.index is None else list(table.index)
    at = {label: i for i, label in enumerate(panel)}
    numbered = own == list(range(have)) and (index is None or not any(i in at for i in own))
    if table.index is None or numbered or own == panel:
        if have != want:
            raise InputError(
                f"{name} has {have} rows and the panel {want}; give it the panel's dates"
            )
        return list(rows.rows)
    for i, label in enumerate(own):
        if label not in at or len(at) != want:
            raise InputError(
                f"{name}: {label!r} (row {i}) is not one row of the panel; give it the panel's "
                "index"
            )
    if any(at[a] >= at[b] for a, b in zip(own, own[1:])):
        raise InputError(f"{name}: its rows have another order than the panel's; sort them")
    labels = list(rows.rows)
    return [labels[at[label]] for label in own]


def need_pandas(what: str) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError(f"{what} needs pandas: pip install 'sharpen[pandas]'") from None
    return pandas


def frame_by_asset(figures: Dict[str, Any], key: str, columns: List[str], labels: Any) -> Any:
    """Rows of figures as a DataFrame by asset, under the caller's own labels; ``columns`` are those
    of a frame without rows."""
    pandas = need_pandas(key)
    rows = figures[key]
    frame = pandas.DataFrame(rows, columns=None if rows else ["asset", *columns])
    index = pandas.Index(_data.relabelled(list(frame["asset"]), labels))
    index.names = ["asset"] if index.nlevels == 1 else index.names
    return frame.drop(columns=["asset", "index"], errors="ignore").set_axis(index)


def switch(name: str, value: Any) -> bool:
    """An argument that is True or False: ``"no"`` is neither, and must not pass for True."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is of type {type(value).__name__}; give True or False")
    return bool(value)


def path_text(value: Any, name: str) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a path")
    return os.fspath(value)
