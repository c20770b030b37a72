"""Members, names that cannot be traded, and benchmarks of one's own: tables like files."""

import numpy as np
import pandas as pd
import pytest

import sharpen

QUICK = {"k": 2, "lookback": 20, "replications": 10}


@pytest.fixture(scope="module")
def prices():
    return sharpen.simulate(assets=6, days=140, seed=4)


def changes(prices):
    dates = [str(date)[:10] for date in prices.index]
    rows = [(dates[0], name, "in") for name in prices.columns[:4]]
    rows += [(dates[60], prices.columns[0], "out"), (dates[60], prices.columns[4], "in")]
    return pd.DataFrame(rows, columns=["date", "ticker", "member"])


def test_members_are_a_table_of_changes_of_states_or_a_file(prices, tmp_path):
    table = changes(prices)
    file = tmp_path / "members.csv"
    table.to_csv(file, index=False)
    states = pd.DataFrame(False, prices.index, prices.columns)
    states[prices.columns[:4]] = True
    states.loc[states.index >= prices.index[60], prices.columns[0]] = False
    states.loc[states.index >= prices.index[60], prices.columns[4]] = True
    runs = [
        sharpen.backtest(prices, members=given, **QUICK)
        for given in (file, table, states, states.astype(int))
    ]
    for run in runs[1:]:
        assert run.returns.equals(runs[0].returns)
    held = runs[0].weights
    assert held[prices.columns[5]].abs().sum() == 0
    late = held.index > prices.index[60]
    assert held[prices.columns[0]][late].abs().sum() == 0
    assert held[prices.columns[4]][~late].abs().sum() == 0
    assert held[prices.columns[0]].abs().sum() > 0


def test_members_that_overlap_are_refused(prices):
    table = changes(prices)
    twice = pd.concat([table, table.iloc[:1].assign(date=str(prices.index[30])[:10])])
    with pytest.raises(sharpen.InputError, match="memberships overlap"):
        sharpen.backtest(prices, members=twice, **QUICK)


def test_names_that_cannot_be_traded_are_a_table(prices):
    random = np.random.default_rng(1)
    open_ = pd.DataFrame(random.random(prices.shape) > 0.2, prices.index, prices.columns)
    run = sharpen.backtest(prices, tradable=open_, **QUICK)
    row = {date: t for t, date in enumerate(prices.index)}
    trades = run.trades.reset_index()
    assert len(trades) > 20
    for date, asset in zip(trades["date"], trades["asset"]):
        assert open_[asset].iloc[row[date] - 1], (date, asset)


def test_a_benchmark_is_a_series_of_prices_or_returns(prices):
    index = prices.mean(axis=1).rename("INDEX")
    level = sharpen.backtest(prices, benchmark=index, **QUICK)
    moves = sharpen.backtest(prices, benchmark=index.pct_change().dropna(), **QUICK)
    assert level.metrics["benchmark"]["ticker"] == "INDEX"
    assert level.metrics["n_assets"] == 6
    assert level.metrics["benchmark"]["beta"] == pytest.approx(moves.metrics["benchmark"]["beta"])


def test_the_volatility_that_was_aimed_at_is_reported(prices):
    metrics = sharpen.backtest(prices, target_volatility=0.2, **QUICK).metrics
    assert metrics["target_volatility"] == pytest.approx(0.2)
    ratio = metrics["volatility_annualized"] / metrics["target_volatility"]
    assert metrics["volatility_ratio"] == pytest.approx(ratio)
    assert np.isnan(sharpen.backtest(prices, sizing="gross", **QUICK).metrics["volatility_ratio"])


def test_models_are_trained_on_the_names_of_each_day_and_predict_with_members(prices):
    gaps = prices.copy()
    gaps.iloc[:50, 1] = np.nan
    gaps.iloc[70:100, 2] = np.nan
    small = {"lookback": 20, "hidden": [4], "epochs": 1, "ensemble": 2, "batch": 16,
             "train_block": 24, "k": 2, "horizon": 1}
    model = sharpen.train(gaps, universe="available", members=changes(prices), **small)
    assert model.assets == list(prices.columns)
    with pytest.raises(sharpen.InputError, match="network = joint"):
        sharpen.train(gaps, universe="available", network="joint", **small)
    last = str(prices.index[-1])[:10]
    found = sharpen.predict(model, gaps, members=changes(prices), asof=last)
    assert set(found.names) <= set(prices.columns[1:5])
    shut = pd.DataFrame(1, prices.index, prices.columns)
    held = found.names[0]
    shut[held] = 0
    kept = sharpen.predict(model, gaps, members=changes(prices), asof=last, tradable=shut,
                           previous={held: 0.25})
    assert kept.weights[held] == 0.25
    assert held not in kept.trades.index
