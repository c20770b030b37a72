"""sharpen.train and predict: models that the program shares."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest

import sharpen

SMALL = dict(k=3, lookback=10, hidden=[8], ensemble=2, epochs=2, seed=4)
FLAGS = "-k 3 --lookback 10 --hidden 8 --ensemble 2 --epochs 2 --seed 4".split()


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=8, days=300, seed=5, predictability=0.3)


@pytest.fixture(scope="module")
def model(market):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sharpen.SharpenWarning)
        return sharpen.train(market, **SMALL, progress=False)


def run(program, *arguments):
    ran = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_models_are_shared_with_the_program(market, model, program, tmp_path):
    prices = tmp_path / "p.csv"
    theirs, ours = tmp_path / "theirs.sharpen", tmp_path / "ours.sharpen"
    market.to_csv(prices)
    run(program, "train", "--prices", str(prices), *FLAGS, "--out", str(theirs))
    model.save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    assert sharpen.Model.load(theirs) == model

    asof = str(market.index[-1].date())
    answer = json.loads(run(program, "predict", "--model", str(ours), "--prices", str(prices),
                            "--asof", asof, "--json"))
    for given in (model, ours, str(theirs)):
        found = sharpen.predict(given, market, asof=asof)
        held = {name: weight for name, weight in found.weights.items() if weight}
        assert held == {h["asset"]: h["weight"] for h in answer["holdings"]}
        assert found.agreement == answer["agreement"] and found.sharpe == answer["sharpe"]
    from_file = sharpen.predict(model, prices, asof=asof)
    assert (from_file.weights == found.weights).all()


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_training_writes_where_it_is_told(market, model, tmp_path):
    file = tmp_path / "model.sharpen"
    found = sharpen.train(market, **SMALL, out=file, progress=False)
    assert found == model and sharpen.Model.load(file) == model
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.sharpen"]


def test_model_tells_what_it_is(market, model):
    assert model.assets == list(market.columns)
    assert model.settings["lookback"] == 10 and model.settings["hidden"] == [8]
    assert model.info["to"] == str(market.index[-1].date())
    assert list(model.members["epochs"]) == [2, 2] and model.members.index.name == "member"
    assert "2 networks" in repr(model)


def test_models_can_be_pickled(model):
    again = pickle.loads(pickle.dumps(model))
    assert again == model and hash(again) == hash(model) and again != "model"


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_threads_change_nothing(market, model):
    assert sharpen.train(market, **SMALL, threads=1, progress=False) == model


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_returns_train_the_same_model(market, model):
    returns = market.pct_change().iloc[1:]
    found = sharpen.train(returns=returns, **SMALL, progress=False)
    assert found.assets == model.assets and found.info["to"] == model.info["to"]
    a, b = found.predict(returns=returns), model.predict(market)
    np.testing.assert_allclose(a.mu, b.mu, rtol=1e-3, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_the_papers_preset_is_the_programs(market, program, tmp_path):
    prices, theirs = tmp_path / "p.csv", tmp_path / "theirs.sharpen"
    market.to_csv(prices)
    flags = "--preset paper -k 3 --lookback 5 --hidden 8 --epochs 1".split()
    run(program, "train", "--prices", str(prices), *flags, "--out", str(theirs))
    found = sharpen.train(
        market, preset="paper", k=3, lookback=5, hidden=[8], epochs=1, progress=False
    )
    assert found == sharpen.Model.load(theirs) and found.settings["score"] == "cholesky"


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_no_file_is_written_over_what_is_read(market, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asof = str(market.index[-1].date())
    market.to_csv("prices.csv")
    market.pct_change().iloc[1:].to_csv("returns.csv")
    model.save("m.sharpen")
    model.predict(market, asof=asof, out="held.csv")
    (tmp_path / "link.csv").symlink_to("prices.csv")
    os.link("prices.csv", "hard.csv")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for to, name in (("prices.csv", "prices"), (tmp_path / "prices.csv", "prices"),
                     ("link.csv", "prices"), ("hard.csv", "prices"), ("./m.sharpen", "model"),
                     ("held.csv", "previous")):
        for argument in ("trades",) if name == "previous" else ("out", "trades"):
            with pytest.raises(sharpen.InputError, match=f"{argument} would replace what {name}"):
                sharpen.predict("m.sharpen", "prices.csv", previous="held.csv", asof=asof,
                                **{argument: to})
    with pytest.raises(sharpen.InputError, match="out would replace what returns reads"):
        sharpen.predict("m.sharpen", returns="returns.csv", asof=asof, out="returns.csv")
    with pytest.raises(sharpen.InputError, match="out and trades are the same file"):
        model.predict(market, asof=asof, out="new.csv", trades=tmp_path / "new.csv")
    with pytest.raises(sharpen.InputError, match="out would replace what prices reads"):
        sharpen.train("link.csv", k=3, lookback=5, hidden=[8], epochs=1, out="prices.csv",
                      progress=False)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_a_label_that_no_file_can_hold_is_refused_at_the_start(market):
    odd = market.rename(columns={market.columns[2]: "a\x1b[2J"})
    with pytest.raises(sharpen.InputError, match=r'prices: the label "a\\x1b\[2J" of column 2 '):
        sharpen.train(odd, **SMALL, progress=False)


def test_predictions_have_the_labels_of_the_panel(market, model):
    asof = str(market.index[-1].date())
    train = dict(k=3, lookback=5, hidden=[8], epochs=1, progress=False)
    numbered = market.set_axis(range(len(market.columns)), axis=1)
    found = sharpen.train(numbered, **train).predict(numbered, asof=asof, explain=True)
    assert found.weights.index.equals(numbered.columns) and found.mu.index.equals(numbered.columns)
    assert (numbered @ found.weights).notna().all() and str(found.names[0]) in repr(found.weights)
    assert set(found.holdings.index) == set(found.trades.index) <= set(numbered.columns)
    assert found.holdings.index.name == found.trades.index.name == "asset"


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_prediction_lists_holdings_and_trades(market, model, tmp_path):
    asof = str(market.index[-1].date())
    first = model.predict(market, asof=asof, explain=True)
    assert first.names == model.assets and (first.holdings["weight"] != 0).all()
    assert len(first.holdings) == (first.weights != 0).sum() <= 3
    assert "risk_contribution" in first.holdings and first.status in ("ok", "neutral_face")
    assert first.date == asof and "assets" in repr(first)
    np.testing.assert_array_equal(first.trades["to"], first.weights[first.trades.index])
    for held in (first.weights, dict(first.weights)):
        again = model.predict(market, asof=asof, previous=held)
        assert len(again.trades) == 0 and list(again.trades.columns)[:3] == ["from", "to", "trade"]
    sold = model.predict(market.assign(GONE=7.0), asof=asof, previous={"GONE": 0.25})
    assert sold.trades.loc["GONE", "trade"] == -0.25
    with pytest.raises(sharpen.InputError, match='there is no asset "GONE" here'):
        model.predict(market, asof=asof, previous={"GONE": 0.25})
    out, trades = tmp_path / "w.csv", tmp_path / "t.csv"
    model.predict(market, asof=asof, out=out, trades=trades)
    written = pd.read_csv(out, index_col="asset", float_precision="round_trip")["weight"]
    assert (written == first.weights[written.index]).all()
    kept = model.predict(market, asof=asof, previous=out)
    assert len(kept.trades) == 0 and trades.read_text().startswith("asset,from,to,trade")
    other = {first.names[0]: 0.5, first.names[1]: -0.5}
    dear = model.predict(market, asof=asof, previous=other, cost_bps=1e6)
    assert dict(dear.weights[dear.weights != 0]) == other and len(dear.trades) == 0
    undone = dear.left_undone
    assert len(undone) > 0 and undone.index.name == "asset" and set(undone["reason"]) == {"cost"}
    assert (undone["cost"] > undone["gain"]).all()
    sized = model.predict(market, asof=asof, capital=100000)
    assert "shares" in sized.holdings


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_backtest_takes_a_model(market, model, tmp_path):
    longer = sharpen.simulate(assets=8, days=330, seed=5, predictability=0.3)
    found = sharpen.backtest(longer, model=model, progress=False)
    assert found.metrics["framework"] == "dfl" and len(found.returns) == 30
    assert found.returns.index[0] > market.index[-1]
    file = tmp_path / "m.sharpen"
    model.save(file)
    again = sharpen.backtest(longer, model=file, progress=False)
    pd.testing.assert_series_equal(again.returns, found.returns, check_exact=True)
    with pytest.raises(sharpen.InputError, match="model has no meaning"):
        sharpen.backtest(longer, model=model, framework="rolling", progress=False)
    with pytest.raises(sharpen.InputError, match="epochs has no meaning here: the model"):
        sharpen.backtest(longer, model=model, epochs=3, progress=False)


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_arrays_without_dates_are_fine(market):
    cells = market.to_numpy()
    model = sharpen.train(cells[:120], **SMALL, progress=False)
    assert model.assets[0] == "asset1"
    assert len(model.predict(cells).weights) == 8
    found = sharpen.backtest(cells, model=model, progress=False)
    assert list(found.returns.index) == list(range(120, 300))  # rows that it has not seen


def test_slow_ctrl_c_keeps_the_epochs_and_resume_goes_on(tmp_path):
    file = tmp_path / "model.sharpen"
    script = textwrap.dedent(
        f"""
        import warnings
        warnings.simplefilter("ignore")
        import sharpen
        prices = sharpen.simulate(assets=20, days=500, seed=1)
        settings = dict(k=3, lookback=20, ensemble=1, epochs=40, patience=40, progress=False)
        try:
            sharpen.train(prices, **settings, out={str(file)!r})
            print("too late")
        except KeyboardInterrupt:
            model = sharpen.train(prices, **settings, out={str(file)!r}, resume=True)
            print("same" if model == sharpen.train(prices, **settings) else "other")
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    partial = tmp_path / "model.sharpen.partial"
    while child.poll() is None and not (partial.is_dir() and any(partial.iterdir())):
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    out, _ = child.communicate(timeout=300)
    assert out == "same\n" and not partial.exists()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (dict(framework="rolling"), sharpen.InputError, "framework = rolling"),
        (dict(universe="available", network="joint"), sharpen.InputError, "universe = available"),
        (dict(epoch=3), TypeError, "'epoch'.*did you mean epochs"),
        (dict(alpha=2), sharpen.InputError, "alpha = 2"),
        (dict(k=1.5), TypeError, "k = 1.5"),
        (dict(k=9), sharpen.InputError, "k = 9"),
        (dict(lookback=5000), sharpen.InputError, "5000"),
        (dict(resume=True), sharpen.InputError, "resume has no meaning"),
        (dict(out=3), TypeError, "out is of type int"),
        (dict(out="missing/folder/m.sharpen"), sharpen.InputError, "cannot be made"),
        (dict(gross="no"), TypeError, "gross"),
    ],
)
def test_wrong_arguments_of_train_are_named(market, arguments, error, message):
    with pytest.raises(error, match=message):
        sharpen.train(market, **{"progress": False, "epochs": 1, **arguments})


def test_wrong_arguments_of_predict_are_named(market, model, tmp_path):
    with pytest.raises(TypeError, match="model is of type DataFrame"):
        sharpen.predict(market, market)
    with pytest.raises(sharpen.InputError, match="lacks 2 of the 8 tickers"):
        model.predict(market.iloc[:, 2:])
    with pytest.raises(sharpen.InputError, match="prices: has 4 returns"):
        model.predict(market.iloc[:5])
    with pytest.raises(TypeError, match="'capitol'.*did you mean capital"):
        model.predict(market, capitol=5)
    with pytest.raises(TypeError, match="previous is of type int"):
        model.predict(market, previous=3)
    with pytest.raises(TypeError, match="previous.'S001'. is no number"):
        model.predict(market, previous={"S001": "much"})
    with pytest.raises(sharpen.InputError, match="previous.'S001'. is nan"):
        model.predict(market, previous={"S001": np.nan})
    with pytest.raises(sharpen.InputError, match="capital needs prices"):
        model.predict(returns=market.pct_change().iloc[1:], capital=1e5)
    with pytest.raises(sharpen.InputError, match="max_age|max-age|stale"):
        model.predict(market, max_age=3)
    junk = tmp_path / "junk.sharpen"
    junk.write_bytes(b"junk")
    for work in (lambda: sharpen.Model.load(junk), lambda: sharpen.predict(junk, market)):
        with pytest.raises(sharpen.InputError, match="junk.sharpen"):
            work()
    with pytest.raises(sharpen.InputError, match="model"):
        sharpen._core.Model(b"no model")
    with pytest.raises(TypeError, match="comes from sharpen.train"):
        sharpen.Model("model.sharpen")


def test_settings_that_are_refused_leave_the_process_alive():
    prices = pd.DataFrame(100.0 + np.random.default_rng(1).random((60, 3)))
    for _ in range(20):
        with pytest.raises(sharpen.InputError, match="lookback"):
            sharpen.train(prices, lookback="all")
        with pytest.raises(sharpen.InputError):
            sharpen.backtest(prices, shrinkage=3)
