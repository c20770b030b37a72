"""Answers travel: pickled to other processes, copied, and read back from where they were saved."""

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import numpy as np
import pandas as pd
import pytest

import sharpen

SETTINGS = dict(k=2, lookback=40, progress=False)


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=160, seed=1, predictability=0.3)


def copies(answer):
    pickled = pickle.loads(pickle.dumps(answer))
    return pickled, copy.deepcopy(answer), pickle.loads(pickle.dumps(pickled))


@pytest.mark.parametrize("labels", ["texts", "numbers", "none", "moments"])
def test_portfolios_can_be_pickled_with_their_reasons(market, labels):
    given = {
        "texts": market,
        "numbers": market.astype("float32").set_axis(range(6), axis=1),
        "none": market.to_numpy(),
        "moments": (np.linspace(-0.1, 0.2, 6), np.eye(6)),
    }[labels]
    found = sharpen.solve(given, 2)
    found.explain()
    for other in copies(found):
        pd.testing.assert_series_equal(other.weights, found.weights, check_exact=True)
        pd.testing.assert_frame_equal(other.explain(), found.explain(), check_exact=True)
        assert other.explain().attrs == found.explain().attrs
        assert other.figures == found.figures and repr(other) == repr(found)
        assert other.names == found.names and other.warnings == found.warnings


def test_pickling_computes_no_reasons(market):
    found = sharpen.solve(market, 2)
    pickled, copied, again = copies(found)
    assert not found._solved.explained
    for other in (pickled, again):
        assert other.figures == found.figures
        with pytest.raises(sharpen.InputError, match="call explain.. before pickling"):
            other.explain()
    pd.testing.assert_frame_equal(copied.explain(), found.explain(), check_exact=True)


def test_a_portfolio_without_names_can_be_pickled():
    cash = sharpen.solve((np.zeros(4), np.eye(4)), 2)
    cash.explain()
    for other in copies(cash):
        assert other.status == "no_signal" and len(other.explain()) == 0


def same_backtest(found, expected, warnings=None):
    for name in ("returns", "wealth"):
        pd.testing.assert_series_equal(
            getattr(found, name), getattr(expected, name), check_exact=True, check_freq=False
        )
    for name in ("daily", "trades"):
        pd.testing.assert_frame_equal(
            getattr(found, name), getattr(expected, name), check_exact=True, check_freq=False
        )
    assert found.metrics == expected.metrics
    assert found.warnings == (expected.warnings if warnings is None else warnings)
    assert repr(found) == repr(expected)
    assert found.sharpe == expected.sharpe and found.sharpe_annualized == expected.sharpe_annualized


def test_backtests_can_be_pickled(market, tmp_path):
    other_labels = market.astype("float32").set_axis(range(6), axis=1).tz_localize("Asia/Tokyo")
    for number, given in enumerate((market, other_labels, market.to_numpy())):
        found = sharpen.backtest(given, **SETTINGS, rebalance=5, cost_bps=3)
        equal = sharpen.backtest(given, lookback=40, optimizer="equal", progress=False)
        found.save(tmp_path / f"{number}")
        for i, other in enumerate(copies(found)):
            same_backtest(other, found)
            pd.testing.assert_frame_equal(other.weights, found.weights, check_exact=True)
            assert other.weights.columns.equals(found.weights.columns)
            assert str(other) == str(found)
            assert other.compare(equal).figures["p_value"] == found.compare(equal).p_value
            other.save(tmp_path / f"{number}-{i}")
            for file in (tmp_path / f"{number}").iterdir():
                again = tmp_path / f"{number}-{i}" / file.name
                assert again.read_bytes() == file.read_bytes()


def test_work_can_be_spread_over_processes(market):
    alone = [sharpen.solve(market, k).weights for k in (1, 2)]
    jobs = joblib.Parallel(2)(joblib.delayed(sharpen.solve)(market, k) for k in (1, 2))
    for found, expected in zip(jobs, alone):
        pd.testing.assert_series_equal(found.weights, expected, check_exact=True)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        same_backtest(
            pool.submit(sharpen.backtest, market, **SETTINGS).result(),
            sharpen.backtest(market, **SETTINGS),
        )


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_predictions_and_comparisons_can_be_pickled(market):
    model = sharpen.train(market, k=2, ensemble=1, epochs=1, lookback=20, progress=False)
    found = model.predict(market.set_axis(range(6), axis=1).set_axis(list(market), axis=1))
    for other in copies(found):
        for name in ("weights", "mu"):
            pd.testing.assert_series_equal(getattr(other, name), getattr(found, name))
        for name in ("holdings", "trades"):
            pd.testing.assert_frame_equal(getattr(other, name), getattr(found, name))
        assert other.figures == found.figures and repr(other) == repr(found)
    a, b = (sharpen.backtest(market, **{**SETTINGS, "k": k}) for k in (2, 3))
    found = a.compare(b)
    for other in copies(found):
        assert other.figures == found.figures and str(other) == str(found)


def test_studies_and_reports_can_be_pickled(market, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = sharpen.study({"m": market}, frameworks=["rolling"], lookback=40, k=2, out="s",
                          progress=False)
    report = study.report(replications=200)
    texts, cells = report.text("md"), study.cells
    studies, reports = copies(study), copies(report)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for other in studies:
        pd.testing.assert_frame_equal(other.cells, cells)
        assert other.tally == study.tally
    for other in reports:
        assert other.findings == report.findings and other.text("md") == texts
        assert other.tables == report.tables


def test_a_saved_backtest_can_be_read_back(market, tmp_path):
    with pytest.warns(sharpen.SharpenWarning):  # days are no months
        found = sharpen.backtest(market, **SETTINGS, rebalance=5, cost_bps=3, benchmark="S001",
                                 periods_per_year=12, out=tmp_path / "b")
    loaded = sharpen.Backtest.load(tmp_path / "b")
    # In the words of the program, which the folder is of.
    saved = json.loads((tmp_path / "b" / "metrics.json").read_text())["warnings"]
    assert len(saved) == len(found.warnings) > 0
    same_backtest(loaded, found, saved)
    assert found.daily["turnover"].isna().any()
    pd.testing.assert_series_equal(loaded.benchmark, found.benchmark, check_freq=False)
    held = found.weights.loc[:, (found.weights != 0).any()]
    pd.testing.assert_frame_equal(loaded.weights[list(held)], held, check_freq=False)
    assert set(loaded.names) == set(found.trades["asset"]) and repr(found) == str(loaded)
    equal = sharpen.backtest(
        market, lookback=40, optimizer="equal", periods_per_year=12, progress=False
    )
    assert loaded.compare(equal).p_value == found.compare(equal).p_value
    loaded.save(tmp_path / "again")
    for file in (tmp_path / "b").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    same_backtest(pickle.loads(pickle.dumps(loaded)), found, saved)


def test_a_backtest_of_rows_without_dates_can_be_read_back(market, tmp_path):
    hours = market.set_axis(pd.date_range("2024-10-30", periods=len(market), freq="h"))
    for number, given in enumerate((market.to_numpy(), hours)):
        found = sharpen.backtest(given, **SETTINGS, out=tmp_path / f"{number}")
        same_backtest(sharpen.Backtest.load(tmp_path / f"{number}"), found)


def test_rows_of_parts_of_a_second_can_be_read_back(market, tmp_path):
    """Some labels have a fraction of a second, and some do not."""
    index = pd.date_range("2024-01-01", periods=len(market), freq="5400500ms")
    found = sharpen.backtest(market.set_axis(index), k=2, lookback=30, progress=False)
    found.save(tmp_path / "b")
    loaded = sharpen.Backtest.load(tmp_path / "b").returns
    assert isinstance(loaded.index, pd.DatetimeIndex)
    assert (loaded.index == found.returns.index).all()


def test_folders_that_hold_no_backtest_are_refused(market, tmp_path):
    def refused(message):
        with pytest.raises(sharpen.InputError, match=message):
            sharpen.Backtest.load(tmp_path / "b")

    refused("is not a folder; give a folder that sharpen.backtest\\(out=...\\) wrote")
    (tmp_path / "b").mkdir()
    refused("holds no returns.csv")
    sharpen.backtest(market, **SETTINGS, out=tmp_path / "b", force=True)
    files = {file: file.read_bytes() for file in (tmp_path / "b").iterdir()}
    for name, content, message in (
        ("metrics.json", b"[]", "no metrics of a backtest"),
        ("metrics.json", b'{"periods_per_year": -1}', "periods_per_year"),
        ("metrics.json", b'{"command": "backtest", "incomplete": ""}', "not whole.*run the same"),
        ("returns.csv", b"", "no column called date"),
        ("returns.csv", b"date,return\n2020-01-01,x\n", "column return holds no numbers"),
        ("returns.csv", b"date,return\n2020-01-01\n", "line 2 has 1 field"),
        ("returns.csv", b"date,return\n2020-01-01,0.1\n", "has no row for"),
        ("weights.csv", b"\xff\xfe\x00", "is no text"),
    ):
        (tmp_path / "b" / name).write_bytes(content)
        refused(message)
        (tmp_path / "b" / name).write_bytes(files[tmp_path / "b" / name])
    (tmp_path / "b" / "metrics.json").rename(tmp_path / "away")
    refused("the result is not whole")
    (tmp_path / "away").rename(tmp_path / "b" / "metrics.json")
    for name in ("weights.csv", "trades.csv"):
        (tmp_path / "b" / name).unlink()
    assert sharpen.Backtest.load(tmp_path / "b").weights.shape[1] == 0
    with pytest.raises(TypeError, match="folder is of type int"):
        sharpen.Backtest.load(3)


def test_a_run_that_others_have_written_can_be_read(tmp_path):
    (tmp_path / "metrics.json").write_text('{"periods_per_year": 252}')
    (tmp_path / "returns.csv").write_text("date,return\n2020-01-01,0.5\n2020-01-02,-0.5\n")
    found = sharpen.Backtest.load(tmp_path)
    assert list(found.returns) == [0.5, -0.5] and len(found.trades) == 0
    assert found.returns.name == tmp_path.name and np.isnan(found.sharpe) and repr(found)
