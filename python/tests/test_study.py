"""sharpen.study and report: the program's file, cells as tables, the same report."""

import subprocess

import numpy as np
import pandas as pd
import pytest

import sharpen

GRID = dict(k=[2, "50%"], frameworks=["rolling", "historic"], optimizers=["swap", "oscar"],
            lookback=40)


@pytest.fixture(scope="module")
def market():
    return sharpen.simulate(assets=6, days=220, seed=2, predictability=0.3)


@pytest.fixture(scope="module")
def done(market, tmp_path_factory):
    return sharpen.study({"small": market}, **GRID, out=tmp_path_factory.mktemp("study"),
                         progress=False)


def test_every_cell_is_there(done):
    cells = done.cells
    assert len(cells) == 8 and (cells["state"] == "done").all() and done.tally["failed"] == 0
    assert set(cells["market"]) == {"small"} and set(cells["k"]) == {2, 3}
    assert set(cells["optimizer"]) == {"swap", "oscar"} and cells["seed"].isna().all()
    assert np.isfinite(cells["sharpe_annualized"]).all()
    assert "8 of 8 cells done" in repr(done)


def test_a_cell_is_the_backtest_it_says(done, market):
    found = sharpen.backtest(market, framework="rolling", optimizer="swap", k=2, lookback=40,
                             split="80%", progress=False)
    returns = done.returns[("small", "2", "rolling-swap", "")]
    assert (returns.to_numpy() == found.returns.to_numpy()).all()
    assert (returns.index == found.returns.index).all()
    cells = done.cells
    cell = cells[(cells["k"] == 2) & (cells["method"] == "rolling-swap")].iloc[0]
    assert cell["sharpe_annualized"] == pytest.approx(found.sharpe_annualized, rel=1e-12)


def test_a_finished_study_is_not_computed_again(done, market):
    again = sharpen.study({"small": market}, **GRID, out=done.file.rsplit("/", 1)[0],
                          progress=False)
    assert again.tally["computed"] == 0 and again.tally["done"] == 8
    pd.testing.assert_frame_equal(again.cells, done.cells)
    loaded = sharpen.Study.load(done.file.rsplit("/", 1)[0])
    pd.testing.assert_frame_equal(loaded.returns, done.returns)


def test_dates_that_pandas_cannot_hold_stay_texts(market, tmp_path):
    far = market.set_axis([f"9{str(d.date())[1:]}" for d in market.index])
    found = sharpen.study({"far": far}, k=2, frameworks="rolling", lookback=40, out=tmp_path,
                          progress=False).returns
    assert found.index.name == "date" and len(found) == 44
    assert str(found.index[-1])[:10] == far.index[-1]


def files_of(folder):
    return {f.name: f.read_bytes() for f in folder.iterdir() if "study.db-" not in f.name}


def test_other_data_do_not_take_the_place_of_what_is_there(market, tmp_path):
    settings = dict(k=2, frameworks="rolling", lookback=40, progress=False)
    sharpen.study({"small": market}, **settings, out=tmp_path)
    before = files_of(tmp_path)
    for options, message in (
        ({}, "small.csv is there already"),
        ({"dry_run": True}, 'market "small" has changed since this study began'),
        ({"force": True, "frameworks": "role"}, "frameworks.*role"),
    ):
        with pytest.raises(sharpen.InputError, match=message):
            sharpen.study({"small": market * 2}, **{**settings, **options}, out=tmp_path)
        assert files_of(tmp_path) == before
    with pytest.raises(sharpen.InputError, match="small.csv is there already.*another name.*force"):
        sharpen.study({"small": market * 2}, **settings, out=tmp_path)
    with pytest.warns(sharpen.SharpenWarning, match="small.csv, which held other data, is now"):
        found = sharpen.study({"small": market * 2}, **settings, out=tmp_path, force=True)
    after = files_of(tmp_path)
    assert after["small-1.csv"] == before["small.csv"] != after["small.csv"]
    assert len(found.warnings) == 2 and "the study that was there is now" in found.warnings[1]


def test_files_of_the_user_stay(market, tmp_path):
    (tmp_path / "prices.csv").write_text("mine")
    settings = dict(k=2, frameworks="rolling", lookback=40, progress=False)
    assert sharpen.study({"prices": market}, **settings, out=tmp_path, dry_run=True)["cells"] == 1
    with pytest.raises(sharpen.InputError, match="prices.csv is there already"):
        sharpen.study({"prices": market}, **settings, out=tmp_path)
    assert files_of(tmp_path) == {"prices.csv": b"mine"}


def test_a_study_that_does_not_begin_leaves_nothing(market, tmp_path):
    with pytest.raises(sharpen.InputError, match="role"):
        sharpen.study({"m": market}, k=2, frameworks="role", out=tmp_path / "a" / "b",
                      progress=False)
    assert not list(tmp_path.iterdir())


def test_studies_warn_as_the_program_does(market, tmp_path, program):
    gap = market.copy()
    gap.iloc[:60, 3] = np.nan
    settings = dict(k=2, frameworks="rolling", lookback=40, progress=False)
    for options in ({"dry_run": True}, {}):
        with pytest.warns(sharpen.SharpenWarning, match="market gappy: ") as caught:
            found = sharpen.study({"gappy": gap}, **settings, out=tmp_path / "s", **options)
        assert caught[0].filename == __file__
    assert found.warnings == [str(w.message) for w in caught]
    flags = "-k 2 --frameworks rolling --lookback 40".split()
    ran = subprocess.run([program, "study", "--prices", str(tmp_path / "s" / "gappy.csv"), *flags,
                          "--out", str(tmp_path / "t")], capture_output=True, text=True)
    assert all(warning[:40] in ran.stderr for warning in found.warnings), ran.stderr


def test_a_dry_run_counts_what_is_left(done, market):
    """As the program does; force begins anew."""
    settings = dict(**GRID, out=done.file.rsplit("/", 1)[0], dry_run=True, progress=False)
    found = sharpen.study({"small": market}, **settings)
    assert (found["cells"], found["done"], found["missing"]) == (8, 8, 0)
    assert sharpen.study({"small": market}, **settings, force=True)["missing"] == 8
    with pytest.raises(sharpen.InputError, match="has changed since this study began"):
        sharpen.study({"small": market * 2}, **settings)


def test_report_has_the_bytes_of_the_program(done, program, tmp_path):
    for ending in ("html", "md", "tex", "csv", "txt"):
        theirs, ours = tmp_path / f"theirs.{ending}", tmp_path / f"ours.{ending}"
        subprocess.run([program, "report", done.file, "--out", str(theirs), "--replications",
                        "200"], check=True, capture_output=True)
        found = sharpen.report(done, ours, replications=200, progress=False)
        assert ours.read_bytes() == theirs.read_bytes(), ending
        assert found.out == str(ours)


def test_report_gives_tables(done):
    found = done.report(replications=200, progress=False)
    assert "sharpe" in found.tables and found.findings
    table = found.table("sharpe")
    assert {"market", "k", "method", "value"} <= set(table.columns) and table.attrs["title"]
    assert "Sharpe" in found.text() and "|" in found._repr_markdown_() and str(found)
    assert "8 of 8" in repr(found)
    with pytest.raises(sharpen.InputError, match="sharpe"):
        found.table("sharp")
    with pytest.raises(sharpen.InputError, match="formt|format|not one of|none"):
        found.text("pdf")


def test_a_dry_run_only_counts(market, tmp_path):
    found = sharpen.study({"small": market}, **GRID, out=tmp_path / "s", dry_run=True,
                          progress=False)
    assert found["cells"] == 8 and not (tmp_path / "s").exists()


def test_returns_can_be_gross(market, tmp_path):
    gross = market.pct_change().iloc[1:] + 1.0
    found = sharpen.study(returns={"g": gross}, gross=True, k=2, frameworks="rolling", lookback=40,
                          out=tmp_path / "s", progress=False)
    assert list(found.cells["state"]) == ["done"]
    expected = sharpen.backtest(market, k=2, lookback=40, split="80%", progress=False).returns
    np.testing.assert_allclose(found.returns.iloc[:, 0], expected, atol=1e-9)
    with pytest.raises(sharpen.InputError, match="gross"):
        sharpen.study({"g": market}, gross=True, k=2, out=tmp_path / "t", progress=False)


def test_config_files_are_read(tmp_path):
    config = tmp_path / "grid.toml"
    config.write_text(
        'k = ["2"]\nlookback = 30\n[[market]]\nname = "made"\n'
        "simulate = { assets = 5, days = 150, seed = 1 }\n"
        '[[method]]\nframework = "rolling"\noptimizer = "equal"\n'
    )
    found = sharpen.study(config=config, out=tmp_path / "s", progress=False)
    assert list(found.cells["market"]) == ["made"] and found.tally["done"] == 1


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (dict(prices="M"), sharpen.InputError, "prices in memory.*out"),
        (dict(prices=["M"], out="O"), sharpen.InputError, "prices: give markets names"),
        (dict(prices={"a/b": "M"}, out="O"), sharpen.InputError, "prices: 'a/b'"),
        (dict(prices="missing.csv", out="O"), sharpen.InputError, "missing.csv"),
        (dict(prices="M", returns="M", out="O"), TypeError, "not both"),
        (dict(prices={"m": np.ones((50, 3))}, out="O"), sharpen.InputError, "prices: .*dates"),
        (dict(prices={"m": "M"}, out="O", optimisers="swap"), TypeError,
         "optimisers.*did you mean optimizers"),
        (dict(prices={"m": "M"}, out="O", k=[2.5]), TypeError, "k = 2.5"),
        (dict(prices={"m": "M"}, out="O", frameworks=["role"]), sharpen.InputError, "role"),
        (dict(preset="papper"), sharpen.InputError, "preset = papper"),
        (dict(out=5), TypeError, "out is of type int"),
    ],
)
def test_wrong_arguments_are_named(market, tmp_path, arguments, error, message):
    def filled(value):
        if isinstance(value, dict):
            return {key: filled(v) for key, v in value.items()}
        if isinstance(value, list):
            return [filled(v) for v in value]
        if isinstance(value, str):
            return {"M": market, "O": tmp_path / "o"}.get(value, value)
        return value

    with pytest.raises(error, match=message):
        sharpen.study(**{"progress": False, **filled(arguments)})


def test_wrong_arguments_of_report_are_named(done, tmp_path):
    with pytest.raises(sharpen.InputError, match="holds no study.db"):
        sharpen.report(tmp_path)
    with pytest.raises(TypeError, match="study is of type int"):
        sharpen.report(3)
    with pytest.raises(TypeError, match="'replication'.*did you mean replications"):
        done.report(replication=5)
    other = tmp_path / "thesis.md"
    other.write_text("my thesis")
    with pytest.raises(sharpen.InputError, match="no report of Sharpen"):
        done.report(out=other, replications=200, progress=False)
    assert other.read_text() == "my thesis"
    done.report(out=other, replications=200, force=True, progress=False)
    assert other.read_text() != "my thesis"
    with pytest.raises(sharpen.InputError, match="would replace the study"):
        done.report(out=done.file, force=True)
    with pytest.raises(sharpen.InputError, match="table = sharp .*sharpe"):
        done.report(out=tmp_path / "t.md", table="sharp", replications=200, progress=False)
    assert not (tmp_path / "t.md").exists()
    for table in (["x"], "x"):
        with pytest.raises(sharpen.InputError, match="table = x "):
            done.report(table=table, replications=200, progress=False)
    with pytest.raises(TypeError, match="table is 3; give names of tables"):
        done.report(table=3)
    with pytest.raises(sharpen.InputError, match="t.pdf has an ending of no format; use .html"):
        done.report(out=tmp_path / "t.pdf", replications=200, progress=False)
    assert not (tmp_path / "t.pdf").exists()
    done.report(out=tmp_path / "t.pdf", format="text", replications=200, progress=False)
    assert (tmp_path / "t.pdf").exists()


def test_one_table_may_be_a_text(done):
    report = done.report(replications=200, progress=False)
    name = report.tables[0]
    assert report.text("md", name) == report.text("md", [name]) == report.text("md", (name,))


def test_a_dry_run_needs_no_folder(market, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts = sharpen.study({"small": market}, **GRID, dry_run=True, progress=False)
    assert counts["cells"] == counts["missing"] == 8 and not list(tmp_path.iterdir())
    assert sharpen.study(preset="demo", dry_run=True, progress=False)["missing"] > 0


def test_files_that_are_no_study_are_refused(tmp_path):
    junk = tmp_path / "study.db"
    junk.write_bytes(b"junk")
    with pytest.raises(sharpen.InputError, match="study.db"):
        sharpen.Study.load(junk)
