"""Losses, and a predictor trained through the layer."""

import numpy as np
import pytest
import torch

import sharpen
from sharpen.torch import Risk, SparseTangent, mixed_loss


@pytest.fixture
def risk(returns):
    return Risk.from_windows(returns[:120, :8], 20)


def signal(batch, n):
    return torch.randn(batch, n, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def parts(mu, w, r):
    return -(r * w).sum(1).mean(), ((mu - r) ** 2).sum(1).mean()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_literal_mixing_is_the_formula(risk, alpha):
    torch.manual_seed(1)
    mu = (1e-3 * torch.randn(16, 8, dtype=torch.float64)).requires_grad_()
    w, r = SparseTangent(3)(mu, risk[:16]), risk.targets[:16]
    loss = mixed_loss(mu, w, r, alpha)
    decision, prediction = parts(mu, w, r)
    expected = alpha * decision + (1 - alpha) * prediction
    assert torch.equal(loss, expected)
    (found,) = torch.autograd.grad(loss, mu, retain_graph=True)
    (wanted,) = torch.autograd.grad(expected, mu)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("alpha", [0.25, 1.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_balanced_mixing_scales_the_decision_gradient(risk, alpha, dtype):
    torch.manual_seed(2)
    mu = (1e-3 * torch.randn(16, 8, dtype=dtype)).requires_grad_()
    r = risk.targets[:16].to(dtype)
    w = SparseTangent(3)(mu, risk[:16])
    decision, prediction = parts(mu, w, r)
    (dD,) = torch.autograd.grad(decision, mu, retain_graph=True)
    (dP,) = torch.autograd.grad(prediction, mu, retain_graph=True)
    c = dP.pow(2).mean().sqrt() / dD.pow(2).mean().sqrt()
    loss = mixed_loss(mu, w, r, alpha, mixing="balanced")
    assert loss.dtype == dtype
    assert float(loss) == pytest.approx(float(alpha * c * decision + (1 - alpha) * prediction), 1e-5)
    (3.0 * loss).backward()
    assert torch.allclose(mu.grad, 3.0 * (alpha * c * dD + (1 - alpha) * dP), rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_balanced_mixing_goes_back_to_all_that_the_weights_come_from(risk, alpha):
    """Parameters that reach w by another way than mu have their gradient, scaled like mu's."""
    torch.manual_seed(2)
    q = (1e-3 * torch.randn(16, 8, dtype=torch.float64)).requires_grad_()
    off = torch.full((8,), 1e-4, dtype=torch.float64).requires_grad_()
    size = torch.ones(1, dtype=torch.float64).requires_grad_()
    w = size * SparseTangent(3)(q + off, risk[:16])
    r = risk.targets[:16]
    decision, prediction = parts(q, w, r)
    dD = torch.autograd.grad(decision, (q, off, size), retain_graph=True)
    (dP,) = torch.autograd.grad(prediction, q, retain_graph=True)
    c = dP.norm() / dD[0].norm()
    mixed_loss(q, w, r, alpha, mixing="balanced").backward()
    assert torch.allclose(q.grad, alpha * c * dD[0] + (1 - alpha) * dP, rtol=1e-10, atol=0)
    assert torch.allclose(off.grad, alpha * c * dD[1], rtol=1e-10, atol=0)
    assert torch.allclose(size.grad, alpha * c * dD[2], rtol=1e-10, atol=0)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
@pytest.mark.parametrize("unknown", [0.0, float("nan")])
def test_rows_without_weights_count_as_cash(risk, alpha, bad, unknown):
    """As if the row were not there, but in means over all rows; and it has no gradient."""
    good = (1e-3 * signal(3, 8)).requires_grad_()
    r, rest = risk.targets[:3].clone(), [0, 2]
    r[1] = unknown  # nothing is held that would earn it
    w = SparseTangent(3)(good, risk[:3])
    expected = mixed_loss(good[rest], w[rest], r[rest], alpha) * (2 / 3)
    expected.backward()
    mu = good.detach().clone()
    mu[1, 0] = bad
    mu.requires_grad_()
    w = SparseTangent(3)(mu, risk[:3])
    loss = mixed_loss(mu, w, r, alpha)
    loss.backward()
    assert float(loss) == pytest.approx(float(expected), rel=1e-13)
    assert (mu.grad[1] == 0).all()
    assert torch.allclose(mu.grad[rest], good.grad[rest], rtol=1e-12, atol=0)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_rows_without_weights_do_not_disturb_the_balance(risk, alpha):
    rest = [0, 2]
    good = (1e-3 * signal(3, 8))[rest].requires_grad_()
    expected = mixed_loss(good, SparseTangent(3)(good, risk[rest]), risk.targets[rest], alpha,
                          mixing="balanced")
    expected.backward()
    mu = 1e-3 * signal(3, 8)
    mu[1] = float("nan")
    mu.requires_grad_()
    w = SparseTangent(3)(mu, risk[:3])
    loss = mixed_loss(mu, w, risk.targets[:3], alpha, mixing="balanced")
    loss.backward()
    assert float(loss) == pytest.approx(float(expected) * 2 / 3, rel=1e-12)
    assert (mu.grad[1] == 0).all()
    assert torch.allclose(mu.grad[rest], good.grad * (2 / 3), rtol=1e-10, atol=0)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mixing", ["literal", "balanced"])
def test_a_model_that_has_come_apart_is_seen(risk, alpha, mixing):
    mu = torch.full((3, 8), float("nan"), dtype=torch.float64).requires_grad_()
    loss = mixed_loss(mu, SparseTangent(3)(mu, risk[:3]), risk.targets[:3], alpha, mixing)
    loss.backward()
    assert loss.isnan() and (mu.grad == 0).all()


def test_a_row_of_a_bad_covariance_is_still_a_prediction(risk):
    mu, r = 1e-3 * signal(3, 8), risk.targets[:3]
    w = SparseTangent(3)(mu, risk[:3]).clone()
    w[1, 2] = float("nan")
    held = w.clone()
    held[1] = 0.0
    decision, prediction = parts(mu, held, r)
    assert torch.equal(mixed_loss(mu, w, r, 0.25), 0.25 * decision + 0.75 * prediction)


def test_what_has_no_weight_is_left_out(risk):
    mu, r = (1e200 * signal(3, 8)).requires_grad_(), risk.targets[:3]
    w = SparseTangent(3)(mu, risk[:3])
    loss = mixed_loss(mu, w, r, 1.0)  # the squares are beyond all numbers
    loss.backward()
    assert loss.isfinite() and mu.grad.isfinite().all()
    assert mixed_loss(mu * 1e-200, w * float("inf"), r, 0.0).isfinite()


@pytest.mark.parametrize(
    "change,error,message",
    [
        (dict(alpha=1.5), ValueError, r"alpha = 1.5 is outside \[0, 1\]"),
        (dict(alpha=float("nan")), ValueError, "alpha = nan"),
        (dict(alpha="a"), TypeError, "alpha is of type str"),
        (dict(mixing="balance"), ValueError, "mixing = balance.*did you mean balanced"),
        (dict(r=torch.zeros(2, 8)), ValueError, r"r has shape \(2, 8\) and mu \(4, 8\)"),
        (dict(r=np.zeros((4, 8))), TypeError, "r is of type ndarray"),
        (dict(w=torch.zeros(4, 8), mixing="balanced"), ValueError, "w computed from mu"),
        (dict(w=torch.zeros(4, 8).requires_grad_(), mixing="balanced"), ValueError,
         "w does not depend on mu; give the very tensor that the layer was given, not a slice"),
    ],
)
def test_wrong_input_is_named(risk, change, error, message):
    mu = torch.randn(4, 8).requires_grad_()
    given = dict(mu=mu, w=mu * 2, r=torch.zeros(4, 8), alpha=0.5)
    with pytest.raises(error, match=message) as caught:
        mixed_loss(**{**given, **change})
    if error is ValueError:
        assert isinstance(caught.value, sharpen.InputError)


@pytest.mark.parametrize("mixing", ["literal", "balanced"])
@pytest.mark.parametrize("reoptimization", ["masked", "restricted"])
def test_a_linear_predictor_learns_through_the_layer(mixing, reoptimization):
    """Tomorrow's return is today's by a hidden matrix, and some noise: the decision gets better."""
    torch.manual_seed(0)
    n, T, lookback = 8, 260, 30
    hidden = 0.5 * torch.randn(n, n)
    rows = [torch.randn(n) * 0.01]
    for _ in range(T - 1):
        rows.append(torch.tanh(rows[-1] @ hidden * 40) * 0.008 + torch.randn(n) * 0.004)
    R = torch.stack(rows)
    risk = Risk.from_windows(R, lookback)
    x, r = R[lookback - 1 : -1], risk.targets.float()  # the last row of each window
    predictor = torch.nn.Linear(n, n)
    with torch.no_grad():
        predictor.weight.mul_(0.05)
        predictor.bias.zero_()
    layer = SparseTangent(3, reoptimization=reoptimization)
    optimizer = torch.optim.Adam(predictor.parameters(), 1e-2)

    def mean_return():
        with torch.no_grad():
            return float((r * layer(predictor(x * 100), risk)).sum(1).mean())

    before = mean_return()
    for _ in range(15):
        for index in torch.randperm(len(x)).split(64):
            mu = predictor(x[index] * 100)
            loss = mixed_loss(mu, layer(mu, risk[index]), r[index], 1.0, mixing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    after = mean_return()
    assert after > before + 0.002
