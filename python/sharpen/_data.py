"""From what users have to float64 arrays with names: NumPy, pandas, Polars, Arrow, DLPack.

Nothing is copied where the memory is float64 in C order already. Every error names the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from . import _arrow, _dates
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
    index: Any = None  # of the rows, for results that have a row per period; None: count them
    moments: Callable[[], list[str]] | None = None  # labels with the time of the day, if known
    columns: Any = None  # the labels that names stand for: a pandas Index, or names; None: none


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
        return _from_dlpack(data, name)
    if data is None or isinstance(data, (str, bytes, dict, set)):
        raise TypeError(f"{name} is of type {type(data).__name__}; give an array of numbers")
    try:
        found = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    return found


def _from_dlpack(data: Any, name: str) -> npt.NDArray[Any]:
    """Whatever the producer raises is about its data: a tensor without memory, for one."""
    try:
        if getattr(data, "requires_grad", False):
            data = data.detach()
        device = data.__dlpack_device__()
        here = int(device[0]) == 1
    except Exception as error:
        raise TypeError(f"{name} cannot be read through DLPack: {error}") from None
    if not here:
        where = getattr(data, "device", device)
        raise InputError(f"{name} is on device {where}; give it on the CPU: {name}.cpu()")
    try:
        return np.from_dlpack(data)
    except Exception as error:
        raise TypeError(f"{name} cannot be read through DLPack: {error}") from None


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
    columns = _arrow.columns_of(data, name)
    if columns is not None:
        return _from_columns(columns, name)
    cells = array(data, name)
    values = floats(cells, 2, name)
    rows = _numbered_rows(values.shape[0])
    _check_finite(values, numbered(values.shape[1]), rows, name)
    return Table(values, numbered(values.shape[1]), rows, False, result_dtype(cells.dtype))


def relabelled(names: Sequence[str], columns: Any) -> Any:
    """What the caller called the assets of these names: part of a pandas Index, or texts."""
    if not hasattr(columns, "take"):
        return list(names)
    at = {str(label): i for i, label in enumerate(columns)}
    if any(name not in at for name in names):  # of a model that knows other assets, too
        return [columns[at[name]] if name in at else name for name in names]
    return columns.take(np.array([at[name] for name in names], dtype=np.intp))


def numbers(data: Any, name: str) -> npt.NDArray[Any]:
    """The values of a pandas Series or DataFrame, nullable types included: NaN for NA."""
    dtypes = list(data.dtypes) if hasattr(data, "columns") else [data.dtype]
    if all(isinstance(d, np.dtype) for d in dtypes):
        return array(data.to_numpy(), name)
    for dtype in dtypes:
        if getattr(dtype, "kind", "O") not in "fiu":
            raise TypeError(f"{name} has dtype {dtype}; give real numbers (float64 or float32)")
    single = all(_plain(d) == np.float32 for d in dtypes)
    found: npt.NDArray[Any] = data.to_numpy(
        dtype=np.float32 if single else np.float64, na_value=np.nan
    )
    return found


def square(data: Any, name: str) -> tuple[npt.NDArray[Any], list[str] | None]:
    """A matrix, and the names of its columns if it is a table of Polars or Arrow."""
    columns = _arrow.columns_of(data, name) if not isinstance(data, np.ndarray) else None
    if columns is None:
        return array(data, name), None
    found, when = split(columns, name)
    if when is not None:
        raise InputError(f"{name}: column {when.name!r} holds no numbers; drop it")
    names = check_names([column.name for column in found], name)
    return np.column_stack([column.numbers() for column in found]), names


def _plain(dtype: Any) -> np.dtype[Any]:
    """NumPy's type of the values of a column of pandas': Float32 and float[pyarrow] are float32."""
    if isinstance(dtype, np.dtype):
        return dtype
    for inner in ("numpy_dtype", "subtype"):  # of nullable and of sparse columns
        found = getattr(dtype, inner, None)
        if isinstance(found, np.dtype):
            return found
    return np.dtype(object)


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
    single = all(_plain(d) == np.float32 for d in frame.dtypes) and len(names) > 0
    cells = numbers(frame, name) if names else np.zeros((len(frame), 0))
    values = floats(cells, 2, name)
    rows = _dates.rows_of(frame.index, name)
    labels = rows.labels or _numbered_rows(len(frame))
    _check_finite(values, names, labels, name)
    dtype = np.dtype(np.float32 if single else np.float64)
    return Table(values, names, labels, rows.dated, dtype, rows.index, rows.moments, frame.columns)


def _from_columns(columns: list[_arrow.Column], name: str) -> Table:
    """Polars and Arrow: a column of dates, if there is one, labels the rows."""
    found, when = split(columns, name)
    names = check_names([column.name for column in found], name)
    arrays = [column.numbers() for column in found]
    single = all(a.dtype == np.float32 for a in arrays)
    values = np.column_stack([a.astype(np.float64, copy=False) for a in arrays])
    rows = _dates.Rows([], False, None) if when is None else _dates.rows_of_column(when, name)
    labels = rows.labels or _numbered_rows(values.shape[0])
    values = floats(values, 2, name)
    _check_finite(values, names, labels, name)
    dtype = np.dtype(np.float32 if single else np.float64)
    return Table(values, names, labels, rows.dated, dtype, rows.index, rows.moments, names)


def split(
    columns: list[_arrow.Column], name: str
) -> tuple[list[_arrow.Column], _arrow.Column | None]:
    """The columns of numbers, and that of dates."""
    when: _arrow.Column | None = None
    found = []
    for column in sorted(columns, key=lambda c: not c.is_index):
        named = column.name.lower() == "date" and not column.is_index
        if when is None and (column.is_date or named or column.is_index and column.holds_dates()):
            when = column
        elif column.is_index:
            continue  # it numbers the rows
        elif not column.is_number:
            raise TypeError(
                f"{name}: column {column.name!r} has dtype {column.kind}; give numbers only"
            )
        else:
            found.append(column)
    if not found:
        raise InputError(f"{name} has no column of numbers")
    return found, when


def weights_by_asset(previous: Any) -> list[tuple[str, float]]:
    """Weights that are held: a Series or dict by asset, or a DataFrame of one column."""
    if getattr(previous, "ndim", 1) == 2 and hasattr(previous, "columns"):
        if len(previous.columns) != 1:
            raise InputError(
                f"previous has {len(previous.columns)} columns; give one of weights, with the "
                "assets as its index"
            )
        previous = previous[previous.columns[0]]
    if not hasattr(previous, "items"):
        raise TypeError(
            f"previous is of type {type(previous).__name__}; give a Series or dict of weights by "
            "asset, or a file"
        )
    found: dict[str, float] = {}
    for asset, weight in previous.items():
        if str(asset) in found:
            raise InputError(f"previous: {str(asset)!r} appears more than once")
        try:
            found[str(asset)] = float(weight)
        except (TypeError, ValueError):
            raise TypeError(f"previous[{asset!r}] is no number: {weight!r}") from None
        if not np.isfinite(found[str(asset)]):
            raise InputError(f"previous[{asset!r}] is {weight}; give a finite number")
    return list(found.items())
