"""Sparse maximum-Sharpe portfolios, exact and differentiable.

    import sharpen
    portfolio = sharpen.solve(prices, k=10)
    portfolio.weights

``sharpen.torch`` holds the layer for PyTorch, ``sharpen.SparseTangentPortfolio`` is an estimator
for scikit-learn: both are imported only when asked for. ``sharpen.data`` downloads prices.
"""

import typing as _typing

from . import data
from ._core import Failure, InputError
from ._core import version as __version__
from ._doctor import doctor
from ._learning import Model, Prediction, predict, train
from ._orders import Orders, orders
from ._limits import Limits
from ._simulation import simulate
from ._solve import Portfolio, solve
from ._study import Report, Study, report, study
from ._threads import get_threads, set_threads
from ._trading import Backtest, Comparison, backtest, compare
from ._warnings import SharpenWarning

if _typing.TYPE_CHECKING:
    from ._estimator import SparseTangentPortfolio, cross_val_predict

__all__ = [
    "Backtest",
    "Comparison",
    "Failure",
    "InputError",
    "Limits",
    "Model",
    "Orders",
    "Portfolio",
    "Prediction",
    "Report",
    "SharpenWarning",
    "SparseTangentPortfolio",
    "Study",
    "__version__",
    "backtest",
    "compare",
    "cross_val_predict",
    "data",
    "doctor",
    "get_threads",
    "orders",
    "predict",
    "report",
    "set_threads",
    "simulate",
    "solve",
    "study",
    "train",
]

_OF_THE_ESTIMATOR = ("SparseTangentPortfolio", "cross_val_predict")


def __getattr__(name: str) -> _typing.Any:
    if name in _OF_THE_ESTIMATOR:
        from . import _estimator

        found = globals()[name] = getattr(_estimator, name)
        return found
    raise AttributeError(f"module 'sharpen' has no attribute {name!r}")


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *({"torch"} & set(globals()))})  # torch once it is imported
