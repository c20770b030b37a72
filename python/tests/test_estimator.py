"""sharpen.SparseTangentPortfolio: scikit-learn's contract, and the library's portfolios."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import sharpen
from sharpen import SparseTangentPortfolio

@pytest.fixture
def X(returns):
    dates = pd.bdate_range("2024-01-02", periods=len(returns))
    return pd.DataFrame(returns, index=dates, columns=[f"N{i}" for i in range(12)])


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    """All of them: those for classifiers, regressors and transformers it leaves out by itself."""
    check_estimator(SparseTangentPortfolio())


def test_weights_are_those_of_solve(X):
    found = SparseTangentPortfolio(3).fit(X)
    solved = sharpen.solve(returns=X, k=3, lookback="all")
    assert (found.weights_ == solved.array).all()
    assert found.sharpe_ == solved.sharpe and found.full_sharpe_ == solved.full_sharpe
    assert found.status_ == solved.status
    assert list(found.feature_names_in_[found.support_]) == solved.support
    assert found.n_features_in_ == 12 and list(found.feature_names_in_) == list(X.columns)
    late = SparseTangentPortfolio(3, lookback=50).fit(X)
    assert (late.weights_ == sharpen.solve(returns=X, k=3, lookback=50).array).all()


@pytest.mark.parametrize("optimizer", ["swap", "greedy", "symmetric", "oscar", "mssrm", "sdr"])
def test_every_optimizer(X, optimizer):
    found = SparseTangentPortfolio(3, optimizer=optimizer).fit(X)
    assert 0 < (found.weights_ != 0).sum() <= 3
    assert np.abs(found.weights_).sum() == pytest.approx(1.0)


def test_predict_is_the_portfolios_returns(X):
    found = SparseTangentPortfolio("25%").fit(X)
    np.testing.assert_allclose(found.predict(X), X.to_numpy() @ found.weights_, rtol=1e-12)
    r = found.predict(X)
    assert found.score(X) == pytest.approx(r.mean() / r.std(ddof=1), rel=1e-12)
    # On the rows that were fitted, it is the Sharpe ratio of the shrunk covariance or better.
    assert SparseTangentPortfolio(3, shrinkage=0).fit(X).score(X) == pytest.approx(
        SparseTangentPortfolio(3, shrinkage=0).fit(X).sharpe_, rel=1e-9
    )


def test_risk_free_rate_is_per_period(X):
    rate = 1e-4
    found = SparseTangentPortfolio(3, risk_free_rate=rate, sizing="volatility").fit(X)
    plain = SparseTangentPortfolio(3, sizing="volatility").fit(X - rate)
    assert (found.weights_ == plain.weights_).all()
    cash = 1 - found.weights_.sum()
    np.testing.assert_allclose(
        found.predict(X), X.to_numpy() @ found.weights_ + cash * rate, rtol=1e-12
    )
    r = found.predict(X) - rate
    assert found.score(X) == pytest.approx(r.mean() / r.std(ddof=1))


def test_costs_are_paid_once_and_change_no_weights(X):
    plain = SparseTangentPortfolio(3).fit(X)
    costly = SparseTangentPortfolio(3, transaction_costs=0.01).fit(X)
    assert (costly.weights_ == plain.weights_).all()
    difference = plain.predict(X) - costly.predict(X)
    assert difference[0] == pytest.approx(0.01) and (difference[1:] == 0).all()
    held = dict(zip(X.columns, plain.weights_))
    for previous in (held, pd.Series(held), plain.weights_, list(plain.weights_)):
        again = SparseTangentPortfolio(3, transaction_costs=0.01, previous_weights=previous).fit(X)
        assert (again.predict(X) == plain.predict(X)).all()
    name = X.columns[plain.support_[0]]
    some = SparseTangentPortfolio(3, transaction_costs={name: 0.02}).fit(X)
    expected = 0.02 * abs(plain.weights_[plain.support_[0]])
    assert plain.predict(X)[0] - some.predict(X)[0] == pytest.approx(expected)


def test_weights_by_asset_where_columns_are_numbers(X):
    numbered = X.set_axis(range(12), axis=1)
    plain = SparseTangentPortfolio(3).fit(numbered)
    held = dict(enumerate(plain.weights_))
    for previous in (held, pd.Series(held)):
        found = SparseTangentPortfolio(3, transaction_costs=0.01, previous_weights=previous)
        assert (found.fit(numbered).predict(numbered) == plain.predict(numbered)).all()
    with pytest.raises(ValueError, match="previous_weights: X has no asset '12'"):
        SparseTangentPortfolio(3, previous_weights={12: 0.5}).fit(numbered)


def test_parameters_and_clones(X):
    found = SparseTangentPortfolio(4, optimizer="greedy", net="any")
    assert found.get_params()["cardinality"] == 4
    again = clone(found).set_params(cardinality=5)
    assert again.cardinality == 5 and again.optimizer == "greedy" and found.cardinality == 4
    assert (again.fit(X).weights_ != 0).sum() == 5
    assert "cardinality=4" in repr(found)


def test_scikit_learns_model_selection(X):
    estimator = SparseTangentPortfolio(3)
    out = cross_val_predict(estimator, X, cv=KFold(4))
    assert out.shape == (260,)
    scores = cross_val_score(estimator, X, cv=TimeSeriesSplit(3))
    assert scores.shape == (3,) and np.isfinite(scores).all()
    grid = {"cardinality": [2, 4, "50%"], "shrinkage": [0.0, 0.5]}
    search = GridSearchCV(estimator, grid, cv=TimeSeriesSplit(3)).fit(X)
    assert search.best_params_["cardinality"] in grid["cardinality"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    pipeline = make_pipeline(
        FunctionTransformer(lambda frame: frame.clip(-0.02, 0.02)), SparseTangentPortfolio(3)
    )
    assert pipeline.fit(X).predict(X).shape == (260,)
    assert GridSearchCV(
        pipeline, {"sparsetangentportfolio__cardinality": [2, 3]}, cv=TimeSeriesSplit(2)
    ).fit(X).best_score_ == pytest.approx(
        max(
            cross_val_score(
                pipeline.set_params(sparsetangentportfolio__cardinality=k), X, cv=TimeSeriesSplit(2)
            ).mean()
            for k in (2, 3)
        )
    )


def test_a_split_by_time_can_be_predicted(X):
    """Every return comes from weights that were fitted on earlier rows only."""
    split = TimeSeriesSplit(4)
    found = sharpen.cross_val_predict(SparseTangentPortfolio(3), X, cv=split)
    first = next(iter(split.split(X)))[1][0]
    assert (found.index == X.index[first:]).all()
    by_hand = [
        SparseTangentPortfolio(3).fit(X.iloc[train]).predict(X.iloc[test])
        for train, test in split.split(X)
    ]
    assert (found.to_numpy() == np.concatenate(by_hand)).all()
    changed = X.copy()
    changed.iloc[150:] += 0.01
    other = sharpen.cross_val_predict(SparseTangentPortfolio(3), changed, cv=split)
    early = found.index < X.index[150]
    assert early.any() and (found[early] == other[early]).all()
    array = sharpen.cross_val_predict(SparseTangentPortfolio(3), X.to_numpy())
    assert array.shape == (5 * (260 // 6),)
    with pytest.raises(sharpen.InputError, match="cv: a row is tested more than once"):
        twice = [([0, 1, 2], [3]), ([0, 1], [3])]
        sharpen.cross_val_predict(SparseTangentPortfolio(3), X, cv=twice)
    both = sharpen.cross_val_predict(SparseTangentPortfolio(3), X, None, cv=split, n_jobs=2)
    pd.testing.assert_series_equal(both, found, check_exact=True)
    labels = sharpen.cross_val_predict(SparseTangentPortfolio(3), X, np.zeros(len(X)), cv=split)
    pd.testing.assert_series_equal(labels, found, check_exact=True)


@pytest.mark.parametrize(
    "splits", [TimeSeriesSplit(3), 3, np.int64(3), [([0, 1, 2], [3]), ([0, 1, 2, 3], [4])],
               iter([([0, 1, 2], [3])]), "3", np.array(3), np.zeros(259)],
)
def test_splits_in_the_place_of_y_are_not_ignored(X, splits):
    with pytest.raises(TypeError, match="takes y, which is ignored, .*; give splits as cv="):
        sharpen.cross_val_predict(SparseTangentPortfolio(3), X, splits)
    with pytest.raises(TypeError, match="give splits as cv="):
        sharpen.cross_val_predict(SparseTangentPortfolio(3), X.to_numpy().tolist(), splits)


def test_prices_in_the_place_of_returns_are_doubted():
    prices = sharpen.simulate(assets=6, days=100, seed=1)
    with pytest.warns(sharpen.SharpenWarning, match="X: the values look like prices .*pct_change"):
        SparseTangentPortfolio(2).fit(prices)
    with pytest.warns(sharpen.SharpenWarning, match="X: the values look like gross returns"):
        SparseTangentPortfolio(2).fit(1 + prices.pct_change().dropna())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseTangentPortfolio(2).fit(prices.pct_change().dropna())


def test_single_precision_stays(X):
    found = SparseTangentPortfolio(3).fit(X.astype("float32"))
    assert found.weights_.dtype == np.float32 and found.predict(X.astype("f4")).dtype == np.float32


def test_a_market_without_reward_is_cash():
    rng = np.random.default_rng(1)
    X = rng.normal(0, 0.01, (60, 1))
    X -= X.mean() + 0.001
    found = SparseTangentPortfolio(1).fit(X)
    assert found.status_ == "no_signal" and (found.weights_ == 0).all()
    assert found.score(X) == 0.0 and (found.predict(X) == 0).all()


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        (dict(cardinality=0), ValueError, "cardinality = 0"),
        (dict(cardinality=13), ValueError, "cardinality = 13"),
        (dict(cardinality=2.0), TypeError, "cardinality = 2.0"),
        (dict(cardinality="a few"), ValueError, "cardinality = a few"),
        (dict(optimizer="swop"), ValueError, "optimizer = swop.*swap"),
        (dict(shrinkage=2), ValueError, "shrinkage = 2"),
        (dict(shrinkage=None), TypeError, "shrinkage is None"),
        (dict(sizing="huge"), ValueError, "sizing = huge"),
        (dict(lookback=1000), ValueError, "lookback = 1000"),
        (dict(risk_free_rate="2%"), TypeError, "risk_free_rate"),
        (dict(risk_free_rate=np.nan), ValueError, "risk_free_rate"),
        (dict(previous_weights=[1, 2]), ValueError, "previous_weights has shape"),
        (dict(previous_weights={"M0": 1.0}), ValueError, "previous_weights: X has no asset 'M0'"),
        (dict(transaction_costs=-1), ValueError, "transaction_costs are negative"),
        (dict(transaction_costs="low"), TypeError, "transaction_costs"),
        (dict(threads=-2), ValueError, "threads = -2"),
    ],
)
def test_wrong_parameters_are_named(X, parameters, error, message):
    with pytest.raises(error, match=message):
        SparseTangentPortfolio(**parameters).fit(X)


def test_limits_by_their_names_in_skfolio(X):
    """Each of them as sharpen.Limits says it, and held to."""
    groups = {name: ["Odd" if i % 2 else "Even", "All"] for i, name in enumerate(X.columns)}
    table = [["Odd" if i % 2 else "Even" for i in range(12)], ["All"] * 12]
    A, b = np.vstack([np.arange(12.0), -np.ones(12)]), np.array([4.0, -1.0])
    cases = [
        (dict(min_weights=0), dict(min_weight=0)),
        (dict(min_weights=-0.1, max_weights=0.3), dict(min_weight=-0.1, max_weight=0.3)),
        (
            dict(min_weights={"N1": -0.1}, max_weights={"N0": 0.2}),  # the others in [0, 1]
            dict(
                min_weight={name: -0.1 if name == "N1" else 0.0 for name in X.columns},
                max_weight={name: 0.2 if name == "N0" else 1.0 for name in X.columns},
            ),
        ),
        (dict(max_weights=[0.3] * 11 + [0.1]), dict(
            max_weight={name: 0.1 if name == "N11" else 0.3 for name in X.columns})),
        (dict(max_short=0.2), dict(max_gross=1.4)),
        (dict(max_long=1.3), dict(max_gross=1.6)),
        (dict(max_long=1.3, max_short=0.2, budget=1), dict(max_gross=1.4)),
        (
            dict(min_weights=0, groups=groups, linear_constraints=["Odd <= 0.4", "2 * N0 <= N1"]),
            dict(min_weight=0, groups=groups, rows=["Odd <= 0.4", "2 * N0 <= N1"]),
        ),
        (
            dict(min_weights=0, groups=table, linear_constraints=["Odd == Even"]),
            dict(min_weight=0, groups=groups, rows=["Odd = Even"]),
        ),
        (
            dict(min_weights=0, groups=groups, group_cardinalities={"Odd": 1}),
            dict(min_weight=0, groups=groups, names={"Odd": 1}),
        ),
        (
            dict(min_weights=0, left_inequality=A, right_inequality=b),
            dict(min_weight=0, rows=[" + ".join(f"{i} * N{i}" for i in range(1, 12)) + " <= 4"]),
        ),
        (dict(min_weights=0, threshold_long=0.25), dict(min_weight=0, min_held=0.25)),
        (
            dict(threshold_long=0.1, threshold_short=-0.1, max_short=0.5),
            dict(min_held=0.1, max_gross=2),
        ),
        (
            dict(max_turnover=0.1, previous_weights={"N0": 0.3, "N1": 0.7}, cardinality=5),
            dict(
                min_weight={"N0": 0.2, "N1": 0.6, **{f"N{i}": -0.1 for i in range(2, 12)}},
                max_weight={"N0": 0.4, "N1": 0.8, **{f"N{i}": 0.1 for i in range(2, 12)}},
            ),
        ),
    ]
    for by_name, by_limits in cases:
        k = by_name.pop("cardinality", 4)
        found = SparseTangentPortfolio(k, **by_name).fit(X)
        limits = sharpen.Limits(**by_limits)
        solved = sharpen.solve(returns=X, k=k, lookback="all", limits=limits)
        np.testing.assert_allclose(found.weights_, solved.array, atol=1e-12, err_msg=str(by_name))
        assert found.weights_.sum() == pytest.approx(1.0)
        given = SparseTangentPortfolio(k, limits=limits).fit(X)
        assert (given.weights_ == solved.array).all()
        plain = SparseTangentPortfolio(k).fit(X)
        assert (given.weights_ != plain.weights_).any()


def test_limits_are_kept(X):
    rows = dict(linear_constraints=["Odd <= 0.4"], groups=[["Even", "Odd"] * 6])
    w = SparseTangentPortfolio(5, min_weights=0, max_weights=0.3, **rows).fit(X).weights_
    assert (w >= 0).all() and (w <= 0.3 + 1e-12).all() and w[1::2].sum() <= 0.4 + 1e-12
    w = SparseTangentPortfolio(5, max_short=0.2).fit(X).weights_
    assert -np.minimum(w, 0).sum() <= 0.2 + 1e-12
    w = SparseTangentPortfolio(5, max_long=1.1).fit(X).weights_
    assert np.maximum(w, 0).sum() <= 1.1 + 1e-12
    w = SparseTangentPortfolio(12, threshold_long=0.2, min_weights=0).fit(X).weights_
    assert (w[w != 0] >= 0.2 - 1e-12).all()
    held = np.full(12, 1 / 12)
    w = SparseTangentPortfolio(12, max_turnover=0.02, previous_weights=held).fit(X).weights_
    assert np.abs(w - held).max() <= 0.02 + 1e-12
    least = dict(left_inequality=-np.eye(12)[:1], right_inequality=[-0.3])
    w = SparseTangentPortfolio(5, min_weights=0, **least).fit(X).weights_
    assert w[0] >= 0.3 - 1e-12


def test_limits_of_arrays_need_no_names(X):
    limits = dict(max_weights=0.4, groups=[["Even", "Odd"] * 6], linear_constraints=["Odd <= 0.3"])
    named = SparseTangentPortfolio(5, **limits).fit(X)
    assert (SparseTangentPortfolio(5, **limits).fit(X.to_numpy()).weights_ == named.weights_).all()


def test_objectives_under_limits(X):
    limits = dict(min_weights=0, max_weights=0.4)
    found = SparseTangentPortfolio(5, objective="return", target_volatility=0.05, **limits).fit(X)
    sized = SparseTangentPortfolio(5, sizing="volatility", target_volatility=0.05, **limits).fit(X)
    assert (found.weights_ == sized.weights_).all() and (found.weights_ <= 0.4 + 1e-12).all()
    careful = SparseTangentPortfolio(5, objective="utility", risk_aversion=100.0, **limits).fit(X)
    bold = SparseTangentPortfolio(5, objective="utility", risk_aversion=10.0, **limits).fit(X)
    assert 0 < careful.weights_.sum() < bold.weights_.sum()
    half = dict(objective="utility", budget=0.5, max_short=0.25)
    w = SparseTangentPortfolio(5, **half).fit(X).weights_
    assert w.sum() == pytest.approx(0.5) and -np.minimum(w, 0).sum() <= 0.25 + 1e-12
    low = dict(objective="utility", min_budget=0.1, max_budget=0.2)
    w = SparseTangentPortfolio(5, **low).fit(X).weights_
    assert 0.1 - 1e-12 <= w.sum() <= 0.2 + 1e-12


def test_limits_are_parameters_like_others(X):
    limits = sharpen.Limits(long_only=True, max_weight=0.4)
    estimator = SparseTangentPortfolio(4, limits=limits)
    assert estimator.get_params()["limits"] == limits
    assert clone(estimator).limits == limits and clone(estimator).set_params(limits=None)
    grid = {"max_weights": [0.3, 0.5, None], "cardinality": [4, 6]}
    search = GridSearchCV(SparseTangentPortfolio(min_weights=0), grid, cv=TimeSeriesSplit(2)).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        (dict(budget=0.5), ValueError, "budget = 0.5 cannot be kept.*add up to 1"),
        (dict(min_budget=1.5), ValueError, "min_budget = 1.5 cannot be kept"),
        (dict(max_budget=0.5), ValueError, "max_budget = 0.5 cannot be kept"),
        (dict(budget=1, max_budget=1), ValueError, "budget and min_budget or max_budget"),
        (
            dict(min_budget=2, max_budget=1, objective="utility"),
            ValueError, "min_budget = 2 is more than max_budget = 1",
        ),
        (dict(max_short=-1), ValueError, "max_short = -1 is negative"),
        (dict(max_long=0.5), ValueError, "max_long = 0.5 cannot be kept with a net position of 1"),
        (dict(max_short=1, objective="utility"), ValueError, "max_short = 1 needs a net position"),
        (dict(min_weights=0.5, max_weights=0.1), ValueError, "min_weights = 0.5 of N0 is more"),
        (dict(max_weights={"M0": 1}), ValueError, "max_weights: X has no asset 'M0'"),
        (dict(max_weights="high"), TypeError, "max_weights is of type str"),
        (dict(groups={"M0": ["A"]}), ValueError, "groups: X has no asset 'M0'"),
        (dict(groups=["A"]), ValueError, "groups has shape"),
        (dict(group_cardinalities={"A": 1}), ValueError, "group_cardinalities needs groups"),
        (dict(linear_constraints="N0 <= 1"), TypeError, "linear_constraints is a text"),
        (dict(linear_constraints=["Odd <= 1"]), ValueError, "Odd"),
        (dict(left_inequality=np.eye(12)), ValueError, "right_inequality is not given"),
        (
            dict(left_inequality=np.eye(11), right_inequality=[1] * 11),
            ValueError, r"left_inequality has shape \(11, 11\)",
        ),
        (
            dict(left_inequality=np.eye(12), right_inequality=[1]),
            ValueError, r"right_inequality has shape \(1,\)",
        ),
        (
            dict(left_inequality=np.full((1, 12), np.nan), right_inequality=[1]),
            ValueError, "left_inequality has values",
        ),
        (dict(threshold_long=0.1), ValueError, "threshold_long needs threshold_short"),
        (dict(threshold_short=-0.1), ValueError, "threshold_short needs threshold_long"),
        (
            dict(threshold_long=0.1, threshold_short=-0.2),
            ValueError, "threshold_short is not -threshold_long",
        ),
        (dict(max_turnover=-1), ValueError, "max_turnover = -1 is negative"),
        (
            dict(max_turnover=0.1, previous_weights={"N3": 0.5}, max_weights=0.3),
            ValueError, "max_turnover = 0.1 does not let the weight of N3",
        ),
        (
            dict(limits=sharpen.Limits(long_only=True), max_weights=0.3),
            ValueError, "limits and max_weights are both given",
        ),
        (dict(limits=3), TypeError, "limits is of type int"),
        (dict(objective="fame"), ValueError, "objective = fame"),
        (dict(min_weights=0, max_weights=0.3), ValueError, r"no portfolio of 3 .*\(cardinality\)"),
    ],
)
def test_limits_that_cannot_be_honoured_are_named(X, parameters, error, message):
    with pytest.raises(error, match=message):
        SparseTangentPortfolio(3, **parameters).fit(X)


def test_skfolios_class_needs_skfolio():
    """Without skfolio the rest of the package works."""
    code = (
        "import sys; sys.modules['skfolio'] = None\n"
        "import sharpen\n"
        "try:\n    import sharpen.skfolio\n"
        "except ImportError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install skfolio" in ran.stdout


FAKE_SKFOLIO = """
import sys, types
from sklearn.base import BaseEstimator

class BaseOptimization(BaseEstimator):
    def __init__(self, portfolio_params=None, fallback=None, previous_weights=None,
                 raise_on_failure=True):
        self.portfolio_params, self.fallback = portfolio_params, fallback
        self.previous_weights, self.raise_on_failure = previous_weights, raise_on_failure

    def predict(self, X):
        return ("portfolio", self.weights_, self.portfolio_params, self.previous_weights)

found = types.ModuleType("skfolio"), types.ModuleType("skfolio.optimization")
found[1].BaseOptimization = BaseOptimization
sys.modules.update({module.__name__: module for module in found})

import numpy as np
import sharpen
from sharpen.skfolio import SparseTangentPortfolio
from sklearn.base import clone

X = np.random.default_rng(1).normal(0.001, 0.01, (100, 8))
made = SparseTangentPortfolio(
    3, max_weights=0.5, portfolio_params={"name": "a"}, previous_weights=0.1
)
again = clone(made).set_params(min_weights=0)
assert isinstance(again, BaseOptimization) and isinstance(again, sharpen.SparseTangentPortfolio)
assert again.cardinality == 3 and again.max_weights == 0.5 and again.raise_on_failure
kind, weights, params, previous = again.fit(X).predict(X)
same = sharpen.SparseTangentPortfolio(3, max_weights=0.5, min_weights=0).fit(X)
assert (weights == same.weights_).all() and params == {"name": "a"} and previous == 0.1
assert set(made.get_params()) == set(same.get_params()) | {
    "portfolio_params", "fallback", "raise_on_failure"
}
try:
    SparseTangentPortfolio(3, max_wieghts=1)
except TypeError as error:
    assert "max_wieghts" in str(error)
else:
    raise AssertionError
"""


def test_what_skfolio_asks_for_is_there():
    """skfolio itself is no part of these tests: bench/peers/tests has one with it."""
    ran = subprocess.run([sys.executable, "-c", FAKE_SKFOLIO], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_wrong_data_is_refused(X):
    twice = X.copy()
    twice.columns = ["A", "A", *X.columns[2:]]
    with pytest.raises(ValueError, match="X: column 'A'"):
        SparseTangentPortfolio(3).fit(twice)
    holes = X.copy()
    holes.iloc[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SparseTangentPortfolio(3).fit(holes)
    with pytest.raises(ValueError, match="by asset, and X has no names"):
        SparseTangentPortfolio(3, previous_weights={"N0": 1}).fit(X.to_numpy())
    with pytest.raises(ValueError, match="needs 2"):
        SparseTangentPortfolio(3).fit(X).score(X.iloc[:1])


def test_it_says_what_it_needs():
    """Without scikit-learn the rest of the package works."""
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import sharpen\n"
        "try:\n    sharpen.SparseTangentPortfolio\n"
        "except ImportError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sharpen[sklearn]" in ran.stdout
