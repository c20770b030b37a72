"""Sparse maximum-Sharpe portfolios, exact and differentiable.

    import sharpen
    portfolio = sharpen.solve(prices, k=10)
    portfolio.weights

``sharpen.torch`` holds the layer for PyTorch; it is imported only when asked for.
"""

from ._core import Failure, InputError
from ._core import version as __version__
from ._solve import Portfolio, SharpenWarning, solve
from ._threads import get_threads, set_threads

__all__ = [
    "Failure",
    "InputError",
    "Portfolio",
    "SharpenWarning",
    "__version__",
    "get_threads",
    "set_threads",
    "solve",
]
