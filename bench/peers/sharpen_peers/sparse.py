"""At most k names: our optimizers against the cardinality constraints of portfolio packages.

    max mu^T w / sqrt(w^T Sigma w)   s.t.  1^T w = 1, -2 <= w_i <= 2, at most k non-zero

is what the packages solve, as a mixed-integer cone program. Ours has no bound on a weight; its
answer counts as comparable if it respects the bound, too. With a cap, all solve the same problem,
0 <= w_i <= cap in the place of the bound. Sharpe ratios are computed here, from the weights; a name
counts as held from a millionth of the largest weight on. Every solve runs in a process of its own:

    python -m sharpen_peers.sparse SOLVER PROBLEM.npz SECONDS THREADS
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
import warnings

import numpy as np

BOUND = 2.0
CAPS = ((5, 0.3), (10, 0.15))  # k and the cap, long only


def simulated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample moments of 1,000 days, in per cent: a market, four more factors, noise, drift."""
    rng = np.random.default_rng([seed, n])
    loadings = rng.standard_normal((5, n))
    loadings[0] = 1.0 + 0.3 * loadings[0]
    drift = 0.1 * loadings[0] + 0.05 * rng.standard_normal(n)
    factors = 0.5 * rng.standard_normal((1000, 5)) @ loadings
    returns = factors + 1.2 * rng.standard_normal((1000, n)) + drift
    return returns.mean(axis=0), np.cov(returns, rowvar=False)


def or_library(path: pathlib.Path) -> tuple[np.ndarray, np.ndarray]:
    """n; then mean and standard deviation of each asset; then i, j, correlation. In per cent."""
    numbers = np.array(path.read_text().split(), dtype=float)
    n = int(numbers[0])
    mean, sd = numbers[1 : 1 + 2 * n].reshape(n, 2).T
    correlation = np.eye(n)
    for i, j, value in numbers[1 + 2 * n :].reshape(-1, 3):
        correlation[int(i) - 1, int(j) - 1] = correlation[int(j) - 1, int(i) - 1] = value
    return 100.0 * mean, 1e4 * correlation * np.outer(sd, sd)


def problems(sizes: list[int], seed: int, data: pathlib.Path) -> dict[str, tuple]:
    """(mu, Sigma, k) by name. The OR-Library files join in where they are."""
    found = {f"simulated, n = {n}": (*simulated(n, seed), max(2, n // 10)) for n in sizes}
    for name, k in (("port1", 3), ("port2", 8), ("port3", 9)):
        path = data / f"{name}.txt"
        if path.exists():
            mu, Sigma = or_library(path)
            if len(mu) <= max(sizes):
                found[f"{name}, n = {len(mu)}"] = (mu, Sigma, k)
    return found


def capped_problems(sizes: list[int], seed: int, data: pathlib.Path) -> dict[str, tuple]:
    """(mu, Sigma, k, cap) by name, long only."""
    moments = problems([n for n in sizes if n >= 20], seed, data)
    return {
        f"{name}, w <= {cap:.0%}": (mu, Sigma, k, cap)
        for name, (mu, Sigma, _) in moments.items()
        for k, cap in CAPS
    }


def proved_problems(quick: bool, seed: int, data: pathlib.Path) -> dict[str, tuple]:
    """(mu, Sigma, k) by name: whose best portfolio of any sign and net position is to be proved."""
    names = ("port1",) if quick else ("port1", "port2", "port3")
    files = {name: data / f"{name}.txt" for name in names}
    moments = {name: or_library(path) for name, path in files.items() if path.exists()}
    if not moments:
        moments = {"simulated, n = 31": simulated(31, seed)}
    return {
        f"{name}, k = {k}": (mu, Sigma, k)
        for name, (mu, Sigma) in moments.items()
        for k in (5, 10, 20)
    }


def sharpe(w: np.ndarray, mu: np.ndarray, Sigma: np.ndarray) -> float:
    risk = float(w @ Sigma @ w)
    return float(mu @ w) / risk**0.5 if risk > 0 else 0.0


def best_on(K: np.ndarray, mu: np.ndarray, Sigma: np.ndarray) -> float:
    """The largest Sharpe ratio with the names K alone and 1^T w >= 0."""
    m, ones = mu[K], np.ones(len(K))
    a, b = np.linalg.solve(Sigma[np.ix_(K, K)], np.stack([m, ones], axis=1)).T
    B = float(a.sum())
    return float(np.sqrt(max(0.0, m @ a - (B**2 / b.sum() if B < 0 else 0.0))))


def unmet(w: np.ndarray, mu: np.ndarray, Sigma: np.ndarray, cap: float) -> float:
    """By how much, of the largest expected return, the names that are held miss the conditions of
    the largest Sharpe ratio under the cap: what it gains per unit of weight is the same for all
    below the cap, and not less for those at it. They are sufficient, as the ratio is quasiconcave
    where the return is positive."""
    held = np.flatnonzero(w > 0.0)
    gain = (mu - (mu @ w) / (w @ Sigma @ w) * (Sigma @ w))[held]
    capped = w[held] >= cap * (1.0 - 1e-9)
    if capped.all():
        return 0.0
    level = gain[~capped]
    over = (level.max() - gain[capped]).max(initial=0.0)
    return float(max(level.max() - level.min(), over) / np.abs(mu[held]).max())


def ours(optimizer: str):
    def solve(mu, Sigma, k, cap, limit, threads):
        import sharpen

        limits = {} if cap is None else {"long_only": True, "max_weight": cap}

        def call():
            return sharpen.solve((mu, Sigma), k=k, optimizer=optimizer, threads=threads, **limits)

        portfolio = call()
        times = []
        for _ in range(21):
            start = time.perf_counter()
            portfolio = call()
            times.append(time.perf_counter() - start)
        return np.asarray(portfolio.weights, dtype=float), statistics.median(times)

    return solve


def exact(mu, Sigma, k, cap, limit, threads):
    """The best portfolio and the bound on all others, to the end or to the limit."""
    import sharpen

    start = time.perf_counter()
    found = sharpen.solve(
        (mu, Sigma), k=k, optimizer="exact", net="any", time_limit=limit, threads=threads
    )
    seconds = time.perf_counter() - start
    return np.asarray(found.weights, dtype=float), seconds, float(found.sharpe_upper_bound)


def scip(mu, Sigma, k, cap, limit, threads):
    """max mu^T y, y^T Sigma y <= 1, at most k non-zero: the Sharpe ratio is the objective. What a
    position can be at most is that of unit risk in its own best direction."""
    import pyscipopt

    n = len(mu)
    most = np.sqrt(np.diag(np.linalg.inv(Sigma)))
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", limit)
    y = [model.addVar(lb=-most[i], ub=most[i]) for i in range(n)]
    z = [model.addVar(vtype="B") for _ in range(n)]
    for i in range(n):
        model.addCons(y[i] <= most[i] * z[i])
        model.addCons(y[i] >= -most[i] * z[i])
    model.addCons(pyscipopt.quicksum(z) <= k)
    # By the factor, so that the cone is seen: |L^T y| <= 1.
    L = np.linalg.cholesky(Sigma)
    rows = [model.addVar(lb=-1.0, ub=1.0) for _ in range(n)]
    for j in range(n):
        model.addCons(rows[j] == pyscipopt.quicksum(L[i, j] * y[i] for i in range(j, n)))
    model.addCons(pyscipopt.quicksum(row * row for row in rows) <= 1.0)
    model.setObjective(pyscipopt.quicksum(mu[i] * y[i] for i in range(n)), "maximize")
    start = time.perf_counter()
    model.optimize()
    seconds = time.perf_counter() - start
    if not model.getNSols():
        raise RuntimeError(f"no portfolio after {seconds:.0f} s")
    w = np.array([model.getVal(v) for v in y])
    held = np.array([model.getVal(v) > 0.5 for v in z])
    return np.where(held, w, 0.0), seconds, float(model.getDualbound())


def skfolio(mu, Sigma, k, cap, limit, threads):
    from skfolio import RiskMeasure
    from skfolio.optimization import MeanRisk, ObjectiveFunction
    from skfolio.prior import BasePrior, ReturnDistribution

    class Given(BasePrior):
        """The moments themselves; skfolio would estimate its own."""

        def __init__(self, mu=None, covariance=None):
            self.mu = mu
            self.covariance = covariance

        def fit(self, X, y=None, **_):
            self.n_features_in_ = X.shape[1]
            self.return_distribution_ = ReturnDistribution(
                mu=self.mu, covariance=self.covariance, returns=np.asarray(X)
            )
            return self

    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_RATIO,
        risk_measure=RiskMeasure.STANDARD_DEVIATION,
        prior_estimator=Given(mu, Sigma),
        cardinality=k,
        min_weights=-BOUND if cap is None else 0.0,
        max_weights=BOUND if cap is None else cap,
        budget=1.0,
        solver="SCIP",
        solver_params={"scip_params": {"limits/time": limit}},
    )
    start = time.perf_counter()
    model.fit(np.vstack([mu, mu]))
    return np.asarray(model.weights_, dtype=float), time.perf_counter() - start


def riskfolio(mu, Sigma, k, cap, limit, threads):
    import pandas as pd
    import riskfolio as rp

    names = [f"A{i}" for i in range(len(mu))]
    sides = {"sht": True, "uppersht": BOUND, "upperlng": BOUND, "budgetsht": BOUND * k}
    if cap is not None:
        sides = {"sht": False, "upperlng": cap}
    portfolio = rp.Portfolio(
        returns=pd.DataFrame(np.vstack([mu, mu]), columns=names),
        card=k,
        budget=1.0,
        **sides,
    )
    portfolio.mu = pd.DataFrame(mu[None, :], columns=names)
    portfolio.cov = pd.DataFrame(Sigma, index=names, columns=names)
    portfolio.solvers = ["SCIP"]
    portfolio.sol_params = {"SCIP": {"scip_params": {"limits/time": limit}}}
    start = time.perf_counter()
    w = portfolio.optimization(model="Classic", rm="MV", obj="Sharpe", rf=0, hist=True)
    seconds = time.perf_counter() - start
    if w is None:
        raise RuntimeError(f"no portfolio after {seconds:.0f} s (the package returns None)")
    return w.to_numpy()[:, 0], seconds


def judged(
    name: str, w: np.ndarray, mu: np.ndarray, Sigma: np.ndarray, k: int, cap: float | None = None
) -> dict:
    """What the weights are worth. Ours must be the best that their own names allow."""
    if not np.isfinite(w).all():
        return {"status": "failed", "reason": "weights that are not finite"}
    net, largest = float(w.sum()), float(np.abs(w).max())
    held = np.flatnonzero(np.abs(w) > 1e-6 * largest)
    result = {
        "sharpe": sharpe(w, mu, Sigma),
        "held": len(held),
        "largest_of_net": largest / abs(net) if abs(net) > 1e-9 * largest else None,
        "status": "ok",
    }
    if len(held) > k and cap is not None:
        result |= {"status": "too many names", "reason": f"{len(held)} where {k} are allowed"}
    elif len(held) > k:
        result["status"] = "too many names"
        result["largest_only"] = best_on(np.argsort(-np.abs(w))[:k], mu, Sigma)
        result["reason"] = (
            f"{len(held)} where {k} are allowed; its {k} largest, solved exactly, reach "
            f"{result['largest_only']:.4f}"
        )
    elif not len(held):
        result |= {"status": "failed", "reason": "no position"}
    elif cap is not None and max(-w.min(), largest - cap, abs(net - 1.0)) > 1e-5:
        result["status"] = "outside the limits"
        result["reason"] = f"weights of {w.min():.3g} to {largest:.3g} that add up to {net:.6g}"
    elif name.startswith("sharpen") and cap is not None:
        missed = unmet(w, mu, Sigma, cap)
        if not missed <= 1e-8:
            result["status"] = "disagrees"
            result["reason"] = f"not the best of its names: {missed:.2g} is still to be gained"
    elif name.startswith("sharpen") and name != "sharpen exact":  # whose net position is free
        best = best_on(held, mu, Sigma)
        if not abs(result["sharpe"] - best) <= 1e-8 * best:
            result["status"] = "disagrees"
            result["reason"] = f"Sharpe {result['sharpe']:.9g} where its names reach {best:.9g}"
    return result


SOLVERS = {
    "sharpen oscar": ours("oscar"),
    "sharpen greedy": ours("greedy"),
    "sharpen swap": ours("swap"),
    "skfolio, SCIP": skfolio,
    "Riskfolio-Lib, SCIP": riskfolio,
}
PROVING = {"sharpen exact": exact, "SCIP": scip}
CAPPED_SOLVERS = ["sharpen greedy", "sharpen swap", "skfolio, SCIP", "Riskfolio-Lib, SCIP"]


def main(name: str, path: str, limit: float, threads: int) -> None:
    warnings.simplefilter("ignore")
    # Solvers and packages chat on standard output; the answer goes to the one we were given.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with np.load(path) as file:
        mu, Sigma, k = file["mu"], file["Sigma"], int(file["k"])
        cap = float(file["cap"]) if "cap" in file else None
    w, seconds, *bound = (SOLVERS | PROVING)[name](mu, Sigma, k, cap, limit, threads)
    result = judged(name, w, mu, Sigma, k, cap)
    result |= {"seconds": seconds, "stopped": seconds >= 0.95 * limit}
    if bound:
        result["bound"] = bound[0]
    print(json.dumps(result), file=answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
    os._exit(0)  # the answer is out; a package that is slow to go must not run into the limit
