"""From what users have to float64 arrays with names: NumPy, pandas, Polars, Arrow, DLPack.

Nothing is copied where the memory is float64 in C order already. Every error names the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt

from ._core import InputError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Rows (periods) by columns (assets)."""

    values: Array  # (T, n), C order
    names: list[str]  # (n), distinct
    labels: list[str]  # (T), of the rows
    dated: bool  # whether the labels are dates, in increasing order
    dtype: np.dtype[Any]  # what weights should come back in: float32 or float64
    index: Any = None  # of a DataFrame, for results that have a row per period


def result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 in gives float32 out; everything else is float64."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def array(data: Any, name: str) -> npt.NDArray[Any]:
    """A NumPy array of numbers, sharing memory where it can."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill it first: {name}.filled(numpy.nan)")
    if not isinstance(data, np.ndarray):
        data = _exported(data, name)
    found: npt.NDArray[Any] = data
    if found.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {found.dtype}; give real numbers (float64 or float32)")
    return found


def _exported(data: Any, name: str) -> npt.NDArray[Any]:
    if hasattr(data, "__dlpack__") and hasattr(data, "__dlpack_device__"):
        if getattr(data, "requires_grad", False):
            data = data.detach()
        device = data.__dlpack_device__()
        if int(device[0]) != 1:
            where = getattr(data, "device", device)
            raise InputError(f"{name} is on device {where}; give it on the CPU: {name}.cpu()")
        try:
            return np.from_dlpack(data)
        except (BufferError, RuntimeError, TypeError, AttributeError) as error:
            raise TypeError(f"{name} cannot be read through DLPack: {error}") from None
    if data is None or isinstance(data, (str, bytes, dict, set)):
        raise TypeError(f"{name} is of type {type(data).__name__}; give an array of numbers")
    try:
        found = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    return found


def floats(data: npt.NDArray[Any], ndim: int, name: str) -> Array:
    """float64, C order, aligned, of the given number of dimensions."""
    if data.ndim != ndim:
        raise InputError(
            f"{name} has shape {data.shape}; give {ndim} dimension{'s' if ndim > 1 else ''}"
        )
    return np.require(data, np.float64, ["C", "A"])


def numbered(n: int) -> list[str]:
    return [f"asset{i + 1}" for i in range(n)]


def _numbered_rows(count: int) -> list[str]:
    """As NumPy counts them."""
    return [f"row {i}" for i in range(count)]


def check_names(names: Sequence[Any], argument: str) -> list[str]:
    found = [str(name) for name in names]
    if len(set(found)) != len(found):
        twice = next(name for i, name in enumerate(found) if name in found[:i])
        raise InputError(f"{argument}: column {twice!r} appears more than once; rename or drop it")
    for name in found:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"{argument}: column {name!r} is not valid text; rename it") from None
    return found


def check_size(values: Array, argument: str) -> None:
    if values.size == 0:
        raise InputError(
            f"{argument} has shape {values.shape}; give a row for each period and a column for "
            "each asset"
        )


def table(data: Any, name: str) -> Table:
    """A panel, from anything with rows and columns."""
    if _is_pandas(data, "DataFrame"):
        return _from_pandas(data, name)
    if _is_pandas(data, "Series"):
        raise InputError(f"{name} is a Series; give a DataFrame with a column for each asset")
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "get_columns"):
        return _from_columns({c.name: c for c in data.get_columns()}, list(data.columns), name)
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(data, name)
    cells = array(data, name)
    values = floats(cells, 2, name)
    rows = _numbered_rows(values.shape[0])
    _check_finite(values, numbered(values.shape[1]), rows, name)
    return Table(values, numbered(values.shape[1]), rows, False, result_dtype(cells.dtype))


def _is_pandas(data: Any, kind: str) -> bool:
    return any(
        t.__name__ == kind and t.__module__.partition(".")[0] == "pandas"
        for t in type(data).__mro__
    )


def _check_finite(values: Array, names: list[str], labels: list[str], name: str) -> None:
    """NaN is a missing value; infinity is nothing."""
    check_size(values, name)
    if not np.isinf(values).any():
        return
    row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
    at = labels[row] if labels[row].startswith("row ") else f"row {row} ({labels[row]})"
    raise InputError(
        f"{name}: {at}, column {names[column]!r} is {values[row, column]}; correct it, or give "
        "NaN where there is no value"
    )


def _column_kinds(kinds: dict[str, str], name: str) -> None:
    for column, kind in kinds.items():
        if kind not in ("f", "i", "u"):
            what = {"O": "object", "c": "complex", "b": "bool", "M": "datetime"}.get(kind, kind)
            raise TypeError(
                f"{name}: column {column!r} has dtype {what}; give numbers only (dates belong in "
                "the index)"
            )


def _from_pandas(frame: Any, name: str) -> Table:
    names = check_names(frame.columns, name)
    _column_kinds({c: getattr(d, "kind", "O") for c, d in zip(names, frame.dtypes)}, name)
    single = all(d == np.float32 for d in frame.dtypes) and len(names) > 0
    if all(isinstance(d, np.dtype) for d in frame.dtypes):
        cells = frame.to_numpy()
    else:
        cells = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    values = floats(cells, 2, name)
    labels, dated = _labels(frame.index, name)
    _check_finite(values, names, labels, name)
    dtype = np.dtype(np.float32 if single else np.float64)
    return Table(values, names, labels, dated, dtype, frame.index)


def _labels(index: Any, name: str) -> tuple[list[str], bool]:
    """Dates as a file would have them, YYYY-MM-DD or YYYY-MM; else the rows' numbers."""
    kind = type(index).__name__
    if kind == "DatetimeIndex":
        if index.hasnans:
            raise InputError(f"{name}: the index holds NaT; every row needs a date")
        labels = [str(d) for d in index.strftime("%Y-%m-%d")]
        if len(set(labels)) != len(labels) and index.is_unique:  # several rows a day
            return [str(d) for d in index.strftime("%Y-%m-%d %H:%M:%S.%f")], _ordered(index, name)
    elif kind == "PeriodIndex":
        labels = [str(d) for d in index.strftime("%Y-%m-%d")]
    elif len(index) and all(isinstance(d, str) and _is_date(d) for d in index):
        labels = [d[:10] for d in index]
    elif len(index) and all(hasattr(d, "isoformat") for d in index):
        labels = [d.isoformat()[:10] for d in index]
    else:
        return _numbered_rows(len(index)), False
    _ordered(labels, name)
    return labels, True


def _is_date(text: str) -> bool:
    parts = text[:10].split("-")
    return [len(part) for part in parts] in ([4, 2], [4, 2, 2]) and all(
        part.isascii() and part.isdigit() for part in parts
    )


def _ordered(labels: Any, name: str) -> bool:
    for i in range(1, len(labels)):
        if not labels[i - 1] < labels[i]:
            raise InputError(
                f"{name}: dates must increase, and {labels[i]} (row {i}) follows "
                f"{labels[i - 1]}; sort the rows, one for each date"
            )
    return False


def _from_columns(columns: dict[str, Any], names: list[str], name: str) -> Table:
    """Polars: a column of dates, if there is one, labels the rows."""
    labels: list[str] | None = None
    numbers: dict[str, npt.NDArray[Any]] = {}
    for column in names:
        series = columns[column]
        kind = str(series.dtype)
        if labels is None and (kind.startswith("Date") or column.lower() == "date"):
            if series.null_count():
                raise InputError(f"{name}: column {column!r} has no date in some rows")
            labels = [str(d)[:10] for d in series.to_list()]
            continue
        if not (kind.startswith(("Float", "Int", "UInt")) or kind == "Null"):
            raise TypeError(f"{name}: column {column!r} has dtype {kind}; give numbers only")
        numbers[column] = series.to_numpy()
    if not numbers:
        raise InputError(f"{name} has no column of numbers")
    single = all(a.dtype == np.float32 for a in numbers.values())
    values = np.column_stack([a.astype(np.float64, copy=False) for a in numbers.values()])
    found = check_names(list(numbers), name)
    dated = labels is not None
    if labels is None:
        labels = _numbered_rows(values.shape[0])
    else:
        _ordered(labels, name)
    values = floats(values, 2, name)
    _check_finite(values, found, labels, name)
    return Table(values, found, labels, dated, np.dtype(np.float32 if single else np.float64))


def _from_arrow(data: Any, name: str) -> Table:
    try:
        import polars
    except ImportError:
        pass
    else:
        try:
            frame = polars.DataFrame(data)
        except Exception as error:  # whatever the producer raises is about its data
            raise TypeError(f"{name} cannot be read through Arrow: {error}") from None
        return table(frame, name)
    try:
        import pyarrow
    except ImportError:
        raise TypeError(
            f"{name} offers the Arrow C interface, which needs polars or pyarrow: install one"
        ) from None
    found = pyarrow.table(data)
    return _from_pandas(found.to_pandas(), name)
