"""Our solver under limits against PIQP, on random limits: bounds, rows, net and gross position.

    python -m sharpen_peers.witness COUNT SEED

    utility   max mu^T w - gamma / 2 w^T Sigma w           at 20 values of gamma
    sharpe    max mu^T w / sqrt(w^T Sigma w),  1^T w = 1   as a QP over the cone of a = t w:
              min 1/2 a^T Sigma a - mu^T a,  t = 1^T a

The gross position is said to PIQP by splitting, w = p - q with p, q >= 0 and 1^T (p + q) at most
that. Values must agree to 1e-7, ours must keep its limits to 1e-9, and find those impossible that
HiGHS finds impossible, of which PIQP is not always sure. Prints a JSON object; `wrong` lists what
is not so.
"""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np

GAMMAS = np.geomspace(1e-2, 1e3, 20)
TOLERANCE, SLACK = 1e-7, 1e-9
TINY = 1e-4  # where nothing is worth holding both values are zero, to rounding


@dataclasses.dataclass
class Instance:
    mu: np.ndarray  # (n,)
    Sigma: np.ndarray  # (n, n)
    lower: np.ndarray  # (n,)
    upper: np.ndarray  # (n,)
    A: np.ndarray  # (m, n), the net position last
    low: np.ndarray  # (m,), of low <= A w <= high
    high: np.ndarray  # (m,)
    gross: float  # infinite: not limited

    @property
    def n(self) -> int:
        return len(self.mu)


def random_instance(rng: np.random.Generator) -> Instance:
    """Limits that w0 keeps, but for one in eight, whose net position is more than bounds allow."""
    n = int(rng.integers(2, 61))
    factors = rng.standard_normal((min(n, 4), n))
    Sigma = factors.T @ factors + np.diag(rng.uniform(0.2, 2.0, n))
    mu = rng.standard_normal(n)
    w0 = rng.dirichlet(np.ones(n)) * np.where(rng.random(n) < 0.3 * rng.random(), -1.0, 1.0)
    lower = np.where(rng.random(n) < 0.2, -np.inf, w0 - rng.exponential(0.1, n))
    upper = np.where(rng.random(n) < 0.2, np.inf, w0 + rng.exponential(0.1, n))
    if rng.random() < 0.3:
        w0, lower = np.abs(w0), np.zeros(n)
        upper = np.maximum(upper, w0)
    m = int(rng.integers(0, 5))
    A = np.vstack([rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.7), np.ones(n)])
    low = np.where(rng.random(m + 1) < 0.4, -np.inf, A @ w0 - rng.exponential(0.05, m + 1))
    high = np.where(rng.random(m + 1) < 0.4, np.inf, A @ w0 + rng.exponential(0.05, m + 1))
    gross = np.inf if rng.random() < 0.5 else float(np.abs(w0).sum() * rng.uniform(1.0, 1.5))
    if rng.random() < 0.125:
        upper = np.where(np.isfinite(upper), upper, np.abs(w0) + 1.0)
        low[-1], high[-1] = upper.sum() + 0.1, np.inf
    return Instance(mu, Sigma, lower, upper, A, low, high, gross)


def limits_of(instance: Instance):
    import sharpen

    names = [f"asset{i + 1}" for i in range(instance.n)]

    def finite(values: np.ndarray) -> dict[str, float]:
        return {a: float(v) for a, v in zip(names, values) if np.isfinite(v)}

    def one(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    rows = []
    for i, (low, high) in enumerate(zip(instance.low[:-1], instance.high[:-1])):
        rows += [f"row{i} >= {float(low)!r}"] if np.isfinite(low) else []
        rows += [f"row{i} <= {float(high)!r}"] if np.isfinite(high) else []
    tables = {f"row{i}": dict(zip(names, row.tolist())) for i, row in enumerate(instance.A[:-1])}
    return sharpen.Limits(
        min_weight=finite(instance.lower),
        max_weight=finite(instance.upper),
        min_net=one(instance.low[-1]),
        max_net=one(instance.high[-1]),
        max_gross=one(instance.gross),
        coefficients=tables or None,
        rows=rows,
    )


def ours(instance: Instance, limits, **objective) -> np.ndarray | None:
    """Weights; None if the limits cannot hold together."""
    import sharpen

    moments = (instance.mu, instance.Sigma)
    try:
        found = sharpen.solve(moments, k=instance.n, limits=limits, net="any", **objective)
    except sharpen.InputError:
        return None
    return np.asarray(found.array, dtype=float)


def possible(instance: Instance) -> bool:
    """Whether any w = p - q keeps the limits, by HiGHS."""
    from scipy.optimize import linprog

    A = np.vstack([instance.A, np.eye(instance.n)])
    low = np.concatenate([instance.low, instance.lower])
    high = np.concatenate([instance.high, instance.upper])
    upper, lower = np.isfinite(high), np.isfinite(low)
    rows = np.vstack([A[upper], -A[lower]])
    rows = np.vstack([np.hstack([rows, -rows]), np.ones(2 * instance.n)])
    bounds = np.concatenate([high[upper], -low[lower], [min(instance.gross, 1e6)]])
    found = linprog(np.zeros(2 * instance.n), A_ub=rows, b_ub=bounds, method="highs")
    if found.status not in (0, 2):
        raise RuntimeError(f"HiGHS: {found.message}")
    return found.status == 0


def piqp_solve(P, c, G, h_l, h_u, x_l, x_u) -> np.ndarray:
    import piqp

    solver = piqp.DenseSolver()
    for what in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, what, 1e-11)
    felt = np.isfinite(h_l) | np.isfinite(h_u)
    solver.setup(P, c, G=G[felt], h_l=h_l[felt], h_u=h_u[felt], x_l=x_l, x_u=x_u)
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        raise RuntimeError(f"PIQP: {status}")
    return np.array(solver.result.x)


def split(P: np.ndarray, c: np.ndarray, G: np.ndarray, gross_row: np.ndarray) -> tuple:
    """The same in (p, q), w = p - q, with the gross position's row added."""
    G = np.vstack([np.hstack([G, -G]), gross_row])
    return np.block([[P, -P], [-P, P]]), np.concatenate([c, -c]), G


def theirs_utility(instance: Instance, gamma: float) -> np.ndarray:
    n, P, c = instance.n, gamma * instance.Sigma, -instance.mu
    if not np.isfinite(instance.gross):
        limits = (instance.A, instance.low, instance.high, instance.lower, instance.upper)
        return piqp_solve(P, c, *limits)
    G = np.vstack([instance.A, np.eye(n)])
    h_l = np.concatenate([instance.low, instance.lower, [-np.inf]])
    h_u = np.concatenate([instance.high, instance.upper, [instance.gross]])
    program = split(P, c, G, np.ones((1, 2 * n)))
    x = piqp_solve(*program, h_l, h_u, np.zeros(2 * n), np.full(2 * n, np.inf))
    return x[:n] - x[n:]


def theirs_sharpe(instance: Instance) -> np.ndarray:
    """a; zero if nothing earns."""
    n, ones = instance.n, np.ones(instance.n)
    A = np.vstack([instance.A[:-1], np.eye(n)])
    low = np.concatenate([instance.low[:-1], instance.lower])
    high = np.concatenate([instance.high[:-1], instance.upper])
    rows = [a - b * ones for a, b in zip(A, high) if np.isfinite(b)]
    rows += [b * ones - a for a, b in zip(A, low) if np.isfinite(b)]
    G = np.array([*rows, -ones])
    h_l, h_u = np.full(len(G), -np.inf), np.zeros(len(G))
    if not np.isfinite(instance.gross):
        free = np.full(n, np.inf)
        return piqp_solve(instance.Sigma, -instance.mu, G, h_l, h_u, -free, free)
    h_l, h_u = np.append(h_l, -np.inf), np.append(h_u, 0.0)
    row = np.concatenate([(1.0 - instance.gross) * ones, (1.0 + instance.gross) * ones])[None]
    program = split(instance.Sigma, -instance.mu, G, row)
    x = piqp_solve(*program, h_l, h_u, np.zeros(2 * n), np.full(2 * n, np.inf))
    return x[:n] - x[n:]


def broken(instance: Instance, w: np.ndarray) -> float:
    """By how much the limits are broken, at most."""
    over = [instance.lower - w, w - instance.upper]
    Aw = instance.A @ w
    over += [instance.low - Aw, Aw - instance.high, [np.abs(w).sum() - instance.gross]]
    return float(np.concatenate(over).max())


def compare_utility(instance: Instance, limits, gamma: float) -> tuple[float, str]:
    w = ours(instance, limits, objective="utility", risk_aversion=gamma)
    if w is None:
        return 0.0, "no portfolio, where HiGHS has one"
    if not broken(instance, w) <= SLACK * max(1.0, np.abs(w).max()):
        return 0.0, f"limits broken by {broken(instance, w):.2g}"

    def parts(v: np.ndarray) -> tuple[float, float]:
        return float(instance.mu @ v), 0.5 * gamma * float(v @ instance.Sigma @ v)

    (earned, paid), (theirs, theirs_paid) = parts(w), parts(theirs_utility(instance, gamma))
    error = abs((earned - paid) - (theirs - theirs_paid)) / max(abs(earned) + paid, TINY)
    return error, "" if error <= TOLERANCE else f"value off by {error:.2g}"


def compare_sharpe(instance: Instance, limits) -> tuple[float, str] | None:
    """None where the net position may not be 1, or no portfolio of it earns."""
    if not instance.low[-1] <= 1.0 <= instance.high[-1]:
        return None
    a = theirs_sharpe(instance)
    if not a.sum() > 1e-3 * np.abs(a).sum() or not instance.mu @ a > 1e-6:
        return None
    w = ours(instance, limits, objective="sharpe")
    if w is None:
        return 0.0, "no portfolio of net position 1, where PIQP has one"
    if not broken(instance, w) <= SLACK * max(1.0, np.abs(w).max()) or abs(w.sum() - 1) > SLACK:
        return 0.0, f"limits broken by {broken(instance, w):.2g}, net {w.sum():.9g}"

    def ratio(v: np.ndarray) -> float:
        return float(instance.mu @ v) / float(v @ instance.Sigma @ v) ** 0.5

    error = abs(ratio(w) - ratio(a)) / ratio(a)
    return error, "" if error <= TOLERANCE else f"Sharpe ratio off by {error:.2g}"


def testify(count: int, seed: int) -> dict:
    rng = np.random.default_rng([seed, 77])
    errors, wrong, impossible = [], [], 0
    for number in range(count):
        instance = random_instance(rng)
        limits = limits_of(instance)
        if not possible(instance):
            impossible += 1
            if ours(instance, limits, objective="utility") is not None:
                wrong.append(f"instance {number}: a portfolio where HiGHS has none")
            continue
        cases = {f"gamma = {g:.3g}": compare_utility(instance, limits, float(g)) for g in GAMMAS}
        if found := compare_sharpe(instance, limits):
            cases["sharpe"] = found
        errors += [error for error, _ in cases.values()]
        wrong += [f"instance {number}, {what}: {why}" for what, (_, why) in cases.items() if why]
    return {
        "instances": count,
        "impossible": impossible,
        "values": len(errors),
        "largest_error": max(errors),
        "wrong": wrong,
    }


if __name__ == "__main__":
    print(json.dumps(testify(int(sys.argv[1]), int(sys.argv[2]))))
