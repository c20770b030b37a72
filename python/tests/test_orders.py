"""sharpen.orders: an account from day to day."""

import numpy as np
import pytest

import sharpen

FLAGS = {"framework": "rolling", "k": 3, "lookback": 20}


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=160, seed=4)


def test_days_are_the_backtest(market):
    tested = sharpen.backtest(market, k=3, lookback=20, replications=10)
    weights = tested.weights
    held = None
    for date, row in list(weights.iterrows())[:25]:
        known = market.loc[: market.index[market.index.get_loc(date) - 1]]
        today = sharpen.orders(known, positions=held, asof=str(known.index[-1])[:10], **FLAGS)
        held = today.positions
        found = held["weight"].drop("cash").reindex(row.index).fillna(0.0)
        np.testing.assert_allclose(found, row.fillna(0.0), atol=1e-12)


def test_shares_add_up_to_cash(market):
    held = {str(market.columns[0]): -40, "cash": 10000.0}
    day = str(market.index[-1])[:10]
    today = sharpen.orders(market, positions=held, lot=5, asof=day, **FLAGS)
    signs = today.orders["side"].map({"buy": 1.0, "sell": -1.0})
    spent = (signs * today.orders["value"]).sum() + today.orders["cost"].sum()
    assert today.cash == pytest.approx(10000.0 - spent, abs=0.005)
    assert today.positions.loc["cash", "shares"] == today.cash
    assert (today.positions["shares"].drop("cash") % 5 == 0).all()
    assert today.orders_csv().startswith("asset,side,shares,price,value,cost,reason\n")


def test_bad_accounts_are_refused(market):
    with pytest.raises(sharpen.InputError, match="no row for cash"):
        sharpen.orders(market, positions={str(market.columns[0]): 5}, **FLAGS)
    with pytest.raises(sharpen.InputError, match="no asset"):
        sharpen.orders(market, positions={"NOBODY": 5, "cash": 1e4}, **FLAGS)
    with pytest.raises(sharpen.InputError, match="sharpen.orders"):
        sharpen.predict("model.sharpen", market, rebalance=5)
    with pytest.raises(sharpen.InputError, match="no model given"):
        sharpen.orders(market, positions={"cash": 1e4})


def test_a_list_as_pandas_reads_it_is_taken(market):
    pandas = pytest.importorskip("pandas")
    name, day = str(market.columns[0]), str(market.index[-1])[:10]
    listed = pandas.DataFrame({"asset": [name, "cash"], "shares": [-40, 10000.0]})
    by_asset = sharpen.orders(market, positions=listed.set_index("asset"), asof=day, **FLAGS)
    as_read = sharpen.orders(market, positions=listed, asof=day, **FLAGS)
    assert as_read.orders_csv() == by_asset.orders_csv() != ""
