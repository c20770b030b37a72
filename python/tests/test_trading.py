"""sharpen.backtest, compare and simulate: the command line's figures, as tables."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest

import sharpen


@pytest.fixture
def market():
    return sharpen.simulate(assets=10, days=320, seed=5, predictability=0.3)


# Every signal followed at once, whatever it costs.
AS_IT_IS = dict(rule="none", cost_bps=0, progress=False)


def run(program, *arguments):
    ran = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_simulated_prices_are_the_programs(program, tmp_path):
    file = tmp_path / "prices.csv"
    run(program, "simulate", "--assets", "6", "--days", "80", "--seed", "9", "--out", str(file))
    theirs = pd.read_csv(file, index_col=0, parse_dates=True)
    ours, expected = sharpen.simulate(assets=6, days=80, seed=9, expected=True)
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True, check_freq=False)
    assert expected.shape == (79, 6) and (expected.index == ours.index[1:]).all()


def test_a_null_market_has_no_expected_returns():
    _, expected = sharpen.simulate(assets=3, days=50, predictability=0, expected=True)
    assert (expected.to_numpy() == 0).all()


@pytest.mark.parametrize("optimizer", ["swap", "oscar", "mssrm-long", "equal"])
def test_backtest_has_the_bits_of_the_program(market, program, tmp_path, optimizer):
    file = tmp_path / "prices.csv"
    market.to_csv(file)
    theirs = tmp_path / "theirs"
    settings = ["-k", "3", "--lookback", "60", "--cost-bps", "5", "--optimizer", optimizer]
    run(program, "backtest", "--prices", str(file), *settings, "--out", str(theirs))
    found = sharpen.backtest(
        market, k=3, lookback=60, cost_bps=5, optimizer=optimizer, progress=False
    )
    found.save(tmp_path / "ours")
    for name in ("returns.csv", "weights.csv", "trades.csv", "weights_last.csv"):
        assert (tmp_path / "ours" / name).read_bytes() == (theirs / name).read_bytes(), name
    metrics = json.loads((theirs / "metrics.json").read_text())
    assert found.metrics["sharpe_annualized"] == metrics["sharpe_annualized"]
    assert found.sharpe_annualized == metrics["sharpe_annualized"]
    assert found.sharpe == metrics["sharpe"]
    from_file = sharpen.backtest(
        file, k=3, lookback=60, cost_bps=5, optimizer=optimizer, progress=False
    )
    pd.testing.assert_series_equal(from_file.returns, found.returns, check_exact=True)


def test_tables_agree_with_each_other(market):
    found = sharpen.backtest(market, k=3, lookback=60, cost_bps=10, rebalance=5, progress=False)
    weights, daily, trades = found.weights, found.daily, found.trades
    assert (weights.index == found.returns.index).all() and list(weights) == list(market)
    assert found.returns.index.isin(market.index).all()
    returns = market.pct_change().loc[weights.index]
    np.testing.assert_allclose((weights * returns).sum(axis=1), daily["gross_return"], atol=1e-15)
    np.testing.assert_allclose(daily["gross_return"] - daily["cost"], daily["return"], atol=1e-18)
    np.testing.assert_allclose(daily["cost"], daily["turnover"].fillna(0) * 1e-3, atol=1e-17)
    decided = daily["turnover"].dropna()
    traded = trades.groupby("date")["trade"].apply(lambda t: t.abs().sum())
    np.testing.assert_allclose(traded.reindex(decided.index).fillna(0), decided, rtol=1e-12)
    assert ((weights != 0).sum(axis=1) == daily["holdings"]).all()
    assert found.wealth.iloc[-1] == pytest.approx(found.metrics["final_wealth"], rel=1e-12)
    assert "Sharpe" in repr(found) and "Sharpe" in str(found)


def test_returns_are_what_quantstats_takes(market):
    """Its documentation asks for a Series of floats over a DatetimeIndex without gaps or a zone."""
    returns = sharpen.backtest(market, k=3, lookback=60, progress=False).returns
    assert isinstance(returns, pd.Series) and isinstance(returns.index, pd.DatetimeIndex)
    assert returns.index.tz is None and returns.index.is_monotonic_increasing
    assert returns.dtype == np.float64 and returns.notna().all() and returns.name


def test_dates_as_text_become_dates(market):
    as_text = market.set_axis(market.index.strftime("%Y-%m-%d"))
    found = sharpen.backtest(as_text, k=3, lookback=60, **AS_IT_IS).returns
    pd.testing.assert_series_equal(
        found, sharpen.backtest(market, k=3, lookback=60, **AS_IT_IS).returns, check_freq=False
    )


def test_published_figures(data_folder):
    """mSSRM-PGA on 25 portfolios, window 60, and equal weights (docs/baselines.md)."""
    table = pd.read_csv(data_folder / "ff25_monthly_gross.csv", index_col=0)
    settings = dict(
        returns=table, gross=True, stats_from=2, periods_per_year=12, replications=100,
        cost_bps=0, progress=False,
    )
    found = sharpen.backtest(
        **settings, optimizer="mssrm-long", k=10, lookback=60, min_history=5
    ).metrics
    assert round(found["sharpe"], 4) == 0.2481 and round(found["final_wealth"], 2) == 615.34
    found = sharpen.backtest(**settings, optimizer="equal", min_history=0).metrics
    assert round(found["sharpe"], 4) == 0.2276 and round(found["final_wealth"], 2) == 355.98


def test_quantstats_agrees(market):
    quantstats = pytest.importorskip("quantstats", reason="quantstats is not installed")
    returns = sharpen.backtest(market, k=3, lookback=60, progress=False).returns
    ratio = quantstats.stats.sharpe(returns)
    assert ratio == pytest.approx(returns.mean() / returns.std(ddof=1) * 252**0.5, rel=1e-6)


def test_rows_without_dates_keep_their_index(market):
    settings = dict(k=3, lookback=60, **AS_IT_IS)
    by_date = sharpen.backtest(market, **settings).returns
    by_number = sharpen.backtest(market.to_numpy(), **settings).returns
    assert list(by_number.index) == list(range(61, 320))
    assert (by_number.to_numpy() == by_date.to_numpy()).all()
    other = market.set_axis(np.arange(320) * 10)
    assert list(sharpen.backtest(other, **settings).returns.index[:2]) == [610, 620]
    zoned = market.tz_localize("Asia/Tokyo")
    assert str(sharpen.backtest(zoned, **settings).returns.index.tz) == "Asia/Tokyo"


def test_polars_and_arrow_tables_are_read(market):
    import polars
    import pyarrow

    expected = sharpen.backtest(market, k=3, lookback=60, **AS_IT_IS).returns
    columns = {"date": [d.date() for d in market.index], **{c: market[c].to_list() for c in market}}
    for table in (polars.DataFrame(columns), pyarrow.table(columns)):
        found = sharpen.backtest(table, k=3, lookback=60, **AS_IT_IS).returns
        assert (found.to_numpy() == expected.to_numpy()).all()
        assert (found.index == expected.index).all()


def test_two_backtests_at_once(market):
    """From threads of Python: the lock is released, and one does not disturb the other."""
    from concurrent.futures import ThreadPoolExecutor

    settings = [dict(k=k, lookback=60, progress=False) for k in (1, 2, 3, 4)]
    alone = [sharpen.backtest(market, **s).returns for s in settings]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda s: sharpen.backtest(market, **s).returns, settings))
    for a, b in zip(alone, together):
        pd.testing.assert_series_equal(a, b, check_exact=True)


def test_single_precision_stays(market):
    found = sharpen.backtest(market.astype("float32"), k=3, lookback=60, progress=False)
    assert found.returns.dtype == np.float32 and (found.weights.dtypes == np.float32).all()


def test_signal_is_for_the_next_period(market):
    """Perfect foresight, given the day before, must win almost every day."""
    returns = market.pct_change()
    found = sharpen.backtest(
        market, signal=returns.shift(-1).iloc[:-1].dropna(), k=3, lookback=60, **AS_IT_IS
    )
    assert found.metrics["framework"] == "signal" and found.metrics["hit_rate"] > 0.95
    array = returns.shift(-1).fillna(0.0).to_numpy()
    again = sharpen.backtest(market.to_numpy(), signal=array, k=3, lookback=60, **AS_IT_IS)
    assert again.metrics["hit_rate"] > 0.95


def test_an_array_of_signals_goes_with_the_rows_and_columns_of_the_panel(market):
    signal = market.pct_change().shift(-1).fillna(0.0)
    settings = dict(k=3, lookback=60, **AS_IT_IS)
    expected = sharpen.backtest(market, signal=signal, **settings)
    found = sharpen.backtest(market, signal=signal.to_numpy(), **settings)
    pd.testing.assert_frame_equal(found.weights, expected.weights)
    with pytest.raises(sharpen.InputError, match="signal has 319 rows and the panel 320"):
        sharpen.backtest(market, signal=signal.to_numpy()[1:], **settings)
    with pytest.raises(sharpen.InputError, match="signal|asset"):
        sharpen.backtest(market, signal=signal.to_numpy()[:, :9], **settings)


def test_labels_of_columns_are_the_callers(market):
    numbered = market.set_axis(range(100, 110), axis=1)
    found = sharpen.backtest(numbered, k=3, lookback=60, progress=False)
    assert found.weights.columns.equals(numbered.columns) and found.names == list(range(100, 110))
    assert set(found.trades["asset"]) <= set(numbered.columns)
    returns = numbered.pct_change().loc[found.weights.index]
    earned = (found.weights * returns).sum(axis=1)
    np.testing.assert_allclose(earned, found.daily["gross_return"], atol=1e-15)
    both = market.set_axis(pd.MultiIndex.from_product([["a", "b"], range(5)]), axis=1)
    found = sharpen.backtest(both, k=3, lookback=60, progress=False)
    assert found.weights.columns.equals(both.columns) and found.trades["asset"][0] in both.columns


def hourly(market, **options):
    return pd.date_range("2024-10-30", periods=len(market), freq="h", **options)


def test_several_rows_a_day(market):
    """Of any kind of table; an hour that comes twice when clocks are put back is two rows."""
    import polars

    settings = dict(k=3, lookback=60, **AS_IT_IS)
    values = sharpen.backtest(market.to_numpy(), **settings).returns.to_numpy()
    for index in (
        hourly(market),
        hourly(market, tz="America/New_York"),
        pd.period_range("2024-10-30", periods=320, freq="h"),
        pd.date_range("2024-10-30", periods=320, freq="50ns"),
    ):
        frame = market.set_axis(index)
        found = sharpen.backtest(frame, **settings)
        assert found.returns.index.is_unique and found.returns.index.equals(index[61:])
        assert (found.returns.to_numpy() == values).all()
        if isinstance(index, pd.DatetimeIndex):
            table = polars.from_pandas(frame.reset_index(names="when"))
            again = sharpen.backtest(table, **settings).returns
            assert (again.index == index[61:]).all() and (again.to_numpy() == values).all()
            texts = sharpen.backtest(frame.set_axis(index.astype(str)), **settings).returns
            assert (texts.index == index[61:]).all()
    with pytest.raises(sharpen.InputError, match="prices: dates must increase, and 2024-10-30 01"):
        sharpen.backtest(market.set_axis(hourly(market)).iloc[[0, 1, 1, 2]], **settings)


def test_a_signal_once_a_day_goes_with_hourly_rows(market):
    frame = market.set_axis(hourly(market, tz="Europe/Berlin"))
    signal = frame.pct_change().shift(-1).iloc[1:-1]
    found = sharpen.backtest(frame, signal=signal[signal.index.hour == 12], k=3, lookback=60,
                             rebalance=24, progress=False)
    assert set(found.trades["date"].dt.hour) == {13} and len(found.returns) == 259


def foresight(frame):
    """What the next period brings."""
    return frame.pct_change().shift(-1).fillna(0.0)


def test_a_signal_with_moments_is_never_placed_by_its_row_number(market):
    """It would come to stand where it was not known yet."""
    settings = dict(k=3, lookback=60, **AS_IT_IS)
    frame = market.set_axis(hourly(market))
    signal = foresight(frame)
    assert sharpen.backtest(frame, signal=signal, **settings).metrics["hit_rate"] == 1.0
    late = signal.set_axis(frame.index + pd.Timedelta(hours=1))
    found = sharpen.backtest(frame, signal=late, **settings)
    expected = sharpen.backtest(frame, signal=late.reindex(frame.index).fillna(0.0), **settings)
    pd.testing.assert_frame_equal(found.weights, expected.weights)
    assert found.metrics["hit_rate"] < 0.7
    zoned = market.set_axis(hourly(market, tz="UTC"))
    abroad = signal.set_axis(hourly(market, tz="America/New_York"))  # later by four or five hours
    assert sharpen.backtest(zoned, signal=abroad, **settings).metrics["hit_rate"] < 0.7
    same = signal.set_axis(zoned.index.tz_convert("America/New_York"))
    assert sharpen.backtest(zoned, signal=same, **settings).metrics["hit_rate"] == 1.0
    numbered = [f"asset{i + 1}" for i in range(10)]
    half = signal.set_axis(frame.index + pd.Timedelta(minutes=30))
    for panel, other in (
        (frame, half),
        (zoned, signal),  # a time without a zone is no moment
        (frame, foresight(zoned)),
        (zoned, signal.set_axis(hourly(market, tz="Asia/Kolkata"))),  # at half past
        (market, signal),  # several a day for one
        (frame, foresight(market)),
        (market.to_numpy(), foresight(market).set_axis(numbered, axis=1)),
    ):
        with pytest.raises(sharpen.InputError, match="the signal has no row for "):
            sharpen.backtest(panel, signal=other, **settings)


def test_a_signal_without_dates_goes_by_the_labels_of_its_rows(market):
    """The returns of a panel of numbered rows begin with row 1, and must not be known in row 0."""
    settings = dict(k=3, lookback=60, **AS_IT_IS)
    frame = market.reset_index(drop=True)
    known = frame.pct_change()
    expected = sharpen.backtest(frame, signal=known.fillna(0.0), **settings)
    for panel in (frame, frame.set_axis([f"day {i}" for i in range(320)])):
        signal = known.set_axis(panel.index).iloc[1:]
        found = sharpen.backtest(panel, signal=signal, **settings)
        assert (found.weights.to_numpy() == expected.weights.to_numpy()).all()
    found = sharpen.backtest(frame, signal=known.fillna(0.0).iloc[:-1], **settings)
    assert (found.weights.to_numpy() == expected.weights.to_numpy()).all()
    array = frame.set_axis([f"asset{i + 1}" for i in range(10)], axis=1)
    found = sharpen.backtest(array.to_numpy(), signal=array.pct_change().iloc[1:], **settings)
    assert (found.weights.to_numpy() == expected.weights.to_numpy()).all()
    twice = [i // 2 for i in range(320)]
    same = sharpen.backtest(frame.set_axis(twice), signal=known.fillna(0.0).set_axis(twice),
                            **settings)
    assert (same.weights.to_numpy() == expected.weights.to_numpy()).all()
    for panel, signal, message in (
        (market, known.fillna(0.0).set_axis(range(5, 325)), "signal: 5 .row 0. is not one row of"),
        (frame.set_axis(range(1, 321)), known.fillna(0.0), "signal: 0 .row 0. is not one row of"),
        (frame.set_axis(twice), known.set_axis(twice).iloc[2:], "signal: 1 .row 0. is not one row"),
        (frame, known.iloc[:0:-1], "signal: its rows have another order than the panel's"),
        (frame.to_numpy(), known.to_numpy()[1:], "signal has 319 rows and the panel 320"),
        (frame.to_numpy(), array.iloc[:-1], "signal has 319 rows and the panel 320"),
        (market, known.iloc[:-1], "signal has 319 rows and the panel 320"),
    ):
        with pytest.raises(sharpen.InputError, match=message):
            sharpen.backtest(panel, signal=signal, **settings)


def test_dates_that_pandas_cannot_hold_stay_texts(market):
    texts = [f"{1200 + i}-01" for i in range(320)]
    settings = dict(k=3, lookback=60, **AS_IT_IS, periods_per_year=1)
    found = sharpen.backtest(market.set_axis(texts), **settings).returns
    assert [str(d)[:4] for d in found.index[:2]] == ["1261", "1262"]


def test_wealth_stays_at_ruin(market):
    found = sharpen.backtest(market, k=3, lookback=60, progress=False)
    ruined = {**found._core.columns}
    ruined["return"] = np.where(np.arange(259) == 5, -1.5, np.where(np.arange(259) == 9, -2, 0.25))

    class Ruined:
        columns, dates = ruined, found._core.dates

    found._core = Ruined()
    assert found.wealth.iloc[4] > 3 and (found.wealth.iloc[5:] == 0.0).all()


def test_no_look_ahead(market):
    changed = market.copy()
    changed.iloc[200:] *= 1.5
    settings = dict(k=3, lookback=60, progress=False)
    a, b = (sharpen.backtest(m, **settings).weights for m in (market, changed))
    assert (a.loc[: market.index[200]].to_numpy() == b.loc[: market.index[200]].to_numpy()).all()


def test_threads_change_nothing(market):
    one, two = (
        sharpen.backtest(market, k=3, lookback=60, threads=t, progress=False).returns
        for t in (1, 2)
    )
    pd.testing.assert_series_equal(one, two, check_exact=True)


def test_comparison_is_the_programs(market, program, tmp_path):
    a = sharpen.backtest(market, k=3, lookback=60, progress=False, out=tmp_path / "a")
    b = sharpen.backtest(market, k=3, lookback=60, optimizer="equal", progress=False)
    b.save(tmp_path / "b")
    theirs = json.loads(run(program, "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"))
    for found in (sharpen.compare(a, b), a.compare(tmp_path / "b"), sharpen.compare(
        str(tmp_path / "a"), tmp_path / "b"
    )):
        assert found.p_value == theirs["p_value"]
        assert found.difference == theirs["difference"] and found.verdict == theirs["verdict"]
        assert found.verdict in str(found) and found.verdict in repr(found)


def test_no_folder_is_written_over_what_is_read(market, tmp_path):
    (tmp_path / "d").mkdir()
    names = {"returns.csv", "weights.csv", "benchmark.csv"}
    for name in names:
        market.to_csv(tmp_path / "d" / name)
        (tmp_path / name).symlink_to(tmp_path / "d" / name)
    settings = dict(k=3, lookback=60, out=tmp_path / "d", force=True, progress=False)
    for name in ("returns.csv", "benchmark.csv"):  # one is written, the other only cleared away
        with pytest.raises(sharpen.InputError, match="out would replace what prices reads"):
            sharpen.backtest(tmp_path / name, **settings)
    with pytest.raises(sharpen.InputError, match="out would replace what signal reads"):
        sharpen.backtest(market, signal=tmp_path / "d" / "weights.csv", **settings)
    assert {file.name for file in (tmp_path / "d").iterdir()} == names
    for name in names:
        read = pd.read_csv(tmp_path / "d" / name, index_col=0, parse_dates=True)
        pd.testing.assert_frame_equal(read, market, check_freq=False)


def test_every_file_that_a_folder_may_hold_is_looked_at(market, tmp_path):
    settings = dict(k=3, lookback=60, **AS_IT_IS)
    found = sharpen.backtest(market, benchmark=market.columns[0], **settings)
    found.save(tmp_path / "all")
    names = {file.name for file in (tmp_path / "all").iterdir()}
    assert {"metrics.json", "benchmark.csv"} <= names and len(names) >= 5
    for name in names:
        with pytest.raises(sharpen.InputError, match="out would replace what prices reads"):
            sharpen.backtest(tmp_path / "all" / name, out=tmp_path / "all", force=True, **settings)


def test_rows_of_several_levels_are_counted_and_come_back(market):
    index = pd.MultiIndex.from_product([range(32), range(10)], names=["week", "slot"])
    found = sharpen.backtest(market.set_axis(index), k=3, lookback=60, **AS_IT_IS).returns
    assert found.index.equals(index[61:]) and found.index.names == ["week", "slot"]


def test_backtest_warns_as_the_program_does(market):
    with pytest.warns(sharpen.SharpenWarning, match="asset: k, offset has no effect$"):
        sharpen.backtest(market, k=3, lookback=60, optimizer="equal", offset=0.5, progress=False)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (dict(), TypeError, "needs prices"),
        (dict(prices="p.csv", returns="r.csv"), TypeError, "not both"),
        (dict(prices="missing.csv"), sharpen.InputError, "missing.csv"),
        (dict(prices="M", lokback=5), TypeError, "lokback.*did you mean lookback"),
        (dict(prices="M", k=2.5), TypeError, "k = 2.5"),
        (dict(prices="M", k=0), sharpen.InputError, "k = 0"),
        (dict(prices="M", k=11), sharpen.InputError, "k = 11"),
        (dict(prices="M", k=3, lookback=1000), sharpen.InputError, "1000"),
        (dict(prices="M", framework="signal"), sharpen.InputError, "signal"),
        (dict(prices="M", signal=np.ones((400, 10))), sharpen.InputError, "signal has 400 rows"),
        (dict(prices="M", framework="rolling", signal=np.ones((320, 10))), sharpen.InputError,
         "signal has no meaning"),
        (dict(prices="M", model=3), TypeError, "model is of type int"),
        (dict(prices="M", benchmark="NONE"), sharpen.InputError, "benchmark = NONE"),
        (dict(prices="M", force=True), sharpen.InputError, "force"),
        (dict(prices="M", gross=True), sharpen.InputError, "gross"),
        (dict(returns="M"), sharpen.InputError, "returns"),
        (dict(prices="M", progress="yes"), TypeError, "progress"),
        (dict(prices="M", alpha=0.5), sharpen.InputError, "alpha has no meaning"),
        (dict(prices=np.ones(5)), sharpen.InputError, "prices has shape"),
        (dict(prices=[["a"]]), TypeError, "prices"),
    ],
)
def test_wrong_arguments_are_named(market, arguments, error, message):
    given = {k: market if isinstance(v, str) and v == "M" else v for k, v in arguments.items()}
    with pytest.raises(error, match=message):
        sharpen.backtest(**{"progress": False, **given})


def test_bad_panels_are_refused(market):
    twice = market.copy()
    twice.columns = ["A", "A", *market.columns[2:]]
    with pytest.raises(sharpen.InputError, match="prices: column 'A'"):
        sharpen.backtest(twice, k=3)
    infinite = market.copy()
    infinite.iloc[7, 2] = np.inf
    with pytest.raises(sharpen.InputError, match="prices: row 7"):
        sharpen.backtest(infinite, k=3)
    with pytest.raises(sharpen.InputError, match="dates must increase"):
        sharpen.backtest(market.iloc[::-1], k=3)
    with pytest.raises(TypeError, match="a is of type int; give a Backtest or a folder"):
        sharpen.compare(3, market)
    with pytest.raises(sharpen.InputError, match="no-such-folder"):
        sharpen.compare("no-such-folder", "b")


def test_read_only_and_strange_layouts_are_fine(market):
    expected = sharpen.backtest(market, k=3, lookback=60, **AS_IT_IS).returns.to_numpy()
    frozen = market.to_numpy().copy()
    frozen.setflags(write=False)
    for cells in (frozen, np.asfortranarray(frozen), frozen[:, ::-1][:, ::-1]):
        found = sharpen.backtest(cells, k=3, lookback=60, **AS_IT_IS).returns
        assert (found.to_numpy() == expected).all()


def interrupted(inputs, work):
    """A program that has just been sent Ctrl-C, a second into the work; it says when it stopped."""
    script = f"""
{textwrap.dedent(inputs)}
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.0)  # into the work
    os.kill(child.pid, signal.SIGINT)
    return child


def test_slow_ctrl_c_stops_the_work_and_nothing_is_written(tmp_path):
    child = interrupted(
        """
        import sharpen
        prices = sharpen.simulate(assets=60, days=2000, seed=1)
        """,
        f"sharpen.backtest(prices, framework='dfl', ensemble=8, out={str(tmp_path / 'o')!r})",
    )
    out, _ = child.communicate(timeout=120)
    assert out == "stopped\n" and child.returncode == 0
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    "work",
    [
        "sharpen.solve((mu, Sigma), 20, 'sdr', sdr_gap=1e-9)",
        "sharpen.solve((mu, Sigma), 20, certify=True, sdr_gap=1e-9)",
        "sharpen.simulate(assets=3000, days=6000)",
    ],
)
def test_slow_ctrl_c_stops_one_long_answer(work):
    child = interrupted(
        """
        import numpy as np
        import sharpen
        random = np.random.default_rng(1)
        mu, X = random.normal(size=400), random.normal(size=(500, 400))
        Sigma = X.T @ X / 500
        """,
        work,
    )
    sent = time.monotonic()
    assert child.stdout.readline() == "stopped\n"
    assert time.monotonic() - sent < 2.0  # half a second is promised; tests run beside others
    child.communicate(timeout=60)


def test_progress_is_told(market, monkeypatch):
    seen = []

    class Bar:
        n = 0

        def __init__(self, **options):
            seen.append(options["desc"])

        def update(self, step):
            seen.append(step)

        def set_postfix_str(self, text, refresh):
            pass

        def close(self):
            seen.append("closed")

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    sharpen.backtest(market, k=3, lookback=60, progress=True)
    assert seen[-1] == "closed" and any(isinstance(s, str) and s != "closed" for s in seen)
    seen.clear()
    sharpen.backtest(market, k=3, lookback=60, progress=False)
    assert seen == []


def test_an_error_in_the_bar_stops_the_work(market, monkeypatch):
    def broken(**options):
        raise RuntimeError("no bar today")

    monkeypatch.setattr("tqdm.auto.tqdm", broken)
    with pytest.raises(RuntimeError, match="no bar today"):
        sharpen.backtest(market, k=3, lookback=60, progress=True)
