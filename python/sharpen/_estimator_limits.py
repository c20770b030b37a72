"""The limits of sharpen.SparseTangentPortfolio: skfolio's names and meanings, as sharpen.Limits."""

from __future__ import annotations

from typing import Any, Iterator, Optional

import numpy as np

from . import _data
from ._core import InputError
from ._limits import Limits, text

# Parameters that say something of limits, but for `limits`, which says all of them by itself.
NAMES = (
    "min_weights max_weights budget min_budget max_budget max_short max_long groups "
    "group_cardinalities linear_constraints left_inequality right_inequality threshold_long "
    "threshold_short max_turnover"
).split()


def number(value: Any, name: str) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a number")
    found = float(value)
    if not np.isfinite(found):
        raise InputError(f"{name} = {found} is not a finite number")
    return found


def given(estimator: Any) -> list[str]:
    """Names of the parameters of `estimator` that hold its portfolio to limits."""
    return [n for n in (*NAMES, "limits", "objective") if getattr(estimator, n) is not None]


def limits_text(estimator: Any, assets: Optional[list[str]], previous: Any) -> Optional[str]:
    """What `solve` takes as its setting `limits`; None where there are none. `assets` are None if
    they have no names, `previous` (n) are the weights held before."""
    named = [name for name in NAMES if getattr(estimator, name) is not None]
    if estimator.limits is not None:
        if named:
            raise InputError(
                f"limits and {named[0]} are both given; say all of them in limits=sharpen.Limits()"
            )
        return text(estimator.limits)
    return _Limits(estimator, assets, previous).found().to_toml() if named else None


class _Limits:
    def __init__(self, estimator: Any, assets: Optional[list[str]], previous: Any) -> None:
        self.of = estimator
        self.n = estimator.n_features_in_
        self.named = assets is not None
        self.assets = assets or _data.numbered(self.n)
        self.previous = previous
        objective = estimator.objective or ("return" if estimator.sizing == "volatility" else None)
        self.adds_up_to_1 = objective in (None, "sharpe")

    def found(self) -> Limits:
        lower, upper = self._bounds()
        net, least_net, most_net = self._budget()
        rows = list(self._rows())
        return Limits(
            min_weight=self._table(lower),
            max_weight=self._table(upper),
            min_held=self._table(self._thresholds(lower)),
            max_gross=self._gross(net),
            min_net=least_net,
            max_net=most_net,
            groups=self._groups(),
            coefficients=self._coefficients(),
            rows=rows,
            names=self._group_cardinalities(),
        )

    def _bounds(self) -> tuple[Any, Any]:
        """Infinite where there is none; a turnover bounds every weight around what is held."""
        lower, upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        if self.of.min_weights is not None:
            lower = self.of._by_asset(self.of.min_weights, "min_weights", missing=0.0)
        if self.of.max_weights is not None:
            upper = self.of._by_asset(self.of.max_weights, "max_weights", missing=1.0)
        for i in np.flatnonzero(lower > upper)[:1]:
            raise InputError(
                f"min_weights = {lower[i]:g} of {self.assets[i]} is more than its max_weights = "
                f"{upper[i]:g}"
            )
        if self.of.max_turnover is None:
            return lower, upper
        most = number(self.of.max_turnover, "max_turnover")
        if most < 0.0:
            raise InputError(f"max_turnover = {most:g} is negative; give 0 or more")
        lower = np.maximum(lower, self.previous - most)
        upper = np.minimum(upper, self.previous + most)
        for i in np.flatnonzero(lower > upper)[:1]:
            raise InputError(
                f"max_turnover = {most:g} does not let the weight of {self.assets[i]}, "
                f"{self.previous[i]:g} in previous_weights, come between its min_weights and "
                "max_weights"
            )
        return lower, upper

    def _table(self, values: Any) -> Any:
        """One number if all are the same, else those by asset that are finite."""
        if (values == values[0]).all():
            return float(values[0]) if np.isfinite(values[0]) else None
        return {a: float(v) for a, v in zip(self.assets, values) if np.isfinite(v)}

    def _budget(self) -> tuple[Optional[float], Optional[float], Optional[float]]:
        """The net position where it is fixed, else its bounds."""
        names = ("budget", "min_budget", "max_budget")
        budget, least, most = (
            None if getattr(self.of, name) is None else number(getattr(self.of, name), name)
            for name in names
        )
        if budget is not None and (least is not None or most is not None):
            raise InputError("budget and min_budget or max_budget are both given; leave one out")
        if least is not None and most is not None and least > most:
            raise InputError(f"min_budget = {least:g} is more than max_budget = {most:g}")
        if not self.adds_up_to_1:
            return (budget, budget, budget) if budget is not None else (None, least, most)
        why = "weights of the largest Sharpe ratio add up to 1; leave it out, or give an objective"
        if budget not in (None, 1.0):
            raise InputError(f"budget = {budget:g} cannot be kept, as {why}")
        if least is not None and least > 1.0:
            raise InputError(f"min_budget = {least:g} cannot be kept, as {why}")
        if most is not None and most < 1.0:
            raise InputError(f"max_budget = {most:g} cannot be kept, as {why}")
        return 1.0, None, None

    def _gross(self, net: Optional[float]) -> Optional[float]:
        """Long less short positions are the net position, and their sum is the gross one."""
        found = []
        for name, sign in (("max_short", 1.0), ("max_long", -1.0)):
            value = getattr(self.of, name)
            if value is None:
                continue
            value = number(value, name)
            if value < 0.0:
                raise InputError(f"{name} = {value:g} is negative; give 0 or more")
            if net is None:
                raise InputError(
                    f"{name} = {value:g} needs a net position that is fixed; give budget, or the "
                    "largest gross position in limits=sharpen.Limits(max_gross=...)"
                )
            if 2.0 * value + sign * net < abs(net):
                raise InputError(
                    f"{name} = {value:g} cannot be kept with a net position of {net:g}"
                )
            found.append(2.0 * value + sign * net)
        return min(found, default=None)

    def _thresholds(self, lower: Any) -> Any:
        long, short = self.of.threshold_long, self.of.threshold_short
        if long is None and short is None:
            return np.full(self.n, np.inf)  # no bound
        if long is None:
            raise InputError("threshold_short needs threshold_long, which is not given")
        long = self.of._by_asset(long, "threshold_long")
        if (long < 0.0).any():
            raise InputError("threshold_long is negative; give 0 or more")
        may_be_short = lower < 0.0
        if short is None:
            if (may_be_short & (long > 0.0)).any():
                raise InputError(
                    "threshold_long needs threshold_short where weights may be negative; give "
                    "threshold_short = -threshold_long, or min_weights = 0"
                )
            return np.where(long > 0.0, long, np.inf)
        short = self.of._by_asset(short, "threshold_short")
        if (may_be_short & (short != -long)).any():
            raise InputError(
                "threshold_short is not -threshold_long: the least weight of a name that is held "
                "is the same for long and short positions here"
            )
        return np.where(long > 0.0, long, np.inf)

    def _groups(self) -> Any:
        value = self.of.groups
        if value is None:
            return None
        if hasattr(value, "items") and not hasattr(value, "columns"):
            found = {str(asset): groups for asset, groups in value.items()}
            self.of._refuse_unknown(found, "groups")
            return found
        table = np.asarray(value)
        if table.ndim != 2 or table.shape[1] != self.n:
            raise InputError(
                f"groups has shape {table.shape}; X has {self.n} assets: give a dict, or "
                f"(groups, {self.n}) names"
            )
        return {
            asset: [str(group) for group in column if str(group)]
            for asset, column in zip(self.assets, table.T)
        }

    def _group_cardinalities(self) -> Any:
        if self.of.group_cardinalities is None:
            return None
        if self.of.groups is None:
            raise InputError("group_cardinalities needs groups, which is not given")
        return {str(group): most for group, most in self.of.group_cardinalities.items()}

    def _rows(self) -> Iterator[str]:
        texts = self.of.linear_constraints
        if isinstance(texts, str):
            raise TypeError("linear_constraints is a text; give a list of texts")
        if texts is not None and not self.named and self.of.groups is None:
            raise InputError(
                "linear_constraints name assets or groups, and there are none; give groups, or fit "
                "a DataFrame"
            )
        yield from () if texts is None else (str(row) for row in texts)
        for name, bound in zip(self._inequality_names(), self._inequalities()[1]):
            yield f"'{name}' <= {bound!r}"

    def _inequalities(self) -> tuple[Any, list[float]]:
        """A (m, n) and b (m) of A w <= b."""
        left, right = self.of.left_inequality, self.of.right_inequality
        if left is None and right is None:
            return np.empty((0, self.n)), []
        if left is None or right is None:
            missing = "left_inequality" if left is None else "right_inequality"
            raise InputError(f"{missing} is not given; A w <= b needs both")
        A, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if A.ndim != 2 or A.shape[1] != self.n:
            raise InputError(
                f"left_inequality has shape {A.shape}; X has {self.n} assets: give (m, {self.n})"
            )
        if b.shape != (len(A),):
            raise InputError(
                f"right_inequality has shape {b.shape}; left_inequality has {len(A)} rows: give "
                f"({len(A)},)"
            )
        for name, values in (("left_inequality", A), ("right_inequality", b)):
            if not np.isfinite(values).all():
                raise InputError(f"{name} has values that are not finite numbers")
        return A, b.tolist()

    def _inequality_names(self) -> list[str]:
        return [f"left_inequality {i + 1}" for i in range(len(self._inequalities()[0]))]

    def _coefficients(self) -> Any:
        A = self._inequalities()[0]
        if not len(A):
            return None
        return {
            name: dict(zip(self.assets, row.tolist()))
            for name, row in zip(self._inequality_names(), A)
        }
