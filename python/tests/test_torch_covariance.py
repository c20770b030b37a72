"""Gradients in the covariance: SparseTangent over Risk.from_covariance(Sigma)."""

import copy
import itertools
import pickle

import pytest
import torch

import sharpen
from sharpen.torch import Risk, SparseTangent, mixed_loss

MODES = [
    mode
    for mode in itertools.product(
        ("symmetric", "cholesky"),
        ("masked", "restricted"),
        ("budget", "volatility", "gross"),
        ("positive", "any"),
    )
    if mode[2:] != ("budget", "any")
]


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def symmetric(M):
    return (M + M.transpose(-1, -2)) / 2


def covariances(*shape, seed=0):
    A = randn(*shape, seed=seed)
    return A @ A.transpose(-1, -2) + torch.eye(shape[-1], dtype=torch.float64)


@pytest.mark.parametrize("score,reoptimization,sizing,net", MODES)
def test_gradcheck(score, reoptimization, sizing, net):
    layer = SparseTangent(2, 2.0, score=score, reoptimization=reoptimization, sizing=sizing, net=net)
    mu = randn(3, 4, seed=1).requires_grad_()
    statuses = set()

    def weights(mu, A):
        w, aux = layer(mu, Risk.from_covariance(A @ A.T + torch.eye(4)), return_aux=True)
        statuses.update(aux.statuses)
        return w

    assert torch.autograd.gradcheck(weights, (mu, randn(4, 4, seed=2).requires_grad_()), atol=1e-6)
    if net == "positive":
        assert {"ok", "neutral_face"} == statuses  # both branches are checked
    # Of a batch, shrunk, in another order and one of it twice.
    M = covariances(2, 4, 4, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda M: layer(mu.detach(), Risk.from_covariance(symmetric(M), shrinkage=0.3)[[1, 0, 1]]),
        (M,),
        atol=1e-6,
    )


def test_the_raw_score_and_equal_eigenvalues():
    mu = randn(3, 4).requires_grad_()
    M = torch.eye(4, dtype=torch.float64).requires_grad_()
    raw = dict(raw_score=True, sizing="budget", beta=0.5)
    for settings in (dict(), dict(score="cholesky"), raw):
        layer = SparseTangent(2, **{"beta": 2.0, **settings})
        assert torch.autograd.gradcheck(
            lambda mu, M: layer(mu, Risk.from_covariance(symmetric(M))), (mu, M), atol=1e-6
        )


def test_the_gradient_of_a_leaf_is_symmetric():
    Sigma = covariances(5, 5).requires_grad_()
    layer, mu, g = SparseTangent(2), randn(1, 5, seed=1), randn(1, 5, seed=2)
    (g * layer(mu, Risk.from_covariance(Sigma))).sum().backward()
    assert torch.equal(Sigma.grad, Sigma.grad.T)
    direction = symmetric(randn(5, 5, seed=3))
    with torch.no_grad():
        there, back = (
            (g * layer(mu, Risk.from_covariance(Sigma + h * direction))).sum()
            for h in (1e-5, -1e-5)
        )
    assert float((Sigma.grad * direction).sum()) == pytest.approx(float(there - back) / 2e-5, 1e-6)


def test_parts_of_a_risk_give_gradients_to_their_samples():
    Sigma = covariances(4, 5, 5).requires_grad_()
    risk, layer, mu = Risk.from_covariance(Sigma), SparseTangent(2), randn(2, 5, seed=1)
    layer(mu, risk[torch.tensor([3, 1])]).square().sum().backward()
    assert [bool(G.any()) for G in Sigma.grad] == [False, True, False, True]
    alone = Sigma.detach()[3].clone().requires_grad_()
    layer(mu[0], Risk.from_covariance(alone)).square().sum().backward()
    assert torch.equal(Sigma.grad[3], alone.grad)
    # One sample for all signals: the sum over them.
    Sigma.grad = None
    layer(mu, risk[3]).square().sum().backward()
    both = Sigma.grad[3].clone()
    Sigma.grad = None
    for row in mu:
        layer(row, risk[3]).square().sum().backward()
    assert torch.allclose(both, Sigma.grad[3], rtol=1e-12)


def test_threads_change_no_bit():
    Sigma, mu = covariances(6, 8, 8).requires_grad_(), randn(30, 8, seed=1)
    risk = Risk.from_covariance(Sigma)[torch.arange(30) % 6]
    found = []
    for threads in (1, 4):
        w = SparseTangent(3, threads=threads)(mu, risk)
        found += torch.autograd.grad(w.square().sum(), Sigma)
    assert torch.equal(*found)


def test_types():
    Sigma = covariances(5, 5).float().requires_grad_()
    mu = randn(2, 5).float().requires_grad_()
    w = SparseTangent(2)(mu, Risk.from_covariance(Sigma))
    w.sum().backward()
    assert w.dtype == mu.grad.dtype == Sigma.grad.dtype == torch.float32
    wide = Sigma.detach().double().requires_grad_()
    SparseTangent(2)(mu.detach().double(), Risk.from_covariance(wide)).sum().backward()
    assert (Sigma.grad - wide.grad).norm() < 1e-5 * wide.grad.norm()


def test_signal_and_covariance_from_one_network():
    A, mu = randn(6, 6).requires_grad_(), randn(4, 6, seed=1).requires_grad_()
    losses = []
    optimizer = torch.optim.Adam([A, mu], 0.05)
    r = 0.1 * randn(4, 6, seed=2)
    for _ in range(20):
        optimizer.zero_grad()
        risk = Risk.from_covariance(A @ A.T + torch.eye(6))
        loss = mixed_loss(mu, SparseTangent(3)(mu, risk), r, alpha=0.5, mixing="balanced")
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0]


def test_nothing_changes_without_a_gradient():
    Sigma, mu = covariances(5, 5), randn(2, 5).requires_grad_()
    risk = Risk.from_covariance(Sigma)
    w = SparseTangent(2)(mu, risk)
    assert risk._model.Sigma is None
    assert pickle.loads(pickle.dumps(risk)).n == 5
    (expected,) = torch.autograd.grad(w.square().sum(), mu)
    risk = Risk.from_covariance(Sigma.requires_grad_())
    assert torch.equal(SparseTangent(2)(mu, risk), w)
    (found,) = torch.autograd.grad(SparseTangent(2)(mu, risk).square().sum(), mu)
    assert torch.equal(found, expected)
    with torch.no_grad():
        assert Risk.from_covariance(Sigma)._model.Sigma is None
        assert not SparseTangent(2)(mu, risk).requires_grad
    assert not SparseTangent(2).decide(mu, risk).requires_grad


def test_instances_without_a_direction_give_no_gradient():
    Sigma = covariances(3, 4, 4)
    Sigma[1] = -1.0
    Sigma.requires_grad_()
    with pytest.warns(sharpen.SharpenWarning, match="Sigma\\[1\\]"):
        risk = Risk.from_covariance(Sigma)
    mu = randn(3, 4)
    mu[2] = 0.0
    w = SparseTangent(2)(mu, risk)
    assert w[1].isnan().all() and not w[2].any()
    w[[0, 2]].sum().backward()
    assert Sigma.grad[0].any() and not Sigma.grad[1:].any()


def test_second_derivatives_are_refused():
    Sigma, mu = covariances(5, 5).requires_grad_(), randn(2, 5)
    w = SparseTangent(2)(mu, Risk.from_covariance(Sigma))
    (gradient,) = torch.autograd.grad(w.square().sum(), Sigma, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        gradient.sum().backward()


def test_changes_in_place_are_noticed():
    leaf = covariances(5, 5).requires_grad_()
    risk = Risk.from_covariance(leaf)
    w = SparseTangent(2)(randn(2, 5), risk)
    with torch.no_grad():
        leaf.mul_(2.0)
    with pytest.raises(RuntimeError, match="inplace"):
        w.sum().backward()
    with pytest.raises(sharpen.InputError, match="make the Risk again"):
        SparseTangent(2)(randn(2, 5), risk)


def test_copies_and_collated_parts_keep_the_gradient():
    first, second = (covariances(2, 4, 4, seed=s).requires_grad_() for s in (1, 2))
    plain = covariances(4, 4, seed=3)
    parts = [Risk.from_covariance(Sigma) for Sigma in (first, plain, second)]
    parts[0] = parts[0][1]
    mu = randn(4, 4)
    SparseTangent(2)(mu, Risk.collate(parts)).square().sum().backward()
    expected = first.grad.clone(), second.grad.clone()
    first.grad = second.grad = None
    for i, risk in enumerate([parts[0], None, parts[2][0], parts[2][1]]):
        if risk is not None:
            SparseTangent(2)(mu[i], copy.deepcopy(risk)).square().sum().backward()
    assert torch.allclose(first.grad, expected[0]) and torch.allclose(second.grad, expected[1])
    assert not first.grad[0].any() and first.grad[1].any()


def test_gradients_are_never_dropped_in_silence(returns):
    Sigma = covariances(4, 4).requires_grad_()
    risk = Risk.from_covariance(torch.stack([Sigma, Sigma]))
    for one in (risk, risk[0]):
        with pytest.raises(sharpen.InputError, match=r"Sigma\.detach\(\)"):
            pickle.dumps(one)
    R = torch.from_numpy(returns[:40, :5]).requires_grad_()
    with pytest.raises(sharpen.InputError, match=r"returns\.detach\(\).*Risk\.from_covariance"):
        Risk.from_windows(R, 20)
    assert len(Risk.from_windows(R.detach(), 20)) == 20
    shrinkage = torch.tensor(0.1, requires_grad=True)
    with pytest.raises(sharpen.InputError, match=r"shrinkage requires a gradient"):
        Risk.from_covariance(Sigma, shrinkage=shrinkage)
    assert len(Risk.from_covariance(Sigma, shrinkage=shrinkage.item())) == 1
    with pytest.raises(sharpen.InputError, match=r"torch\.stack\(Sigma\)"):
        Risk.from_covariance([Sigma, Sigma])
