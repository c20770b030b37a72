"""Figures after costs, computed anew: from the files that were written, and from the panel by an
account of its own."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import sharpen

QUICK = dict(progress=False, replications=100)
CLOSE = dict(rtol=0, atol=1e-12)


@pytest.fixture
def market():
    return sharpen.simulate(assets=12, days=420, seed=8, predictability=0.3)


def written(folder):
    tables = [pd.read_csv(folder / name, float_precision="round_trip")
              for name in ("returns.csv", "trades.csv", "weights.csv")]
    return json.loads((folder / "metrics.json").read_text()), *tables


def sharpe(excess):
    return excess.mean() / excess.std(ddof=1)


def check_figures(folder):
    """Every figure about costs in metrics.json, from the other files alone."""
    told, daily, trades, _ = written(folder)
    daily = daily[daily["date"] >= told["stats_from_date"]]
    years, rate = told["periods_per_year"], told["risk_free"]
    root = math.sqrt(years)
    excess = daily["return"] - rate

    def close(value, key):
        np.testing.assert_allclose(told[key], value, rtol=1e-12, atol=1e-12)

    close(root * sharpe(excess), "sharpe_annualized")
    close(sharpe(daily["gross_return"] - rate), "sharpe_gross")
    close(root * sharpe(daily["gross_return"] - rate), "sharpe_gross_annualized")
    close(root * sharpe(daily["delayed_return"] - rate), "sharpe_delay_1_annualized")
    kinds = {kind: daily[column].sum() for kind, column in
             (("trading", "trading_cost"), ("short_fee", "short_fee"), ("financing", "financing"))}
    for kind, cost in kinds.items():
        assert told["costs"][kind] == pytest.approx(cost, rel=1e-11, abs=1e-15)
    close(sum(kinds.values()), "total_cost")
    by_kind = daily[["trading_cost", "short_fee", "financing"]].sum(axis=1)
    np.testing.assert_allclose(by_kind, daily["cost"], rtol=0, atol=1e-16)
    np.testing.assert_allclose(daily["gross_return"] - by_kind, daily["return"], **CLOSE)

    traded = trades["trade"].abs().groupby(trades["date"]).sum()
    turnover = daily["date"].map(traded).fillna(0.0).to_numpy()
    np.testing.assert_allclose(turnover, daily["turnover"], **CLOSE)
    close(turnover.mean() * years, "turnover_annualized")
    close(2 * daily["gross_exposure"].mean() / turnover.mean(), "mean_holding_period")
    before = (excess + daily["trading_cost"]).to_numpy()
    close(1e4 * before.mean() / turnover.mean(), "break_even_bps")
    assert [point["bps"] for point in told["cost_curve"]] == list(range(0, 51, 5))
    for point in told["cost_curve"]:
        paid = before - 1e-4 * point["bps"] * turnover
        assert point["sharpe_annualized"] == pytest.approx(
            root * sharpe(pd.Series(paid)), rel=1e-11, abs=1e-12
        )
        assert point["low"] < point["sharpe_annualized"] < point["high"]

    equal, other = daily["equal_return"] - rate, told["equal_weights"]
    beta = excess.cov(equal) / equal.var()
    assert other["sharpe_annualized"] == pytest.approx(root * sharpe(equal), rel=1e-11)
    assert other["beta"] == pytest.approx(beta, rel=1e-9, abs=1e-12)
    assert other["alpha_annualized"] == pytest.approx(
        years * (excess.mean() - beta * equal.mean()), rel=1e-9, abs=1e-12
    )
    assert other["alpha_ci"][0] < other["alpha_annualized"] < other["alpha_ci"][1]
    assert other["beta_ci"][0] < other["beta"] < other["beta_ci"][1]
    return told


def check_account(folder, panel, rates, short_fee, financing):
    """Positions, cash, drift and costs by kind, from the trades and the panel. `rates`: per unit
    traded, periods by assets."""
    told, daily, trades, weights = written(folder)
    years, rate = told["periods_per_year"], told["risk_free"]
    dates = [str(date)[:10] for date in panel.index]
    asset = {name: i for i, name in enumerate(panel.columns)}
    returns = panel.pct_change().to_numpy()
    orders = {date: rows for date, rows in trades.groupby("date")}
    books = {date: rows for date, rows in weights.groupby("date")}
    held = np.zeros(panel.shape[1])
    wealth = 1.0
    for row in daily.itertuples():
        if row.status == "idle":  # all is cash
            assert row._2 == row.gross_return == rate and row.cost == row.turnover == 0.0
            wealth *= 1.0 + rate
            continue
        t = dates.index(row.date)
        target = held.copy()
        if row.date in orders:
            rows = orders[row.date]
            at = rows["asset"].map(asset).to_numpy()
            np.testing.assert_allclose(rows["from"], held[at], **CLOSE)
            target[at] = rows["to"]
        book = np.zeros(len(held))
        if row.date in books:
            book[books[row.date]["asset"].map(asset)] = books[row.date]["weight"]
        np.testing.assert_allclose(target, book, **CLOSE)
        moved = np.abs(target - held)
        earned = np.nan_to_num(returns[t])
        gross = target @ earned + (1.0 - target.sum()) * rate
        costs = [
            rates[t] @ moved,
            short_fee / years * -target[target < 0].sum(),
            financing / years * max(0.0, target.sum() - 1.0),
        ]
        net = gross - sum(costs)
        found = [row.gross_return, row.trading_cost, row.short_fee, row.financing, row.turnover]
        np.testing.assert_allclose(found, [gross, *costs, moved.sum()], **CLOSE)
        np.testing.assert_allclose(row._2, net, **CLOSE)
        # In money: what is held and the cash after its interest and all costs are the wealth.
        money = wealth * target * (1.0 + earned)
        cash = wealth * ((1.0 - target.sum()) * (1.0 + rate) - sum(costs))
        wealth *= 1.0 + net
        np.testing.assert_allclose(money.sum() + cash, wealth, rtol=1e-12)
        held = money / wealth
    assert wealth == pytest.approx(told["final_wealth"], rel=1e-11)


def test_figures_are_those_of_the_files(market, tmp_path):
    for number, settings in enumerate((
        dict(),
        dict(short_fee=0.01, financing=0.03, risk_free=0.02, rebalance=3, stats_from=150),
        dict(optimizer="oscar", cost_bps=0),
    )):
        out = tmp_path / str(number)
        sharpen.backtest(market, k=4, lookback=60, out=out, **settings, **QUICK)
        told = check_figures(out)
        assert told["cost_bps"] == settings.get("cost_bps", 5)
        assert told["rule"] == ("none" if "optimizer" in settings else "cost")


def test_the_account_is_one_of_numpys(market, tmp_path):
    bps = pd.Series(np.linspace(2.0, 24.0, 12), index=market.columns)
    sharpen.backtest(market, k=4, lookback=60, cost_bps=bps, short_fee=0.02, financing=0.03,
                     risk_free=0.01, rebalance=2, out=tmp_path / "run", **QUICK)
    rates = np.broadcast_to(1e-4 * bps.to_numpy(), market.shape)
    check_account(tmp_path / "run", market.rename(columns=str), rates, 0.02, 0.03)
    assert check_figures(tmp_path / "run")["cost_bps"] is None


@pytest.mark.parametrize("delay", [0, 2])
def test_the_account_is_one_of_numpys_on_real_data(data_folder, tmp_path, delay):
    """Drift, costs by kind and cash, names that cannot be traded, and trades that come later."""
    panel = pd.read_csv(data_folder / "sp500_20_1990_2022.csv", index_col=0, parse_dates=True)
    panel = panel.loc["2020":"2021"]
    random = np.random.default_rng(3)
    open_ = pd.DataFrame((random.random(panel.shape) > 0.1).astype(int), panel.index, panel.columns)
    file = tmp_path / "tradable.csv"
    open_.to_csv(file)
    changes = pd.DataFrame([[8.0] * panel.shape[1], [20.0] * panel.shape[1]],
                           index=[panel.index[0], panel.index[200]], columns=panel.columns)
    sharpen.backtest(panel, k=5, lookback=60, cost_bps=changes, short_fee=0.01, financing=0.02,
                     risk_free=0.015, delay=delay, tradable=str(file), out=tmp_path / "run",
                     **QUICK)
    # A period's trades are made at the end of the one before.
    made = np.arange(len(panel)) - 1 >= 200
    rates = np.where(made[:, None], 20e-4, 8e-4) * np.ones(panel.shape)
    check_account(tmp_path / "run", panel, rates, 0.01, 0.02)
    assert check_figures(tmp_path / "run")["delay"] == delay
    trades = written(tmp_path / "run")[2]
    row = {str(date)[:10]: t for t, date in enumerate(panel.index)}
    for date, asset in zip(trades["date"], trades["asset"]):
        assert open_[asset].iloc[row[date] - 1] == 1, (date, asset)


def test_a_delayed_run_is_the_one_beside_it(market):
    """Decisions that do not look at what is held are the same, a period later."""
    settings = dict(k=4, lookback=60, rule="none", **QUICK)
    now, later = (sharpen.backtest(market, delay=delay, **settings) for delay in (0, 1))
    both = now.weights.index.intersection(later.weights.index)
    np.testing.assert_array_equal(
        now.weights.shift(1).loc[both[1:]], later.weights.loc[both[1:]]
    )
    np.testing.assert_allclose(now.daily["delayed_return"].loc[both[1:]],
                               later.returns.loc[both[1:]], **CLOSE)
    equal = sharpen.backtest(market, optimizer="equal", lookback=60, **QUICK)
    np.testing.assert_allclose(now.daily["equal_return"], equal.returns, **CLOSE)


def test_costs_can_be_given_in_many_ways(market, tmp_path):
    settings = dict(k=4, lookback=60, rebalance=20, **QUICK)
    bps = pd.Series(np.arange(12.0), index=market.columns)
    file = tmp_path / "costs.csv"
    bps.rename_axis("asset").rename("bps").to_csv(file)
    expected = sharpen.backtest(market, cost_bps=str(file), **settings)
    assert expected.metrics["cost_bps"] == str(file) and "costs.csv" in str(expected)
    wide = bps.to_frame(market.index[0]).T
    for given in (file, bps, bps.to_dict(), bps.to_frame("bps"), wide,
                  bps.rename_axis("asset").rename("bps").reset_index()):
        found = sharpen.backtest(market, cost_bps=given, **settings)
        pd.testing.assert_series_equal(found.returns, expected.returns, check_exact=True)
    # Lines without a date count from the start, however pandas has read the empty fields.
    dated = pd.DataFrame({"asset": market.columns, "bps": bps.to_numpy(), "date": ""})
    dated.loc[len(dated)] = [market.columns[0], 99.0, "2099-01-01"]
    dated.to_csv(tmp_path / "dated.csv", index=False)
    for given in (dated, pd.read_csv(tmp_path / "dated.csv"),
                  pd.read_csv(tmp_path / "dated.csv", parse_dates=["date"]),
                  pd.read_csv(tmp_path / "dated.csv").convert_dtypes(),
                  dated.assign(date=[date or None for date in dated["date"]])):
        found = sharpen.backtest(market, cost_bps=given, **settings)
        pd.testing.assert_series_equal(found.returns, expected.returns, check_exact=True)
    one = sharpen.backtest(market, cost_bps=7, **settings)
    many = sharpen.backtest(market, cost_bps=bps * 0 + 7, **settings)
    pd.testing.assert_series_equal(one.returns, many.returns, check_exact=True)
    for wrong, error in (
        (bps.drop(bps.index[0]), sharpen.InputError),
        (-bps, sharpen.InputError),
        (pd.DataFrame({"a": [1.0]}), sharpen.InputError),
        ({"A": "cheap"}, TypeError),
        (-1, sharpen.InputError),
        ([1.0, 2.0], TypeError),
    ):
        with pytest.raises(error, match="cost_bps|costs|bps"):
            sharpen.backtest(market, cost_bps=wrong, **settings)


def test_what_a_backtest_says_after_costs(market, tmp_path):
    found = sharpen.backtest(market, k=4, lookback=60, out=tmp_path / "run", **QUICK)
    m = found.metrics
    assert found.sharpe_gross_annualized == m["sharpe_gross_annualized"] > found.sharpe_annualized
    assert found.break_even_bps == m["break_even_bps"]
    curve = found.cost_curve
    assert list(curve.index) == list(range(0, 51, 5)) and (curve["low"] < curve["high"]).all()
    assert curve["sharpe_annualized"].is_monotonic_decreasing
    assert curve.loc[5, "sharpe_annualized"] == pytest.approx(found.sharpe_annualized, rel=1e-11)
    low, high = m["sharpe_ci"]
    assert curve.loc[5, "low"] == pytest.approx(low * 252**0.5, rel=1e-9)
    assert isinstance(m["equal_weights"]["alpha_ci"], tuple)
    assert "After 5 basis points" in str(found) and "equal weights" in str(found)
    again = sharpen.Backtest.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.daily, found.daily, check_freq=False)
    pd.testing.assert_frame_equal(again.cost_curve, curve)


def test_folders_of_older_versions_can_be_read(market, tmp_path):
    sharpen.backtest(market, k=4, lookback=60, rebalance=20, out=tmp_path / "run", **QUICK)
    told, daily, _, _ = written(tmp_path / "run")
    daily.iloc[:, :9].to_csv(tmp_path / "run" / "returns.csv", index=False)
    for key in ("sharpe_gross_annualized", "break_even_bps", "cost_curve", "costs"):
        del told[key]
    (tmp_path / "run" / "metrics.json").write_text(json.dumps(told))
    old = sharpen.Backtest.load(tmp_path / "run")
    assert np.isnan(old.sharpe_gross_annualized) and np.isnan(old.break_even_bps)
    assert old.cost_curve.empty and list(old.daily)[-1] == "status"
    assert sharpen.compare(old, tmp_path / "run", replications=100).same
