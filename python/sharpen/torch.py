"""The sparse-tangent layer for PyTorch, on the CPU.

    risk = sharpen.torch.Risk.from_windows(returns, lookback=100)
    layer = sharpen.torch.SparseTangent(k=10)
    w = layer(predictor(x[idx]), risk[idx])          # (B, n) weights, differentiable
    loss = sharpen.torch.mixed_loss(mu, w, risk.targets[idx], alpha=0.5)

Shapes: B instances of n assets. Everything from the signal to the weights is computed in float64;
float32 in gives float32 out.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np
import torch
from torch import Tensor, nn

from . import _core, _data, _settings, _threads
from ._core import InputError

__all__ = ["Aux", "Decision", "Risk", "SparseTangent", "mixed_loss"]


class Aux(NamedTuple):
    """What a forward pass found besides the weights; NaN where it found nothing."""

    mask: Tensor  # (B, n): the soft selection p, its rows add up to k
    t: Tensor  # (B): the net position of the direction of unit risk
    statuses: list[str]  # (B): ok, neutral_face, no_signal, not_converged, invalid_input
    neutral_first: Tensor  # (B), bool: the first solve was on the t = 0 face
    jitter: Tensor  # (B): added to the diagonal of Sigma before it could be factored


class Decision(NamedTuple):
    """A portfolio of at most k names for each instance."""

    weights: Tensor  # (B, n)
    sharpe: Tensor  # (B)
    statuses: list[str]  # (B)


class _Model:
    """A risk model, what it was made from, and the layers that have been set up on it."""

    def __init__(self, maker: str, arguments: dict[str, Any]) -> None:
        self.maker = maker
        self.arguments = arguments
        self.core: _core.RiskModel = getattr(_core, maker)(
            **arguments, threads=_threads.get_threads()
        )
        self.layers: dict[Any, _core.Layer] = {}

    def __reduce__(self) -> Any:
        return _Model, (self.maker, self.arguments)

    def layer(self, key: Any, settings: dict[str, str], threads: int) -> _core.Layer:
        found = self.layers.get(key)
        if found is None:
            found = self.layers[key] = _core.Layer(self.core, settings, threads)
        return found


class Risk:
    """Covariances for a batch: one sample per row, factored once and shared by every part of it.

    ``risk[idx]`` takes an integer, a slice, a list, an array or a tensor of integers or booleans,
    and gives the samples in that order without factoring anything again. Picklable; pickling
    carries the returns or covariances, and unpickling factors them again.
    """

    def __init__(self, model: _Model, index: Tensor, data: Any, lookback: int) -> None:
        """Use ``from_windows`` or ``from_covariance``."""
        self._model = model
        self._index = index  # (B), int64, C order: the samples of the model
        self._data = data  # (T, n) returns, or None
        self._lookback = lookback
        self.n: int = model.core.n

    @classmethod
    def from_windows(
        cls,
        returns: Any,
        lookback: int,
        *,
        shrinkage: float = 0.10,
        form: str = "auto",
        score: Optional[str] = None,
        ends: Optional[Any] = None,
    ) -> "Risk":
        """One sample for each row of ``returns`` (T, n) that has ``lookback`` rows before it.

        Sample i is the shrunk covariance of rows i to i + lookback - 1, and belongs to the
        decision whose result is row i + lookback: ``targets[i]``, which it has not seen. There
        are T - lookback samples. ``ends`` asks for other windows: sample i then ends before row
        ``ends[i]``; ``ends=[T]`` is the window for the next, unknown row.

        ``score`` prepares for one score of the layer only, ``"symmetric"`` or ``"cholesky"``;
        both by default.
        """
        cells = np.array(_data.table(returns, "returns").values)  # may change under our feet
        rows = cells.shape[0]
        length = _whole("lookback", lookback)
        if length < 2:
            raise InputError(f"lookback = {length} is outside [2, inf): a covariance needs 2 rows")
        bad = np.argwhere(~np.isfinite(cells))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise InputError(
                f"returns[{row}, {column}] is {cells[row, column]}; give finite numbers"
            )
        if ends is None:
            if rows <= length:
                raise InputError(
                    f"returns has {rows} rows; a window of lookback = {length} and the row after "
                    f"it need {length + 1}: give more rows, a shorter lookback, or ends=[{rows}] "
                    "for a window without the row after it"
                )
            stops = np.arange(length, rows, dtype=np.int64)
        else:
            stops = _whole_array(ends, "ends")
            wrong = stops[(stops < length) | (stops > rows)]
            if len(wrong):
                raise InputError(f"ends: {wrong[0]} is outside [{length}, {rows}]")
        lower, root = _parts(score)
        arguments = {
            "returns": cells,
            "lookback": length,
            "ends": stops,
            "shrinkage": _number("shrinkage", shrinkage),
            "form": form,
            "lower": lower,
            "root": root,
        }
        model = _Model("risk_from_windows", arguments)
        return cls(model, torch.arange(len(stops)), cells, length)

    @classmethod
    def from_covariance(
        cls, Sigma: Any, *, shrinkage: float = 0.0, score: Optional[str] = None
    ) -> "Risk":
        """Samples from covariances (n, n) or (B, n, n), shrunk like a window's if asked for."""
        if hasattr(Sigma, "to_numpy") and hasattr(Sigma, "columns"):
            Sigma = Sigma.to_numpy()
        cells = _data.array(Sigma, "Sigma")
        if cells.ndim == 2:
            cells = cells[None]
        cells = np.array(_data.floats(cells, 3, "Sigma"))
        if cells.shape[1] != cells.shape[2] or cells.shape[1] == 0 or cells.shape[0] == 0:
            raise InputError(f"Sigma has shape {np.shape(Sigma)}; give (n, n) or (B, n, n)")
        lower, root = _parts(score)
        arguments = {
            "Sigmas": cells,
            "shrinkage": _number("shrinkage", shrinkage),
            "lower": lower,
            "root": root,
        }
        try:
            model = _Model("risk_from_covariances", arguments)
        except InputError as error:
            message = str(error)
            raise InputError(
                message if message.startswith("shrinkage") else f"Sigma: {message}"
            ) from None
        return cls(model, torch.arange(len(cells)), None, 0)

    def __len__(self) -> int:
        return int(self._index.shape[0])

    def __getitem__(self, index: Any) -> "Risk":
        if isinstance(index, Risk):
            raise TypeError("risk cannot be indexed by a Risk")
        return Risk(self._model, self._picked(index), self._data, self._lookback)

    def _picked(self, index: Any) -> Tensor:
        size = len(self)
        if isinstance(index, Tensor):
            if index.device.type != "cpu":
                raise InputError(f"risk: the index is on device {index.device}; give index.cpu()")
            if index.dtype == torch.bool or not index.dtype.is_floating_point:
                picked = index
            else:
                raise TypeError(f"risk: an index of dtype {index.dtype}; give whole numbers")
        elif isinstance(index, slice):
            return self._index[torch.arange(size)[index]] if index.step is None or (
                index.step > 0
            ) else self._index[torch.from_numpy(np.arange(size)[index].copy())]
        elif isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            picked = torch.tensor([int(index)])
        else:
            cells = np.asarray(index)
            if cells.size == 0:
                return self._index[:0]
            if cells.dtype.kind not in "iub":
                raise TypeError(f"risk: an index of type {type(index).__name__}")
            picked = torch.from_numpy(np.array(cells if cells.dtype == bool else cells.astype(
                np.int64)))
        if picked.dtype == torch.bool:
            if picked.shape != (size,):
                raise IndexError(f"risk: a mask of shape {tuple(picked.shape)} for {size} samples")
            return self._index[picked]
        picked = picked.reshape(-1).to(torch.int64)
        if len(picked) and (int(picked.min()) < -size or int(picked.max()) >= size):
            raise IndexError(f"risk: an index is outside its {size} samples")
        return self._index[picked]

    @property
    def targets(self) -> Tensor:
        """(B, n) float64: the returns of the row after each window. Rows that are not known yet
        are NaN. Only for windows."""
        data, ends = self._of_windows("targets")
        out = torch.full((len(ends), self.n), float("nan"), dtype=torch.float64)
        known = ends < data.shape[0]
        out[known] = torch.from_numpy(data)[ends[known]]
        return out

    @property
    def windows(self) -> Tensor:
        """(B, lookback, n) float64: the returns each sample was made from. Only for windows."""
        data, ends = self._of_windows("windows")
        rows = (ends - self._lookback)[:, None] + torch.arange(self._lookback)
        return torch.from_numpy(data)[rows]

    def _of_windows(self, what: str) -> tuple[Any, Tensor]:
        if self._data is None:
            raise AttributeError(f"{what}: this Risk comes from covariances, not from windows")
        return self._data, torch.from_numpy(self._model.arguments["ends"])[self._index]

    @property
    def form(self) -> str:
        """dense or low-rank."""
        return self._model.core.form

    @property
    def statuses(self) -> list[str]:
        """(B): ok, or invalid_input where a covariance could not be formed."""
        every = self._model.core.statuses
        return [every[i] for i in self._index.tolist()]

    def __repr__(self) -> str:
        return f"<sharpen.torch.Risk: {len(self)} samples of {self.n} assets, {self.form}>"


class _Tangent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mu: Tensor, layer: _core.Layer, samples: Tensor, box: list[Any]) -> Any:
        w = torch.empty_like(mu)
        ctx.layer_pass = box_pass = _core.forward(
            layer, mu.data_ptr(), w.data_ptr(), samples.data_ptr(), mu.shape[0]
        )
        ctx.save_for_backward(mu)
        box.append(box_pass)
        return w

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (mu,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True
            return _TangentVjp.apply(gradients[0], mu, ctx.layer_pass), None, None, None
        return _vjp(gradients[0], ctx.layer_pass), None, None, None


class _TangentVjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradient: Tensor, mu: Tensor, layer_pass: _core.Pass) -> Any:
        return _vjp(gradient, layer_pass)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(
            "sharpen.torch.SparseTangent has first derivatives only: it cannot be differentiated "
            "twice"
        )


def _vjp(gradient: Tensor, layer_pass: _core.Pass) -> Tensor:
    gradient = gradient.contiguous()
    out = torch.empty_like(gradient)
    layer_pass.vjp(gradient.data_ptr(), out.data_ptr())
    return out


class SparseTangent(nn.Module):
    """Signal in, sparse maximum-Sharpe weights out, exact gradients back.

    ``k`` is a count or a share such as ``"10%"``, ``beta`` the sharpness of the soft selection.
    The other arguments are the settings of ``sharpen train`` with underscores, and have its
    defaults; ``target_volatility`` is per year of ``periods_per_year`` periods.
    """

    def __init__(
        self,
        k: Union[int, str] = "10%",
        beta: float = 5.0,
        *,
        score: str = "symmetric",
        raw_score: bool = False,
        reoptimization: str = "masked",
        topk: str = "newton",
        sizing: str = "volatility",
        target_volatility: float = 0.10,
        periods_per_year: float = 252.0,
        offset: float = 0.01,
        net: str = "positive",
        threads: Optional[int] = None,
    ) -> None:
        super().__init__()
        if isinstance(k, (bool, float)):
            raise TypeError(f"k = {k!r} is neither a count such as 5 nor a share such as '10%'")
        given = {
            "k": k,
            "beta": beta,
            "score": score,
            "raw_score": raw_score,
            "reoptimization": reoptimization,
            "topk": topk,
            "sizing": sizing,
            "target_volatility": target_volatility,
            "periods_per_year": periods_per_year,
            "offset": offset,
            "net": net,
        }
        self.settings = _settings.texts("SparseTangent", "train", given)
        _core.check_settings("train", self.settings)
        self._given_threads = None if threads is None else _threads.checked(threads)
        self._key = tuple(sorted(self.settings.items()))

    @property
    def threads(self) -> int:
        return _threads.get_threads() if self._given_threads is None else self._given_threads

    def extra_repr(self) -> str:
        shown = ("k", "beta", "score", "reoptimization", "sizing", "net")
        return ", ".join(f"{name}={self.settings[name]}" for name in shown)

    def forward(self, mu: Tensor, risk: Risk, return_aux: bool = False) -> Any:
        """Weights (B, n) from signals ``mu`` (B, n), instance i with sample i of ``risk``; a
        ``risk`` of one sample serves all. ``mu`` (n) gives (n).

        With ``return_aux`` a pair: the weights, and an ``Aux``.
        """
        signal, samples, single = _checked(mu, risk)
        box: list[Any] = []
        threads = self.threads
        layer = risk._model.layer((self._key, threads), self.settings, threads)
        w = _Tangent.apply(signal, layer, samples, box)
        if mu.dtype != torch.float64:
            w = w.to(mu.dtype)
        if single:
            w = w[0]
        return (w, _aux(box[0], mu.dtype, single)) if return_aux else w

    @torch.no_grad()
    def decide(
        self, mu: Tensor, risk: Risk, optimizer: str = "swap", return_aux: bool = False
    ) -> Any:
        """Portfolios of at most k names (B, n), chosen exactly and weighed alone, by the layer's
        k, sizing and net. Not differentiable. With ``return_aux`` a ``Decision``.

        ``optimizer``: swap, greedy, symmetric or oscar.
        """
        signal, samples, single = _checked(mu, risk)
        if not isinstance(optimizer, str):
            raise TypeError(f"optimizer is of type {type(optimizer).__name__}; give a name")
        weights, statuses, sharpe = _core.decide(
            risk._model.core,
            samples.numpy(),
            signal.detach().numpy(),
            self.settings,
            optimizer,
            self.threads,
        )
        w = torch.from_numpy(weights).to(mu.dtype)
        s = torch.from_numpy(sharpe).to(mu.dtype)
        if single:
            w, s = w[0], s[0]
        return Decision(w, s, statuses) if return_aux else w


def _aux(layer_pass: _core.Pass, dtype: torch.dtype, single: bool) -> Aux:
    mask = torch.from_numpy(layer_pass.mask).to(dtype)
    t = torch.from_numpy(layer_pass.net).to(dtype)
    first = torch.tensor(layer_pass.neutral_first, dtype=torch.bool)
    jitter = torch.from_numpy(layer_pass.jitter)
    if single:
        mask, t, first, jitter = mask[0], t[0], first[0], jitter[0]
    return Aux(mask, t, layer_pass.statuses, first, jitter)


def _checked(mu: Tensor, risk: Risk) -> tuple[Tensor, Tensor, bool]:
    """mu (B, n) in float64 and C order, the samples (B), and whether mu came as (n)."""
    if not isinstance(risk, Risk):
        raise TypeError(
            f"risk is of type {type(risk).__name__}; give Risk.from_windows(...) or "
            "Risk.from_covariance(...)"
        )
    if not isinstance(mu, Tensor):
        raise TypeError(f"mu is of type {type(mu).__name__}; give a torch.Tensor")
    if not mu.dtype.is_floating_point:
        raise TypeError(f"mu has dtype {mu.dtype}; give float64 or float32")
    if mu.device.type != "cpu" or mu.layout is not torch.strided:
        raise InputError(
            f"mu is on device {mu.device} ({mu.layout}); the layer takes dense tensors on the "
            "CPU: give mu.cpu()"
        )
    single = mu.dim() == 1
    if mu.dim() not in (1, 2) or mu.shape[-1] != risk.n:
        raise InputError(
            f"mu has shape {tuple(mu.shape)}; risk has {risk.n} assets: give (B, {risk.n})"
        )
    batch = 1 if single else mu.shape[0]
    samples = risk._index
    if samples.shape[0] != batch:
        if samples.shape[0] != 1:
            raise InputError(
                f"mu has {batch} rows and risk has {samples.shape[0]} samples; give one for each"
            )
        samples = samples.expand(batch).contiguous()
    signal = mu.unsqueeze(0) if single else mu
    if mu.dtype != torch.float64:
        signal = signal.to(torch.float64)
    return signal.contiguous(), samples, single


def mixed_loss(
    mu: Tensor, w: Tensor, r: Tensor, alpha: float, mixing: str = "literal"
) -> Tensor:
    """alpha D + (1 - alpha) P over a batch of signals ``mu``, weights ``w`` and returns ``r``,
    all (B, n), with D = -mean_b r_b' w_b and P = mean_b |mu_b - r_b|^2.

    ``mixing="balanced"`` scales D so that its gradient at mu has the root mean square of P's:
    the scale is a constant of the batch and is not differentiated. It needs ``w`` computed from
    ``mu``. Rows of w that are NaN (an invalid input) count as no position, as in training.
    """
    weight = _number("alpha", alpha)
    if not 0.0 <= weight <= 1.0:
        raise InputError(f"alpha = {weight:g} is outside [0, 1]")
    if mixing not in ("literal", "balanced"):
        hint = _core.did_you_mean(str(mixing), ["literal", "balanced"])
        raise InputError(f"mixing = {mixing} is not one of literal, balanced{hint}")
    for name, value in (("mu", mu), ("w", w), ("r", r)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} is of type {type(value).__name__}; give a torch.Tensor")
        if value.shape != mu.shape or value.dim() != 2 or value.shape[0] == 0:
            raise InputError(
                f"{name} has shape {tuple(value.shape)} and mu {tuple(mu.shape)}; give (B, n)"
            )
    held = torch.where(torch.isnan(w), torch.zeros_like(w), w)
    decision = -(r * held).sum(dim=1).mean()
    prediction = ((mu - r) ** 2).sum(dim=1).mean()
    if mixing == "literal" or weight == 0.0 or not torch.is_grad_enabled():
        if mixing == "balanced" and weight > 0.0:
            raise InputError("mixing = balanced needs gradients; use literal under no_grad")
        return weight * decision + (1.0 - weight) * prediction
    if not (mu.requires_grad and w.requires_grad):
        raise InputError("mixing = balanced needs w computed from mu, with gradients")
    return _Balanced.apply(mu, *_gradients(mu, decision, prediction, weight))


def _gradients(
    mu: Tensor, decision: Tensor, prediction: Tensor, alpha: float
) -> tuple[Tensor, Tensor]:
    """The gradient of the balanced loss at mu, and the loss."""
    (dD_dmu,) = torch.autograd.grad(decision, mu, retain_graph=True, allow_unused=True)
    if dD_dmu is None:
        raise InputError("mixing = balanced needs w computed from mu: it does not depend on it")
    (dP_dmu,) = torch.autograd.grad(prediction, mu, retain_graph=True)
    size = dD_dmu.double().square().sum()
    balance = (dP_dmu.double().square().sum() / size).sqrt() if size > 0 else size
    balance = balance.to(mu.dtype)
    gradient = alpha * balance * dD_dmu + (1.0 - alpha) * dP_dmu
    return gradient, (alpha * balance * decision + (1.0 - alpha) * prediction).detach()


class _Balanced(torch.autograd.Function):
    """The gradient is known already: going back through the layer again would find the same."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, gradient: Tensor, loss: Tensor) -> Any:
        ctx.save_for_backward(gradient)
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = ctx.saved_tensors
        return gradients[0] * gradient, None, None


def _parts(score: Optional[str]) -> tuple[bool, bool]:
    if score not in (None, "symmetric", "cholesky"):
        raise InputError(f"score = {score} is not one of symmetric, cholesky")
    return score != "symmetric", score != "cholesky"


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a number")
    return float(value)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a whole number")
    return int(value.__index__())


def _whole_array(values: Sequence[int], name: str) -> Any:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.size == 0:
        raise TypeError(f"{name} is not a list of whole numbers")
    return np.ascontiguousarray(found, dtype=np.int64)
