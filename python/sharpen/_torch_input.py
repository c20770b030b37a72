"""What callers give to sharpen.torch, checked and as plain numbers and arrays."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import torch
from torch import Tensor

from . import _data
from ._core import InputError


def wants_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad and torch.is_grad_enabled()


def differentiable(Sigma: Any) -> Optional[Tensor]:
    """Sigma, if it wants a gradient."""
    if isinstance(Sigma, (list, tuple)) and any(map(wants_gradient, Sigma)):
        raise InputError("Sigma: some of its list require a gradient; give torch.stack(Sigma)")
    return Sigma if wants_gradient(Sigma) else None


def unlabelled(Sigma: Any) -> Any:
    """The numbers of a table whose rows and columns have the same names, if it has names."""
    if hasattr(Sigma, "columns") and hasattr(Sigma, "loc"):
        names = _data.check_names(Sigma.columns, "Sigma")
        if list(map(str, Sigma.index)) != list(map(str, names)):
            raise InputError("Sigma: its rows and columns must be named alike, in one order")
        if not all(isinstance(dtype, np.dtype) for dtype in Sigma.dtypes):
            try:
                return Sigma.to_numpy(dtype=np.float64, na_value=np.nan)
            except (TypeError, ValueError) as error:
                raise TypeError(f"Sigma cannot be read as numbers: {error}") from None
    if hasattr(Sigma, "columns") and hasattr(Sigma, "to_numpy"):
        return Sigma.to_numpy()
    return Sigma


def parts_of(score: Optional[str]) -> tuple[bool, bool]:
    if score not in (None, "symmetric", "cholesky"):
        raise InputError(f"score = {score} is not one of symmetric, cholesky")
    return score in (None, "cholesky"), score in (None, "symmetric")


def number(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a number")
    if wants_gradient(value):
        raise InputError(f"{name} requires a gradient, and has none here; give {name}.item()")
    return float(value)


def whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a whole number")
    return int(value.__index__())


def whole_numbers(values: Sequence[int], name: str) -> Any:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.size == 0:
        raise TypeError(f"{name} is not a list of whole numbers")
    return np.ascontiguousarray(found, dtype=np.int64)
