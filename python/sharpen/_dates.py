"""Labels of rows: dates as a file would have them, or moments where a day has several rows."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

import numpy as np

from ._core import InputError


@dataclass(frozen=True)
class Rows:
    """What the rows of a panel are called."""

    labels: List[str]  # distinct, increasing as text; []: the rows have no dates
    dated: bool  # whether the labels are days or months
    index: Any  # for results that have a row per period; None: count them
    moments: Optional[Callable[[], List[str]]] = None  # labels with the time of the day, if known


def is_date(text: str) -> bool:
    """Whether it begins as YYYY-MM-DD or YYYY-MM does."""
    parts = text[:10].split("-")
    return [len(part) for part in parts] in ([4, 2], [4, 2, 2]) and all(
        part.isascii() and part.isdigit() for part in parts
    )


def to_index(labels: List[str]) -> Any:
    """Dates for results, some with a time of the day or parts of a second and some without; texts
    where pandas is missing, or cannot hold dates that far away."""
    try:
        import pandas
    except ImportError:
        return labels
    try:
        if int(pandas.__version__.partition(".")[0]) < 2:
            return pandas.DatetimeIndex(pandas.to_datetime(labels))
        return pandas.DatetimeIndex(pandas.to_datetime(labels, format="ISO8601"))
    except (ValueError, OverflowError):
        return pandas.Index(labels)


def rows_of(index: Any, name: str) -> Rows:
    """From the index of a DataFrame; what holds no dates is counted."""
    kind = type(index).__name__
    if len(index) == 0 or kind == "MultiIndex":
        return Rows([], False, index)
    missing = np.flatnonzero(np.asarray(index.isna()))
    if kind in ("DatetimeIndex", "PeriodIndex"):
        _refuse_missing(missing, name)
        days = [str(d) for d in index.strftime("%Y-%m-%d")]
        if kind == "PeriodIndex":
            return _rows(days, _starts(index, days), False, index, name)
        return _rows(days, _instants(index), index.tz is not None, index, name)
    left_out = set(missing.tolist())
    present = [item for i, item in enumerate(index) if i not in left_out]
    texts = all(isinstance(item, str) and is_date(item) for item in present)
    objects = all(hasattr(item, "isoformat") and hasattr(item, "year") for item in present)
    if not present or not (texts or objects):
        return Rows([], False, index)
    _refuse_missing(missing, name)
    return rows_of_texts(present, name) if texts else _rows_of_objects(present, name)


def _starts(periods: Any, days: List[str]) -> Any:
    """When periods begin; None for those longer than a day, which go by their last days."""
    if [str(d) for d in periods.asfreq("D", how="start").strftime("%Y-%m-%d")] != days:
        return None
    try:
        return _instants(periods.to_timestamp())
    except (ValueError, OverflowError):  # too far away
        return None


def _refuse_missing(missing: Any, name: str) -> None:
    if len(missing):
        raise InputError(
            f"{name}: the index holds NaT (row {int(missing[0])}); every row needs a date"
        )


def _rows_of_objects(items: List[Any], name: str) -> Rows:
    """datetime.date, datetime.datetime, and what looks like them."""
    import pandas

    days = [str(item.isoformat())[:10] for item in items]
    try:
        index = pandas.DatetimeIndex(pandas.to_datetime(items))
    except (TypeError, ValueError, OverflowError):  # of several zones, or too far away
        return _rows(days, None, False, to_index(days), name)
    return _rows(days, _instants(index), index.tz is not None, index, name)


def rows_of_texts(texts: List[str], name: str) -> Rows:
    """YYYY-MM-DD or YYYY-MM, and what may follow a day: a time, and a zone."""
    for i, text in enumerate(texts):
        try:
            datetime.date.fromisoformat(text[:10] if len(text) >= 10 else f"{text}-01")
        except ValueError:
            raise InputError(
                f"{name}: {text!r} (row {i}) is not a date; write YYYY-MM-DD"
            ) from None
    days = [text[:10] for text in texts]
    if all(len(text) <= 10 for text in texts):
        return _rows(days, None, False, to_index(days), name)
    index = _times(texts, name)
    if index is None or len(set(days)) == len(days):
        return _rows(days, None, False, to_index(days), name)
    return _rows(days, _instants(index), index.tz is not None, index, name)


def _times(texts: List[str], name: str) -> Any:
    """None where pandas is missing. Offsets that change, as in summer, are times of one zone."""
    try:
        import pandas
    except ImportError:
        return None
    found = []
    for i, text in enumerate(texts):
        try:
            found.append(pandas.Timestamp(text))
        except (ValueError, OverflowError):
            raise InputError(
                f"{name}: {text!r} (row {i}) is not a date; write YYYY-MM-DD, or YYYY-MM-DD "
                "HH:MM:SS for several rows a day"
            ) from None
    zoned = [stamp.tz is not None for stamp in found]
    if any(zoned) != all(zoned):
        raise InputError(f"{name}: some dates have a zone and some have none; give all one")
    return pandas.DatetimeIndex(pandas.to_datetime(found, utc=True) if all(zoned) else found)


def rows_of_column(column: Any, name: str) -> Rows:
    """From a column of a Polars or Arrow table."""
    if column.missing:
        raise InputError(f"{name}: column {column.name!r} has no date in some rows")
    if not column.is_date:
        texts = [_written(item) for item in column.items()]
        for i, text in enumerate(texts):
            if not is_date(text):
                raise InputError(
                    f"{name}: column {column.name!r}, row {i}: {text!r} is not a date; write "
                    "YYYY-MM-DD"
                )
        return rows_of_texts(texts, name)
    instants, zone = column.instants(), column.zone
    days = [str(d) for d in np.datetime_as_string(column.days().astype("datetime64[D]"))]
    index = to_index(days)
    try:
        import pandas

        found = pandas.DatetimeIndex(instants)
        index = found.tz_localize("UTC").tz_convert(zone) if zone else found
    except (ImportError, KeyError, ValueError, OverflowError):  # no such zone, or too far away
        pass
    return _rows(days, instants, bool(zone), index, name)


def _written(item: Any) -> str:
    """20240102 is 2024-01-02, whether it is a number or a text."""
    text = str(item)
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdigit() else text


def _rows(days: List[str], instants: Any, zoned: bool, index: Any, name: str) -> Rows:
    """Days where they differ. Times of the day are those of UTC: local ones repeat when clocks are
    put back."""
    if instants is None:
        _ordered(days, name)
        return Rows(days, True, index)
    if len(set(days)) == len(days):
        _ordered(days, name)
        return Rows(days, True, index, lambda: _moments(instants, zoned))
    if (instants == instants.astype("datetime64[D]")).all():  # a day twice, not several times of it
        _ordered(days, name)
    moments = _moments(instants, zoned)
    _ordered(moments, name)
    return Rows(moments, False, index)


def _instants(index: Any) -> Any:
    """datetime64, of UTC if there is a zone."""
    return (index if index.tz is None else index.tz_convert(None)).to_numpy()


def _moments(instants: Any, zoned: bool) -> List[str]:
    """To the last digit that is not 0, in the order of text."""
    found = []
    for text in np.datetime_as_string(instants):
        day, _, time = str(text).partition("T")
        time = time.rstrip("0").rstrip(".") if "." in time else time
        found.append(f"{day} {time or '00:00:00'}{'+00:00' if zoned else ''}")
    return found


def _ordered(labels: List[str], name: str) -> None:
    for i in range(1, len(labels)):
        if not labels[i - 1] < labels[i]:
            raise InputError(
                f"{name}: dates must increase, and {labels[i]} (row {i}) follows "
                f"{labels[i - 1]}; sort the rows, one for each date"
            )
