"""Panels as arguments: a DataFrame or array goes to the library as it is, a path as a setting."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import numpy as np

from . import _core, _data
from ._core import InputError


@dataclass
class Source:
    """What a function reads: a panel in memory, or settings that name a file."""

    panel: Optional[_core.Panel]
    settings: Dict[str, str]
    dtype: np.dtype[Any]
    rows: Dict[str, Any] = field(default_factory=dict)  # label of a row -> its index; {}: a file

    def index(self, labels: List[str]) -> Any:
        """A pandas Index for results: the caller's own values, or the dates of the file."""
        import pandas

        if self.rows:
            found = pandas.Index([self.rows[label] for label in labels])
        elif all(_data._is_date(label) for label in labels):
            found = pandas.DatetimeIndex(pandas.to_datetime(labels))
        else:
            found = pandas.Index(labels)
        return found.rename("date" if isinstance(found, pandas.DatetimeIndex) else None)


def source(
    function: str, prices: Any, returns: Any, gross: Any, given: Dict[str, str]
) -> Source:
    """From the arguments ``prices``, ``returns`` and ``gross`` that most functions have."""
    if not isinstance(gross, (bool, np.bool_)):
        raise TypeError(f"gross is of type {type(gross).__name__}; give True or False")
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
            raise InputError(f"{bound} needs a panel with dates; give a DataFrame with dates")
    labels = row_labels(table)
    kind = "gross" if gross else name
    panel = _core.Panel(table.values, table.names, labels, table.dated, kind, name)
    index = range(len(labels)) if table.index is None else table.index
    if table.dated and type(index).__name__ not in ("DatetimeIndex", "PeriodIndex"):
        index = _dates(labels)  # dates as text, or in a column of their own
    return Source(panel, {}, table.dtype, dict(zip(labels, index)))


def row_labels(table: _data.Table) -> List[str]:
    """Labels that increase as text, in this panel and in one with more rows: rows without dates
    are numbered with leading zeros."""
    if table.dated:
        return table.labels
    if table.labels and not table.labels[0].startswith("row "):
        return table.labels  # several rows a day
    return [f"row {i:07d}" for i in range(len(table.labels))]


def _dates(labels: List[str]) -> Any:
    try:
        import pandas
    except ImportError:
        return labels
    return pandas.to_datetime(labels)


def matching(data: Any, name: str, rows: Source) -> _core.Panel:
    """A second panel, such as a signal, that goes with the rows of the first."""
    table = _data.table(data, name)
    labels = row_labels(table)
    if not table.dated and not set(labels) <= set(rows.rows):
        labels = _fitted(table, name, rows)
    return _core.Panel(table.values, table.names, labels, table.dated, "prices", name)


def _fitted(table: _data.Table, name: str, rows: Source) -> List[str]:
    have, want = len(table.labels), len(rows.rows)
    if have > want or not rows.rows:
        raise InputError(f"{name} has {have} rows and the panel {want}; give it the panel's dates")
    return list(rows.rows)[:have]


def need_pandas(what: str) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError(f"{what} needs pandas: pip install 'sharpen[pandas]'") from None
    return pandas


def path_text(value: Any, name: str) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a path")
    return os.fspath(value)
