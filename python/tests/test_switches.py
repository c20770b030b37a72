"""Arguments that are True or False."""

import numpy as np
import pytest

import sharpen


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=160, seed=1)


@pytest.fixture(scope="module")
def a_folder(market, tmp_path_factory):
    """Of a backtest, and of somebody: force is needed to write there."""
    place = tmp_path_factory.mktemp("backtest")
    sharpen.backtest(market, k=2, lookback=40, progress=False).save(place)
    (place / "notes.txt").write_text("mine")
    return place


@pytest.mark.parametrize("value", ["false", "no", 0, 1, None, np.array(True), []])
@pytest.mark.parametrize(
    "name, call",
    [
        ("force", lambda m, at, v: sharpen.backtest(m, k=2, lookback=40, out=at, force=v)),
        ("force", lambda m, at, v: sharpen.backtest(m, k=2, lookback=40, force=v)),
        ("force", lambda m, at, v: sharpen.Backtest.load(at).save(at, force=v)),
        ("force", lambda m, at, v: sharpen.study({"m": m}, k=2, out=at, force=v)),
        ("dry_run", lambda m, at, v: sharpen.study({"m": m}, k=2, out=at, dry_run=v)),
        ("gross", lambda m, at, v: sharpen.study(returns={"m": m}, k=2, out=at, gross=v)),
        ("force", lambda m, at, v: sharpen.report(at, at / "metrics.json", format="csv", force=v)),
        ("gross", lambda m, at, v: sharpen.solve(returns=m, k=2, gross=v)),
        ("gross", lambda m, at, v: sharpen.backtest(returns=m, k=2, gross=v)),
        ("gross", lambda m, at, v: sharpen.train(returns=m, k=2, gross=v)),
        ("gross", lambda m, at, v: sharpen.doctor(returns=m, gross=v)),
        ("expected", lambda m, at, v: sharpen.simulate(assets=2, days=10, expected=v)),
        ("adjust", lambda m, at, v: sharpen.data.yahoo("A", "2020-01-01", adjust=v)),
        ("refresh", lambda m, at, v: sharpen.data.yahoo("A", "2020-01-01", refresh=v)),
    ],
)
def test_a_switch_is_true_or_false_and_no_text_for_it(market, a_folder, name, call, value):
    before = {file.name: file.read_bytes() for file in a_folder.iterdir()}
    with pytest.raises(TypeError) as caught:
        call(market, a_folder, value)
    assert str(caught.value) == f"{name} is of type {type(value).__name__}; give True or False"
    assert {file.name: file.read_bytes() for file in a_folder.iterdir()} == before


def test_a_switch_may_be_numpys(market, a_folder):
    again = sharpen.backtest(market, k=2, lookback=40, out=a_folder, force=np.True_, progress=False)
    again.save(a_folder, force=np.bool_(True))
    with pytest.raises(sharpen.InputError, match="force"):
        again.save(a_folder, force=np.bool_(False))
    count = sharpen.study({"m": market}, k=2, dry_run=np.True_, lookback=40, progress=False)
    assert count["cells"] > 0


@pytest.mark.parametrize("value", ["no", "yes", 1])
def test_settings_that_are_switches_take_no_text_for_it_either(market, tmp_path, value):
    for call in (
        lambda: sharpen.train(market, k=2, out=tmp_path / "m", resume=value),
        lambda: sharpen.study({"m": market}, k=2, out=tmp_path / "s", retry=value),
    ):
        with pytest.raises(TypeError, match="(resume|retry) = .* is neither True nor False"):
            call()
    assert not list(tmp_path.iterdir())
