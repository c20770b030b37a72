"""What the comparison with peers promises, where no peer is needed. PyTorch must be there."""

import json
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from sharpen_peers import alternate, negative, sparse, tables, witness, worker  # noqa: E402
from sharpen_peers.chart import chart, spread  # noqa: E402
from sharpen_peers.layers import PEERS  # noqa: E402
from sharpen_peers.limited_layers import LIMITED_PEERS  # noqa: E402
from sharpen_peers.limited_problem import (  # noqa: E402
    SIGMA,
    UPPER,
    LimitedProblem,
    limit_rows,
    make_limited_problem,
)
from sharpen_peers.problem import (  # noqa: E402
    BETA,
    Problem,
    Reference,
    make_problem,
    worst_error,
)
from sharpen_peers.processes import ask, last_object  # noqa: E402
from sharpen_peers.results import (  # noqa: E402
    BEGIN,
    END,
    bench_lines,
    swap_over_mip,
    write_docs,
    write_results,
    wrong_answers,
)


@pytest.fixture(scope="module")
def problem():
    return make_problem(12, 9, seed=5)


@pytest.fixture(scope="module")
def limited():
    return make_limited_problem(40, 2, seed=5)


def test_the_reference_has_unit_risk_and_both_faces(problem):
    risk = np.einsum("bi,bij,bj->b", problem.w, problem.Sigma, problem.w)
    np.testing.assert_allclose(risk, 1.0, rtol=1e-10)
    net = problem.w.sum(axis=1)
    assert (net > -1e-12).all()
    assert (net < 1e-9).any() and (net > 1e-3).any()


def test_the_mask_of_the_reference_adds_up_to_k(problem):
    np.testing.assert_allclose(problem.p.sum(axis=1), problem.k, rtol=1e-12)


def test_the_reference_is_optimal_among_random_feasible_directions(problem):
    reference = Reference(problem.Sigma, problem.k)
    y = reference.tangent(problem.mu)
    best = np.einsum("bn,bn->b", problem.mu, y)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = y + 0.3 * rng.standard_normal(y.shape)
        other -= np.minimum(other.sum(axis=1, keepdims=True), 0.0) / other.shape[1]
        other /= np.sqrt(np.einsum("bi,bij,bj->b", other, problem.Sigma, other))[:, None]
        assert (np.einsum("bn,bn->b", problem.mu, other) <= best + 1e-12).all()


def test_the_same_seed_gives_the_same_problem_and_it_survives_a_file(problem, tmp_path):
    again = make_problem(12, 9, seed=5)
    again.save(tmp_path / "p")
    loaded = Problem.load(tmp_path / "p")
    for name in ("mu", "Sigma", "p", "g", "w", "dL_dmu", "dL_dm"):
        assert (getattr(loaded, name) == getattr(problem, name)).all()
    assert loaded.k == problem.k
    doubles = 12 * 9 * 4 + 9 * 12 * 12
    assert (tmp_path / "p.bin").stat().st_size == 8 * (5 + 3 + doubles)


def formulas():
    return [name for name in PEERS if name.startswith(("sharpen", "closed form"))]


@pytest.mark.parametrize("name", formulas())
def test_a_layer_that_needs_no_solver_agrees_with_the_reference(name, problem):
    peer = PEERS[name]()
    peer.load()
    peer.construct(problem, 1)
    peer.forward()
    peer.backward()
    assert worst_error(peer.weights(), problem.w) <= peer.tolerance[0]
    assert worst_error(peer.gradients(), problem.dL_dmu) <= peer.tolerance[1]


def test_the_mask_in_pytorch_is_the_reference_s(problem):
    import torch

    from sharpen_peers.soft_topk import mask_of

    x = Reference(problem.Sigma, problem.k).score(problem.mu)
    p = mask_of(torch.tensor(x), problem.k, BETA).numpy()
    np.testing.assert_allclose(p, problem.p, atol=1e-9)


def test_ours_is_made_with_the_threads_of_all(problem):
    import sharpen

    try:
        PEERS["sharpen from PyTorch"]().construct(problem, 1)
        assert sharpen.get_threads() == 1
    finally:
        sharpen.set_threads(0)


def test_the_reference_under_limits_keeps_them_and_no_feasible_portfolio_earns_more(limited):
    A, b = limit_rows(limited.n)
    assert (limited.w >= 0).all() and (limited.w <= UPPER + 1e-15).all()
    assert (limited.w @ A.T <= b + 1e-12).all()
    assert ((limited.w == UPPER).sum(axis=2) > 0).all() and ((limited.w == 0).sum(axis=2) > 0).all()
    risk = np.einsum("sbi,bij,sbj->sb", limited.w, limited.Sigma, limited.w)
    np.testing.assert_allclose(risk, SIGMA**2, rtol=1e-10)
    m = limited.p * limited.mu
    best = (m * limited.w).sum(axis=2)
    rng = np.random.default_rng(1)
    for _ in range(300):
        other = limited.w + 0.02 * rng.standard_normal(limited.w.shape)
        other = np.clip(other, 0.0, UPPER)
        other /= np.maximum(1.0, (other @ A.T / b).max(axis=2))[:, :, None]
        risk = np.einsum("sbi,bij,sbj->sb", other, limited.Sigma, other)
        other *= np.minimum(1.0, SIGMA / np.sqrt(risk))[:, :, None]
        assert ((m * other).sum(axis=2) <= best + 1e-12).all()


def test_the_problem_under_limits_survives_a_file(limited, tmp_path):
    limited.save(tmp_path / "p")
    loaded = LimitedProblem.load(tmp_path / "p")
    for name in ("mu", "Sigma", "p", "theta", "g", "w", "dL_dmu", "dL_dm"):
        assert (getattr(loaded, name) == getattr(limited, name)).all()
    assert loaded.k == limited.k == 4


def agrees(name, limited):
    peer = LIMITED_PEERS[name]()
    peer.load()
    peer.construct(limited, 1)
    for _ in range(peer.signals + 1):
        peer.forward()
        peer.backward()
        w, gradient = peer.wanted(limited)
        assert worst_error(peer.weights(), w) <= peer.tolerance[0], name
        assert worst_error(peer.gradients(), gradient) <= peer.tolerance[1], name


def test_our_layer_under_limits_agrees_with_the_reference(limited):
    agrees("sharpen from PyTorch", limited)


def test_every_layer_under_limits_agrees_with_the_reference(limited):
    for package in ("piqp", "proxsuite", "qpth.qp", "cvxpylayers.torch"):
        pytest.importorskip(package)
    for name in LIMITED_PEERS:
        agrees(name, limited)


def test_skfolio_validates_our_estimator():
    pytest.importorskip("skfolio")
    import pandas as pd
    from sharpen.skfolio import SparseTangentPortfolio
    from skfolio.model_selection import WalkForward, cross_val_predict
    from skfolio.optimization import EqualWeighted

    rng = np.random.default_rng(7)
    returns = rng.normal(4e-4, 8e-3, (300, 1)) + rng.normal(2e-4, 0.01, (300, 10))
    dates = pd.bdate_range("2024-01-01", periods=300)
    X = pd.DataFrame(returns, index=dates, columns=[f"A{i}" for i in range(10)])
    cv = WalkForward(train_size=100, test_size=50)
    model = SparseTangentPortfolio(4, min_weights=0, max_weights=0.4)
    found = cross_val_predict(model, X, cv=cv)
    assert len(found.portfolios) == 4
    for portfolio in found.portfolios:
        assert (portfolio.weights <= 0.4 + 1e-12).all() and (portfolio.weights > 0).sum() <= 4
    first = model.fit(X.iloc[:100]).weights_
    np.testing.assert_allclose(found.portfolios[0].returns, X.iloc[100:150].to_numpy() @ first)
    costly = model.set_params(max_turnover=0.4, transaction_costs=1e-4)
    held = cross_val_predict(costly, X, cv=cv).portfolios
    for before, after in zip(held, held[1:]):
        assert np.abs(after.weights - before.weights).max() <= 0.4 + 1e-12
    limits = {"min_weights": 0, "max_weights": 0.4}
    impossible = SparseTangentPortfolio(2, fallback=EqualWeighted(), **limits)
    assert (cross_val_predict(impossible, X, cv=cv).portfolios[0].weights == 0.1).all()


def test_slow_our_solver_under_limits_agrees_with_piqp():
    pytest.importorskip("piqp")
    found = witness.testify(40, 3)
    assert found["wrong"] == [] and found["largest_error"] <= 1e-7
    assert found["impossible"] > 0 and found["values"] > 500


class Wrong(PEERS["closed form, stored inverse"]):
    def solve(self, mu):
        return 1.001 * super().solve(mu)


def test_a_wrong_answer_is_not_timed(problem, tmp_path, monkeypatch, capsys):
    problem.save(tmp_path / "p")
    monkeypatch.setitem(PEERS, "wrong", Wrong)
    monkeypatch.setitem(PEERS, "right", PEERS["closed form, stored inverse"])
    worker.main("right", str(tmp_path / "p"), 1, 0.0)
    row = last_object(capsys.readouterr().out)
    assert row["calls"] == 1 and row["forward"] > 0 and row["weights_error"] < 1e-8
    worker.main("wrong", str(tmp_path / "p"), 1, 0.0)
    row = last_object(capsys.readouterr().out)
    assert row["weights_error"] == pytest.approx(1e-3) and "forward" not in row
    row |= {"peer": "wrong", "scope": "layer", "status": "disagrees", "reason": "off"}
    row |= {"forward": 1.0, "backward": 1.0}
    assert tables.layer_cell([row]).splitlines()[-1] == (
        "| wrong | – | – | – | – | 1e-03 | 1e-03 | – | disagrees: off |"
    )
    names = ["right", "wrong", "closed form, cholesky_solve"]
    alternate.main("plain", str(tmp_path / "p"), 1, 1, names)
    found = last_object(capsys.readouterr().out)
    assert set(found) == {"why", "right", "closed form, cholesky_solve"}
    assert found["why"] == {"wrong": "weights off by 1.0e-03, more than 1e-08"}


def test_the_peak_of_loading_is_forgotten():
    code = (
        "from sharpen_peers.worker import forget_peak, resident_mb\n"
        "import json, os\n"
        "a = bytearray(200 << 20); del a\n"
        "forget_peak()\n"
        "print(json.dumps({'over': resident_mb('VmHWM') - resident_mb('VmRSS'),\n"
        "                  'may': os.access('/proc/self/clear_refs', os.W_OK)}))\n"
    )
    found = ask([sys.executable, "-c", code], 60, 1)
    assert found["status"] == "ok" and (found["over"] < 50 or not found["may"])


def test_a_wrong_answer_is_seen():
    want = np.ones((3, 4))
    got = want.copy()
    assert worst_error(got, want) == 0.0
    got[1, 2] = 1.5
    assert worst_error(got, want) == pytest.approx(0.25)
    got[1, 2] = np.nan
    assert worst_error(got, want) == np.inf


def test_the_best_on_a_support_respects_the_net_position():
    mu, Sigma = np.array([-1.0, -2.0, 1.0]), np.eye(3)
    assert sparse.best_on(np.array([0]), mu, Sigma) == 0.0
    assert sparse.best_on(np.array([0, 1]), mu, Sigma) == pytest.approx(0.5**0.5)
    assert sparse.best_on(np.array([2]), mu, Sigma) == pytest.approx(1.0)


def test_weights_of_ours_must_be_the_best_on_their_names():
    mu, Sigma = np.array([1.0, 2.0, 0.5]), np.diag([1.0, 2.0, 3.0])
    right = np.array([1.0, 1.0, 0.0])  # Sigma^-1 mu on the first two names
    for name in ("sharpen swap", "skfolio, SCIP"):
        found = sparse.judged(name, right, mu, Sigma, 2)
        assert found["status"] == "ok" and found["held"] == 2
        assert found["sharpe"] == pytest.approx(3.0**0.5)
        for w in (np.full(3, np.nan), np.array([1.0, np.inf, 0.0]), np.zeros(3)):
            assert sparse.judged(name, w, mu, Sigma, 2)["status"] == "failed"
        assert sparse.judged(name, np.ones(3), mu, Sigma, 2)["status"] == "too many names"
    off = np.array([1.0, 1.1, 0.0])
    assert sparse.judged("skfolio, SCIP", off, mu, Sigma, 2)["status"] == "ok"
    found = sparse.judged("sharpen swap", off, mu, Sigma, 2)
    assert found["status"] == "disagrees" and "its names reach 1.73205" in found["reason"]


def test_weights_under_a_cap_must_be_the_best_on_their_names():
    mu, Sigma, k, cap = np.array([3.0, 1.0, 2.0, 9.0]), np.eye(4), 3, 0.4
    right = np.array([0.4, 0.92 / 4.2, 1.6 / 4.2, 0.0])  # without a cap (3, 1, 2) / 6
    for name in ("sharpen swap", "skfolio, SCIP"):
        found = sparse.judged(name, right, mu, Sigma, k, cap)
        assert found["status"] == "ok" and found["held"] == 3
        found = sparse.judged(name, np.full(4, 0.25), mu, Sigma, k, cap)
        assert found["status"] == "too many names"
        for wrong in (1.01 * right, right + [0.1, -0.1, 0, 0], np.array([0.7, -0.1, 0.4, 0.0])):
            found = sparse.judged(name, wrong, mu, Sigma, k, cap)
            assert found["status"] == "outside the limits"
    off = np.array([0.4, 0.21, 0.39, 0.0])
    assert sparse.judged("skfolio, SCIP", off, mu, Sigma, k, cap)["status"] == "ok"
    assert sparse.judged("sharpen swap", off, mu, Sigma, k, cap)["status"] == "disagrees"


def test_ours_is_compared_with_the_best_valid_answer_of_the_others():
    def row(problem, solver, sharpe, status="ok"):
        return {"problem": problem, "solver": solver, "sharpe": sharpe, "status": status}

    rows = [row("a", "sharpen swap", 2.0), row("a", "skfolio, SCIP", 1.0)]
    rows += [row("b", "sharpen swap", 3.0), row("b", "skfolio, SCIP", 2.0)]
    assert swap_over_mip(rows) == 1.5
    rows += [row("b", "Riskfolio-Lib, SCIP", 4.0, "too many names")]
    assert swap_over_mip(rows) == 1.5
    rows += [row("c", "sharpen swap", 1.0), row("c", "sharpen greedy", 2.0)]
    assert swap_over_mip(rows) == 1.5
    rows += [row("c", "Riskfolio-Lib, SCIP", 4.0)]
    assert swap_over_mip(rows) == 0.25
    assert swap_over_mip(rows[:1]) is None


def test_ours_must_reach_the_best_of_a_negative_market():
    _, mu, Sigma = negative.market(3)
    best = negative.best_neutral_sharpe(mu, Sigma)
    a, b = np.linalg.solve(Sigma, np.stack([mu, np.ones_like(mu)], axis=1)).T
    w = a - b * a.sum() / b.sum()
    assert negative.judged("sharpen", w, "ok", mu, Sigma)["sharpe"] == pytest.approx(best)
    assert "status" not in negative.judged("sharpen", w, "ok", mu, Sigma)
    for wrong in (w + 0.01, w - 0.01, np.ones_like(w), np.zeros_like(w), np.full_like(w, np.nan)):
        assert negative.judged("sharpen", wrong, "ok", mu, Sigma)["status"] != "ok"
        found = negative.judged("skfolio", wrong, "answers", mu, Sigma)  # a finding, no failure
        assert "status" not in found and found["outcome"].startswith("answers")
        json.dumps(found, allow_nan=False)


def test_the_or_library_format_is_read(tmp_path):
    path = tmp_path / "port.txt"
    path.write_text("2\n.01 .1\n.02 .2\n1 1 1\n1 2 .5\n2 2 1\n")
    mu, Sigma = sparse.or_library(path)
    np.testing.assert_allclose(mu, [1.0, 2.0])
    np.testing.assert_allclose(Sigma, [[100.0, 100.0], [100.0, 400.0]])


def test_every_expected_return_of_the_negative_market_is_negative():
    X, mu, Sigma = negative.market(3)
    assert (mu < 0).all()
    np.testing.assert_allclose(X.mean(axis=0), mu, atol=1e-12)
    assert negative.best_neutral_sharpe(mu, Sigma) > 0


def test_slow_a_process_is_cut_short_and_keeps_what_it_said():
    code = "import time; print('{\"a\": 1}', flush=True); time.sleep(60)"
    result = ask([sys.executable, "-c", code], 2.0, 1)
    assert result["status"] == "time limit" and result["a"] == 1


def test_a_process_that_fails_keeps_its_reason():
    result = ask([sys.executable, "-c", "raise ValueError('no such luck')"], 60, 1)
    assert result["status"] == "failed" and result["reason"] == "ValueError: no such luck"
    result = ask([sys.executable, "-c", "import no_such_package"], 60, 1)
    assert result["status"] == "not installed" and "no_such_package" in result["reason"]
    result = ask([sys.executable, "-c", "print('chat')"], 60, 1)
    assert result["status"] == "failed"


def test_the_last_whole_object_counts():
    assert last_object('{"a": 1}\nchat\n{"a": 2}\n{"a": ') == {"a": 2}
    assert last_object("") == {}


def results_of(closed: float) -> dict:
    rows = []
    for B in (1, 64):
        for n in (20, 100):
            for i, peer in enumerate(["sharpen from C++", *PEERS]):
                row = {"peer": peer, "scope": "layer", "n": n, "B": B, "status": "ok"}
                rows.append({**row, "forward": 1e-5 * 3**i, "backward": 1e-5, "calls": 5})
    rows[3] = {**rows[3], "status": "failed", "reason": "a | b"}
    why = {"CVXPYlayers, SCS": "ValueError: no"}
    ratios = {"status": "ok", "sharpen from PyTorch": 1e-3, "qpth": 0.5, "why": why}
    ratios |= {"closed form, stored inverse": closed, "closed form, cholesky_solve": 1.0}
    solved = {"problem": "p", "n": 2, "k": 1, "solver": "sharpen swap", "status": "ok"}
    return {
        "quick": True,
        "seed": 1,
        "machine": {
            "cpu": "c",
            "cores": 2,
            "system": "s",
            "python": "3",
            "threads": 2,
            "load_before": 0.0,
        },
        "versions": {"layers": {"torch": "1"}, "portfolios": {"status": "ok"}},
        "not_installed": ["qpth: no"],
        "headline": {"n": 100, "B": 64},
        "ratios": ratios,
        "overhead": {"status": "ok", "forward": 12e-6, "backward": 31e-6, "calls": 5},
        "layers": rows,
        "limited": {
            "n": 200,
            "B": 64,
            "rows": [
                {"peer": peer, "scope": "layer", "n": 200, "B": 64, "status": "ok"}
                for peer in LIMITED_PEERS
            ],
            "ratios": {"status": "ok", "sharpen from PyTorch": 1e-3, "PIQP": 5e-3, "why": {}},
        },
        "witness": {"status": "ok", "instances": 3, "largest_error": 1e-9, "wrong": []},
        "capped": [{**solved, "sharpe": 0.5, "seconds": 1e-4, "held": 1, "largest_of_net": 1.0}],
        "capped_limit": 3.0,
        "sparse": [{**solved, "sharpe": 0.5, "seconds": 1e-4, "held": 1, "largest_of_net": 1.0}],
        "mip_limit": 3.0,
        "negative": [{"package": "sharpen", "bound": 0.0, "status": "ok", "outcome": "x"}],
    }


def test_lines_with_a_bound_have_five_words_and_judge_the_fastest_member():
    lines = [line for line in bench_lines(results_of(4e-3)) if line.startswith("bench: ")]
    assert all(len(line.split()) == 5 for line in lines)
    assert "bench: peers_closed_form_over_torch 4 >=2 ok" in lines
    assert "bench: peers_qpth_over_torch 500 >=10 ok" in lines
    assert "bench: peers_python_backward_overhead_us 31 <=30 short" in lines
    assert not any("cvxpylayers" in line for line in lines)
    assert "bench: limited_layer_over_piqp 5 >=10 short" in lines
    results = results_of(4e-3)
    results["capped"].append(results["capped"][0] | {"solver": "skfolio, SCIP", "sharpe": 0.5})
    assert "bench: limited_swap_over_mip 1 >=1 ok" in bench_lines(results)
    results["capped"][1]["sharpe"] = 0.500001
    assert "bench: limited_swap_over_mip 0.999998 >=1 short" in bench_lines(results)
    assert "bench: peers_closed_form_over_torch 1.5 >=2 short" in bench_lines(results_of(1.5e-3))


def test_a_ratio_that_is_not_there_has_its_reason():
    results = results_of(1.0)
    line, limited = [line for line in bench_lines(results) if "cvxpylayers" in line]
    assert line == (
        "no ratio peers_cvxpylayers_over_torch: CVXPYlayers, Clarabel: not measured; "
        "CVXPYlayers, SCS: ValueError: no"
    )
    assert limited.startswith("no ratio limited_layer_over_cvxpylayers: CVXPYlayers, Clarabel")
    (line,) = [line for line in bench_lines(results) if "limited_swap_over_mip" in line]
    assert line == "no ratio limited_swap_over_mip: no problem that both have answered"
    results["ratios"] = {"status": "time limit", "reason": "960 s are over"}
    lines = [line for line in bench_lines(results) if line.startswith("no ratio peers_")]
    assert len(lines) == 4
    assert all(line.endswith("taking turns: time limit: 960 s are over") for line in lines)


def test_what_failed_keeps_its_row():
    rows = results_of(1.0)["layers"]
    text = tables.layer_cell(rows[:9])
    assert "failed: a \\| b" in text
    assert "failed" in tables.layer_overview(rows)


def test_an_answer_of_ours_that_is_wrong_is_reported(tmp_path, capsys):
    results = results_of(1.0)
    assert write_results(results, tmp_path)
    results["layers"][0]["status"] = "disagrees"
    assert not write_results(results, tmp_path)
    assert "sharpen from C++" in capsys.readouterr().err


@pytest.mark.parametrize(
    "part, change, said",
    [
        ("ratios", lambda r: r.pop("sharpen from PyTorch"), "ratios: sharpen from PyTorch"),
        ("overhead", lambda r: r.update(status="failed", reason="x"), "overhead of the Python"),
        ("layers", lambda r: r.clear(), "layers: no row of ours"),
        ("limited", lambda r: r["ratios"].pop("sharpen from PyTorch"), "limited ratios: sharpen"),
        ("limited", lambda r: r["rows"][0].update(status="disagrees"), "limited: "),
        ("witness", lambda r: r["wrong"].append("a value"), "witness: a value"),
        ("witness", lambda r: r.update(status="failed", reason="x"), "witness: failed: x"),
        ("capped", lambda r: r[0].update(status="disagrees"), "capped: "),
        ("capped", lambda r: r.clear(), "capped: no row of ours"),
        ("sparse", lambda r: r[0].update(status="disagrees"), "sparse: "),
        ("sparse", lambda r: r.clear(), "sparse: no row of ours"),
        ("negative", lambda r: r[0].update(status="disagrees", reason="r"), "negative: "),
        ("negative", lambda r: r.clear(), "negative: no row of ours"),
    ],
)
def test_ours_may_be_missing_nowhere(part, change, said):
    results = results_of(1.0)
    assert wrong_answers(results) == []
    change(results[part])
    (found,) = wrong_answers(results)
    assert found.startswith(said)


def test_the_documentation_is_replaced_between_its_marks_only(tmp_path):
    page, picture = tmp_path / "performance.md", tmp_path / "peers.svg"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    results = json.loads(json.dumps(results_of(1.0))) | {"quick": False}
    write_docs(results, page, picture)
    once = page.read_text()
    assert once.startswith(f"before\n{BEGIN}\n") and once.endswith(f"{END}\nafter\n")
    assert "old" not in once and "(peers.svg)" in once
    write_docs(results, page, picture)
    assert page.read_text() == once
    page.write_text("no marks\n")
    with pytest.raises(SystemExit, match="needs one"):
        write_docs(results, page, picture)


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda r: r.update(quick=True), "quick run"),
        (lambda r: r["machine"].update(load_before=2.5), "busy, with a load of 2.5 on 2 cores"),
        (lambda r: r["sparse"][0].update(status="failed"), "an answer of ours is wrong"),
    ],
)
def test_the_documentation_takes_no_doubtful_results(tmp_path, change, why):
    page, picture = tmp_path / "performance.md", tmp_path / "peers.svg"
    text = f"{BEGIN}\n{END}\n"
    page.write_text(text)
    results = results_of(1.0) | {"quick": False}
    change(results)
    with pytest.raises(SystemExit, match=f"{why}.*--force"):
        write_docs(results, page, picture)
    assert page.read_text() == text and not picture.exists()
    write_docs(results, page, picture, force=True)
    assert page.read_text() != text and picture.exists()


def test_the_chart_is_well_formed_and_names_every_layer():
    import xml.etree.ElementTree as tree

    drawn = chart(results_of(1.0)["layers"], 2)
    text = " ".join(t.text or "" for t in tree.fromstring(drawn).iter() if t.tag.endswith("text"))
    for name in ("sharpen from C++", *PEERS):
        assert name in text


def test_labels_keep_apart_and_stay_inside():
    placed = spread([5.0, 5.0, 6.0, 99.0], 10, 0, 100)
    assert all(b - a >= 10 for a, b in zip(sorted(placed), sorted(placed)[1:]))
    assert min(placed) >= 0 and max(placed) <= 100


@pytest.mark.parametrize(
    "seconds, text",
    [(None, "–"), (12.3456, "12.3 s"), (1e-3, "1 ms"), (2.5e-6, "2.5 µs"), (1e-7, "0.1 µs")],
)
def test_durations_read_well(seconds, text):
    assert tables.duration(seconds) == text


def test_no_number_reads_as_minus_nothing():
    assert tables.number(-2e-17, ".2f") == "0.00"
    assert tables.number(-0.07, ".2f") == "-0.07"
