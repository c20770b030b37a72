"""What may be given, and what is said about what may not."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sharpen
from sharpen import _data


@pytest.fixture
def expected(prices):
    return sharpen.solve(prices, 3)


def weights(found):
    return list(found.array)


def test_arrays_and_frames_agree(prices, expected):
    array = prices.to_numpy()
    assert weights(sharpen.solve(array, 3)) == weights(expected)
    assert sharpen.solve(array, 3).names[0] == "asset1"
    assert weights(sharpen.solve(np.asfortranarray(array), 3)) == weights(expected)
    assert weights(sharpen.solve(np.repeat(array, 2, axis=1)[:, ::2], 3)) == weights(expected)
    assert weights(sharpen.solve(array.tolist(), 3)) == weights(expected)


def test_read_only_unaligned_and_swapped_arrays_are_fine(prices, expected):
    array = prices.to_numpy().copy()
    array.flags.writeable = False
    assert weights(sharpen.solve(array, 3)) == weights(expected)
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(array.shape)
    unaligned[:] = array
    assert not unaligned.flags.aligned
    assert weights(sharpen.solve(unaligned, 3)) == weights(expected)
    assert weights(sharpen.solve(array.astype(">f8"), 3)) == weights(expected)


def test_float64_in_c_order_is_not_copied(prices):
    array = np.ascontiguousarray(prices.to_numpy())
    assert np.shares_memory(_data.table(array, "prices").values, array)
    frame = pd.DataFrame(array, copy=False)
    assert np.shares_memory(_data.table(frame, "prices").values, array)


def test_polars_and_arrow_keep_names_and_dates(prices, expected):
    frame = pl.from_pandas(prices.reset_index(names="date"))
    for data in (frame, frame.to_arrow(), frame.with_columns(pl.col("date").cast(pl.Date))):
        found = sharpen.solve(data, 3)
        assert weights(found) == weights(expected)
        assert found.names == list(prices.columns)
        assert found.window == expected.window
    assert weights(sharpen.solve(frame.drop("date"), 3)) == weights(expected)
    assert isinstance(frame.to_arrow(), pa.Table)


def test_anything_with_the_arrow_interface(prices, expected):
    class Stream:
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    found = sharpen.solve(Stream(pa.table(dict(prices.items()))), 3)
    assert weights(found) == weights(expected)
    assert found.names == list(prices.columns)


def test_dlpack(prices, expected):
    import torch

    assert weights(sharpen.solve(torch.from_numpy(prices.to_numpy().copy()), 3)) == weights(expected)
    leaf = torch.tensor(prices.to_numpy(), requires_grad=True)
    assert weights(sharpen.solve(leaf, 3)) == weights(expected)


def test_float32_in_gives_float32_out(prices, expected):
    found = sharpen.solve(prices.astype(np.float32), 3)
    assert found.weights.dtype == np.float32
    assert np.allclose(found.array, expected.array, atol=1e-3)
    assert sharpen.solve(prices.to_numpy(np.float32), 3).array.dtype == np.float32
    mu, Sigma = np.ones(3, np.float32), np.eye(3, dtype=np.float32)
    assert sharpen.solve((mu, Sigma), 2).array.dtype == np.float32


def test_whole_numbers_become_float64(prices):
    cents = (100 * prices).round().astype(int)
    found = sharpen.solve(cents, 3)
    assert found.array.dtype == np.float64
    assert weights(found) == weights(sharpen.solve(cents.astype(float), 3))


def test_nullable_columns(prices, expected):
    assert weights(sharpen.solve(prices.astype("Float64"), 3)) == weights(expected)


def test_nullable_float32_and_moments(prices):
    single = prices.astype("Float32")
    single.iloc[5, 2] = pd.NA
    with pytest.warns(sharpen.SharpenWarning, match="carried over 1 missing cell of N2"):
        assert sharpen.solve(single, 3).array.dtype == np.float32
    returns = prices.pct_change().iloc[1:]
    mu, Sigma = returns.mean(), returns.cov()
    plain = sharpen.solve((mu, Sigma), 3)
    nullable = sharpen.solve((mu.astype("Float64"), Sigma.astype("Float64")), 3)
    assert nullable.holdings == plain.holdings
    assert sharpen.solve((mu.astype("Float32"), Sigma), 3).array.dtype == np.float32
    with pytest.raises(sharpen.InputError, match=r"mu\[2\] is nan"):
        sharpen.solve((mu.astype("Float64").where(mu.index != "N2"), Sigma), 3)
    with pytest.raises(TypeError, match="mu has dtype string"):
        sharpen.solve((mu.astype("string"), Sigma), 3)


@pytest.mark.parametrize("columns", [
    list(range(100, 112)),
    [("NYSE", i) for i in range(12)],
    list(pd.date_range("2024-01-01", periods=12)),
    [1.5 * i for i in range(12)],
])
def test_labels_of_columns_are_the_callers(prices, columns):
    """So that tables and answers can be multiplied and looked up in each other."""
    frame = prices.set_axis(pd.Index(columns), axis=1)
    returns = frame.pct_change().iloc[1:]
    for found in (sharpen.solve(frame, 3), sharpen.solve((returns.mean(), returns.cov()), 3)):
        assert found.weights.index.equals(frame.columns) and found.names == columns
        assert (frame @ found.weights).notna().all()
        reasons = found.explain()
        assert sorted(reasons.index) == sorted(found.support) == sorted(found.holdings)
        assert (found.weights[reasons.index] == reasons["weight"]).all()
        assert reasons.attrs["best_left_out"]["asset"] in columns
        assert str(found.support[0]) in repr(found)
    frame.iloc[:40, 3] = np.nan
    with pytest.warns(sharpen.SharpenWarning):
        assert sharpen.solve(frame, 3).weights.index.equals(frame.columns.delete(3))


def test_names_of_columns_have_a_name_too(prices):
    assert sharpen.solve(prices.rename_axis(columns="ticker"), 3).weights.index.name == "ticker"


def test_a_covariance_of_polars_or_arrow_has_names(prices):
    returns = prices.pct_change().iloc[1:]
    mu, Sigma = returns.mean(), returns.cov()
    expected = sharpen.solve((mu, Sigma), 3)
    for table in (pl.from_pandas(Sigma), pa.Table.from_pandas(Sigma, preserve_index=False)):
        found = sharpen.solve((mu.to_numpy(), table), 3)
        assert found.names == list(prices.columns) and found.holdings == expected.holdings
        assert sharpen.solve((mu[::-1], table), 3).holdings == pytest.approx(expected.holdings)
    with pytest.raises(sharpen.InputError, match="names of their assets differ"):
        sharpen.solve((mu, pl.from_pandas(Sigma).rename({"N1": "M1"})), 3)


class OnlyArray:
    """The part of Arrow's interface that a single batch has."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("without", ["", "polars", "pyarrow"])
def test_arrow_reads_the_same_with_either_library(prices, expected, monkeypatch, without):
    counted = prices.set_axis(np.arange(261) * 3, axis=0)
    tables = [pa.Table.from_pandas(prices), pa.Table.from_pandas(counted)]
    dated = pa.table({"date": pa.array([d.date() for d in prices.index]), **dict(prices.items())})
    batch = OnlyArray(dated.combine_chunks().to_batches()[0])
    if without:
        monkeypatch.setitem(sys.modules, without, None)
    for data in (*tables, dated, batch):
        found = sharpen.solve(data, 3)
        assert found.names == list(prices.columns) and weights(found) == weights(expected)
    for data in (tables[0], dated, batch):
        assert sharpen.solve(data, 3).window == expected.window


def test_an_index_that_arrow_knows_by_name_is_no_asset(prices, expected):
    for index in (pd.RangeIndex(5, 266, name="id"), pd.Index(map(str, range(261)), name="key")):
        found = sharpen.solve(pa.Table.from_pandas(prices.set_axis(index)), 3)
        assert found.names == list(prices.columns) and weights(found) == weights(expected)
    texts = prices.set_axis(pd.Index([str(d.date()) for d in prices.index], name="day"))
    assert sharpen.solve(pa.Table.from_pandas(texts), 3).window == expected.window


def test_what_arrow_cannot_give_is_named():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("no memory")

    with pytest.raises(TypeError, match="prices cannot be read through Arrow: no memory"):
        sharpen.solve(Broken(), 3)


def test_what_dlpack_cannot_give_is_named():
    import torch

    with pytest.raises(TypeError, match="prices cannot be read through DLPack"):
        sharpen.solve(torch.empty(5, 3, device="meta"), 2)

    class Broken:
        def __dlpack_device__(self):
            raise ValueError("nowhere")

        def __dlpack__(self, stream=None):
            raise AssertionError("must not be asked for")

    with pytest.raises(TypeError, match="mu cannot be read through DLPack: nowhere"):
        sharpen.solve((Broken(), np.eye(2)), 1)


def test_dates_as_arguments(prices):
    expected = sharpen.solve(prices, 3, from_="2024-03-01", lookback="all").window
    assert expected["from"] >= "2024-03-01"
    for start in (np.datetime64("2024-03-01"), np.datetime64("2024-03-01", "ns"),
                  np.datetime64("2024-03"), pd.Timestamp("2024-03-01 00:00"),
                  pd.Timestamp("2024-03-01").date(), pd.Period("2024-03-01", "D")):
        assert sharpen.solve(prices, 3, from_=start, lookback="all").window == expected
    with pytest.raises(sharpen.InputError, match="from.*NaT"):
        sharpen.solve(prices, 3, from_=np.datetime64("NaT"))

    class Odd:
        def __float__(self):
            raise TypeError("no")

    with pytest.raises(TypeError, match="shrinkage is of type Odd"):
        sharpen.solve(prices, 3, shrinkage=Odd())


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")  # periods a year
@pytest.mark.parametrize("freq", ["D", "W", "M", "Q"])
def test_periods_as_arguments(prices, freq):
    """from_ and to take in the whole period, of rows that are periods and of days."""
    periods = pd.period_range("2000-01-03", periods=len(prices), freq=freq)
    table = prices.set_axis(periods)
    found = sharpen.backtest(
        table, k=3, lookback=20, from_=periods[50], to=periods[100], progress=False
    )
    assert found.returns.index[0] == periods[71] and found.returns.index[-1] == periods[100]
    months = dict(from_=pd.Period("2024-03", "M"), to=pd.Period("2024-05", "M"))
    days = dict(from_="2024-03-01", to="2024-05-31")
    windows = [sharpen.solve(prices, 3, lookback="all", **s).window for s in (months, days)]
    assert windows[0] == windows[1] and windows[0]["to"] == "2024-05-31"


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")  # periods a year
def test_a_period_goes_by_its_last_day(prices):
    table = prices.set_axis(pd.period_range("2000-01", periods=len(prices), freq="M"))
    settings = dict(k=3, lookback=20, framework="signal", progress=False)
    signal = table.pct_change(fill_method=None).fillna(0.0)
    expected = sharpen.backtest(table, signal=signal, **settings)
    last = signal.set_axis(signal.index.to_timestamp(how="end"))
    assert sharpen.backtest(table, signal=last, **settings).sharpe == expected.sharpe
    first = signal.set_axis(signal.index.to_timestamp())
    with pytest.raises(sharpen.InputError, match="the signal has no row for 2001-09-30"):
        sharpen.backtest(table, signal=first, **settings)
    assert sharpen._dates.rows_of(table.index, "prices").moments is None
    hours = pd.period_range("2000-01-01", periods=3, freq=pd.offsets.Hour(24))
    moments = sharpen._dates.rows_of(hours, "prices").moments()
    assert moments[1] == "2000-01-02 00:00:00"
    for freq, day in (("D", "3000-01-01"), ("M", "3000-01-31")):  # beyond nanoseconds
        far = pd.period_range("3000-01-01", periods=len(prices), freq=freq)
        assert sharpen._dates.rows_of(far, "prices").labels[0] == day
        sharpen.solve(prices.set_axis(far), 3, from_=far[50], to=far[200])


@pytest.mark.parametrize("function", [sharpen.solve, sharpen.backtest])
def test_rows_without_a_date_are_named(prices, function):
    dates = list(prices.index)
    for index in (
        pd.DatetimeIndex([*dates[:-1], pd.NaT]),
        pd.PeriodIndex([*dates[:-1], pd.NaT], freq="D"),
        pd.Index([*(d.date() for d in dates[:-1]), pd.NaT], dtype=object),
        pd.Index([*(str(d.date()) for d in dates[:-1]), None], dtype=object),
    ):
        with pytest.raises(sharpen.InputError, match=r"prices: the index holds NaT \(row 260\)"):
            function(prices.set_axis(index), k=3)
    frame = pl.from_pandas(prices.reset_index(names="date"))
    with pytest.raises(sharpen.InputError, match="prices: column 'date' has no date"):
        function(frame.with_columns(pl.col("date").shift(1)), k=3)


@pytest.mark.parametrize("function", [sharpen.solve, sharpen.backtest])
def test_texts_that_are_no_dates_are_named(prices, function):
    texts = [str(d.date()) for d in prices.index]
    for wrong in ("2024-19-40", "2025-02-30", "2025-01-01 25:00"):
        with pytest.raises(sharpen.InputError, match=rf"prices: '{wrong}' \(row 260\) is not a"):
            function(prices.set_axis([*texts[:-1], wrong]), k=3)
        frame = pl.from_pandas(prices.assign(date=[*texts[:-1], wrong]))
        with pytest.raises(sharpen.InputError, match=rf"prices: '{wrong}' \(row 260\) is not a"):
            function(frame, k=3)
    with pytest.raises(sharpen.InputError, match="prices: column 'date', row 0: 'soon'"):
        function(pl.from_pandas(prices.assign(date="soon")), k=3)


def test_names_of_moments(prices):
    returns = prices.pct_change().iloc[1:]
    mu, Sigma = returns.mean(), returns.cov()
    found = sharpen.solve((mu, Sigma), 3)
    assert found.names == list(prices.columns)
    shuffled = Sigma.iloc[::-1, ::-1]
    assert sharpen.solve((mu, shuffled), 3).holdings == found.holdings
    assert sharpen.solve((mu.to_numpy(), Sigma), 3).holdings == found.holdings
    assert sharpen.solve((mu, Sigma.to_numpy()), 3).holdings == found.holdings


def test_a_list_of_two_is_a_pair_of_moments_too():
    mu, Sigma = np.array([1.0, 2.0, 3.0]), np.eye(3)
    assert sharpen.solve([mu, Sigma], 2).holdings == sharpen.solve((mu, Sigma), 2).holdings


def test_missing_values_are_cleaned_as_the_command_line_does(prices):
    prices = prices.copy()
    prices.iloc[5:8, 2] = np.nan
    prices.iloc[:40, 3] = np.nan
    with pytest.warns(sharpen.SharpenWarning, match="N3"):
        found = sharpen.solve(prices, 3)
    assert "N3" not in found.names and "N2" in found.names
    with pytest.warns(sharpen.SharpenWarning):
        assert "N3" in sharpen.solve(prices, 3, universe="available").names


def test_monthly_dates(prices):
    months = prices.iloc[:60].copy()
    months.index = pd.period_range("2019-01", periods=60, freq="M")
    found = sharpen.solve(months, 3, lookback="all", periods_per_year=12)
    assert found.window["rows"] == 59
    months.index = [str(p) for p in months.index]
    with pytest.warns(sharpen.SharpenWarning, match="and periods_per_year is 252"):
        assert sharpen.solve(months, 3, lookback="all", to="2020").window["to"] == "2020-12"


WRONG = [
    (lambda p: dict(data=None), TypeError, "needs prices, returns= or moments"),
    (lambda p: dict(data=p, returns=p), TypeError, "not both"),
    (lambda p: dict(data=p, k=0), ValueError, r"k = 0 is outside"),
    (lambda p: dict(data=p, k=13), ValueError, r"k = 13 is outside \[1, 12\]"),
    (lambda p: dict(data=p, k=2.5), TypeError, "k = 2.5 is neither a count"),
    (lambda p: dict(data=p, k=True), TypeError, "k = True is neither a count"),
    (lambda p: dict(data=p, k="many"), ValueError, "k = many"),
    (lambda p: dict(data=p, k=[3]), (TypeError, ValueError), "k"),
    (lambda p: dict(data=p, optimizer="swop"), ValueError, "did you mean swap"),
    (lambda p: dict(data=p, optimizer=3), TypeError, "optimizer is of type int"),
    (lambda p: dict(data=p, shrinkge=0.1), TypeError, "'shrinkge'; did you mean shrinkage"),
    (lambda p: dict(data=p, shrinkage=1.5), ValueError, r"shrinkage = 1.5 is outside \[0, 1\]"),
    (lambda p: dict(data=p, shrinkage=np.array([0.1, 0.2])), TypeError, "shrinkage is of type"),
    (lambda p: dict(data=p, target_volatility=0), ValueError, "target_volatility = 0 is outside"),
    (lambda p: dict(data=p, lookback=1), ValueError, "lookback = 1"),
    (lambda p: dict(data=p, lookback=5000), ValueError, "lookback = 5000 is more than"),
    (lambda p: dict(data=p, net="any", sizing="budget"), ValueError, "net = any"),
    (lambda p: dict(data=p, gross=True), ValueError, "gross has no meaning here"),
    (lambda p: dict(data=p, tickers=["N1", "M2"]), ValueError, "M2.*did you mean N2"),
    (lambda p: dict(data=p, demo=True), TypeError, "unexpected keyword argument 'demo'"),
    (lambda p: dict(data=p, threads=-1), ValueError, "threads = -1"),
    (lambda p: dict(data=p["N1"]), ValueError, "prices is a Series"),
    (lambda p: dict(data=p.to_numpy()[0]), ValueError, r"prices has shape \(12,\)"),
    (lambda p: dict(data=p.to_numpy()[None]), ValueError, r"prices has shape \(1, 261, 12\)"),
    (lambda p: dict(data=p.to_numpy() * 1j), TypeError, "prices has dtype complex128"),
    (lambda p: dict(data=p.to_numpy().astype(object)), TypeError, "prices has dtype object"),
    (lambda p: dict(data=p.to_numpy() > 3), TypeError, "prices has dtype bool"),
    (lambda p: dict(data=p.to_numpy().astype(str)), TypeError, "prices has dtype <U"),
    (lambda p: dict(data={"a": [1, 2]}), TypeError, "prices is of type dict"),
    (lambda p: dict(data=3.0), ValueError, r"prices has shape \(\)"),
    (lambda p: dict(data=[[1.0], [1.0, 2.0]]), (TypeError, ValueError), "prices"),
    (lambda p: dict(data=np.ma.masked_array(p.to_numpy())), TypeError, "masked array"),
    (lambda p: dict(data=p.assign(X="a")), TypeError, "prices: column 'X' has dtype object"),
    (lambda p: dict(data=p.reset_index()), TypeError, "column 'index' has dtype datetime"),
    (lambda p: dict(data=p.rename(columns={"N1": "N2"})), ValueError, "column 'N2' appears more"),
    (lambda p: dict(data=p.iloc[::-1]), ValueError, "prices: dates must increase"),
    (lambda p: dict(data=p.iloc[[0, 1, 1, 2]]), ValueError, "prices: dates must increase"),
    (lambda p: dict(data=p.iloc[:1]), ValueError, "prices"),
    (lambda p: dict(data=p.iloc[:0]), ValueError, r"prices has shape \(0, 12\)"),
    (lambda p: dict(data=p.iloc[:, :0]), ValueError, r"prices has shape \(261, 0\)"),
    (lambda p: dict(data=p.set_axis(pd.Index([*p][:-1] + ["\ud800"], dtype=object), axis=1)),
     ValueError, "not valid text"),
    (lambda p: dict(returns=p.to_numpy() * -1), ValueError, r"row 0, column asset1\)"),
    (lambda p: dict(data=(np.ones(3), np.eye(3)), form="low-rank"), ValueError, "form = low-rank"),
    (lambda p: dict(data=p.replace(p.iloc[3, 2], np.inf)), ValueError, "row 3 .*column 'N2' is inf"),
    (lambda p: dict(data=-p), ValueError, "returns"),
    (lambda p: dict(data=p.to_numpy(), to="2024"), ValueError, "to needs a panel with dates"),
    (lambda p: dict(data=p, to="soon"), ValueError, "to = soon|to: soon|soon"),
    (lambda p: dict(data="no/such/file.csv"), ValueError, "no/such/file.csv"),
    (lambda p: dict(returns=p), ValueError, "gross|prices"),
    (lambda p: dict(data=(np.ones(3),)), ValueError, "a pair"),
    (lambda p: dict(data=(np.ones(3), np.eye(2))), ValueError, r"Sigma has shape \(2, 2\)"),
    (lambda p: dict(data=(np.ones((3, 1)), np.eye(3))), ValueError, r"mu has shape \(3, 1\)"),
    (lambda p: dict(data=(np.array([1, np.nan]), np.eye(2)), k=1), ValueError, r"mu\[1\] is nan"),
    (lambda p: dict(data=(np.ones(2), np.array([[1, 0], [0, np.inf]])), k=1), ValueError, r"1, 1"),
    (lambda p: dict(data=(np.ones(2), np.array([[1, 2], [2, 1.0]])), k=1), ValueError, "Sigma"),
    (lambda p: dict(data=(np.ones(2), np.array([[1, 0.5], [0, 1]])), k=1), ValueError, "symmetric"),
    (lambda p: dict(data=(np.ones(2), np.eye(2)), k=1, lookback=3), ValueError, "lookback has no"),
    (lambda p: dict(data=(np.ones(0), np.zeros((0, 0))), k=1), ValueError, "Sigma"),
    (lambda p: dict(data=(["a", "b"], np.eye(2)), k=1), TypeError, "mu has dtype"),
    (lambda p: dict(data=(pd.Series([1.0, 2], ["a", "a"]), np.eye(2)), k=1), ValueError, "'a'"),
]


@pytest.mark.parametrize("make,error,message", WRONG)
def test_wrong_input_is_named(prices, make, error, message):
    arguments = make(prices)
    arguments.setdefault("k", 3)
    data = arguments.pop("data", None)
    with pytest.raises(error, match=message) as caught:
        sharpen.solve(data, **arguments)
    assert "--" not in str(caught.value) and "FILE" not in str(caught.value)
    if isinstance(caught.value, ValueError):
        assert isinstance(caught.value, sharpen.InputError)


def test_another_device_is_named():
    class Elsewhere:
        device = "cuda:0"

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, stream=None):
            raise AssertionError("must not be asked for")

    with pytest.raises(sharpen.InputError, match="prices is on device cuda:0"):
        sharpen.solve(Elsewhere(), 3)


def test_numbers_out_of_range_are_a_failure():
    with pytest.raises((sharpen.Failure, sharpen.InputError)):
        sharpen.solve((np.array([1e300, 1e300]), np.eye(2) * 1e-300), 1, sizing="budget")


def test_pandas_is_not_needed(tmp_path):
    """Where pandas is missing weights are an array and reasons a list."""
    code = """
import sys
sys.modules["pandas"] = None
import numpy as np, sharpen
found = sharpen.solve((np.array([1.0, 2.0, 3.0]), np.eye(3)), 2)
assert isinstance(found.weights, np.ndarray), type(found.weights)
assert [row["asset"] for row in found.explain()] == ["asset3", "asset2"]
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
