"""Backtests without the library's answer: read from a folder, or carried by a pickle."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _data, _dates
from ._core import InputError

_TEXTS = ("date", "asset", "status")


@dataclass
class Kept:
    """What a Backtest asks of the library's answer, in arrays and texts."""

    names: List[str]
    dates: List[str]
    columns: Dict[str, Any]
    weights: Tuple[Any, ...]
    trades: Tuple[Any, ...]
    warnings: List[str]
    contents: List[Tuple[str, str]]
    parts: Tuple[Any, ...]
    json_text: str
    page: str

    def json(self) -> str:
        return self.json_text

    def text(self) -> str:
        return self.page

    def run(self) -> Tuple[Any, ...]:
        return self.parts

    def files(self) -> List[Tuple[str, str]]:
        return self.contents


def kept(core: Any) -> Kept:
    return Kept(
        core.names, core.dates, core.columns, core.weights, core.trades, core.warnings,
        core.files(), core.run(), core.json(), core.text(),
    )


@dataclass
class Labels:
    """What rows and columns of tables are called."""

    rows: Any  # an Index for the periods; None: their dates
    dtype: np.dtype[Any]
    columns: Any

    def index(self, labels: List[str]) -> Any:
        import pandas

        if self.rows is not None:
            return self.rows
        if all(_dates.is_date(label) for label in labels):
            found = _dates.to_index(labels)
        elif all(re.fullmatch(r"row \d+", label) for label in labels):  # of an array
            found = pandas.Index([int(label[4:]) for label in labels])
        else:
            try:
                found = pandas.DatetimeIndex(pandas.to_datetime(labels))
            except (ValueError, TypeError):
                found = pandas.Index(labels)
        return found.rename("date") if isinstance(found, pandas.DatetimeIndex) else found

    def names(self, texts: List[str]) -> Any:
        return _data.relabelled(texts, self.columns)


_REMEDY = "give a folder that sharpen.backtest(out=...) wrote"
_FILES = (
    "returns.csv", "metrics.json", "weights.csv", "trades.csv", "weights_last.csv", "positions.csv",
    "benchmark.csv",
)


def read(folder: str) -> Kept:
    """The backtest in a folder. Its returns and metrics must be there; tables that are not have no
    rows."""
    if not os.path.isdir(folder):
        raise InputError(f"{folder} is not a folder; {_REMEDY}")
    first = _content(folder, "metrics.json")
    contents = {name: found for name in _FILES if (found := _content(folder, name)) is not None}
    # metrics.json is the last to be written: if it is another one now, the folder has changed.
    last = _content(folder, "metrics.json")
    if first != last or (first is None and "returns.csv" in contents):
        raise InputError(_incomplete(folder))
    for name in _FILES[:2]:
        if name not in contents:
            raise InputError(f"{folder} holds no {name}; {_REMEDY}")
    figures = _figures(folder, contents["metrics.json"])
    columns = _table(folder, contents, "returns.csv", ["date", "return"])
    dates = columns.pop("date")
    if "benchmark.csv" in contents:
        benchmark = _table(folder, contents, "benchmark.csv", ["date", "return"])
        if benchmark["date"] == dates:
            columns["benchmark"] = benchmark["return"]
    held = _table(folder, contents, "weights.csv", ["date", "asset", "weight"])
    traded = _table(folder, contents, "trades.csv", ["date", "asset", "from", "to"])
    assets = sorted({*held["asset"], *traded["asset"]})
    _mark_rest(columns, figures)
    return Kept(
        names=assets,
        dates=dates,
        columns=columns,
        weights=(*_places(held, dates, assets, folder), held["weight"]),
        trades=(*_places(traded, dates, assets, folder), traded["from"], traded["to"]),
        warnings=[str(text) for text in figures.get("warnings", [])],
        contents=list(contents.items()),
        parts=(
            figures["label"], dates, columns["return"].tolist(), figures["periods_per_year"],
            float(figures.get("risk_free") or 0.0), str(figures.get("stats_from_date") or ""),
        ),
        json_text=json.dumps(figures),
        page="",
    )


def _incomplete(folder: str) -> str:
    return (
        f"{folder}: the result is not whole: it is being written, or its writing was cut short; "
        "run the same sharpen.backtest(out=...) again"
    )


def _content(folder: str, name: str) -> Optional[str]:
    file = os.path.join(folder, name)
    if not os.path.isfile(file):
        return None
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise InputError(f"{file} is no text; {_REMEDY}") from None


def _figures(folder: str, text: str) -> Dict[str, Any]:
    file = os.path.join(folder, "metrics.json")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("command", "backtest") != "backtest":
        raise InputError(f"{file} holds no metrics of a backtest; {_REMEDY}")
    if "incomplete" in found:
        raise InputError(_incomplete(folder))
    periods = found.get("periods_per_year")
    if isinstance(periods, bool) or not isinstance(periods, (int, float)) or not periods > 0:
        raise InputError(f"{file}: periods_per_year is missing or not positive; {_REMEDY}")
    label = found.get("label") or os.path.basename(os.path.abspath(folder))
    absent = {"sharpe": None, "sharpe_annualized": None}
    return {**absent, **found, "label": str(label), "periods_per_year": float(periods)}


def _table(
    folder: str, contents: Dict[str, str], name: str, needed: List[str]
) -> Dict[str, Any]:
    """The columns of a CSV file: lists of texts, and arrays of numbers."""
    rows = list(csv.reader(io.StringIO(contents.get(name, ",".join(needed)))))
    file = os.path.join(folder, name)
    titles = rows[0] if rows else []
    for title in needed:
        if title not in titles:
            raise InputError(f"{file}: there is no column called {title}; {_REMEDY}")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(titles):
            raise InputError(f"{file}: line {number} has {len(row)} fields; {_REMEDY}")
    out: Dict[str, Any] = {}
    for i, title in enumerate(titles):
        texts = [row[i] for row in rows[1:]]
        try:
            out[title] = texts if title in _TEXTS else np.array([float(t) for t in texts])
        except ValueError:
            raise InputError(f"{file}: column {title} holds no numbers; {_REMEDY}") from None
    return out


def _mark_rest(columns: Dict[str, Any], figures: Dict[str, Any]) -> None:
    """A period without a rebalance has no turnover; the file says 0."""
    turnover = columns.get("turnover")
    if turnover is None:
        return
    rest = turnover == 0.0
    if int(rest.sum()) == len(turnover) - int(figures.get("n_rebalances") or 0):
        columns["turnover"] = np.where(rest, np.nan, turnover)


def _places(
    table: Dict[str, Any], dates: List[str], assets: List[str], folder: str
) -> Tuple[Any, Any]:
    row, at = ({label: i for i, label in enumerate(labels)} for labels in (dates, assets))
    for date in table["date"]:
        if date not in row:
            raise InputError(f"{folder}: returns.csv has no row for {date}; {_REMEDY}")
    periods = np.array([row[date] for date in table["date"]], dtype=np.int64)
    return periods, np.array([at[asset] for asset in table["asset"]], dtype=np.int64)
