"""sharpen.SparseTangentPortfolio: the optimizers as a scikit-learn estimator."""

from __future__ import annotations

import re
from typing import Any, List, Optional, Union

import numpy as np

from . import _commands, _core, _data, _estimator_limits, _settings, _threads
from ._core import InputError
from ._estimator_limits import number

try:
    from sklearn.base import BaseEstimator, clone
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError(
        "SparseTangentPortfolio needs scikit-learn: pip install 'sharpen[sklearn]'"
    ) from error


class SparseTangentPortfolio(BaseEstimator):
    """The portfolio of at most ``cardinality`` assets with the largest Sharpe ratio, fitted to
    returns (periods by assets).

    Parameters that mean the same have skfolio's names, the others those of ``sharpen.solve``.

    Parameters
    ----------
    cardinality : int or str
        Most names that may be held: a count, or a share of the assets such as ``"10%"``.
    optimizer : str
        ``swap``, ``pairs``, ``exact``, ``greedy``, ``symmetric``, ``oscar``, ``sdr``, ``mssrm`` or
        ``mssrm-long``.
    shrinkage : float
        Weight of the scaled identity in the covariance, in [0, 1].
    sizing : str
        ``gross`` (absolute weights sum to 1), ``volatility`` or ``budget`` (weights sum to 1).
        With limits the objective says the scale; ``volatility`` then means ``return``.
    target_volatility : float
        A year, for ``sizing="volatility"``.
    offset : float
        For ``sizing="budget"``: weights are y / (t + offset).
    net : str
        ``positive`` (net long or neutral) or ``any``.
    lookback : int, optional
        Fit on the last rows only; all of them by default.
    risk_free_rate : float
        Per period. Subtracted from the returns that are fitted; cash earns it in ``predict``.
    previous_weights : float, dict or array
        Held before the fit; 0 by default. Without ``max_turnover`` they do not change the weights:
        the trade from them to ``weights_`` is paid for in the first row of ``predict``.
    transaction_costs : float, dict or array
        Of trading one unit of weight (0.001 for 10 basis points), one for all or by asset.
    periods_per_year : float
        For ``target_volatility``.
    min_weights, max_weights : float, dict or array, optional
        Bounds of the weights, one for all or by asset; of assets that a dict leaves out they are 0
        and 1, as in skfolio. None: no bound.
    budget, min_budget, max_budget : float, optional
        Of the net position, the sum of the weights. With limits that is 1 unless ``objective`` is
        ``return`` or ``utility``.
    max_short, max_long : float, optional
        Of the sum of the negative weights, in absolute value, and of that of the positive ones.
    groups : dict or array, optional
        Asset to its groups, ``{"XOM": ["Energy", "US"]}``, or names (groups, assets).
    group_cardinalities : dict, optional
        Most names of a group that may be held.
    linear_constraints : list of str, optional
        ``"Energy <= 0.3"``, ``"2 * A + B <= Tech + 0.1"``: of assets and groups.
    left_inequality, right_inequality : (m, n) and (m,) arrays, optional
        A and b of A w <= b.
    threshold_long, threshold_short : float, dict or array, optional
        A name that is held has at least ``threshold_long``, or at most ``threshold_short`` =
        -``threshold_long``.
    max_turnover : float, optional
        Largest absolute change of each weight from ``previous_weights``, as in skfolio; that of
        their sum is ``limits=sharpen.Limits(max_turnover=..., holdings=...)``.
    limits : sharpen.Limits, optional
        All that the limits above can say and more, in their place.
    objective : str, optional
        With limits: ``sharpe``, of weights that add up to 1 (the default), ``return`` at
        ``target_volatility``, or ``utility``. It stands in the place of ``sizing``.
    risk_aversion : float, optional
        For ``objective="utility"``; 1 by default.
    form : str
        ``auto``, ``dense`` or ``low-rank``: how the covariance is stored.
    threads : int, optional
        ``sharpen.set_threads`` says it for all.

    Attributes
    ----------
    weights_ : (n,) array
        Zero for assets that are not held.
    support_ : array of int
        Columns that are held.
    sharpe_, full_sharpe_ : float
        Sharpe ratio per period over the rows that were fitted, and that without a bound on the
        number of names.
    status_ : str
        ``ok``, ``neutral_face`` or ``no_signal`` (all cash). With limits and ``neutral_face`` no
        weights that add up to 1 are best: these are of net 0 and gross 1, in their direction.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def __init__(
        self,
        cardinality: Union[int, str] = "10%",
        *,
        optimizer: str = "swap",
        shrinkage: float = 0.1,
        sizing: str = "gross",
        target_volatility: float = 0.1,
        offset: float = 0.01,
        net: str = "positive",
        lookback: Optional[int] = None,
        risk_free_rate: float = 0.0,
        previous_weights: Any = None,
        transaction_costs: Any = 0.0,
        periods_per_year: float = 252.0,
        min_weights: Any = None,
        max_weights: Any = None,
        budget: Optional[float] = None,
        min_budget: Optional[float] = None,
        max_budget: Optional[float] = None,
        max_short: Optional[float] = None,
        max_long: Optional[float] = None,
        groups: Any = None,
        group_cardinalities: Any = None,
        linear_constraints: Any = None,
        left_inequality: Any = None,
        right_inequality: Any = None,
        threshold_long: Any = None,
        threshold_short: Any = None,
        max_turnover: Optional[float] = None,
        limits: Any = None,
        objective: Optional[str] = None,
        risk_aversion: Optional[float] = None,
        form: str = "auto",
        threads: Optional[int] = None,
    ) -> None:
        self.cardinality = cardinality
        self.optimizer = optimizer
        self.shrinkage = shrinkage
        self.sizing = sizing
        self.target_volatility = target_volatility
        self.offset = offset
        self.net = net
        self.lookback = lookback
        self.risk_free_rate = risk_free_rate
        self.previous_weights = previous_weights
        self.transaction_costs = transaction_costs
        self.periods_per_year = periods_per_year
        self.min_weights = min_weights
        self.max_weights = max_weights
        self.budget = budget
        self.min_budget = min_budget
        self.max_budget = max_budget
        self.max_short = max_short
        self.max_long = max_long
        self.groups = groups
        self.group_cardinalities = group_cardinalities
        self.linear_constraints = linear_constraints
        self.left_inequality = left_inequality
        self.right_inequality = right_inequality
        self.threshold_long = threshold_long
        self.threshold_short = threshold_short
        self.max_turnover = max_turnover
        self.limits = limits
        self.objective = objective
        self.risk_aversion = risk_aversion
        self.form = form
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> "SparseTangentPortfolio":
        """Finds the weights for returns ``X`` (periods, assets), oldest first. ``y`` is ignored."""
        given = self._settings()
        columns = getattr(X, "columns", None)
        X = _validated(self, X, reset=True)
        n = X.shape[1]
        # scikit-learn's feature_names_in_ is there for texts only; columns may be numbers.
        self._assets = None if columns is None else [str(column) for column in columns]
        rate = number(self.risk_free_rate, "risk_free_rate")
        previous = self._by_asset(self.previous_weights, "previous_weights")
        costs = self._by_asset(self.transaction_costs, "transaction_costs")
        if (costs < 0.0).any():
            raise InputError("transaction_costs are negative; give 0 or more")
        limits = _estimator_limits.limits_text(self, self._assets, previous)
        if limits is not None:
            given["limits"] = limits
        excess = np.require(X, np.float64, ["C", "A"])
        if rate != 0.0:
            excess = excess - rate
        try:
            found = _core.fit(excess, self._assets or _data.numbered(n), given)
        except InputError as error:
            raise InputError(re.sub(r"\bk(?= = |\))", "cardinality", str(error))) from None
        weights, self.sharpe_, self.full_sharpe_, self.status_, messages = found
        self.weights_ = np.asarray(weights, dtype=X.dtype)
        self.support_ = np.flatnonzero(self.weights_)
        self.trading_cost_ = float(np.abs(np.asarray(weights) - previous) @ costs)
        _commands.warn(messages)
        return self

    def predict(self, X: Any) -> Any:
        """Returns of the portfolio over the rows of ``X``, an array: in every period it is brought
        back to ``weights_``, cash earns the risk-free rate, and the first period pays for the trade
        from ``previous_weights``."""
        check_is_fitted(self, "weights_")
        X = _validated(self, X, reset=False)
        cash = (1.0 - self.weights_.sum(dtype=np.float64)) * float(self.risk_free_rate)
        returns = X @ self.weights_ + X.dtype.type(cash)
        if self.trading_cost_ and len(returns):
            returns[0] -= X.dtype.type(self.trading_cost_)
        return returns

    def score(self, X: Any, y: Any = None) -> float:
        """Sharpe ratio per period of ``predict(X)`` over the risk-free rate: mean by standard
        deviation (ddof 1), 0 for cash."""
        excess = np.asarray(self.predict(X), dtype=np.float64) - float(self.risk_free_rate)
        if len(excess) < 2:
            raise InputError(f"X has {len(excess)} row; a Sharpe ratio needs 2")
        spread = float(excess.std(ddof=1))
        return float(excess.mean()) / spread if spread > 0.0 else 0.0

    def _settings(self) -> Any:
        k = self.cardinality
        if isinstance(k, bool) or not (isinstance(k, str) or hasattr(k, "__index__")):
            raise TypeError(
                f"cardinality = {k!r} is neither a count such as 5 nor a share such as '10%'"
            )
        names = "optimizer shrinkage net periods_per_year form".split()
        given = {name: getattr(self, name) for name in names}
        given |= self._scale()
        for name, value in given.items():
            if value is None:
                raise TypeError(f"{name} is None; give a value")
        given |= {"objective": self.objective, "risk_aversion": self.risk_aversion}
        out = _settings.texts("SparseTangentPortfolio", "solve", {"k": k, **given})
        threads = _threads.get_threads() if self.threads is None else self.threads
        out["threads"] = str(_threads.checked(threads))
        out["lookback"] = "all" if self.lookback is None else _settings.text(
            "lookback", self.lookback, "count_or_all"
        )
        try:
            _core.check_settings("solve", out)
        except InputError as error:
            raise InputError(re.sub(r"\bk(?= = |\))", "cardinality", str(error))) from None
        return out

    def _scale(self) -> dict[str, Any]:
        """The settings of the sizing. What it does not listen to would be worth a warning on the
        command line, and under limits the default would be refused as asked for."""
        limited = _estimator_limits.given(self)
        sizing = "volatility" if self.objective == "return" else self.sizing
        given: dict[str, Any] = {} if limited and sizing == "gross" else {"sizing": sizing}
        if sizing == "volatility":
            given["target_volatility"] = self.target_volatility
        if sizing == "budget":
            given["offset"] = self.offset
        return given

    def _by_asset(self, value: Any, name: str, missing: float = 0.0) -> Any:
        """One number for all assets, or one for each: an array, or a dict by name, and `missing`
        for who is not in it."""
        n = self.n_features_in_
        if value is None:
            return np.zeros(n)
        if hasattr(value, "items") and not hasattr(value, "loc"):
            value = dict(value)
        elif hasattr(value, "loc") and hasattr(value, "index"):  # a Series
            value = {str(asset): weight for asset, weight in value.items()}
        if isinstance(value, dict):
            own = {str(asset): weight for asset, weight in value.items()}
            self._refuse_unknown(own, name)
            return np.array([number(own.get(a, missing), name) for a in self._assets or ()])
        if np.ndim(value) == 0:
            return np.full(n, number(value, name))
        found = np.asarray(value)
        if found.shape != (n,):
            raise InputError(f"{name} has shape {found.shape}; X has {n} assets: give ({n},)")
        return np.array([number(v, name) for v in found.tolist()])

    def _refuse_unknown(self, names: Any, argument: str) -> None:
        assets = self._assets
        if assets is None:
            raise InputError(f"{argument} is by asset, and X has no names; fit a DataFrame")
        for asset in names:
            if asset not in assets:
                hint = _core.did_you_mean(asset.encode(errors="replace").decode(), assets)
                raise InputError(f"{argument}: X has no asset {asset!r}{hint}")


def _validated(estimator: Any, X: Any, reset: bool) -> Any:
    """scikit-learn's own checks, whose name moved in its version 1.6."""
    options: Any = {"dtype": [np.float64, np.float32], "reset": reset, "order": "C"}
    if reset:
        options["ensure_min_samples"] = 2
    columns = getattr(X, "columns", None)
    if columns is not None:
        _data.check_names(columns, "X")
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(X, **options)
    return validate_data(estimator, X, **options)


def cross_val_predict(
    estimator: Any, X: Any, y: Any = None, *, cv: Any = None, n_jobs: Optional[int] = None
) -> Any:
    """Out-of-sample returns of an estimator: fitted on the first part of every split of ``cv`` and
    asked about the second.

    scikit-learn's function of the same name takes only splits that cover every row, which no split
    by time can: its first rows have nothing before them. This one takes any whose second parts do
    not overlap (``TimeSeriesSplit()`` by default) and answers for the rows that are in one: a
    Series with their index for a DataFrame, else an array of theirs, in the order of the rows.
    ``y`` is ignored; ``n_jobs`` splits are fitted at once, as in scikit-learn.
    """
    import joblib
    from sklearn.model_selection import TimeSeriesSplit, check_cv
    from sklearn.utils import indexable

    (X,) = indexable(X)
    splits = TimeSeriesSplit() if cv is None else check_cv(cv)
    _refuse_splits(y, X)
    parts = list(splits.split(X))
    values = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_predicted)(clone(estimator), _rows(X, train), _rows(X, test))
        for train, test in parts
    )
    order = np.concatenate([np.asarray(test) for _, test in parts])
    if len(np.unique(order)) != len(order):
        raise InputError("cv: a row is tested more than once; give splits that do not overlap")
    by_time = np.argsort(order, kind="stable")
    found = np.concatenate(values)[by_time]
    if not hasattr(X, "iloc"):
        return found
    import pandas

    return pandas.Series(found, index=X.index[order[by_time]], name="return")


def _refuse_splits(y: Any, X: Any) -> None:
    """What was meant as cv but given as the third argument would be ignored."""
    if y is None:
        return
    try:
        same = len(y) == (X.shape[0] if hasattr(X, "shape") else len(X))
    except TypeError:  # a number, an iterator or a splitter
        same = False
    if not same:
        raise TypeError(
            "cross_val_predict() takes y, which is ignored, before cv, and this one is not one "
            "value for each row of X; give splits as cv=..."
        )


def _predicted(estimator: Any, train: Any, test: Any) -> Any:
    return np.asarray(estimator.fit(train).predict(test))


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
