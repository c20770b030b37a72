"""sharpen.torch.SparseTangent. PyTorch is not optional here: without it these tests fail."""

import itertools
import threading
import warnings

import numpy as np
import pytest
import torch

import sharpen
from sharpen.torch import Risk, SparseTangent, mixed_loss

SIZINGS = ("budget", "volatility", "gross")
MODES = list(
    itertools.product(("symmetric", "cholesky"), ("masked", "restricted"), SIZINGS, ("auto", "any"))
)


def signal(batch, n, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, n, generator=generator, dtype=torch.float64).to(dtype)


@pytest.fixture
def risk(returns):
    return Risk.from_windows(returns[:60, :7], 30)


@pytest.mark.parametrize("score,reoptimization,sizing,net", MODES)
def test_gradcheck(risk, score, reoptimization, sizing, net):
    if net == "any" and sizing == "budget":
        return  # test_wrong_settings_are_named
    net = "positive" if net == "auto" else net
    layer = SparseTangent(3, 2.0, score=score, reoptimization=reoptimization, sizing=sizing, net=net)
    mu = signal(6, 7, seed=3).requires_grad_()
    batch = risk[[3, 0, 7, 7, 29, 12]]
    _, aux = layer(mu, batch, return_aux=True)
    if net == "positive":
        assert {"ok", "neutral_face"} == set(aux.statuses)  # both branches are checked
    assert torch.autograd.gradcheck(lambda m: layer(m, batch), (mu,), atol=1e-6)


def test_gradcheck_of_the_raw_score_and_the_low_rank_form(returns):
    risk = Risk.from_windows(returns[:12], 4, form="low-rank")
    assert risk.form == "low-rank"
    mu = signal(3, 12).requires_grad_()
    for layer in (SparseTangent(4, 2.0), SparseTangent(4, 2.0, score="cholesky", raw_score=True)):
        assert torch.autograd.gradcheck(lambda m: layer(m, risk[:3]), (mu,), atol=1e-6)


def test_volatility_is_what_was_asked_for(risk, returns):
    layer = SparseTangent(3, target_volatility=0.2, periods_per_year=50)
    w = layer(signal(1, 7), risk[4])[0].numpy()
    window = returns[4:34, :7]
    Sigma = np.cov(window.T)
    Sigma = 0.9 * Sigma + 0.1 * np.trace(Sigma) / 7 * np.eye(7)
    assert np.sqrt(w @ Sigma @ w * 50) == pytest.approx(0.2, rel=1e-9)


def test_batch_has_the_bits_of_its_instances(risk):
    layer = SparseTangent(3)
    mu = signal(9, 7)
    index = [4, 4, 0, 29, 1, 2, 3, 4, 5]
    whole = layer(mu, risk[index])
    for i, sample in enumerate(index):
        assert torch.equal(layer(mu[i], risk[sample]), whole[i])


def test_any_number_of_threads_gives_the_same_bits(risk):
    mu = signal(30, 7)
    found = []
    for threads in (1, 2, 4):
        m = mu.clone().requires_grad_()
        w = SparseTangent(3, threads=threads)(m, risk)
        w.pow(2).sum().backward()
        found.append((w.detach(), m.grad))
    for w, gradient in found[1:]:
        assert torch.equal(w, found[0][0]) and torch.equal(gradient, found[0][1])


def test_set_threads_is_the_default_and_changes_no_bit(risk):
    assert sharpen.get_threads() == 0
    layer, mu = SparseTangent(3), signal(30, 7)
    w = layer(mu, risk)
    try:
        sharpen.set_threads(1)
        assert layer.threads == 1
        assert torch.equal(layer(mu, risk), w)
    finally:
        sharpen.set_threads(0)
    for wrong, error in ((-1, ValueError), (2000, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="threads"):
            sharpen.set_threads(wrong)


def test_aux(risk):
    mu = signal(4, 7)
    mu[1] = 0.0
    mu[2, 3] = float("nan")
    w, aux = SparseTangent(3)(mu, risk[:4], return_aux=True)
    assert aux.statuses[1:3] == ["no_signal", "invalid_input"]
    assert aux.statuses[0] in ("ok", "neutral_face")
    assert torch.allclose(aux.mask[[0, 3]].sum(1), torch.tensor([3.0, 3.0], dtype=torch.float64))
    assert aux.mask[1:3].isnan().all() and aux.t[1:3].isnan().all()
    assert (w[1] == 0).all() and w[2].isnan().all()
    assert not w[[0, 3]].isnan().any()


def test_trouble_in_one_instance_has_no_gradient_and_disturbs_no_other(risk):
    layer, good = SparseTangent(3), signal(3, 7).requires_grad_()
    layer(good, risk[:3]).sum(1)[[0, 2]].sum().backward()
    mixed = good.detach().clone()
    mixed[1] = float("inf")
    mixed.requires_grad_()
    layer(mixed, risk[:3]).nan_to_num().sum().backward()
    assert (mixed.grad[1] == 0).all()
    assert torch.equal(mixed.grad[[0, 2]], good.grad[[0, 2]])


@pytest.fixture
def elsewhere(monkeypatch):
    """Tensors that do not say where they are made are made on the device "meta", which has no
    memory: as `torch.set_default_device` does, in PyTorch 1.13, too."""
    for name in ("arange", "tensor", "full", "empty", "zeros", "ones"):
        made = getattr(torch, name)

        def make(*arguments, made=made, **settings):
            return made(*arguments, **{"device": "meta", **settings})

        monkeypatch.setattr(torch, name, make)
    assert torch.arange(3).device.type == "meta"


def of_everything(mu, returns):
    risk = Risk.from_windows(returns[:60, :7], 30)
    other = Risk.from_covariance(np.cov(returns[:, :7].T))
    layer, leaf = SparseTangent(3), mu.clone().requires_grad_()
    w, aux = layer(leaf, risk[1:4], return_aux=True)
    w.pow(2).sum().backward()
    decision = layer.decide(mu, risk[[1, 0, 2]], return_aux=True)
    return [w.detach(), leaf.grad, aux.mask, aux.t, aux.neutral_first, aux.jitter,
            layer(mu[0], risk[3]), layer(mu, risk[torch.from_numpy(np.array([5, 4, 3]))]),
            layer(mu, other), layer(mu, risk[::12]), decision.weights, decision.sharpe,
            risk.targets, risk.windows, mixed_loss(mu, w.detach(), risk.targets[:3], 0.5)]


def test_tensors_are_made_on_the_cpu_whatever_the_default_device(returns, request):
    mu = signal(3, 7)
    expected = of_everything(mu, returns)
    request.getfixturevalue("elsewhere")
    for found, wanted in zip(of_everything(mu, returns), expected):
        assert found.device.type == "cpu" and torch.equal(found, wanted)


@pytest.mark.parametrize("place", ["default", "with"])
def test_a_default_device_of_pytorch_2(returns, place):
    mu = signal(3, 7)
    expected = of_everything(mu, returns)
    if not hasattr(torch, "set_default_device"):  # PyTorch 1: the test above stands for it
        return
    if place == "with":
        with torch.device("meta"):
            found = of_everything(mu, returns)
    else:
        torch.set_default_device("meta")
        try:
            found = of_everything(mu, returns)
        finally:
            torch.set_default_device(None)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


def test_an_index_that_is_elsewhere_is_refused(risk):
    part = risk[:3]
    part._index = part._index.to("meta")
    for call in (SparseTangent(3), SparseTangent(3).decide):
        with pytest.raises(sharpen.InputError, match="risk: its index is on device meta"):
            call(signal(3, 7), part)


def test_layers_on_one_risk_do_not_pile_up(risk):
    mu = signal(4, 7)
    first = SparseTangent(3, 1.0)
    expected = first(mu, risk[:4])
    first_layer = next(iter(risk._model.layers.values()))
    for i in range(100):  # beta annealing, next to a layer that stays
        SparseTangent(3, 1.0 + 0.01 * i)(mu, risk[:4])
        assert torch.equal(first(mu, risk[:4]), expected)
    assert len(risk._model.layers) <= 8
    assert first_layer in risk._model.layers.values()  # the one in use is not set up again


def test_float32_in_gives_float32_out(risk):
    layer = SparseTangent(3)
    mu = signal(4, 7, dtype=torch.float32).requires_grad_()
    w, aux = layer(mu, risk[:4], return_aux=True)
    w.sum().backward()
    assert w.dtype == mu.grad.dtype == aux.mask.dtype == torch.float32
    exact = layer(mu.detach().double(), risk[:4])
    assert torch.equal(w.detach(), exact.float())
    assert layer.decide(mu, risk[:4]).dtype == torch.float32


def test_one_signal_and_one_sample(risk):
    layer, mu = SparseTangent(3), signal(5, 7)
    assert layer(mu[0], risk[2]).shape == (7,)
    shared = layer(mu, risk[2])
    assert torch.equal(shared, layer(mu, risk[[2] * 5]))
    assert layer(mu[:0], risk[:0]).shape == (0, 7)


def test_layouts_of_signal_and_gradient(risk):
    layer, mu = SparseTangent(3), signal(5, 7)
    expected = layer(mu, risk[:5])
    transposed = mu.t().contiguous().t().requires_grad_()
    w = layer(transposed, risk[:5])
    assert torch.equal(w, expected)
    w.backward(torch.ones(7, 5, dtype=torch.float64).t())
    plain = mu.clone().requires_grad_()
    layer(plain, risk[:5]).sum().backward()  # an expanded gradient
    assert torch.equal(transposed.grad, plain.grad)


def test_gradients_of_several_passes_do_not_mix(risk):
    layer = SparseTangent(3)
    signals = [signal(b, 7, seed=b).requires_grad_() for b in (2, 5, 3)]
    alone = []
    for mu in signals:
        layer(mu, risk[: len(mu)]).pow(2).sum().backward()
        alone.append(mu.grad.clone())
        mu.grad = None
    outputs = [layer(mu, risk[: len(mu)]) for mu in signals]
    sum(w.pow(2).sum() for w in reversed(outputs)).backward(retain_graph=True)
    for mu, gradient in zip(signals, alone):
        assert torch.equal(mu.grad, gradient)
    outputs[1].pow(2).sum().backward()
    assert torch.equal(signals[1].grad, 2 * alone[1])


def test_passes_from_several_threads(risk):
    layer = SparseTangent(3)
    expected = {s: layer(signal(8, 7, seed=s), risk[:8]) for s in range(8)}
    wrong = []

    def work(seed):
        for _ in range(50):
            if not torch.equal(layer(signal(8, 7, seed=seed), risk[:8]), expected[seed]):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_second_derivatives_are_refused(risk):
    mu = signal(2, 7).requires_grad_()
    (gradient,) = torch.autograd.grad(
        SparseTangent(3)(mu, risk[:2]).pow(2).sum(), mu, create_graph=True
    )
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        gradient.sum().backward()


def test_changing_the_signal_before_backward_is_noticed(risk):
    leaf = signal(2, 7).requires_grad_()
    mu = leaf * 1.0
    w = SparseTangent(3)(mu, risk[:2])
    mu.mul_(2.0)
    with pytest.raises(RuntimeError, match="inplace"):
        w.sum().backward()


@pytest.mark.parametrize("optimizer", ["swap", "greedy", "symmetric", "oscar"])
def test_decisions_are_those_of_solve(returns, optimizer):
    window = returns[:40, :7]
    risk = Risk.from_windows(window, 40, ends=[40])
    layer = SparseTangent(3, sizing="gross")
    mu = torch.from_numpy(window.mean(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sharpen.SharpenWarning)
        expected = sharpen.solve(returns=window, k=3, optimizer=optimizer, lookback=40)
    found = layer.decide(mu, risk, optimizer=optimizer, return_aux=True)
    assert np.allclose(found.weights.numpy(), expected.array, rtol=1e-12, atol=0)
    assert float(found.sharpe) == pytest.approx(expected.sharpe, rel=1e-12)
    assert found.statuses == [expected.status]


def test_decisions_hold_at_most_k_names(risk):
    layer = SparseTangent("30%")  # 2 of 7
    mu = signal(30, 7).requires_grad_()
    w = layer.decide(mu, risk)
    assert not w.requires_grad
    assert int((w != 0).sum(1).max()) == 2


def test_sharp_masks_approach_the_decision(risk):
    mu = signal(30, 7)
    soft = SparseTangent(3, 1e5, reoptimization="restricted")(mu, risk)
    hard = SparseTangent(3).decide(mu, risk, optimizer="symmetric")
    assert torch.allclose(soft, hard, atol=1e-8)


def test_the_default_holds_k_names_and_the_paper_s_layer_all(returns):
    rng = np.random.default_rng(5)
    risk = Risk.from_windows(rng.normal(4e-4, 0.01, (60, 30)), 50)
    mu = signal(10, 30)
    sparse, aux = SparseTangent(k=3, beta=1000)(mu, risk, return_aux=True)
    clear = ((aux.mask < 1e-12) | (aux.mask > 1 - 1e-12)).all(1)
    assert int(clear.sum()) > 5  # the others are ties, to this beta
    assert (((sparse.abs() > 1e-9).sum(1)) == 3)[clear].all()
    dense = SparseTangent(k=3, beta=1000, reoptimization="masked")(mu, risk)
    assert ((dense.abs() > 1e-9).sum(1) > 3).all()
    assert ((SparseTangent(k=3).decide(mu, risk) != 0).sum(1) <= 3).all()


def test_settings_can_be_read_and_changed(risk):
    import copy
    import pickle

    mu = signal(3, 7)
    layer = SparseTangent(np.int64(3), np.float32(2), raw_score=np.False_)
    assert (layer.k, layer.beta, layer.raw_score) == (3, 2.0, False)
    assert [type(x) for x in (layer.k, layer.beta, layer.raw_score)] == [int, float, bool]
    assert layer.reoptimization == "restricted" and layer.net == "positive"
    for name, value in dict(beta=10, k=2, sizing="gross", reoptimization="masked", score="cholesky",
                            topk="bisection", target_volatility=0.2, periods_per_year=12.0,
                            offset=0.02, net="any", raw_score=None).items():
        before = layer(mu, risk[:3])
        setattr(layer, name, value)
        given = dict(layer.settings)
        assert given[name] == (False if value is None else value)
        assert torch.equal(layer(mu, risk[:3]), SparseTangent(**given)(mu, risk[:3]))
        if name in ("beta", "k", "sizing", "reoptimization", "score"):
            assert not torch.equal(layer(mu, risk[:3]), before), name
    assert torch.equal(layer.decide(mu, risk[:3]), SparseTangent(2, sizing="gross", net="any")
                       .decide(mu, risk[:3]))
    assert "k=2, beta=10.0" in repr(layer)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin.settings == layer.settings
        twin.beta = 1.0
        assert layer.beta == 10.0
    layer.threads = 2
    assert layer.threads == 2
    layer.threads = None
    assert layer.threads == sharpen.get_threads()


def test_a_refused_change_changes_nothing():
    layer = SparseTangent(3, sizing="budget")
    before = dict(layer.settings)
    for name, value, error, message in [
        ("beta", -1, ValueError, "beta = -1.* is outside"),
        ("beta", [5.0], TypeError, "beta is of type list"),
        ("k", 2.5, TypeError, "k = 2.5 is neither"),
        ("k", 0, ValueError, "k = 0"),
        ("score", "cholesqy", ValueError, "score = cholesqy.*did you mean cholesky"),
        ("net", "any", ValueError, "net = any does not go with sizing = budget"),
        ("threads", 1.5, TypeError, "threads is of type float"),
    ]:
        with pytest.raises(error, match=message):
            setattr(layer, name, value)
    assert layer.settings == before
    with pytest.raises(TypeError):
        layer.settings["beta"] = 7.0
    with pytest.raises(AttributeError):
        layer.settings = {}


def test_a_module_like_any_other(risk):
    import copy
    import pickle

    layer = SparseTangent(3, score="cholesky")
    assert list(layer.parameters()) == [] and "k=3" in repr(layer)
    mu = signal(3, 7)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(mu, risk[:3]), layer(mu, risk[:3]))
    model = torch.nn.ModuleList([torch.nn.Linear(7, 7), layer])
    model.eval().double().load_state_dict(model.state_dict())


def test_none_stands_for_the_default(risk):
    names = "k beta score raw_score reoptimization topk sizing target_volatility".split()
    names += "periods_per_year offset net".split()
    layer = SparseTangent(**dict.fromkeys(names))
    assert layer.settings == SparseTangent().settings
    assert "k=10%" in repr(layer) and "net=positive" in repr(layer)
    mu = signal(3, 7)
    assert torch.equal(layer(mu, risk[:3]), SparseTangent()(mu, risk[:3]))


WRONG_SETTINGS = [
    (dict(k=2.0), TypeError, "k = 2.0 is neither"),
    (dict(k=True), TypeError, "k = True is neither"),
    (dict(k=0), ValueError, "k = 0"),
    (dict(beta=-1), ValueError, "beta = -1 is outside"),
    (dict(beta=float("nan")), ValueError, "beta = nan"),
    (dict(beta="a"), ValueError, "beta = a"),
    (dict(beta=None, score="cholesqy"), ValueError, "score = cholesqy.*did you mean cholesky"),
    (dict(sizing="net"), ValueError, "sizing = net"),
    (dict(net="short"), ValueError, "net = short"),
    (dict(target_volatility=0), ValueError, "target_volatility = 0"),
    (dict(threads=1.0), TypeError, "threads is of type float"),
    (dict(shrinkage=0.1), TypeError, "shrinkage"),
    (dict(net="any", sizing="budget"), ValueError, "^net = any does not go with sizing = budget"),
    (dict(net="any", raw_score=True), ValueError, "^raw_score = true needs net = positive"),
]


@pytest.mark.parametrize("settings,error,message", WRONG_SETTINGS)
def test_wrong_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        SparseTangent(**{"k": 3, **settings})


WRONG_CALLS = [
    (lambda mu, risk: (mu.numpy(), risk), TypeError, "mu is of type ndarray"),
    (lambda mu, risk: (mu, np.eye(7)), TypeError, "risk is of type ndarray"),
    (lambda mu, risk: (mu.long(), risk), TypeError, "mu has dtype torch.int64"),
    (lambda mu, risk: (mu.to(torch.complex128), risk), TypeError, "mu has dtype torch.complex128"),
    (lambda mu, risk: (mu[:, :6], risk), ValueError, r"mu has shape \(4, 6\); risk has 7 assets"),
    (lambda mu, risk: (mu[None], risk), ValueError, r"mu has shape \(1, 4, 7\)"),
    (lambda mu, risk: (mu.sum(), risk), ValueError, r"mu has shape \(\)"),
    (lambda mu, risk: (mu[:3], risk), ValueError, "mu has 3 rows and risk has 4 samples"),
    (lambda mu, risk: (mu.to("meta"), risk), ValueError, "mu is on device meta"),
    (lambda mu, risk: (mu.to_sparse(), risk), ValueError, "give mu.cpu|dense"),
]


@pytest.mark.parametrize("make,error,message", WRONG_CALLS)
def test_wrong_calls_are_named(risk, make, error, message):
    layer = SparseTangent(3)
    arguments = make(signal(4, 7), risk[:4])
    for call in (layer, layer.decide):
        with pytest.raises(error, match=message):
            call(*arguments)


def test_what_does_not_go_together_is_named(risk, returns):
    with pytest.raises(sharpen.InputError, match=r"k = 8 is outside \[1, 7\]"):
        SparseTangent(8)(signal(1, 7), risk[0])
    with pytest.raises(sharpen.InputError, match="optimizer = sdr is not one of"):
        SparseTangent(3).decide(signal(1, 7), risk[0], optimizer="sdr")
    only = Risk.from_windows(returns[:20], 5, form="low-rank", score="symmetric")
    assert SparseTangent(2)(signal(1, 12), only[0]).shape == (1, 12)
    with pytest.raises(sharpen.InputError, match="score = cholesky"):
        SparseTangent(2, score="cholesky")(signal(1, 12), only[0])
