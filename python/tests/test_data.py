"""sharpen.data.yahoo against a yfinance that is made up here: nothing goes over the network."""

import datetime
import os
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest

import sharpen
from sharpen.data import DownloadError, yahoo

DAYS = pd.bdate_range("2024-01-02", periods=5)


def frame(tickers, days=DAYS, zone=None, flat=False):
    """As yfinance gives it: prices above tickers."""
    index = days.tz_localize(zone) if zone else days
    closes = {t: 100.0 + np.arange(len(days)) + i for i, t in enumerate(tickers)}
    if flat:
        return pd.DataFrame({"Close": closes[tickers[0]], "Volume": 1.0}, index=index)
    columns = {("Close", t): v for t, v in closes.items()}
    columns.update({("Volume", t): np.ones(len(days)) for t in tickers})
    return pd.DataFrame(columns, index=index)


class Source:
    """Answers in turn; an exception is raised."""

    def __init__(self, *answers):
        self.answers, self.calls = list(answers), []

    def download(self, tickers, **options):
        self.calls.append((list(tickers), options))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def source(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    slept = []
    monkeypatch.setattr("sharpen.data.time.sleep", slept.append)

    def install(*answers):
        found = Source(*answers)
        module = types.ModuleType("yfinance")
        module.download = found.download
        monkeypatch.setitem(sys.modules, "yfinance", module)
        found.slept = slept
        return found

    return install


def test_closes_become_a_panel(source):
    asked = source(frame(["AAA", "BBB"]))
    found = yahoo(["AAA", "BBB"], "2024-01-01", "2024-01-10")
    assert list(found.columns) == ["AAA", "BBB"] and found.index.name == "date"
    assert (found.index == DAYS).all() and found["BBB"].iloc[0] == 101.0
    (tickers, options), = asked.calls
    assert tickers == ["AAA", "BBB"] and options["auto_adjust"] is True
    assert options["start"] == "2024-01-01" and options["end"] == "2024-01-10"
    assert sharpen.solve(found, k=1, lookback="all").names == ["AAA", "BBB"]


def test_it_tries_again_and_waits_longer_each_time(source):
    asked = source(OSError("no route"), None, frame(["AAA"]).iloc[:0], frame(["AAA"], flat=True))
    found = yahoo("AAA", "2024-01-01", "2024-01-10", wait=0.5)
    assert len(asked.calls) == 4 and asked.slept == [0.5, 1.0, 2.0]
    assert list(found["AAA"]) == [100.0, 101.0, 102.0, 103.0, 104.0]


def test_only_what_is_missing_is_asked_for_again(source):
    half = frame(["AAA", "BBB"])
    half[("Close", "BBB")] = np.nan
    asked = source(half, frame(["BBB"]))
    found = yahoo(["AAA", "BBB"], "2024-01-01", "2024-01-10")
    assert [tickers for tickers, _ in asked.calls] == [["AAA", "BBB"], ["BBB"]]
    assert found.notna().all().all() and list(found.columns) == ["AAA", "BBB"]


def test_offline_is_a_clear_error(source):
    source(*[OSError("no route to host")] * 3)
    wanted = "after 3 attempts .*no route to host.*network"
    with pytest.raises(DownloadError, match=wanted) as error:
        yahoo(["AAA"], "2024-01-01", "2024-01-10", retries=2)
    assert isinstance(error.value, ConnectionError)


def test_the_cache_is_asked_first(source, tmp_path):
    asked = source(frame(["AAA"]), frame(["AAA"]))
    first = yahoo(["AAA"], "2024-01-01", "2024-01-10")
    again = yahoo(["AAA"], datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 10, 8))
    assert len(asked.calls) == 1
    pd.testing.assert_frame_equal(first, again, check_freq=False)
    files = list((tmp_path / "cache" / "sharpen" / "yahoo").iterdir())
    assert len(files) == 1 and files[0].suffix == ".parquet"
    yahoo(["AAA"], "2024-01-01", "2024-01-10", refresh=True)
    assert len(asked.calls) == 2
    asked.answers.append(frame(["AAA"]))
    files[0].write_bytes(b"not parquet")
    pd.testing.assert_frame_equal(yahoo(["AAA"], "2024-01-01", "2024-01-10"), first,
                                  check_freq=False)
    assert len(asked.calls) == 3


def test_days_that_are_not_over_are_not_kept(source, tmp_path, monkeypatch):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    days = pd.bdate_range(end=today, periods=5)
    asked = source(*[frame(["AAA"], days)] * 5)
    start, cache = today - datetime.timedelta(days=20), tmp_path / "kept"
    for end in (today + datetime.timedelta(days=1), today + datetime.timedelta(days=30)):
        yahoo("AAA", start, end, cache=cache)
        yahoo("AAA", start, end, cache=cache)
    assert len(asked.calls) == 4 and not cache.exists()
    yahoo("AAA", start, today, cache=cache)  # it ends yesterday
    yahoo("AAA", start, today, cache=cache)
    assert len(asked.calls) == 5
    # A file from when its last day was not over, as earlier versions kept some.
    file, = cache.iterdir()
    then = datetime.datetime.now().timestamp() - 2 * 86400
    os.utime(file, (then, then))
    asked.answers.append(frame(["AAA"], days))
    yahoo("AAA", start, today, cache=cache)
    assert len(asked.calls) == 6


def test_other_questions_have_other_answers(source, tmp_path):
    asked = source(*[frame(["AAA"])] * 4)
    yahoo(["AAA"], "2024-01-01", "2024-01-10", cache=tmp_path / "mine")
    yahoo(["AAA"], "2024-01-01", "2024-01-11", cache=tmp_path / "mine")
    yahoo(["AAA"], "2024-01-01", "2024-01-10", cache=tmp_path / "mine", adjust=False)
    assert len(asked.calls) == 3 and len(list((tmp_path / "mine").iterdir())) == 3
    assert asked.calls[2][1]["auto_adjust"] is False
    yahoo(["AAA"], "2024-01-01", "2024-01-10", cache=False)
    assert len(asked.calls) == 4 and not (tmp_path / "cache").exists()


def test_a_ticker_without_prices_is_left_out_with_a_word(source):
    half = frame(["AAA", "BBB"])
    half[("Close", "BBB")] = np.nan
    asked = source(half, None, half, None)
    with pytest.warns(sharpen.SharpenWarning, match="no prices of BBB"):
        found = yahoo(["AAA", "BBB"], "2024-01-01", "2024-01-10", retries=1)
    assert list(found.columns) == ["AAA"]
    with pytest.raises(sharpen.InputError, match="tickers: no prices of BBB"):  # it was not kept
        yahoo(["AAA", "BBB"], "2024-01-01", "2024-01-10", retries=1, missing="raise")
    assert len(asked.calls) == 4


def test_days_are_those_of_the_exchange(source):
    source(frame(["AAA"], zone="Asia/Tokyo"))
    found = yahoo(["AAA"], "2024-01-01", "2024-01-10")
    assert found.index.tz is None and (found.index == DAYS).all()


def test_a_cache_that_cannot_be_written_is_no_error(source, tmp_path):
    source(frame(["AAA"]))
    (tmp_path / "file").write_text("")
    with pytest.warns(sharpen.SharpenWarning, match="cache: the prices could not be kept"):
        found = yahoo(["AAA"], "2024-01-01", "2024-01-10", cache=tmp_path / "file" / "below")
    assert len(found) == 5


def test_the_end_is_today_by_default(source):
    asked = source(frame(["AAA"]))
    yahoo("AAA", "2024-01-01")
    assert asked.calls[0][1]["end"] == datetime.date.today().isoformat()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (([], "2024-01-01"), ValueError, "tickers is empty"),
        ((5, "2024-01-01"), TypeError, "tickers is of type int"),
        ((["AAA", 3], "2024-01-01"), TypeError, "tickers: 3"),
        ((["AAA", "aaa"], "2024-01-01"), ValueError, "'AAA' appears more than once"),
        (("AAA", "January"), ValueError, "start = 'January'"),
        (("AAA", None), TypeError, "start is of type NoneType"),
        (("AAA", "2024-01-02", "2024-01-02"), ValueError, "not before end"),
    ],
)
def test_wrong_arguments_are_named(source, arguments, error, message):
    source()
    with pytest.raises(error, match=message):
        yahoo(*arguments)
    for name, value in dict(missing="skip", retries=-1).items():
        with pytest.raises(ValueError, match=f"{name} = "):
            yahoo("AAA", "2024-01-01", **{name: value})
    with pytest.raises(TypeError, match="cache is of type int"):
        yahoo("AAA", "2024-01-01", cache=3)


def test_it_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "yfinance", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImportError, match=r"sharpen\[data\]"):
            yahoo("AAA", "2024-01-01", cache=tmp_path)
