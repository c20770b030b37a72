"""The estimator for skfolio: imported only when asked for, as it needs skfolio.

    from sharpen.skfolio import SparseTangentPortfolio
    from skfolio.model_selection import WalkForward, cross_val_predict

    model = SparseTangentPortfolio(10, min_weights=0, max_weights=0.2)
    cross_val_predict(model, X, cv=WalkForward(train_size=252, test_size=60))

``predict`` gives a ``skfolio.Portfolio`` and ``score`` its Sharpe ratio, as skfolio's own
optimizations do; ``sharpen.SparseTangentPortfolio`` gives the returns, for scikit-learn.
"""

from __future__ import annotations

import inspect
from typing import Any, Optional

from . import _estimator

try:
    from skfolio.optimization import BaseOptimization
except ImportError as error:
    raise ImportError("sharpen.skfolio needs skfolio: pip install skfolio") from error

__all__ = ["SparseTangentPortfolio"]


class SparseTangentPortfolio(BaseOptimization, _estimator.SparseTangentPortfolio):
    """``sharpen.SparseTangentPortfolio``, with all its parameters, as an optimization of skfolio.

    Parameters
    ----------
    portfolio_params : dict, optional
        Of the ``skfolio.Portfolio`` that ``predict`` gives. Transaction costs, previous weights and
        the risk-free rate go there by themselves, and have skfolio's meaning there: a cost of
        trading is charged in every period.
    fallback : optional
        Estimator, ``"previous_weights"`` or a list of such, to be tried in turn where ``fit``
        fails, as limits cannot hold together.
    raise_on_failure : bool
        If false, ``predict`` gives a ``skfolio.FailedPortfolio`` where ``fit`` failed.
    """

    def __init__(self, *cardinality: Any, **given: Any) -> None:
        # All parameters of the other are explicit in the signature below, where scikit-learn looks.
        bound = _SIGNATURE.bind(self, *cardinality, **given)
        bound.apply_defaults()
        values = dict(bound.arguments)
        del values["self"]
        own = {name: values.pop(name) for name in ("portfolio_params", "fallback")}
        own["raise_on_failure"] = values.pop("raise_on_failure")
        _estimator.SparseTangentPortfolio.__init__(self, **values)
        BaseOptimization.__init__(self, previous_weights=self.previous_weights, **own)

    def fit(self, X: Any, y: Any = None) -> SparseTangentPortfolio:
        """Finds the weights for returns ``X`` (periods, assets), oldest first. ``y`` is ignored."""
        _estimator.SparseTangentPortfolio.fit(self, X, y)
        return self


def _with_those_of_skfolio() -> inspect.Signature:
    signature = inspect.signature(_estimator.SparseTangentPortfolio.__init__)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, default, kind in (
            ("portfolio_params", None, Optional[dict]),
            ("fallback", None, Any),
            ("raise_on_failure", True, bool),
        )
    ]
    return signature.replace(parameters=[*signature.parameters.values(), *more])


_SIGNATURE = _with_those_of_skfolio()
SparseTangentPortfolio.__init__.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
