"""sharpen.solve from what is held."""

import numpy as np
import pandas as pd
import pytest

import sharpen

HELD = {"S001": 0.2, "S004": 0.3, "S007": -0.1}


@pytest.fixture(scope="module")
def prices():
    return sharpen.simulate(assets=12, days=150, seed=3)


def test_trades_from_what_is_held(prices, tmp_path):
    file = tmp_path / "held.csv"
    series = pd.Series(HELD, name="weight").rename_axis("asset")
    series.to_csv(file)
    found = [
        sharpen.solve(prices, k=4, previous=held, cost_bps=20)
        for held in (HELD, series, series.to_frame(), file)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.array, found[0].array)
    first = found[0]
    np.testing.assert_allclose(
        first.trades["to"] - first.trades["from"], first.trades["trade"], atol=1e-15
    )
    np.testing.assert_allclose(first.trades["cost"], 2e-3 * first.trades["trade"].abs(), rtol=1e-12)
    assert first.rule == "cost" and first.trading_cost == pytest.approx(first.trades["cost"].sum())
    assert set(first.left_undone["reason"]) <= {"cost", "room"}
    dear = sharpen.solve(prices, k=4, previous=HELD, cost_bps=1e6)
    assert dear.holdings == HELD and len(dear.trades) == 0 and len(dear.left_undone) > 0
    plain, free = sharpen.solve(prices, k=4), sharpen.solve(prices, k=4, previous=HELD, cost_bps=0)
    np.testing.assert_array_equal(plain.array, free.array)
    with pytest.raises(AttributeError, match="previous"):
        plain.trades


def test_moments_and_what_cannot_be(prices):
    returns = prices.pct_change().dropna()
    found = sharpen.solve((returns.mean(), returns.cov()), k=4, previous=HELD)
    assert set(HELD) - set(found.holdings) <= set(found.trades.index)
    with pytest.raises(sharpen.InputError, match='no asset "S404" here; did you mean S004'):
        sharpen.solve(prices, previous={"S404": 1.0})
    with pytest.raises(TypeError, match="previous is of type list"):
        sharpen.solve(prices, previous=[1.0])
    with pytest.raises(sharpen.InputError, match="give a finite number"):
        sharpen.solve(prices, previous={"S001": float("nan")})
