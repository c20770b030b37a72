"""Tables of Polars and of whatever speaks Arrow's C interface, column by column."""

from __future__ import annotations

import re
from typing import Any, List, Optional

import numpy as np
import numpy.typing as npt

from . import _dates

_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name


class Column:
    """What a panel needs to know of one: whether it holds numbers or dates, and which."""

    def __init__(self, name: str, kind: str, is_index: bool) -> None:
        self.name = name
        self.kind = kind  # for messages
        self.is_index = is_index or bool(_INDEX.fullmatch(name))  # of the DataFrame it was once
        self.is_number = self.is_date = self.is_text = False
        self.missing = 0
        self.zone: Optional[str] = None

    def numbers(self) -> npt.NDArray[Any]:
        """NaN where there is none."""
        raise NotImplementedError

    def items(self) -> List[Any]:
        raise NotImplementedError

    def holds_dates(self) -> bool:
        """As texts."""
        return self.is_text and all(t is not None and _dates.is_date(t) for t in self.items())

    def instants(self) -> npt.NDArray[Any]:
        """datetime64, of UTC if there is a zone."""
        raise NotImplementedError

    def days(self) -> npt.NDArray[Any]:
        """datetime64 whose days are those of the zone."""
        raise NotImplementedError


class _OfPolars(Column):
    def __init__(self, series: Any) -> None:
        super().__init__(series.name, str(series.dtype), False)
        self._series = series
        self.is_number = self.kind.startswith(("Float", "Int", "UInt")) or self.kind == "Null"
        self.is_date = self.kind.startswith("Date")
        self.is_text = self.kind in ("String", "Utf8")
        self.missing = int(series.null_count())
        self.zone = getattr(series.dtype, "time_zone", None)

    def numbers(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self._series.to_numpy()
        return found

    def items(self) -> List[Any]:
        return list(self._series.to_list())

    def instants(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self._series.to_numpy()
        return found

    def days(self) -> npt.NDArray[Any]:
        local = self._series.dt.replace_time_zone(None) if self.zone else self._series
        found: npt.NDArray[Any] = local.to_numpy()
        return found


class _OfArrow(Column):
    def __init__(self, name: str, cells: Any, is_index: bool) -> None:
        from pyarrow import types

        kind = cells.type
        super().__init__(name, str(kind), is_index)
        self._cells = cells
        self.is_number = (
            types.is_floating(kind) or types.is_integer(kind) or types.is_null(kind)
        )
        self.is_date = types.is_date(kind) or types.is_timestamp(kind)
        self.is_text = types.is_string(kind) or types.is_large_string(kind)
        self.missing = int(cells.null_count)
        self.zone = getattr(kind, "tz", None)

    def numbers(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self._cells.to_numpy()
        return found if found.dtype != object else np.full(len(found), np.nan)  # all null

    def items(self) -> List[Any]:
        return list(self._cells.to_pylist())

    def instants(self) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self._cells.to_numpy()
        return found

    def days(self) -> npt.NDArray[Any]:
        from pyarrow import compute

        local = compute.local_timestamp(self._cells) if self.zone else self._cells
        found: npt.NDArray[Any] = local.to_numpy()
        return found


def columns_of(data: Any, name: str) -> Optional[List[Column]]:
    """None for what is neither Polars' nor Arrow's."""
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "get_columns"):
        return [_OfPolars(series) for series in data.get_columns()]
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        return None
    try:
        import pyarrow
    except ImportError:
        return _through_polars(data, name)
    try:
        table = pyarrow.table(data)
    except Exception as error:  # whatever the producer raises is about its data
        raise TypeError(f"{name} cannot be read through Arrow: {error}") from None
    told = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = {item for item in told if isinstance(item, str)}  # a RangeIndex is no column
    names = table.column_names
    return [_OfArrow(n, table.column(i), n in index) for i, n in enumerate(names)]


def _through_polars(data: Any, name: str) -> List[Column]:
    try:
        import polars
    except ImportError:
        raise TypeError(
            f"{name} offers the Arrow C interface, which needs polars or pyarrow: install one"
        ) from None
    try:
        frame = polars.DataFrame(data)
    except Exception as error:
        raise TypeError(f"{name} cannot be read through Arrow: {error}") from None
    return [_OfPolars(series) for series in frame.get_columns()]
