"""Limits: the object, the functions that take it, and the layer."""

import pickle

import numpy as np
import pytest

import sharpen

pandas = pytest.importorskip("pandas")


@pytest.fixture(name="returns")
def returns_():
    values = np.random.default_rng(3).normal(5e-4, 0.01, (300, 12))
    return pandas.DataFrame(values, columns=list("ABCDEFGHIJKL"))


def test_forms_say_the_same(tmp_path):
    groups = {"A": "Energy", "B": ["Energy", "Big"]}
    frame = pandas.DataFrame({"asset": list("ABB"), "group": ["Energy", "Energy", "Big"]})
    file = tmp_path / "groups.csv"
    frame.to_csv(file, index=False)
    rows = ["Energy <= 0.3"]
    limits = [
        sharpen.Limits(max_weight=0.3, groups=form, rows=rows)
        for form in (groups, frame, str(file))
    ]
    assert limits[0] == limits[1] == limits[2]
    assert hash(limits[0]) == hash(limits[1])
    assert pickle.loads(pickle.dumps(limits[0])) == limits[0]
    assert limits[0] != sharpen.Limits(max_weight=0.3)
    text = tmp_path / "limits.toml"
    text.write_text(limits[0].to_toml(), encoding="utf-8")
    assert sharpen.Limits.from_toml(text) == limits[0]
    assert sharpen.Limits(max_weight="30%") == sharpen.Limits(max_weight=0.3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rows": "A <= 1"}, "rows"),
        ({"rows": None}, "rows"),
        ({"names": {"X": 1.7}}, "whole number"),
        ({"names": {"X": (1, 2, 3)}}, "pair"),
        ({"groups": {"A": 1}}, "no name"),
        ({"groups": 3}, "groups"),
        ({"max_weight": np.full(3, 0.2)}, "max_weight"),
        ({"max_gross": "much"}, "max_gross"),
        ({"max_gross": float("nan")}, "max_gross"),
        ({"min_weight": 0.3, "max_weight": 0.2}, "min_weight"),
    ],
)
def test_what_is_wrong_is_named(wrong, words):
    with pytest.raises((TypeError, sharpen.InputError), match=words):
        sharpen.Limits(**wrong)


def test_no_file_is_no_crash():
    with pytest.raises(sharpen.InputError, match="no file"):
        sharpen.Limits.from_toml("")


def test_solve_keeps_them_and_says_which_bind(returns):
    limits = sharpen.Limits(
        long_only=True, max_weight=0.3, groups={"A": "g", "B": "g"}, rows=["g <= 0.1"]
    )
    portfolio = sharpen.solve(returns=returns, k=6, limits=limits)
    weights = portfolio.weights
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights.min() >= 0.0 and weights.max() <= 0.3 + 1e-12
    assert weights[["A", "B"]].sum() <= 0.1 + 1e-12
    assert (weights != 0).sum() <= 6
    binding = portfolio.explain().attrs["binding_limits"]
    assert {row["limit"] for row in binding} <= {"upper", "g <= 0.1"}
    assert all(row["sharpe_cost"] >= -1e-12 for row in binding)
    flags = sharpen.solve(returns=returns, k=6, long_only=True, max_weight=0.3)
    assert flags.sharpe >= portfolio.sharpe - 1e-12


def test_backtest_train_and_predict_take_them(returns):
    prices = 100 * (1 + returns).cumprod()
    prices.index = pandas.bdate_range("2020-01-01", periods=len(prices))
    limits = sharpen.Limits(long_only=True, max_weight=0.25)
    run = sharpen.backtest(prices, k=5, lookback=60, limits=limits, rebalance=20)
    assert run.weights.to_numpy().min() >= 0.0
    model = sharpen.train(
        prices, k=5, lookback=60, limits=limits, ensemble=1, epochs=2, framework="dfl"
    )
    told = sharpen.predict(model, prices, asof=str(prices.index[-1].date()))
    assert told.weights.min() >= 0.0 and told.weights.max() <= 0.25 + 1e-12
    slow = sharpen.backtest(prices, k=5, lookback=60, limits={"max_turnover": 0.1}, rebalance=20)
    turnover = slow.daily["turnover"][slow.daily["turnover"] > 0]
    assert len(turnover) > 1 and turnover.iloc[1:].max() <= 0.1 + 1e-9  # the first is free of it


class TestLayer:
    @pytest.fixture(name="torch")
    def torch_(self):
        return pytest.importorskip("torch")

    def layer(self, **settings):
        from sharpen.torch import SparseTangent

        limits = settings.pop("limits", sharpen.Limits(long_only=True, max_weight=0.3))
        return SparseTangent(5, limits=limits, **settings)

    def problem(self, torch, returns, batch=6):
        from sharpen.torch import Risk

        risk = Risk.from_windows(torch.tensor(returns.to_numpy()), lookback=100)[:batch]
        mu = np.random.default_rng(1).normal(0, 1e-3, (batch, 12))
        return torch.tensor(mu, requires_grad=True), risk

    @pytest.mark.parametrize("objective", ["sharpe", "return", "utility"])
    @pytest.mark.parametrize("reoptimization", ["masked", "restricted"])
    def test_gradients(self, torch, returns, objective, reoptimization):
        mu, risk = self.problem(torch, returns)
        layer = self.layer(
            objective=objective,
            reoptimization=reoptimization,
            risk_aversion=40.0,
            target_volatility=0.08,
        )
        w = layer(mu, risk)
        assert w.min() >= 0 and w.max() <= 0.3 + 1e-12
        assert torch.autograd.gradcheck(
            lambda m: layer(m, risk), (mu,), eps=1e-8, atol=1e-2, rtol=1e-3
        )

    def test_covariances(self, torch):
        from sharpen.torch import Risk

        layer = self.layer(objective="sharpe")
        A = torch.tensor(np.random.default_rng(5).normal(size=(6, 6)), requires_grad=True)
        mu = torch.linspace(0.1, 1.0, 6, dtype=torch.float64)
        assert torch.autograd.gradcheck(
            lambda a: layer(mu, Risk.from_covariance(a @ a.T + torch.eye(6).double())), (A,)
        )

    def test_bounds_of_instances(self, torch, returns):
        mu, risk = self.problem(torch, returns)
        layer = self.layer(objective="sharpe")
        upper = torch.full((6, 12), 0.3, dtype=torch.float64)
        upper[2] = 0.05
        upper[4] = 0.15
        w, aux = layer(mu, risk, return_aux=True, upper=upper)
        assert aux.statuses[2] == "infeasible" and aux.statuses[4] == "ok"
        assert w[4].max() <= 0.15 + 1e-12
        alone = layer(mu[4], risk[4], upper=upper[4])
        assert torch.equal(alone, w[4])
        assert torch.equal(layer(mu, risk)[0], w[0])

    def test_turnover_counts_from_holdings(self, torch, returns):
        mu, risk = self.problem(torch, returns)
        layer = self.layer(
            limits=sharpen.Limits(long_only=True, max_turnover=0.2), objective="sharpe"
        )
        held = torch.full((6, 12), 1 / 12, dtype=torch.float64)
        w = layer(mu, risk, holdings=held)
        assert (w - held).abs().sum(dim=1).max() <= 0.2 + 1e-9
        free = layer(mu, risk)
        assert (free - held).abs().sum(dim=1).max() > 0.2

    def test_names_and_twins(self, torch, returns):
        from sharpen.torch import SparseTangent

        mu, risk = self.problem(torch, returns)
        limits = sharpen.Limits(long_only=True, groups={"A": "g", "B": "g"}, rows=["g = 0.25"])
        layer = self.layer(limits=limits, objective="sharpe", assets=list(returns.columns))
        w = layer(mu, risk)
        assert torch.allclose(w[:, :2].sum(dim=1), torch.full((6,), 0.25).double())
        assert torch.equal(SparseTangent(**layer.settings)(mu, risk), w)
        decided = layer.decide(mu, risk)
        assert ((decided != 0).sum(dim=1) <= 5).all()
        assert torch.allclose(decided[:, :2].sum(dim=1), torch.full((6,), 0.25).double())
        with pytest.raises(sharpen.InputError, match="twice"):
            SparseTangent(2, limits=limits, assets=["A", "A"])
        with pytest.raises(sharpen.InputError, match="needs limits"):
            SparseTangent(2)(mu, risk, upper=torch.ones(6, 12))
