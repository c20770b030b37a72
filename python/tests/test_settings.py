"""Keyword arguments: found by help and completion, taken in any sensible form, told in Python's
words."""

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import sharpen
import sharpen._core

FUNCTIONS = "doctor solve simulate backtest compare train predict orders study report".split()
COMMANDS = {"orders": "predict"}  # of those that are no commands by themselves
# Settings without a meaning here, or by another name: data in memory, printing, a and b.
OF_THE_PROGRAM = set(
    "json print_config config log_level version help prices moments mean cov format demo explain "
    "seed dry_run require_ok list first second out force returns gross details "
    "positions continue signal previous trades".split()
)
# What must be there before settings are looked at.
POSITIONAL = {"compare": ("a", "b"), "predict": ("m",), "report": ("s",)}


def own_arguments(function):
    """Those that it names itself, without the settings and its local variables."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=160, seed=1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_and_help_list_every_setting(name):
    function = getattr(sharpen, name)
    parameters = inspect.signature(function).parameters
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for row in sharpen._core.settings_of(COMMANDS.get(name, name)):
        setting = "from_" if row["name"] == "from" else row["name"]
        if setting in OF_THE_PROGRAM or setting in own_arguments(function):
            continue
        assert parameters[setting].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"{setting} : {row['text']}" in function.__doc__
    assert "--" not in function.__doc__.partition("Settings, None")[2]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_listed_setting_is_taken(name):
    function, given = getattr(sharpen, name), POSITIONAL.get(name, ())
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'xyzzy'"):
        function(*given, xyzzy=None)
    listed = set(inspect.signature(function).parameters) - set(own_arguments(function))
    assert listed
    for setting in listed:
        try:
            function(*given, **{setting: None})
        except TypeError as error:
            assert "() needs prices" in str(error), setting
        except sharpen.InputError as error:
            assert re.search("needs a market|is not a folder|does not exist", str(error)), setting


@pytest.mark.parametrize(
    "function, name, hint",
    [
        (sharpen.solve, "optimiser", "; did you mean optimizer?"),
        (sharpen.backtest, "proggress", "; did you mean progress?"),
        (sharpen.solve, "lookbak", "; did you mean lookback?"),
        (sharpen.train, "lr", "; did you mean learning_rate?"),
        (sharpen.train, "batch_size", "; did you mean batch?"),
        (sharpen.backtest, "cost", "; did you mean cost_bps?"),
        (sharpen.backtest, "start", "; did you mean from_?"),
        (sharpen.solve, "end", "; did you mean to?"),
        (sharpen.solve, "max_weights", "; did you mean max_weight?"),
        (sharpen.backtest, "min_net", "; give limits=sharpen.Limits(min_net=...)"),
        (sharpen.train, "device", "; the CPU is all that is used"),
        (sharpen.compare, "xyzzy", "; settings of sharpen.compare: replications, block, "),
        (sharpen.solve, "\udc80\udc80\udc80\udc80", "; settings of sharpen.solve: from_, to, "),
    ],
)
def test_a_name_that_is_none_tells_what_is_there(market, function, name, hint):
    with pytest.raises(TypeError) as caught:
        if function is sharpen.compare:
            function("a", "b", **{name: 1})
        else:
            function(market, **{name: 1})
    expected = f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}"
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Index, pd.Series, lambda x: iter(x)])
def test_lists_are_taken_from_any_sequence(market, make):
    names = list(market)[1:4]
    if not hasattr(make(names), "__len__"):
        with pytest.raises(TypeError, match="tickers is of type list_iterator"):
            sharpen.solve(market, 2, tickers=make(names))
        return
    assert sharpen.solve(market, 2, tickers=make(names)).names == names
    small = dict(k=2, ensemble=1, epochs=1, lookback=20, progress=False)
    model = sharpen.train(market, hidden=make([8, 4]), **small)
    assert model == sharpen.train(market, hidden="8,4", **small)


def test_tickers_are_labels_whatever_they_are(market):
    table = market.set_axis([1.0, 2.0, 3.0, 4.0, 5.0, 6.5], axis=1)
    for tickers in ([1.0, 2.0, 6.5], np.array([1.0, 2.0, 6.5]), table.columns[[0, 1, 5]]):
        assert list(sharpen.solve(table, 2, tickers=tickers).weights.index) == [1.0, 2.0, 6.5]
    assert list(sharpen.solve(table, 1, tickers=2.0).weights.index) == [2.0]
    whole = market.set_axis(range(6), axis=1)
    assert list(sharpen.solve(whole, 1, tickers=np.array([3, 1])).weights.index) == [3, 1]


def test_a_list_is_taken_only_where_it_means_something(market):
    for value in ([1, 2], np.array([1, 2]), {"a": 1}, {1, 2}):
        with pytest.raises(TypeError, match="lookback is of type"):
            sharpen.solve(market, 2, lookback=value)
    with pytest.raises(TypeError, match="tickers is of type dict"):
        sharpen.solve(market, 2, tickers={"S001": 1})


def test_lists_of_a_study_are_taken_from_any_sequence(market):
    counts = [
        sharpen.study(
            {"m": market}, frameworks=make(["rolling"]), optimizers=make(["swap", "equal"]),
            k=make([2, 3]), costs=make([0.0, 5.0]), lookback=40, dry_run=True, progress=False,
        )
        for make in (list, np.array, pd.Series, pd.Index)
    ]
    assert all(count["cells"] == counts[0]["cells"] > 2 for count in counts)


def test_whole_numbers_may_be_floats(market):
    settings = dict(k=2, progress=False)
    found = sharpen.backtest(
        market, lookback=40.0, rebalance=np.float64(5), threads=1.0, **settings
    )
    expected = sharpen.backtest(market, lookback=40, rebalance=5, **settings)
    pd.testing.assert_series_equal(found.returns, expected.returns, check_exact=True)
    assert sharpen.simulate(assets=3.0, days=np.float32(20)).shape == (20, 3)
    with pytest.raises(sharpen.InputError, match="rebalance = 21.5 is not a whole number"):
        sharpen.backtest(market, rebalance=21.5)
    with pytest.raises(TypeError, match="k = 10.0 is neither a count such as 5 nor a share"):
        sharpen.solve(market, 10.0)


def test_messages_have_the_words_of_python(market, tmp_path):
    def told(call, *arguments, error=sharpen.InputError, **settings):
        with pytest.raises(error) as caught:
            call(*arguments, **settings)
        return str(caught.value)

    run = sharpen.backtest(market, k=2, lookback=40, progress=False)
    folder = "give a folder that sharpen.backtest(out=...) wrote"
    assert folder in told(sharpen.compare, run, str(tmp_path / "none"))
    assert "`sharpen.study(out=...)` has written" in told(sharpen.Study.load, tmp_path / "none")
    assert 'give lookback="all", lookback=159 or less' in told(sharpen.solve, market, lookback=2020)
    for value in (1, "yes", 0.0):
        flag = told(sharpen.solve, market, certify=value, error=TypeError)
        assert flag == f"certify = {value!r} is neither True nor False"
    with pytest.warns(sharpen.SharpenWarning, match="give periods_per_year=252"):
        found = sharpen.backtest(market, k=2, lookback=40, periods_per_year=12, progress=False)
    assert "--" not in str(found).replace("---", "")


@pytest.mark.parametrize(
    "theirs, ours",
    [
        ("‹--max-age DAYS› refuses", "max_age refuses"),
        ("give ‹-k 5› or ‹--max-gap›.", "give k=5 or max_gap."),
        ("give ‹-k 5%›, or", 'give k="5%", or'),
        ("give ‹--universe available›, or", 'give universe="available", or'),
        ("‹--periods-per-year 252›. Then", "periods_per_year=252. Then"),
        ("the --max-gaps and low-rank", "the --max-gaps and low-rank"),
        ("‹--returns FILE› ‹--gross›", "returns gross"),
        ("‹max-gap› = 5; max-gap.csv", "max_gap = 5; max-gap.csv"),
        ("by ‹--split DATE› and ‹--to›", "by split and to"),
        ("‹--split 80%› or ‹--stats-from ROW›", 'split="80%" or stats_from'),
        ("‹--lookback all› or ‹--lookback N›", 'lookback="all" or lookback'),
        ("it goes with ‹sharpen backtest›", "it goes with sharpen.backtest"),
        ("‹sharpen backtest --out› wrote it", "sharpen.backtest(out=...) wrote it"),
        ("/data/‹MY FILE›.csv and sharpen trainer", "/data/‹MY FILE›.csv and sharpen trainer"),
    ],
)
def test_words(theirs, ours):
    assert sharpen._core.in_python_words(theirs) == ours


def lines_of_warnings(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught and all(w.category is sharpen.SharpenWarning for w in caught)
    return {w.filename for w in caught}


def test_warnings_are_told_at_the_callers_line(market):
    model = sharpen.train(market, k=2, ensemble=1, epochs=1, lookback=20, progress=False)
    a = sharpen.backtest(market, k=2, lookback=20, progress=False)
    b = sharpen.backtest(market, k=2, lookback=120, progress=False)
    for call in (
        lambda: model.predict(market),  # old prices
        lambda: sharpen.predict(model, market),
        lambda: a.compare(b),  # of other dates
        lambda: sharpen.compare(a, b),
        lambda: sharpen.solve(market, 2, periods_per_year=12),
        lambda: sharpen.SparseTangentPortfolio(2).fit(market),
    ):
        assert lines_of_warnings(call) == {__file__}


def test_the_package_shows_its_own_names_only():
    shown = [name for name in dir(sharpen) if not name.startswith("_")]
    assert set(shown) - {"torch"} == {name for name in sharpen.__all__ if name[0] != "_"}
    assert all(hasattr(sharpen, name) for name in dir(sharpen))
