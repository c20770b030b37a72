"""sharpen.doctor: the findings of the program, as a table."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest

import sharpen


@pytest.fixture
def ill():
    prices = sharpen.simulate(assets=6, days=300, seed=1)
    prices.iloc[100:, 2] /= 2
    prices.iloc[50, 1] = np.nan
    prices.iloc[200:220, 3] = prices.iloc[200, 3]
    return prices


def test_findings_are_the_programs(ill, program, tmp_path):
    file = tmp_path / "prices.csv"
    ill.to_csv(file)
    ran = subprocess.run(
        [program, "doctor", str(file), "--json", "--on-suspect", "adjust"],
        capture_output=True, text=True,
    )
    theirs = json.loads(ran.stdout)
    found = sharpen.doctor(ill, on_suspect="adjust")
    pd.testing.assert_frame_equal(found, sharpen.doctor(file, on_suspect="adjust"))
    assert list(found["rule"]) == [f["rule"] for f in theirs["findings"]]
    assert set(found["rule"]) >= {"gap", "split", "frozen"}
    for (_, row), finding in zip(found.iterrows(), theirs["findings"]):
        assert row["ticker"] == finding["ticker"] and row["done"] == finding["done"]
        assert str(row["date"].date()) == finding["date"] and row["size"] == finding["size"]
        if finding["suspect"]:
            assert row["modes.drop-day"] == finding["modes"]["drop-day"]
    for key in ("assets", "rows", "missing_cells", "suspects", "cleaned"):
        assert found.attrs[key] == theirs[key]


def test_decisions_are_proposed_and_taken(ill, tmp_path):
    file = tmp_path / "decisions.toml"
    found = sharpen.doctor(ill, decide=file)
    assert found.attrs["decide"] == str(file) and found.attrs["proposed"] >= 2
    assert not found["decided"][found["suspect"]].any()
    found = sharpen.doctor(ill, decisions=file)
    assert found["decided"][found["suspect"]].all()
    split = found.query("rule == 'split'").iloc[0]
    assert split["how"] == "adjust"
    rules = {"split": "report", "frozen": "drop-day"}
    split = sharpen.doctor(ill, on_suspect=rules).query("rule == 'split'").iloc[0]
    assert split["how"] == "report"
    with pytest.raises(sharpen.InputError, match="decisions.toml:.*no ticker"):
        sharpen.doctor(ill.iloc[:, :2].set_axis(["x", "y"], axis=1), decisions=_other(file))
    with pytest.raises(sharpen.InputError, match="is there already"):
        sharpen.doctor(ill, decide=file)
    summary = found.attrs["summary"]
    assert {c["on_suspect"] for c in summary["choices"]} >= {"careful", "drop-day", "drop-asset"}
    with pytest.raises(sharpen.InputError, match='give allow_loss="34%"'):
        sharpen.solve(ill, 2, on_suspect="drop-asset")


def _other(file):
    """Without the note of what it was written for."""
    text = file.read_text()
    file.write_text(text[text.index("[[decision]]"):])
    return file


def test_findings_have_the_callers_labels(ill):
    split = sharpen.doctor(ill.set_axis(range(6), axis=1)).query("rule == 'split'").iloc[0]
    assert split["ticker"] == 2 and split["date"] == ill.index[100]
    split = sharpen.doctor(ill.to_numpy()).query("rule == 'split'").iloc[0]
    assert split["ticker"] == "asset3" and split["date"] == 100


def test_a_finding_of_all_assets_has_no_ticker(ill):
    ill.iloc[150] = ill.iloc[149]
    for panel in (ill, ill.set_axis(range(6), axis=1)):
        holiday = sharpen.doctor(panel).query("rule == 'holiday'")
        assert len(holiday) == 1 and holiday["ticker"].iloc[0] is None
        assert holiday["date"].iloc[0] == ill.index[150]


def test_a_healthy_panel_has_no_findings():
    found = sharpen.doctor(sharpen.simulate(assets=3, days=50))
    assert len(found) == 0 and "rule" in found and found.attrs["rows"] == 50


def test_what_is_too_much_to_list_is_counted():
    dirt = np.where(np.add.outer(np.arange(1500), np.arange(40)) % 2 == 0, 100.0, 1000.0)
    found = sharpen.doctor(dirt)
    left_out = found.attrs["findings_left_out"]
    assert len(found) < 10_000 and left_out["print"] > 20_000
    assert len(found) + sum(left_out.values()) == found.attrs["suspects"]


def test_warnings_name_the_function(ill):
    with pytest.warns(sharpen.SharpenWarning, match="sharpen.doctor lists them"):
        sharpen.solve(ill, 2)


def test_threads_for_all_do_not_disturb_what_has_none(ill):
    sharpen.set_threads(2)
    try:
        sharpen.doctor(ill)
        sharpen.simulate(assets=3, days=50)
    finally:
        sharpen.set_threads(0)


@pytest.mark.filterwarnings("ignore::sharpen.SharpenWarning")
def test_wrong_input_is_named(ill):
    for arguments, error, message in (
        (dict(), TypeError, "doctor\\(\\) needs prices"),
        (dict(prices=ill, maxgap=3), TypeError, "did you mean max_gap"),
        (dict(returns=ill), sharpen.InputError, "returns: the values look like prices"),
        (dict(returns=np.full((5, 2), -2.0)), sharpen.InputError, "-2 is not a simple return"),
        (dict(prices=ill, from_="2030-01-01"), sharpen.InputError, "2030-01-01"),
    ):
        with pytest.raises(error, match=message):
            sharpen.doctor(**arguments)
    assert set(sharpen.doctor(np.full((5, 2), np.nan))["rule"]) == {"no-value"}
    with pytest.warns(sharpen.SharpenWarning, match="look like returns: give returns"):
        sharpen.doctor(ill.pct_change())
