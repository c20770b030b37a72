"""sharpen.solve: one sparse maximum-Sharpe portfolio from prices, returns or moments."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from . import _commands, _core, _data, _panels, _settings, _threads
from ._core import InputError
from ._warnings import SharpenWarning as SharpenWarning
from ._warnings import warn

# Keys of `sharpen solve --json` that are no figures: settings, and what has attributes of its own.
_NO_FIGURES = (
    "sizing net form sdr sharpe_upper_bound_annualized holdings best_left_out binding_limits"
    " trades left_undone"
).split()


class Portfolio:
    """What `solve` found. Figures are per period unless their name says otherwise."""

    def __init__(self, solved: _core.Solved, dtype: np.dtype[Any], columns: Any = None) -> None:
        self._solved = solved
        told = _commands.figures(solved.json())
        self._figures = {key: value for key, value in told.items() if key not in _NO_FIGURES}
        self._trades = {key: told.get(key) for key in ("trades", "left_undone")}
        self._columns = columns
        self._labels = _data.relabelled(solved.names, columns)
        self.names: list[Any] = list(self._labels)  # as the caller calls them
        self.warnings: list[str] = solved.warnings
        self.array = np.asarray(solved.weights, dtype=dtype)

    @property
    def weights(self) -> Any:
        """A pandas Series indexed by asset (a NumPy array where pandas is not installed)."""
        try:
            import pandas
        except ImportError:
            return self.array.copy()
        return pandas.Series(self.array.copy(), index=self._labels, name="weight")

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure, by its key in `sharpen solve --json`."""
        return dict(self._figures)

    @property
    def holdings(self) -> dict[Any, float]:
        """The assets held and their weights."""
        return {name: float(w) for name, w in zip(self.names, self.array) if w != 0.0}

    @property
    def trades(self) -> Any:
        """With ``previous``: a DataFrame with a row for each name to trade, and what that gains and
        costs as shares of the wealth (a list of dicts where pandas is not installed)."""
        return self._table("trades", ["from", "to", "trade", "gain", "cost"])

    @property
    def left_undone(self) -> Any:
        """With ``previous``: the names that would be traded if that were free, and are not, with
        what that would gain and cost, and why (``cost`` or ``room``)."""
        return self._table("left_undone", ["from", "to", "reason", "gain", "cost"])

    def _table(self, key: str, columns: list[str]) -> Any:
        rows = self.__dict__["_trades"][key]
        if rows is None:
            raise AttributeError(key)
        try:
            import pandas
        except ImportError:
            return rows
        frame = pandas.DataFrame(rows, columns=["asset", *columns])
        index = pandas.Index(_data.relabelled(list(frame["asset"]), self._columns))
        index.names = ["asset"] if index.nlevels == 1 else index.names
        return frame.drop(columns="asset").set_axis(index)

    @property
    def support(self) -> list[Any]:
        """The assets held."""
        return list(self.holdings)

    @property
    def sharpe(self) -> float:
        """Sharpe ratio of the weights."""
        return float(self._figures["sharpe"])

    @property
    def full_sharpe(self) -> float:
        """Sharpe ratio of the same problem without a bound on the number of names."""
        return float(self._figures["full_sharpe"])

    @property
    def status(self) -> str:
        """ok, neutral_face, no_signal or not_converged."""
        return str(self._figures["status"])

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_figures"][name]
        except KeyError:
            # Python asks here too when a property has nothing to give.
            needs = name in ("trades", "left_undone")
            why = " without previous=, the weights held before" if needs else ""
            raise AttributeError(f"Portfolio has no attribute {name!r}{why}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._figures]

    def __getstate__(self) -> dict[str, Any]:
        """Pickles carry the reasons, if they were asked for, instead of the problem."""
        return {**self.__dict__, "_solved": _Explained(self._solved)}

    def __copy__(self) -> Portfolio:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Portfolio:
        """Copies share the problem, which does not change."""
        twin = object.__new__(type(self))
        state = {key: value for key, value in self.__dict__.items() if key != "_solved"}
        twin.__dict__.update(copy.deepcopy(state, memo), _solved=self._solved)
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def explain(self) -> Any:
        """Why each name is held: its signal, score and share of the risk, and what the Sharpe
        ratio would lose without it.

        A pandas DataFrame with a row for each asset held, largest loss first (a list of dicts
        where pandas is not installed). Its ``attrs["best_left_out"]`` names the one asset that
        would add most, or is None; under limits ``attrs["binding_limits"]`` lists those that are
        felt, with what each costs, the dearest first.
        """
        rows = sorted(
            self._solved.reasons(), key=lambda row: -float(row["sharpe_lost_if_removed"])
        )
        try:
            import pandas
        except ImportError:
            return rows
        columns = ["weight", "mu", "score", "score_rank", "risk_contribution"]
        frame = pandas.DataFrame(rows, columns=[*columns, "sharpe_lost_if_removed"])
        index = pandas.Index(_data.relabelled([row["asset"] for row in rows], self._columns))
        index.names = ["asset"] if index.nlevels == 1 else index.names
        frame.index = index
        best: Any = self._solved.best_left_out()
        if best is not None:
            best["asset"] = list(_data.relabelled([best["asset"]], self._columns))[0]
        frame.attrs["best_left_out"] = best
        binding = sorted(self._solved.binding_limits(), key=lambda row: -row["sharpe_cost"])
        for row in binding:
            if row["asset"] is not None:
                row["asset"] = list(_data.relabelled([row["asset"]], self._columns))[0]
        if binding:
            frame.attrs["binding_limits"] = binding
        return frame

    def __repr__(self) -> str:
        """Sharpe ratios are per period."""
        n, held = len(self.names), self.holdings
        lines = [
            f"<sharpen.Portfolio: {len(held)} of {n} assets, Sharpe {self.sharpe:.4f} a period "
            f"({self.share_of_full:.0%} of {self.full_sharpe:.4f} with all), "
            f"{self.optimizer}, {self.status}>"
        ]
        most = sorted(held.items(), key=lambda item: -abs(item[1]))[:10]
        width = max((len(str(name)) for name, _ in most), default=0)
        lines += [f"  {name!s:<{width}}  {weight:+.4f}" for name, weight in most]
        if len(held) > len(most):
            lines.append(f"  and {len(held) - len(most)} more")
        return "\n".join(lines)


class _Explained:
    """What a Portfolio asks a solution for, without the solution."""

    explained = True  # of pickles that do not say
    _best: dict[str, Any] | None = None
    _binding: list[dict[str, Any]] = []

    def __init__(self, solved: Any) -> None:
        self.explained = solved.explained
        if self.explained:
            self._reasons, self._best = solved.reasons(), solved.best_left_out()
            self._binding = solved.binding_limits()

    def reasons(self) -> list[dict[str, Any]]:
        if not self.explained:
            raise InputError(
                "this portfolio was pickled without its reasons; call explain() before pickling"
            )
        return [dict(row) for row in self._reasons]

    def best_left_out(self) -> dict[str, Any] | None:
        return None if self._best is None else dict(self._best)

    def binding_limits(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._binding]


@_settings.documented("solve")
def solve(
    prices_or_moments: Any = None,
    k: Any = None,
    optimizer: str = "swap",
    *,
    returns: Any = None,
    gross: bool = False,
    previous: Any = None,
    **settings: Any,
) -> Portfolio:
    """The portfolio of at most ``k`` assets with the largest Sharpe ratio.

    ``prices_or_moments`` is a panel of prices (periods by assets, oldest first: a pandas or
    Polars DataFrame, an array, anything with the Arrow C interface or DLPack, or the name of a
    CSV file), or a pair ``(mu, Sigma)``. ``returns=`` takes a panel of simple returns instead,
    with ``gross=True`` of 1 + r. NaN stands for a missing value and is treated as the command
    line does; infinities are errors.

    ``k`` is a count or a share of the assets such as ``"10%"`` (the default). Further keyword
    arguments are the settings of ``sharpen solve`` with underscores: ``lookback``,
    ``shrinkage``, ``sizing``, ``target_volatility``, ``net``, ``certify``, ``threads`` and so
    on; ``from_`` stands for ``from``, which Python keeps for itself.

    ``previous`` holds the weights to trade from: a Series or dict by asset, or a file
    ``asset,weight``. The portfolio is then the best one after what it costs to get there, by
    ``rule``, ``cost_bps``, ``expected_sharpe`` and ``holding_horizon``, and has ``trades`` and
    ``left_undone``.

    Raises ``InputError``, a ``ValueError``, for input that has no answer, and ``TypeError`` for
    input of the wrong type. The weights have the bits of the command line's.
    """
    if "from_" in settings:
        settings["from"] = settings.pop("from_")
    given = _settings.texts("solve", "solve", settings)
    if k is not None:
        given["k"] = _count(k)
    if not isinstance(optimizer, str):
        raise TypeError(f"optimizer is of type {type(optimizer).__name__}; give a name")
    given["optimizer"] = optimizer
    if _threads.get_threads() != 0:
        given.setdefault("threads", str(_threads.get_threads()))
    gross = _panels.switch("gross", gross)
    held = None
    if isinstance(previous, (str, os.PathLike)):
        given["previous"] = os.fspath(previous)
    elif previous is not None:
        held = _data.weights_by_asset(previous)
    portfolio = Portfolio(*_solved(prices_or_moments, returns, gross, given, held))
    warn(portfolio.warnings)
    return portfolio


def _count(k: Any) -> str:
    if isinstance(k, bool) or not (isinstance(k, str) or hasattr(k, "__index__")):
        raise TypeError(f"k = {k!r} is neither a count such as 5 nor a share such as '10%'")
    return _settings.text("k", k)


def _solved(
    data: Any, returns: Any, gross: bool, given: dict[str, str], held: Any
) -> tuple[_core.Solved, np.dtype[Any], Any]:
    """The solution, the type of its weights, and what the caller calls the assets."""
    if returns is True:  # solve(table, returns=True)
        data, returns = None, data
    elif returns is False:
        returns = None
    if data is None and returns is None:
        raise TypeError("solve() needs prices, returns= or moments (mu, Sigma)")
    if data is not None and returns is not None:
        raise TypeError("solve() takes either prices or moments, or returns=, not both")
    if gross and returns is None:
        raise InputError("gross has no meaning here; it goes with returns")
    if isinstance(data, tuple) or (isinstance(data, list) and _is_pair(data)):
        return _from_moments(tuple(data), given, held)
    source = _panels.source("solve", data, returns, gross, given, padded=False)
    columns = None if source.table is None else source.table.columns
    solved = _core.solve({**given, **source.settings}, source.panel, held)
    return solved, source.dtype, columns


def _is_pair(data: list[Any]) -> bool:
    """[mu, Sigma], and not two rows of prices."""
    return len(data) == 2 and getattr(data[1], "ndim", 0) == 2


def _from_moments(
    pair: tuple[Any, ...], given: dict[str, str], held: Any
) -> tuple[_core.Solved, np.dtype[Any], Any]:
    if len(pair) != 2:
        raise InputError(f"moments are a pair (mu, Sigma), not {len(pair)} values")
    mu, Sigma, columns = _moments(*pair)
    names = _data.numbered(len(mu)) if columns is None else [str(c) for c in columns]
    solved = _core.solve_moments(
        _data.floats(mu, 1, "mu"), _data.floats(Sigma, 2, "Sigma"), names, given, held
    )
    return solved, _data.result_dtype(mu.dtype), columns


def _moments(mu: Any, Sigma: Any) -> tuple[Any, Any, Any]:
    """Names come from a Series or a table; where both have some they must agree."""
    columns: Any = None
    if hasattr(Sigma, "columns") and hasattr(Sigma, "loc"):
        columns = Sigma.columns
        names = _data.check_names(columns, "Sigma")
        if list(map(str, Sigma.index)) != names:
            raise InputError("Sigma: its rows and columns must be named alike, in one order")
        Sigma = _data.numbers(Sigma, "Sigma")
    else:
        Sigma, columns = _data.square(Sigma, "Sigma")
    if hasattr(mu, "index") and hasattr(mu, "loc"):
        found = _data.check_names(mu.index, "mu")
        if columns is not None and found != [str(c) for c in columns]:
            order = {str(c): i for i, c in enumerate(columns)}
            if sorted(found) != sorted(order):
                raise InputError("mu and Sigma: the names of their assets differ")
            by_name = [order[n] for n in found]
            Sigma = Sigma[np.ix_(by_name, by_name)]
        columns = mu.index
        mu = _data.numbers(mu, "mu")
    mu = _data.array(mu, "mu")
    if mu.ndim != 1:
        raise InputError(f"mu has shape {mu.shape}; give one expected return for each asset")
    n = mu.shape[0]
    if Sigma.shape != (n, n):
        raise InputError(f"Sigma has shape {Sigma.shape}; mu has {n} assets: give ({n}, {n})")
    for name, value in (("mu", mu), ("Sigma", Sigma)):
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            at = ", ".join(str(int(i)) for i in bad[0])
            raise InputError(f"{name}[{at}] is {value[tuple(bad[0])]}; give finite numbers")
    return mu, Sigma, columns
