"""Market data: closing prices from Yahoo, through yfinance (``pip install 'sharpen[data]'``)."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Iterable, List, Optional, Union

from . import _panels
from ._core import InputError
from ._solve import SharpenWarning

__all__ = ["DownloadError", "cache_folder", "yahoo"]

_LONGEST_WAIT = 60.0


class DownloadError(ConnectionError):
    """Nothing came, however often it was asked for."""


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/sharpen/yahoo``, by default in ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "sharpen" / "yahoo"


def yahoo(
    tickers: Union[str, Iterable[str]],
    start: Any,
    end: Any = None,
    *,
    adjust: bool = True,
    cache: Union[bool, str, "os.PathLike[str]"] = True,
    refresh: bool = False,
    retries: int = 4,
    wait: float = 1.0,
    missing: str = "warn",
) -> Any:
    """Daily closing prices from ``start`` to the day before ``end`` (today by default), a
    DataFrame of dates by tickers, ready for ``sharpen.solve``, ``backtest`` and ``train``.

    With ``adjust`` closes are adjusted for splits and dividends (yfinance's ``auto_adjust``), so
    that returns are what a holder earned; a later dividend then changes all earlier prices. Without
    it they are adjusted for splits only.

    What was downloaded is kept in Parquet files: in ``cache_folder()``, in the folder that
    ``cache`` names, or nowhere with ``cache=False``. ``refresh=True`` asks again. Days that are not
    over yet are asked for every time: what ends today (UTC) or later is not kept. A failed download
    is tried ``retries`` times more, after ``wait`` seconds and then twice as long each time.
    ``missing`` says what becomes of tickers without any price: ``"warn"`` leaves them out with a
    warning, ``"raise"`` is an error.

    Raises ``DownloadError``, a ``ConnectionError``, if nothing comes, and ``InputError`` for
    arguments that make no sense. The terms of use of the data are Yahoo's.
    """
    names = _tickers(tickers)
    first, last = _day(start, "start"), _day(end, "end")
    if last is None:
        last = datetime.date.today()
    if first is None or first >= last:
        raise InputError(f"start = {first} is not before end = {last}; the end is left out")
    if missing not in ("warn", "raise"):
        raise InputError(f"missing = {missing!r} is not one of 'warn', 'raise'")
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InputError(f"retries = {retries!r} is no count; give 0 or more")
    adjust, refresh = _panels.switch("adjust", adjust), _panels.switch("refresh", refresh)
    pandas = _panels.need_pandas("yahoo")
    file = _cache_file(cache, names, first, last, adjust)
    if not _is_over(last, _now()):
        file = None
    if file is not None and not refresh and _kept_since(file, last):
        kept = _read(file, names)
        if kept is not None:
            return kept
    frame = _download(names, first, last, adjust, retries, float(wait))
    empty = [name for name in names if name not in frame or frame[name].isna().all()]
    if empty:
        _refuse(empty, missing)
        frame = frame.drop(columns=empty, errors="ignore")
    frame = frame[[name for name in names if name not in empty]]
    frame = frame.dropna(how="all").astype("float64")
    frame.columns = pandas.Index(list(frame.columns))
    frame.columns.name = None
    frame.index.name = "date"
    if file is not None and not empty:
        _write(frame, file)
    return frame


def _tickers(tickers: Any) -> List[str]:
    if isinstance(tickers, str):
        found = tickers.replace(",", " ").split()
    else:
        try:
            found = list(tickers)
        except TypeError:
            raise TypeError(
                f"tickers is of type {type(tickers).__name__}; give names such as ['AAPL', 'MSFT']"
            ) from None
    for ticker in found:
        if not isinstance(ticker, str) or not ticker.strip():
            raise TypeError(f"tickers: {ticker!r} is no name")
    found = [ticker.strip().upper() for ticker in found]
    if not found:
        raise InputError("tickers is empty; give names such as ['AAPL', 'MSFT']")
    for i, ticker in enumerate(found):
        if ticker in found[:i]:
            raise InputError(f"tickers: {ticker!r} appears more than once")
    return found


def _day(value: Any, name: str) -> Optional[datetime.date]:
    if value is None and name == "end":
        return None
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value[:10])
        except ValueError:
            raise InputError(f"{name} = {value!r} is not a date; write YYYY-MM-DD") from None
    raise TypeError(f"{name} is of type {type(value).__name__}; give a date, such as '2015-01-01'")


def _refuse(empty: List[str], missing: str) -> None:
    some = ", ".join(empty[:8]) + (f" and {len(empty) - 8} more" if len(empty) > 8 else "")
    text = f"tickers: no prices of {some}; check the names, or the dates"
    if missing == "raise":
        raise InputError(text)
    warnings.warn(text + "; left out", SharpenWarning, stacklevel=3)


def _yfinance() -> Any:
    try:
        import yfinance
    except ImportError:
        raise ImportError(
            "sharpen.data.yahoo needs yfinance: pip install 'sharpen[data]'"
        ) from None
    return yfinance


def _download(
    names: List[str],
    first: datetime.date,
    last: datetime.date,
    adjust: bool,
    retries: int,
    wait: float,
) -> Any:
    """Asks again for whatever is missing: yfinance loses single tickers, too."""
    source = _yfinance()
    closes: Any = None
    reason = "no prices came"
    for attempt in range(retries + 1):
        if attempt > 0:
            time.sleep(min(wait * 2.0 ** (attempt - 1), _LONGEST_WAIT))
        wanted = names if closes is None else [n for n in names if closes[n].isna().all()]
        try:
            found = source.download(
                wanted,
                start=first.isoformat(),
                end=last.isoformat(),
                auto_adjust=adjust,
                progress=False,
                threads=False,
            )
        except Exception as error:  # whatever yfinance and what it is built on may raise
            reason = f"{type(error).__name__}: {error}"
            continue
        closes = _merged(closes, _closes(found, wanted), names)
        if closes is not None and not closes.isna().all().any():
            return closes
    if closes is None or closes.isna().all().all():
        raise DownloadError(
            f"yahoo: nothing after {retries + 1} attempts ({reason}); check the network and the "
            "tickers, try later, or read prices from a file: sharpen.solve('prices.csv')"
        )
    return closes


def _closes(found: Any, names: List[str]) -> Any:
    """Dates by tickers, from either of the layouts that yfinance has had; None for nothing."""
    if found is None or len(found) == 0:
        return None
    if getattr(found.columns, "nlevels", 1) == 2:
        level = 0 if "Close" in found.columns.get_level_values(0) else 1
        if "Close" not in found.columns.get_level_values(level):
            return None
        closes = found.xs("Close", axis=1, level=level)
    elif "Close" in found.columns:
        closes = found[["Close"]].set_axis(names[:1], axis=1)
    else:
        return None
    closes = closes.copy()
    if getattr(closes.index, "tz", None) is not None:
        closes.index = closes.index.tz_localize(None)  # the day at the exchange
    closes.index = closes.index.normalize()
    return closes[~closes.index.duplicated(keep="last")].sort_index()


def _merged(before: Any, found: Any, names: List[str]) -> Any:
    if found is None:
        return before
    if before is not None:
        found = before.combine_first(found.reindex(columns=names))
    return found.reindex(columns=names)


def _cache_file(
    cache: Any, names: List[str], first: datetime.date, last: datetime.date, adjust: bool
) -> Optional[Path]:
    if cache is False:
        return None
    if cache is not True and not isinstance(cache, (str, os.PathLike)):
        raise TypeError(f"cache is of type {type(cache).__name__}; give True, False or a folder")
    folder = cache_folder() if cache is True else Path(cache)
    key = json.dumps([names, first.isoformat(), last.isoformat(), adjust])
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.parquet"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _is_over(end: datetime.date, now: datetime.datetime) -> bool:
    """Whether the last day, that before ``end``, has its closing prices: exchanges have closed when
    the day ends at Greenwich."""
    return end <= now.date()


def _kept_since(file: Path, end: datetime.date) -> bool:
    """Whether there is a file, written when the last day was over."""
    try:
        written = file.stat().st_mtime
    except OSError:
        return False
    return _is_over(end, datetime.datetime.fromtimestamp(written, datetime.timezone.utc))


def _read(file: Path, names: List[str]) -> Any:
    """None for a file that cannot be read: it is downloaded again."""
    import pandas

    try:
        frame = pandas.read_parquet(file)
    except Exception:  # every engine has exceptions of its own
        return None
    fits = list(frame.columns) == names and isinstance(frame.index, pandas.DatetimeIndex)
    return frame if fits and len(frame) else None


def _write(frame: Any, file: Path) -> None:
    """Whole or not at all; a cache that cannot be written is worth a word, not an error."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".part")
        os.close(handle)
        try:
            frame.to_parquet(temporary)
            os.replace(temporary, file)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
    except Exception as error:
        hint = "pip install pyarrow" if isinstance(error, ImportError) else "or give cache=False"
        warnings.warn(
            f"cache: the prices could not be kept ({type(error).__name__}); {hint}",
            SharpenWarning,
            stacklevel=3,
        )
