"""sharpen.torch.Risk: alignment, indexing, pickling, loaders."""

import copy
import itertools
import pickle
import signal
import subprocess
import sys
import textwrap
import types
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import sharpen
from sharpen.torch import Risk, SparseTangent


@pytest.fixture
def risk(returns):
    return Risk.from_windows(returns[:60, :7], 20)


def weights(risk):
    mu = torch.linspace(-1, 1, len(risk) * risk.n, dtype=torch.float64).sin()
    return SparseTangent(3)(mu.reshape(len(risk), risk.n), risk)


def test_samples_precede_their_targets(returns, risk):
    R = torch.from_numpy(returns[:60, :7])
    assert len(risk) == 40 and risk.n == 7
    assert torch.equal(risk.targets, R[20:])
    assert torch.equal(risk.windows[5], R[5:25])
    assert torch.equal(risk[[39, 0]].targets, R[[59, 20]])
    assert torch.equal(risk[[39, 0]].windows[1], R[:20])


def test_later_rows_change_no_earlier_sample(returns, risk):
    changed = returns[:60, :7].copy()
    changed[45:] *= -3.0
    later = Risk.from_windows(changed, 20)
    assert torch.equal(weights(risk[:26]), weights(later[:26]))  # windows before row 46
    assert not torch.equal(weights(risk[26:]), weights(later[26:]))


def test_windows_and_covariances_agree(returns, risk):
    Sigmas = []
    for end in range(20, 60):
        S = np.cov(returns[end - 20 : end, :7].T)
        Sigmas.append(0.9 * S + 0.1 * np.trace(S) / 7 * np.eye(7))
    given = Risk.from_covariance(np.array(Sigmas))
    assert torch.allclose(weights(given), weights(risk), rtol=1e-9, atol=1e-12)
    one = Risk.from_covariance(torch.from_numpy(Sigmas[3]))
    assert len(one) == 1
    assert torch.allclose(weights(one), weights(risk[3]), rtol=1e-9, atol=1e-12)


def test_the_window_for_tomorrow(returns):
    risk = Risk.from_windows(returns[:20, :7], 20, ends=[20])
    assert len(risk) == 1 and risk.targets.isnan().all()
    whole = Risk.from_windows(returns[:40, :7], 20)
    assert torch.equal(weights(risk), weights(whole[0]))


@pytest.mark.parametrize(
    "index",
    [
        3,
        -1,
        np.int64(7),
        slice(2, 9),
        slice(None, None, -3),
        [5, 1, 5],
        (5, 1),
        [],
        np.array([4, 2]),
        np.arange(40) % 3 == 0,
        torch.tensor([6, 6, 0]),
        torch.tensor([1, 2], dtype=torch.int32),
        torch.arange(40) > 35,
        torch.tensor(4),
        range(3, 6),
    ],
)
def test_indexing_is_numpys(risk, index):
    if isinstance(index, torch.Tensor):
        chosen = index.numpy()
    elif isinstance(index, (list, tuple, range)):
        chosen = np.array(index, dtype=int)
    else:
        chosen = index
    rows = np.atleast_1d(np.arange(40)[chosen])
    part = risk[index]
    assert len(part) == len(rows)
    assert torch.equal(part.targets, risk.targets[torch.from_numpy(rows.copy())])
    assert part._model is risk._model  # nothing is factored again


def test_parts_of_parts(risk):
    assert torch.equal(risk[10:20][[3, 0]].targets, risk.targets[[13, 10]])
    assert torch.equal(weights(risk[10:20][[3, 0]]), weights(risk[[13, 10]]))


@pytest.mark.parametrize(
    "index,error",
    [
        (40, IndexError),
        (-41, IndexError),
        ([0, 99], IndexError),
        (np.ones(3, bool), IndexError),
        ("a", TypeError),
        (None, TypeError),
        (1.5, TypeError),
        (torch.tensor([0.5]), TypeError),
        ([0.5], TypeError),
    ],
)
def test_wrong_indices(risk, index, error):
    with pytest.raises(error, match="risk"):
        risk[index]


def test_pickling(risk):
    for part in (risk, risk[[7, 3]], Risk.from_covariance(np.diag([1.0, 2.0, 3.0, 4.0]))):
        twin = pickle.loads(pickle.dumps(part))
        assert torch.equal(weights(twin), weights(part))


@pytest.mark.parametrize("form", ["dense", "low-rank"])
@pytest.mark.parametrize(
    "index", [[7], [7, 3, 7], [0, 39], [39, 20, 19, 0], slice(None, None, 3), [], [40], [40, 2]]
)
def test_a_part_is_pickled_alone_with_the_same_bits(returns, form, index):
    risk = Risk.from_windows(returns[:60, :7], 20, form=form, ends=[*range(20, 61)])
    part = risk[index]
    twin = pickle.loads(pickle.dumps(part))
    assert len(twin) == len(part) and twin.form == form and twin.statuses == part.statuses
    assert torch.equal(weights(twin), weights(part))
    assert torch.equal(twin.windows, part.windows)
    assert torch.equal(twin.targets.nan_to_num(99.0), part.targets.nan_to_num(99.0))
    again = pickle.loads(pickle.dumps(twin[:1]))
    assert torch.equal(weights(again), weights(part[:1]))


def test_a_pickle_carries_no_more_than_its_samples(returns):
    row = returns[0].nbytes
    risk = Risk.from_windows(returns, 20)
    assert len(pickle.dumps(risk[100])) < 21 * row + 3000
    twin = pickle.loads(pickle.dumps(risk[[100, 101, 5]]))
    assert twin._model.core.samples == 3
    many = Risk.from_covariance(np.stack([np.eye(12) * (i + 1) for i in range(50)]))
    assert len(pickle.dumps(many[7])) < 12 * row + 3000
    assert torch.equal(weights(pickle.loads(pickle.dumps(many[7]))), weights(many[7]))


def test_copies_factor_nothing_again(risk):
    for twin in (copy.copy(risk[3]), copy.deepcopy(risk[3])):
        assert twin._model is risk._model and torch.equal(twin.targets, risk[3].targets)


def test_the_data_may_change_afterwards(returns):
    data = returns[:60].copy()
    risk = Risk.from_windows(data, 10, form="low-rank")
    before, targets = weights(risk), risk.targets
    data[:] = 0.0
    assert torch.equal(weights(risk), before)
    assert torch.equal(risk.targets, targets)


def test_frames_and_tensors(returns, risk):
    frame = pd.DataFrame(returns[:60, :7])
    for data in (frame, torch.from_numpy(returns[:60, :7]), np.asfortranarray(returns[:60, :7])):
        assert torch.equal(weights(Risk.from_windows(data, 20)), weights(risk))


def test_a_bad_window_is_a_status(returns):
    data = returns[:30, :4].copy()
    data[5:16] = 0.0
    risk = Risk.from_windows(data, 10)
    assert risk.statuses[5] == "invalid_input" and risk.statuses[0] == "ok"
    w, aux = SparseTangent(2)(torch.ones(20, 4, dtype=torch.float64), risk, return_aux=True)
    assert aux.statuses[5] == "invalid_input" and w[5].isnan().all()
    assert not w[0].isnan().any()


class Days(torch.utils.data.Dataset):
    def __init__(self, risk):
        self.x, self.r = risk.windows.flatten(1), risk.targets

    def __len__(self):
        return len(self.r)

    def __getitem__(self, i):
        return self.x[i], self.r[i], i


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffled_loader(risk, workers):
    layer = SparseTangent(3)
    whole = layer(risk.targets, risk)  # the layer has run before the workers fork
    generator = torch.Generator().manual_seed(0)
    loader = torch.utils.data.DataLoader(
        Days(risk), batch_size=16, shuffle=True, num_workers=workers, generator=generator
    )
    seen = []
    for _, r, i in loader:
        assert torch.equal(layer(r, risk[i]), whole[i])
        seen += i.tolist()
    assert sorted(seen) == list(range(40)) and seen != sorted(seen)


class Samples(torch.utils.data.Dataset):
    """Gives the sample itself, in a tuple or in a dict."""

    def __init__(self, risk, keys):
        self.risk, self.keys = risk, keys

    def __len__(self):
        return len(self.risk)

    def __getitem__(self, i):
        if self.keys:
            return {"risk": self.risk[i], "i": i}
        return self.risk[i], i


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_collates_samples(risk, workers, keys):
    layer = SparseTangent(3)
    whole = layer(risk.targets, risk)
    seen = 0
    loader = torch.utils.data.DataLoader(Samples(risk, keys), batch_size=16, num_workers=workers)
    for batch in loader:
        part, i = (batch["risk"], batch["i"]) if keys else batch
        assert torch.equal(part.targets, risk.targets[i])
        assert torch.equal(layer(part.targets, part), whole[i])
        assert workers or part._model is risk._model
        seen += len(part)
    assert seen == 40


@pytest.mark.parametrize("form", ["dense", "low-rank"])
def test_samples_of_several_models_are_collated(returns, form):
    risk = Risk.from_windows(returns[:60, :7], 20, form=form, ends=[*range(20, 61)])
    index = [40, 3, 17, 40, 0]  # 40 has no row after it
    apart = [pickle.loads(pickle.dumps(risk[i])) for i in index]
    for joined in (Risk.collate(apart), pickle.loads(pickle.dumps(Risk.collate(apart)))):
        assert torch.equal(weights(joined), weights(risk[index]))
        assert torch.equal(joined.targets.nan_to_num(99.0), risk[index].targets.nan_to_num(99.0))
        assert torch.equal(joined.windows, risk[index].windows)
    given = [Risk.from_covariance(np.diag([1.0, 2.0, 3.0 + i])) for i in range(3)]
    whole = Risk.from_covariance(np.stack([np.diag([1.0, 2.0, 3.0 + i]) for i in range(3)]))
    assert torch.equal(weights(Risk.collate(given)), weights(whole))


def test_what_cannot_be_in_one_batch_is_named(returns, risk):
    for other, name in [
        (Risk.from_windows(returns[:60, :7], 21), "lookback, 20 and 21"),
        (Risk.from_windows(returns[:60, :7], 20, shrinkage=0.2), "shrinkage, 0.1 and 0.2"),
        (Risk.from_windows(returns[:60, :6], 20), "n, 7 and 6"),
        (Risk.from_covariance(np.eye(7)), "maker"),
    ]:
        with pytest.raises(sharpen.InputError, match=f"samples 0 and 1 .* differ in {name}"):
            Risk.collate([risk[0], other])
    for wrong in ([], [risk, None], [risk, risk.targets]):
        with pytest.raises(TypeError, match="Risk.collate"):
            Risk.collate(wrong)


class Decisions(Days):
    def __init__(self, risk):
        super().__init__(risk)
        self.risk = risk

    def __getitem__(self, i):
        return SparseTangent(3)(self.r[i], self.risk[i]), i


def test_the_layer_runs_in_forked_workers(risk):
    whole = SparseTangent(3)(risk.targets, risk)
    for w, i in torch.utils.data.DataLoader(Decisions(risk), batch_size=8, num_workers=2):
        assert torch.equal(w, whole[i])


BAD = {
    "indefinite": ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite"),
    "nan": ([[1.0, np.nan], [np.nan, 1.0]], "not finite in row 1, column 2"),
    "asymmetric": ([[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
    "negative": ([[-1.0, 0.0], [0.0, 1.0]], "negative variance"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_covariance_in_a_batch_is_a_status(kind):
    matrix, why = BAD[kind]
    good = np.stack([np.diag([1.0, 2.0 + i]) for i in range(5)])
    Sigmas = good.copy()
    Sigmas[[2, 4]] = matrix
    with pytest.warns(sharpen.SharpenWarning, match=rf"Sigma\[2\]: .*{why}.* 2 of 5 samples"):
        risk = Risk.from_covariance(Sigmas)
    wanted = ["ok", "ok", "invalid_input", "ok", "invalid_input"]
    assert risk.statuses == wanted
    mu = torch.ones(5, 2, dtype=torch.float64).requires_grad_()
    w, aux = SparseTangent(1)(mu, risk, return_aux=True)
    w.nan_to_num().sum().backward()
    assert [s == "invalid_input" for s in aux.statuses] == [s == "invalid_input" for s in wanted]
    assert w[[2, 4]].isnan().all() and (mu.grad[[2, 4]] == 0).all()
    assert torch.equal(w[[0, 1, 3]], SparseTangent(1)(mu, Risk.from_covariance(good))[[0, 1, 3]])
    decision = SparseTangent(1).decide(mu, risk, return_aux=True)
    assert decision.statuses[2] == "invalid_input"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been said
        twin = pickle.loads(pickle.dumps(risk))
    assert twin.statuses == wanted
    with pytest.raises(sharpen.InputError, match=f"Sigma: .*{why}"):
        Risk.from_covariance(matrix)


def test_settings_are_no_matter_of_one_covariance():
    with pytest.raises(sharpen.InputError, match="shrinkage = 2 is outside"):
        Risk.from_covariance(np.stack([np.eye(2), -np.eye(2)]), shrinkage=2)


def test_tables_of_covariances():
    Sigma = np.array([[1.0, 0.5, 0.1], [0.5, 2.0, 0.2], [0.1, 0.2, 3.0]])
    expected = weights(Risk.from_covariance(Sigma))
    names = ["a", "b", "c"]
    frame = pd.DataFrame(Sigma, names, names)
    for table in (frame, frame.astype("Float64"), frame.astype("float32"), frame * 1.0,
                  pd.DataFrame(Sigma), pl.DataFrame(Sigma)):
        assert torch.allclose(weights(Risk.from_covariance(table)), expected, atol=1e-6)
    for wrong in (frame.loc[["c", "b", "a"]], frame[["b", "a", "c"]], frame.set_axis([1, 2, 3])):
        with pytest.raises(sharpen.InputError, match="Sigma: its rows and columns must be named"):
            Risk.from_covariance(wrong)
    with pytest.raises(sharpen.InputError, match="Sigma: column 'a' appears more than once"):
        Risk.from_covariance(pd.DataFrame(Sigma, ["a", "a", "b"], ["a", "a", "b"]))
    missing = frame.astype("Float64")
    missing.iloc[0, 1] = pd.NA
    with pytest.raises(sharpen.InputError, match="Sigma: .*not finite in row 1, column 2"):
        Risk.from_covariance(missing)
    for words in (frame.astype(object), frame.astype("Float64").assign(b=["x", "y", "z"])):
        with pytest.raises(TypeError, match="Sigma"):
            Risk.from_covariance(words)


WRONG = [
    (lambda R: Risk.from_windows(R, 1), ValueError, "lookback = 1"),
    (lambda R: Risk.from_windows(R, 20.0), TypeError, "lookback is of type float"),
    (lambda R: Risk.from_windows(R, 60), ValueError, "returns has 60 rows.*lookback = 60"),
    (lambda R: Risk.from_windows(R[0], 5), ValueError, "returns has shape"),
    (lambda R: Risk.from_windows(R[:, :0], 5), ValueError, r"returns has shape \(60, 0\)"),
    (lambda R: Risk.from_windows(np.where(R == R[3, 2], np.nan, R), 5), ValueError, r"\[3, 2\]"),
    (lambda R: Risk.from_windows(R.astype(object), 5), TypeError, "returns has dtype object"),
    (lambda R: Risk.from_windows(None, 5), TypeError, "returns is of type NoneType"),
    (lambda R: Risk.from_windows(R, 5, shrinkage=2), ValueError, "shrinkage = 2 is outside"),
    (lambda R: Risk.from_windows(R, 5, shrinkage="a"), TypeError, "shrinkage is of type str"),
    (lambda R: Risk.from_windows(R, 5, form="thin"), ValueError, "form = thin"),
    (lambda R: Risk.from_windows(R, 5, form="low-rank", shrinkage=0), ValueError, "shrinkage|low"),
    (lambda R: Risk.from_windows(R, 5, score="best"), ValueError, "score = best"),
    (lambda R: Risk.from_windows(R, 5, ends=[61]), ValueError, r"ends: 61 is outside \[5, 60\]"),
    (lambda R: Risk.from_windows(R, 5, ends=[0.5]), TypeError, "ends"),
    (lambda R: Risk.from_covariance(R), ValueError, r"Sigma has shape \(60, 7\)"),
    (lambda R: Risk.from_covariance(np.ones(3)), ValueError, "Sigma has shape"),
    (lambda R: Risk.from_covariance(np.full((2, 2), np.nan)), ValueError, "Sigma"),
    (lambda R: Risk.from_covariance([[1.0, 2.0], [2.0, 1.0]]), ValueError, "Sigma: "),
    (lambda R: Risk.from_covariance([[1.0, 0.5], [0.0, 1.0]]), ValueError, "Sigma: .*symmetric"),
    (lambda R: Risk.from_covariance(np.eye(2), shrinkage=-1), ValueError, "shrinkage = -1"),
]


@pytest.mark.parametrize("make,error,message", WRONG)
def test_wrong_input_is_named(returns, make, error, message):
    with pytest.raises(error, match=message) as caught:
        make(returns[:60, :7])
    if isinstance(caught.value, ValueError):
        assert isinstance(caught.value, sharpen.InputError)


@pytest.mark.parametrize("make", [
    "Risk.from_windows(r, 600, progress=True)",
    "Risk.from_covariance(np.broadcast_to(S, (80, 700, 700)), progress=True)",
])
def test_slow_ctrl_c_stops_the_factoring(make):
    """Interrupted once it has begun, it does not go on to the end: by what it computes, which is
    the same on a slow machine and a busy one."""
    script = textwrap.dedent(
        f"""
        import signal
        import time
        import numpy as np
        import sharpen
        import tqdm.auto
        from sharpen.torch import Risk

        class Bar:
            n = 0

            def __init__(self, total, **_):
                self.total = total

            def update(self, more):
                global start, first
                self.n += more
                if self.n > 0 and start is None:
                    start, first = time.process_time(), self.n
                if start is not None and self.n >= first + 5:
                    print("factoring", flush=True)
                    first = self.total

            def close(self):
                pass

        def interrupted(*_):
            global at
            at = time.process_time()
            raise KeyboardInterrupt

        start = None
        tqdm.auto.tqdm = Bar
        signal.signal(signal.SIGINT, interrupted)
        sharpen.set_threads(1)
        r = np.random.default_rng(0).normal(size=(700, 700)) * 0.01
        S = np.cov(r.T) + 1e-5 * np.eye(700)
        try:
            {make}
            print("too late")
        except KeyboardInterrupt:
            more = time.process_time() - at
            print("stopped" if more < at - start else f"went on: {{more}} after {{at - start}} s")
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "factoring\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=300)[0] == "stopped\n"
    finally:
        child.kill()


def test_progress_of_the_factoring(returns, monkeypatch):
    import tqdm.auto

    told = []

    class Drawn:
        n = 0

        def __init__(self, total, desc, **_):
            told.append((desc, total))
            self.total = total

        def update(self, more):
            self.n += more
            told.append(self.n)

        def close(self):
            pass

    monkeypatch.setattr(tqdm.auto, "tqdm", Drawn)
    Risk.from_windows(returns[:60, :7], 20, progress=True)
    assert told[0] == ("factoring", 40) and told[-1] == 40
    told.clear()
    Risk.from_covariance(np.array([np.eye(3)] * 5), progress=True)
    assert told[0] == ("factoring", 5) and told[-1] == 5
    for seconds, seen in ((0.4, False), (0.6, True)):  # too short to see; long enough
        told.clear()
        clock = itertools.chain([0.0], itertools.repeat(seconds))
        timer = types.SimpleNamespace(monotonic=lambda: next(clock))
        monkeypatch.setattr(sharpen._torch_risk, "time", timer)
        Risk.from_windows(returns[:60, :7], 20)
        assert bool(told) == seen
    with pytest.raises(TypeError, match="progress is of type int"):
        Risk.from_windows(returns[:60, :7], 20, progress=1)


def test_prices_are_no_returns(returns):
    prices = 100 * np.cumprod(1 + returns[:60, :7], axis=0)
    with pytest.raises(sharpen.InputError, match=r"^returns: the values look like prices \(all "
                       r"between .*\); give simple returns, p\[1:\] / p\[:-1\] - 1$"):
        Risk.from_windows(prices, 20)
    with pytest.raises(sharpen.InputError, match="look like gross returns 1 \\+ r"):
        Risk.from_windows(1 + returns[:60, :7], 20)
    assert len(Risk.from_windows(prices[1:] / prices[:-1] - 1, 20)) == 39
