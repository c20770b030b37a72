"""sharpen.solve: known answers, and the bits of the command line."""

import json
import os
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import sharpen


def orlib(path):
    """An OR-Library file: n, then mean and sd, then i j correlation."""
    numbers = [float(x) for x in path.read_text().split()]
    n = int(numbers[0])
    mean, sd = np.array(numbers[1 : 1 + 2 * n]).reshape(n, 2).T
    Sigma = np.zeros((n, n))
    for i, j, rho in np.array(numbers[1 + 2 * n :]).reshape(-1, 3):
        Sigma[int(i) - 1, int(j) - 1] = Sigma[int(j) - 1, int(i) - 1] = rho
    return mean, Sigma * sd * sd[:, None]


def gross_moments(path):
    frame = pd.read_csv(path, index_col=0) - 1.0
    return frame.mean(), frame.cov()


# Known answers: file, k, full Sharpe, best sparse Sharpe and support, OSCAR's.
KNOWN = [
    ("port1", 3, 0.334686597, 0.231408710, [2, 4, 28], 0.206307644, [4, 25, 28]),
    ("port1", 5, 0.334686597, 0.260939244, [2, 4, 8, 17, 28], 0.212732505, [1, 3, 4, 25, 28]),
    ("ff25", 3, 0.396524971, 0.307542142, [6, 14, 17], 0.244864425, [0, 14, 20]),
    ("ff25", 5, 0.396524971, 0.347594105, [6, 14, 17, 20, 24], 0.286586319, [0, 1, 14, 20, 24]),
    ("ff100", 3, 0.731103579, 0.447786414, [0, 8, 70], 0.307958014, [1, 2, 8]),
]


@pytest.mark.parametrize("name,k,full,best,support,oscar,oscar_support", KNOWN)
def test_known_answers(data_folder, name, k, full, best, support, oscar, oscar_support):
    if name.startswith("port"):
        moments = orlib(data_folder / f"{name}.txt")
    else:
        moments = gross_moments(data_folder / f"{name}_monthly_gross.csv")
    for optimizer, sharpe, held in (("swap", best, support), ("oscar", oscar, oscar_support)):
        found = sharpen.solve(moments, k, optimizer)
        assert found.status == "ok"
        assert found.sharpe == pytest.approx(sharpe, abs=2e-9)
        assert found.full_sharpe == pytest.approx(full, abs=2e-9)
        assert list(np.flatnonzero(found.array)) == held


def test_known_answer_on_the_face(data_folder):
    mu, Sigma = orlib(data_folder / "port1.txt")
    found = sharpen.solve((-mu, Sigma), 3)
    assert found.status == "neutral_face"
    assert found.sharpe == pytest.approx(0.189539689, abs=2e-9)
    assert found.full_sharpe == pytest.approx(0.313302865, abs=2e-9)
    cash = sharpen.solve((-mu, Sigma), 1)
    assert cash.status == "no_signal" and cash.support == [] and cash.sharpe == 0.0


@pytest.mark.parametrize(
    "flags",
    [
        {"k": 4},
        {"k": "25%", "optimizer": "oscar", "lookback": 60},
        {"k": 5, "optimizer": "mssrm", "shrinkage": 0.3, "sizing": "volatility"},
        {"k": 5, "optimizer": "mssrm-long", "lookback": "all"},
        {"k": 3, "optimizer": "sdr", "net": "any", "target_volatility": 0.2, "sizing": "budget"}
        | {"net": "positive"},
        {"k": 3, "optimizer": "greedy", "net": "any", "form": "dense"},
        {"k": 3, "certify": True, "tickers": ["N3", "N1", "N7", "N9"], "from": "2024-03"},
    ],
)
def test_same_bits_as_the_command_line(tmp_path, program, prices, flags):
    file = tmp_path / "prices.csv"
    prices.to_csv(file, index_label="date", float_format="%.17g")
    words = [program, "solve", "--json", "--explain", "--prices", str(file)]
    for name, value in flags.items():
        flag = "-k" if name == "k" else "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        else:
            words += [flag, ",".join(value) if isinstance(value, list) else str(value)]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sharpen.SharpenWarning)
        found = sharpen.solve(prices, **flags)
        by_file = sharpen.solve(file, **flags)
    for answer in (found, by_file):
        assert answer.holdings == {h["asset"]: h["weight"] for h in told["holdings"]}
        for key in ("sharpe", "full_sharpe", "status", "volatility", "net_exposure", "window"):
            assert answer.figures[key] == told[key]
        if "certify" in flags:
            assert answer.sharpe_upper_bound == told["sharpe_upper_bound"]
    reasons = found.explain()
    for holding in told["holdings"]:
        for key in ("mu", "score", "score_rank", "risk_contribution", "sharpe_lost_if_removed"):
            assert reasons.loc[holding["asset"], key] == holding[key]
    best = told["best_left_out"]
    assert (reasons.attrs["best_left_out"] or {}).get("asset") == (best or {}).get("asset")


def test_threads_may_ask_why_at_once():
    """Memory that is given back is overwritten, so that reading it is likely to show."""
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np, sharpen
moments = np.random.default_rng(0).normal(0.1, 1.0, 30), np.eye(30)
expected = sharpen.solve(moments, 30, "greedy").explain()
with ThreadPoolExecutor(4) as pool:
    for _ in range(1000):
        found, ready = sharpen.solve(moments, 30, "greedy")._solved, threading.Barrier(4)
        for reasons in pool.map(lambda _: (ready.wait(), found.reasons())[1], range(4)):
            assert {row["asset"]: row["mu"] for row in reasons} == dict(expected["mu"])
"""
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_result_has_names_and_a_readable_form(prices):
    found = sharpen.solve(prices, k=3)
    assert isinstance(found.weights, pd.Series)
    assert list(found.weights.index) == list(prices.columns)
    assert (found.weights != 0).sum() == 3 == len(found.support) == found.cardinality
    assert found.gross_exposure == pytest.approx(1.0)
    assert found.sharpe <= found.full_sharpe
    text = repr(found)
    assert "3 of 12 assets" in text and "swap" in text and found.support[0] in text
    with pytest.raises(AttributeError, match="no attribute 'sharp'"):
        found.sharp


def test_weights_are_a_copy(prices):
    found = sharpen.solve(prices, k=3)
    before = found.weights.copy()
    taken = found.weights
    taken[:] = 0.0
    assert (found.weights == before).all()


def test_returns_gross_returns_and_prices_agree(prices):
    returns = prices.pct_change().iloc[1:]
    by_prices = sharpen.solve(prices, k=3)
    by_returns = sharpen.solve(returns=returns, k=3)
    assert by_returns.support == by_prices.support
    assert by_returns.sharpe == pytest.approx(by_prices.sharpe, rel=1e-12)
    assert sharpen.solve(returns, 3, returns=True).holdings == by_returns.holdings
    by_gross = sharpen.solve(returns=1.0 + returns, gross=True, k=3)
    assert by_gross.sharpe == pytest.approx(by_prices.sharpe, rel=1e-9)


def test_k_defaults_to_a_tenth(prices):
    assert sharpen.solve(prices).k == 1
    assert sharpen.solve(prices, "50%").k == 6
    assert sharpen.solve(prices, np.int64(4)).k == 4


def test_any_number_of_threads_gives_the_same_bits(prices):
    one = sharpen.solve(prices, 4, threads=1)
    assert sharpen.solve(prices, 4, threads=3).holdings == one.holdings


def test_explanation_is_of_the_data_that_was_solved(prices):
    found = sharpen.solve(prices, 3)
    expected = found.weights[found.weights != 0]
    prices.iloc[:, :] = 1.0
    reasons = found.explain()
    assert reasons["weight"].to_dict() == expected.to_dict()
    assert reasons["risk_contribution"].sum() == pytest.approx(1.0)
    assert reasons["sharpe_lost_if_removed"].is_monotonic_decreasing


def test_warnings_reach_python(prices):
    flat = prices.assign(FLAT=5.0)
    with pytest.warns(sharpen.SharpenWarning, match="FLAT"):
        found = sharpen.solve(flat, 3)
    assert any("FLAT" in warning for warning in found.warnings)
    assert not any("--" in warning for warning in found.warnings)


def test_the_gil_is_released(data_folder):
    """Another thread goes on counting while a relaxation is being solved."""
    mu, Sigma = orlib(data_folder / "port1.txt")
    counted, begun, done = [0], threading.Event(), threading.Event()

    def count():
        begun.set()
        while not done.is_set():
            counted[0] += 1
            os.sched_yield()

    counter = threading.Thread(target=count)
    counter.start()
    try:
        begun.wait()
        before = counted[0]
        sharpen.solve((mu, Sigma), 3, "sdr", sdr_gap=1e-7)
        during = counted[0] - before
    finally:
        done.set()
        counter.join()
    assert during > 20


def test_a_portfolio_is_not_a_file_format(prices):
    with pytest.raises(TypeError):
        pickle.dumps(sharpen.solve(prices, 3)._solved)


def test_exact_proves_the_best_portfolio():
    prices = sharpen.simulate(assets=30, days=130, seed=5)
    best = sharpen.solve(prices, 4, optimizer="exact")
    assert best.figures["stopped"] == "optimal" and best.figures["certified"]
    assert best.sharpe <= best.figures["sharpe_upper_bound"] <= best.sharpe * (1 + 2e-7)
    swap, pairs = sharpen.solve(prices, 4), sharpen.solve(prices, 4, optimizer="pairs")
    assert swap.sharpe <= pairs.sharpe <= best.figures["sharpe_upper_bound"]
    early = sharpen.solve(prices, 4, optimizer="exact", node_limit=1)
    assert early.figures["nodes"] == 1
    assert early.figures["sharpe_upper_bound"] >= best.sharpe
    with pytest.raises(sharpen.InputError, match="time_limit = 0"):
        sharpen.solve(prices, 4, optimizer="exact", time_limit=0)
    run = sharpen.backtest(prices, k=2, lookback=60, optimizer="exact", rebalance=5, progress=False)
    assert run.metrics["share_certified"] == 1.0
