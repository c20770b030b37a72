"""The sparse-tangent layer for PyTorch, on the CPU.

    risk = sharpen.torch.Risk.from_windows(returns, lookback=100)
    layer = sharpen.torch.SparseTangent(k=10)
    w = layer(predictor(x[idx]), risk[idx])          # (B, n) weights, differentiable
    loss = sharpen.torch.mixed_loss(mu, w, risk.targets[idx], alpha=0.5)

Shapes: B instances of n assets. Everything from the signal to the weights is computed in float64;
float32 in gives float32 out.
"""

from __future__ import annotations

import inspect
import operator
from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor, nn

from . import _core, _limits, _settings, _threads
from ._core import InputError
from ._torch_input import number
from ._torch_risk import Risk

__all__ = ["Aux", "Decision", "Risk", "SparseTangent", "mixed_loss"]


class Aux(NamedTuple):
    """What a forward pass found besides the weights; NaN where it found nothing."""

    mask: Tensor  # (B, n): the soft selection p, its rows add up to k
    t: Tensor  # (B): the net position of the direction of unit risk
    # (B): ok, neutral_face, no_signal, not_converged, invalid_input, infeasible
    statuses: list[str]
    neutral_first: Tensor  # (B), bool: the first solve was on the t = 0 face
    jitter: Tensor  # (B): added to the diagonal of Sigma before it could be factored
    notes: list[str]  # (B): none; under limits also nothing_earns, below_risk, above_risk


class Decision(NamedTuple):
    """A portfolio of at most k names for each instance."""

    weights: Tensor  # (B, n)
    sharpe: Tensor  # (B)
    statuses: list[str]  # (B)


class _Tangent(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mu: Tensor,
        Sigma: Optional[Tensor],
        layer: _core.Layer,
        samples: Tensor,
        own: Sequence[Optional[Tensor]],
        box: list[Any],
    ) -> Any:
        w = torch.empty_like(mu)
        addresses = [0 if each is None else each.data_ptr() for each in own]
        ctx.layer_pass = box_pass = _core.forward(
            layer, mu.data_ptr(), w.data_ptr(), samples.data_ptr(), mu.shape[0], *addresses
        )
        ctx.save_for_backward(mu, Sigma)
        box.append(box_pass)
        return w

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        mu, Sigma = ctx.saved_tensors
        by_mu, by_Sigma = ctx.needs_input_grad[:2]
        apply = _TangentVjp.apply if torch.is_grad_enabled() else _vjp  # create_graph=True
        dL_dmu = apply(gradients[0], mu, None, ctx.layer_pass) if by_mu else None
        dL_dSigma = apply(gradients[0], mu, Sigma, ctx.layer_pass) if by_Sigma else None
        return dL_dmu, dL_dSigma, None, None, None, None


class _TangentVjp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, mu: Tensor, Sigma: Optional[Tensor], layer_pass: _core.Pass
    ) -> Any:
        return _vjp(gradient, mu, Sigma, layer_pass)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(
            "sharpen.torch.SparseTangent has first derivatives only: it cannot be differentiated "
            "twice"
        )


def _vjp(
    gradient: Tensor, mu: Tensor, Sigma: Optional[Tensor], layer_pass: _core.Pass
) -> Tensor:
    """dL_dSigma, or dL_dmu where there is no Sigma."""
    gradient = gradient.contiguous()
    if Sigma is None:
        out = torch.empty_like(gradient)
        layer_pass.vjp(gradient.data_ptr(), out.data_ptr())
        return out
    out = torch.zeros(Sigma.shape, dtype=torch.float64, device="cpu")
    layer_pass.covariance_vjp(gradient.data_ptr(), out.data_ptr())
    return out.to(Sigma.dtype)


def _setting(name: str, doc: str) -> Any:
    def get(self: SparseTangent) -> Any:
        return self._values[name]

    def change(self: SparseTangent, value: Any) -> None:
        self._set({**self._values, name: value})

    return property(get, change, doc=doc)


class SparseTangent(nn.Module):
    """Signal in, sparse maximum-Sharpe weights out, exact gradients back.

    ``k`` is a count or a share such as ``"10%"``, ``beta`` the sharpness of the soft selection.
    ``reoptimization`` says what the selection p is for: ``"restricted"`` weighs the names that it
    chose alone, and holds k of them as ``beta`` grows; ``"masked"``, the paper's, multiplies the
    signal by p, and its weights are dense however large ``beta`` is. At any ``beta``, ``decide``
    holds at most k names, exactly.

    The other arguments are the settings of ``sharpen train`` with underscores, and their defaults
    too but for ``reoptimization``, of which that has ``"masked"``; ``target_volatility`` is per year
    of ``periods_per_year`` periods. None stands for a default.

    All are attributes that can be changed between calls, ``layer.beta = 10.0``, and are checked as
    here; ``layer.settings`` has them all, so that ``SparseTangent(**layer.settings)`` is a twin.
    """

    def __init__(
        self,
        k: Union[int, str, None] = "10%",
        beta: Optional[float] = 5.0,
        *,
        score: Optional[str] = "symmetric",
        raw_score: Optional[bool] = False,
        reoptimization: Optional[str] = "restricted",
        topk: Optional[str] = "newton",
        sizing: Optional[str] = "volatility",
        target_volatility: Optional[float] = 0.10,
        periods_per_year: Optional[float] = 252.0,
        offset: Optional[float] = 0.01,
        net: Optional[str] = "positive",
        limits: Any = None,
        objective: Optional[str] = None,
        risk_aversion: Optional[float] = 1.0,
        assets: Optional[Sequence[Any]] = None,
        threads: Optional[int] = None,
    ) -> None:
        given = dict(locals())
        super().__init__()
        self._assets = [] if assets is None else [str(asset) for asset in assets]
        if len(set(self._assets)) < len(self._assets):
            raise InputError("assets: a name is there twice; give each column its own")
        self._set({name: given[name] for name in _DEFAULTS})
        self.threads = threads

    k = _setting("k", "The number of names, or a share of the assets such as ``'10%'``.")
    beta = _setting("beta", "The sharpness of the soft selection.")
    score = _setting("score", "``'symmetric'`` or ``'cholesky'``: what ranks the assets.")
    raw_score = _setting("raw_score", "Whether scores have the paper's budget scale.")
    reoptimization = _setting("reoptimization", "``'restricted'``, or the paper's ``'masked'``.")
    topk = _setting("topk", "``'newton'``, or the paper's ``'bisection'``, for the soft selection.")
    sizing = _setting("sizing", "``'volatility'``, ``'gross'`` or ``'budget'``.")
    target_volatility = _setting("target_volatility", "Of ``sizing='volatility'``, a year.")
    periods_per_year = _setting("periods_per_year", "What makes ``target_volatility`` yearly.")
    offset = _setting("offset", "What keeps a budget away from zero.")
    net = _setting("net", "``'positive'`` or ``'any'``: the sign of the net position.")

    limits = _setting("limits", "``sharpen.Limits(...)``, a TOML file, or None.")
    objective = _setting("objective", "Under limits ``'return'``, ``'sharpe'`` or ``'utility'``.")
    risk_aversion = _setting("risk_aversion", "Of ``objective='utility'``.")

    @property
    def assets(self) -> Optional[list[str]]:
        """What limits call the columns; None for their numbers, ``"0"`` and so on."""
        return list(self._assets) or None

    def _set(self, given: dict[str, Any]) -> None:
        """All settings at once, or none of them if they are refused."""
        values = {n: _DEFAULTS[n] if value is None else value for n, value in given.items()}
        if isinstance(k := values["k"], (bool, float)):
            raise TypeError(f"k = {k!r} is neither a count such as 5 nor a share such as '10%'")
        if values["limits"] is not None:  # what the file says now
            values["limits"] = _limits.Limits.from_text(_limits.text(values["limits"]))
        written = dict(values)
        if written["limits"] is not None or written["objective"] is not None:
            if written["sizing"] == _DEFAULTS["sizing"]:  # the objective stands in its place
                del written["sizing"]
        texts = _settings.texts("SparseTangent", "train", written)
        _core.check_settings("train", texts)
        _core.check_layer(texts)
        self._values = {name: _plain(name, value) for name, value in values.items()}
        self._layer = (tuple(sorted(texts.items())), texts)  # a key, and what it stands for

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every setting by its name, to be read; the attributes of these names change them."""
        return MappingProxyType({**self._values, "assets": self.assets})

    @property
    def threads(self) -> int:
        """How many threads a pass may use; None, when set, is ``sharpen.get_threads()``."""
        return _threads.get_threads() if self._given_threads is None else self._given_threads

    @threads.setter
    def threads(self, count: Optional[int]) -> None:
        self._given_threads = None if count is None else _threads.checked(count)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._values.items())

    def forward(
        self,
        mu: Tensor,
        risk: Risk,
        return_aux: bool = False,
        *,
        lower: Optional[Tensor] = None,
        upper: Optional[Tensor] = None,
        holdings: Optional[Tensor] = None,
    ) -> Any:
        """Weights (B, n) from signals ``mu`` (B, n), instance i with sample i of ``risk``; a
        ``risk`` of one sample serves all. ``mu`` (n) gives (n).

        Under ``limits``, ``lower`` and ``upper`` are bounds of the weights of each instance, and
        ``holdings`` what each holds, in the place of those of the limits: (B, n), or (n) for all.
        They are data: no gradient goes to them.

        Differentiable in ``mu``, and in the Sigma of ``Risk.from_covariance(Sigma)`` if that
        requires a gradient. With ``return_aux`` a pair: the weights, and an ``Aux``.
        """
        signal, samples, single = _checked(mu, risk)
        box: list[Any] = []
        threads, (key, texts) = self.threads, self._layer
        layer = risk._model.layer((key, *self._assets, threads), texts, self._assets, threads)
        own = self._own({"lower": lower, "upper": upper, "holdings": holdings}, signal)
        w = _Tangent.apply(signal, risk._model.differentiable(), layer, samples, own, box)
        if mu.dtype != torch.float64:
            w = w.to(mu.dtype)
        if single:
            w = w[0]
        return (w, _aux(box[0], mu.dtype, single)) if return_aux else w

    def _own(self, given: dict[str, Any], signal: Tensor) -> list[Optional[Tensor]]:
        """What instances have of their own, (B, n) in float64."""
        first = next((name for name, value in given.items() if value is not None), None)
        if first and not {"limits", "objective"} & set(self._layer[1]):
            raise InputError(
                f"{first} needs limits; make the layer with limits=sharpen.Limits(...)"
            )
        return [_like(name, value, signal) for name, value in given.items()]

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
            self._layer[1],
            self._assets,
            optimizer,
            self.threads,
        )
        w = torch.from_numpy(weights).to(mu.dtype)
        s = torch.from_numpy(sharpe).to(mu.dtype)
        if single:
            w, s = w[0], s[0]
        return Decision(w, s, statuses) if return_aux else w


# What None stands for, too.
_DEFAULTS: dict[str, Any] = {
    argument.name: argument.default
    for argument in inspect.signature(SparseTangent).parameters.values()
    if argument.name not in ("threads", "assets")
}


def _like(name: str, value: Optional[Tensor], signal: Tensor) -> Optional[Tensor]:
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a torch.Tensor")
    if value.requires_grad:
        raise InputError(f"{name} requires a gradient, and none goes there; give {name}.detach()")
    if value.shape not in (signal.shape, signal.shape[-1:]):
        raise InputError(
            f"{name} has shape {tuple(value.shape)}; give {tuple(signal.shape)}, as mu has"
        )
    return value.to(device="cpu", dtype=torch.float64).expand(signal.shape).contiguous()


def _plain(name: str, value: Any) -> Any:
    """A setting that was found good, as it is read back: of one of Python's own types."""
    if value is None or isinstance(value, (str, _limits.Limits)):
        return value
    return operator.index(value) if name == "k" else type(_DEFAULTS[name])(value)


def _aux(layer_pass: _core.Pass, dtype: torch.dtype, single: bool) -> Aux:
    mask = torch.from_numpy(layer_pass.mask).to(dtype)
    t = torch.from_numpy(layer_pass.net).to(dtype)
    first = torch.tensor(layer_pass.neutral_first, dtype=torch.bool, device="cpu")
    jitter = torch.from_numpy(layer_pass.jitter)
    if single:
        mask, t, first, jitter = mask[0], t[0], first[0], jitter[0]
    return Aux(mask, t, layer_pass.statuses, first, jitter, layer_pass.notes)


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
    if not samples.is_cpu:  # its address goes to the library
        raise InputError(f"risk: its index is on device {samples.device}; make the Risk again")
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
    ``mu``, and goes back through the layer once more than ``"literal"`` to find the scale.

    No row spoils the batch: a row of w with a NaN (an invalid input) counts as no position, as in
    training, and a row of mu that is not finite counts as no error, in means over all B rows. Such
    rows have no gradient. Where no row of mu is finite, nor is the loss: a model that has come
    apart must not look like one without errors. At alpha = 1 P is left out, at alpha = 0 D.
    """
    weight = number("alpha", alpha)
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
    if mixing == "balanced" and weight > 0.0:
        if not torch.is_grad_enabled():
            raise InputError("mixing = balanced needs gradients; use literal under no_grad")
        if not (mu.requires_grad and w.requires_grad):
            raise InputError("mixing = balanced needs w computed from mu, with gradients")
        decision, prediction = _decision_loss(w, r), _prediction_loss(mu, r)
        loss: Tensor = weight * _balance(mu, decision, prediction) * decision
        loss = loss if weight == 1.0 else loss + (1.0 - weight) * prediction
    elif weight == 1.0:
        loss = _decision_loss(w, r)
    elif weight == 0.0:
        loss = _prediction_loss(mu, r)
    else:
        loss = weight * _decision_loss(w, r) + (1.0 - weight) * _prediction_loss(mu, r)
    return loss if torch.isfinite(mu).all(dim=1).any() else loss + float("nan")


def _decision_loss(w: Tensor, r: Tensor) -> Tensor:
    unknown = torch.isnan(w).any(dim=1, keepdim=True)
    # In both factors: nothing times the return of such a row must be nothing, too.
    held, gained = w.masked_fill(unknown, 0.0), r.masked_fill(unknown, 0.0)
    return -(gained * held).sum(dim=1).mean()


def _prediction_loss(mu: Tensor, r: Tensor) -> Tensor:
    unusable = ~torch.isfinite(mu).all(dim=1, keepdim=True)
    return ((mu - r).masked_fill(unusable, 0.0) ** 2).sum(dim=1).mean()


def _balance(mu: Tensor, decision: Tensor, prediction: Tensor) -> Tensor:
    """What makes the gradient of D at mu as large as that of P; 0 where it is nothing."""
    (dD_dmu,) = torch.autograd.grad(decision, mu, retain_graph=True, allow_unused=True)
    if dD_dmu is None:
        raise InputError(
            "mixing = balanced: w does not depend on mu; give the very tensor that the layer was "
            "given, not a slice or copy of it"
        )
    (dP_dmu,) = torch.autograd.grad(prediction, mu, retain_graph=True)
    size = dD_dmu.double().square().sum()
    balance = (dP_dmu.double().square().sum() / size).sqrt() if size > 0 else size
    return balance.to(mu.dtype)
