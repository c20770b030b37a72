"""sharpen.backtest and sharpen.compare: strategies walked through a panel, and judged."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Union

import numpy as np

from . import _commands, _core, _costs as _costs, _panels, _progress, _saved, _settings
from . import _universe as _universe
from ._core import InputError
from ._learning import Model

PathLike = Union[str, "os.PathLike[str]"]


class Backtest:
    """What a strategy would have earned. Tables are pandas', figures those of
    ``sharpen backtest --json``, per period unless their name says otherwise.

    ``Backtest.load(folder)`` reads what ``save`` or the program wrote; backtests can be pickled.
    """

    def __init__(self, core: Union[_core.Tested, _saved.Kept], source: Any) -> None:
        self._core = core
        self._source = source
        self.metrics: Dict[str, Any] = _commands.figures(core.json())
        self.warnings: List[str] = core.warnings
        self._labels = source.names(core.names)
        self.names: List[Any] = list(self._labels)  # as the panel calls them

    @classmethod
    def load(cls, folder: PathLike) -> "Backtest":
        """From a folder that ``save``, ``out`` or ``sharpen backtest --out`` wrote. Its assets are
        those that the folder names: what was held or traded at least once."""
        kept = _saved.read(_panels.path_text(folder, "folder"))
        return cls(kept, _saved.Labels(None, np.dtype(np.float64), kept.names))

    def __getstate__(self) -> Dict[str, Any]:
        """Copies and pickles carry the tables and files instead of the library's answer."""
        state = dict(self.__dict__)
        if not isinstance(self._core, _saved.Kept):
            state["_core"] = _saved.kept(self._core)
            try:
                index = self._index()
            except ImportError:  # tables need pandas, pickles do not
                index = None
            state["_source"] = _saved.Labels(index, self._source.dtype, self._labels)
        return state

    @property
    def returns(self) -> Any:
        """A Series of the returns of every period, net of costs, with the panel's dates: what
        quantstats and others take."""
        pandas = _panels.need_pandas("returns")
        values = np.asarray(self._core.columns["return"], dtype=self._source.dtype)
        return pandas.Series(values, index=self._index(), name=str(self.metrics["label"]))

    @property
    def daily(self) -> Any:
        """A DataFrame with a row for each period: return, gross_return, cost, turnover,
        net_exposure, gross_exposure, holdings, status; trading_cost, short_fee and financing, which
        add up to cost; delayed_return and equal_return, after costs, of every trade one period
        later than it was and of equal weights; and benchmark where there is one."""
        return _panels.need_pandas("daily").DataFrame(self._core.columns, index=self._index())

    @property
    def weights(self) -> Any:
        """A DataFrame, periods by assets: the weights held over each period, 0 for none."""
        pandas = _panels.need_pandas("weights")
        period, asset, weight = self._core.weights
        cells = np.zeros((len(self._core.dates), len(self.names)), dtype=self._source.dtype)
        cells[period, asset] = weight
        return pandas.DataFrame(cells, index=self._index(), columns=self._labels)

    @property
    def trades(self) -> Any:
        """A DataFrame with a row for each trade: date, asset, from, to, trade (weights)."""
        pandas = _panels.need_pandas("trades")
        period, asset, before, after = self._core.trades
        names = np.empty(len(self.names), dtype=object)
        names[:] = self.names
        return pandas.DataFrame(
            {
                "date": self._index()[period],
                "asset": names[asset] if len(names) else [],
                "from": before,
                "to": after,
                "trade": after - before,
            }
        )

    @property
    def benchmark(self) -> Any:
        """The Series of the benchmark's returns, or None."""
        if "benchmark" not in self._core.columns:
            return None
        return self.daily["benchmark"].rename(str(self.metrics["benchmark"]["ticker"]))

    @property
    def wealth(self) -> Any:
        """What 1 became, a Series; 0 from ruin on."""
        return (1.0 + self.returns).clip(lower=0.0).cumprod()

    def _index(self) -> Any:
        return self._source.index(self._core.dates)

    @property
    def cost_curve(self) -> Any:
        """A DataFrame of sharpe_annualized, low and high (95 %) by bps: the Sharpe ratio a year if
        trading had cost so much, with the trades as they are."""
        pandas = _panels.need_pandas("cost_curve")
        titles = ["bps", "sharpe_annualized", "low", "high"]
        points = self.metrics.get("cost_curve", [])
        return pandas.DataFrame(points, columns=titles, dtype=float).set_index("bps")

    @property
    def sharpe(self) -> float:
        """Sharpe ratio per period, after costs."""
        return float(self.metrics["sharpe"])

    @property
    def sharpe_annualized(self) -> float:
        """Sharpe ratio a year, after costs."""
        return float(self.metrics["sharpe_annualized"])

    @property
    def sharpe_gross_annualized(self) -> float:
        """Sharpe ratio a year, before costs; NaN if an older folder does not say."""
        return float(self.metrics.get("sharpe_gross_annualized", np.nan))

    @property
    def break_even_bps(self) -> float:
        """Cost per unit of turnover that would leave nothing; NaN without trades."""
        return float(self.metrics.get("break_even_bps", np.nan))

    def save(self, folder: PathLike, force: bool = False) -> None:
        """The files of ``sharpen backtest --out``: returns.csv, weights.csv, trades.csv,
        weights_last.csv, positions.csv, metrics.json, and benchmark.csv where there is one."""
        place = _panels.path_text(folder, "folder")
        _core.write_backtest(place, _panels.switch("force", force), self._core.files())

    def compare(self, other: Union["Backtest", PathLike], **arguments: Any) -> "Comparison":
        """``sharpen.compare(self, other, ...)``."""
        return compare(self, other, **arguments)

    def __str__(self) -> str:
        """The page that ``sharpen backtest`` prints."""
        return str(self._core.text()) or repr(self)

    def __repr__(self) -> str:
        m = {"return_annualized": np.nan, "max_drawdown": np.nan, **self.metrics}
        dates = self._core.dates
        first, last = m.get("first_traded_date", dates[:1]), m.get("last_date", dates[-1:])
        return (
            f"<sharpen.Backtest {m['label']!r}: {first} to {last}, "
            f"Sharpe {m['sharpe_annualized']:.2f} a year after costs, return "
            f"{m['return_annualized']:.1%}, drawdown {m['max_drawdown']:.1%}>"
        )


@_settings.documented("backtest")
def backtest(
    prices: Any = None,
    *,
    returns: Any = None,
    gross: bool = False,
    signal: Any = None,
    model: Union[Model, PathLike, None] = None,
    out: Optional[PathLike] = None,
    force: bool = False,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Backtest:
    """A strategy walked forward through a panel, every decision from the rows before it.

    ``prices`` is a panel as for ``solve``; ``returns=`` takes simple returns instead. ``framework``
    says where expected returns come from: ``"rolling"`` (the default), ``"historic"``, ``"pfl"``
    and ``"dfl"``, which train networks or take a ``model``, and ``"signal"``, which takes
    ``signal``: a panel of predictions, a row being for the period after its date. The other keyword
    arguments are the settings of ``sharpen backtest`` with underscores: ``k``, ``optimizer``,
    ``lookback``, ``split``, ``rebalance``, ``rule``, ``risk_free``, ``benchmark`` and so on.
    ``cost_bps``, 5 unless told otherwise, is a number, a file, or a dict, Series or DataFrame of
    basis points by asset (dates by assets if they change). ``members`` says who may be held
    when, as a DataFrame of date, ticker and in or out, or of dates by assets with True for members;
    ``tradable`` is one of dates by assets, with False where a name cannot be traded at the end of a
    period; ``benchmark`` a ticker, or a Series of prices or returns. All three may be files.
    Figures are after costs.

    ``out`` is a folder to write, as the command line does. The same data, settings and seed give
    the same bits as the command line.
    """
    given = _commands.texts("backtest", settings)
    force = _panels.switch("force", force)
    folder = None if out is None else _panels.path_text(out, "out")
    if force and folder is None:
        raise InputError("force has no meaning here; it goes with out")
    if signal is not None and "framework" not in given:
        given["framework"] = "signal"
    core: Optional[_core.Model] = None
    if isinstance(model, Model):
        core = model._core
    elif model is not None:
        given["model"] = _panels.path_text(model, "model")
    if model is not None and "framework" not in given:
        given["framework"] = "dfl"
    source = _panels.source("backtest", prices, returns, gross, given)
    predictions: Optional[_core.Panel] = None
    if isinstance(signal, (str, os.PathLike)):
        given["signal"] = os.fspath(signal)
    elif signal is not None:
        predictions = _panels.matching(signal, "signal", source)
    given = {**given, **source.settings}
    if folder is not None:
        _core.check_folder(given, folder, force)
    with _progress.bar(progress) as report:
        tested = _core.backtest(given, source.panel, predictions, core, report)
    found = Backtest(tested, source)
    if folder is not None:
        found.save(folder, force)
    _commands.warn(found.warnings)
    return found


class Comparison:
    """Whether the Sharpe ratios of two backtests differ by more than chance gives."""

    def __init__(self, json_text: str, text: str) -> None:
        self.figures: Dict[str, Any] = _commands.figures(json_text)
        told = json.loads(json_text)["warnings"]
        self.warnings: List[str] = [_core.in_python_words(message) for message in told]
        self._text = text

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["figures"][name]
        except KeyError:
            raise AttributeError(f"Comparison has no attribute {name!r}") from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.figures]

    def __str__(self) -> str:
        """What ``sharpen compare`` prints."""
        return self._text

    def __repr__(self) -> str:
        return f"<sharpen.Comparison: {self.figures['verdict']}>"


@_settings.documented("compare")
def compare(
    a: Union[Backtest, PathLike],
    b: Union[Backtest, PathLike],
    *,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Comparison:
    """Ledoit and Wolf's paired test of two Sharpe ratios, on the periods both have.

    ``a`` and ``b`` are backtests, or folders that ``sharpen backtest --out`` wrote. Settings:
    ``replications``, ``block``, ``seed``, ``threads``. Attributes of the result are the keys of
    ``sharpen compare --json``: ``p_value``, ``difference``, ``verdict`` and so on.
    """
    given = _commands.texts("compare", settings)
    first, second = _run_of(a, "a", "first", given), _run_of(b, "b", "second", given)
    with _progress.bar(progress) as report:
        found = Comparison(*_core.compare(given, first, second, report))
    _commands.warn(found.warnings)
    return found


def _run_of(run: Any, name: str, setting: str, given: Dict[str, str]) -> Any:
    """What the test needs of a backtest; None for a folder, which is a setting."""
    if isinstance(run, Backtest):
        return run._core.run()
    if isinstance(run, (str, os.PathLike)):
        given[setting] = os.fspath(run)
        return None
    raise TypeError(f"{name} is of type {type(run).__name__}; give a Backtest or a folder")
