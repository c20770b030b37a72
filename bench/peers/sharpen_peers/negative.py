"""A market in which every expected return is negative: what each package makes of it.

The best portfolio of net position zero still has a positive Sharpe ratio. Packages that ask for
1^T w = 1 must come near it by leverage, within the bound on a weight that they are given.

    python -m sharpen_peers.negative PACKAGE BOUND SEED     BOUND 0: long only
"""

from __future__ import annotations

import json
import os
import sys
import warnings

import numpy as np

N = 20


def market(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns (500, n) in per cent whose sample mean is mu < 0, and their moments."""
    rng = np.random.default_rng([seed, N])
    mu = -(0.02 + 0.1 * rng.random(N))
    X = 0.5 * rng.standard_normal((500, 5)) @ rng.standard_normal((5, N))
    X += rng.standard_normal((500, N))
    X += mu - X.mean(axis=0)
    return X, mu, np.cov(X, rowvar=False)


def best_neutral_sharpe(mu: np.ndarray, Sigma: np.ndarray) -> float:
    """The largest Sharpe ratio of any portfolio with 1^T w >= 0, by the formula."""
    a, b = np.linalg.solve(Sigma, np.stack([mu, np.ones_like(mu)], axis=1)).T
    m = mu - a.sum() / b.sum()
    return float(np.sqrt(m @ np.linalg.solve(Sigma, m)))


def ours(X, mu, Sigma, bound):
    import sharpen

    portfolio = sharpen.solve((mu, Sigma), k=len(mu), optimizer="swap")
    return np.asarray(portfolio.weights, dtype=float), portfolio.status


def pyportfolioopt(X, mu, Sigma, bound):
    from pypfopt import EfficientFrontier

    frontier = EfficientFrontier(mu, Sigma, weight_bounds=(-bound, max(1.0, bound)))
    weights = frontier.max_sharpe(risk_free_rate=0.0)
    return np.array(list(weights.values()), dtype=float), "answers"


def skfolio(X, mu, Sigma, bound):
    from skfolio import RiskMeasure
    from skfolio.optimization import MeanRisk, ObjectiveFunction

    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_RATIO,
        risk_measure=RiskMeasure.STANDARD_DEVIATION,
        min_weights=-bound,
        max_weights=max(1.0, bound),
    )
    model.fit(X)
    return np.asarray(model.weights_, dtype=float), "answers"


def riskfolio(X, mu, Sigma, bound):
    import pandas as pd
    import riskfolio as rp

    names = [f"A{i}" for i in range(len(mu))]
    sides = {"sht": True, "uppersht": bound, "budgetsht": bound * len(mu)} if bound > 0 else {}
    portfolio = rp.Portfolio(
        returns=pd.DataFrame(X, columns=names), upperlng=max(1.0, bound), **sides
    )
    portfolio.assets_stats(method_mu="hist", method_cov="hist")
    w = portfolio.optimization(model="Classic", rm="MV", obj="Sharpe", rf=0, hist=True)
    if w is None:
        raise RuntimeError("returns None")
    return w.to_numpy()[:, 0], "answers"


PACKAGES = {
    "sharpen": ours,
    "PyPortfolioOpt": pyportfolioopt,
    "skfolio": skfolio,
    "Riskfolio-Lib": riskfolio,
}


def judged(name: str, w: np.ndarray, outcome: str, mu: np.ndarray, Sigma: np.ndarray) -> dict:
    """What the weights are worth. Ours must reach what the formula gives."""
    if not np.isfinite(w).all():
        result: dict = {"outcome": f"{outcome}: weights that are not finite"}
        return result | ({"status": "failed", "reason": "NaN"} if name == "sharpen" else {})
    risk, gross = float(w @ Sigma @ w), float(np.abs(w).sum())
    result = {
        "outcome": outcome,
        "sharpe": float(mu @ w) / risk**0.5 if risk > 0 else 0.0,
        "net": float(w.sum()),
        "gross": gross,
    }
    best = best_neutral_sharpe(mu, Sigma)
    if name == "sharpen" and not (
        abs(result["sharpe"] - best) <= 1e-8 * best and result["net"] >= -1e-9 * gross
    ):
        result["status"] = "disagrees"
        result["reason"] = (
            f"Sharpe {result['sharpe']:.9g} with net {result['net']:.3g}, where {best:.9g} is the "
            "best with a net of zero or more"
        )
    return result


def main(name: str, bound: float, seed: int) -> None:
    warnings.simplefilter("ignore")
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    X, mu, Sigma = market(seed)
    result: dict = {"best": best_neutral_sharpe(mu, Sigma)}
    try:
        w, outcome = PACKAGES[name](X, mu, Sigma, bound)
    except ImportError:
        raise
    except Exception as error:  # what a package raises here is the finding
        if name == "sharpen":
            raise
        result["outcome"] = f"{type(error).__name__}: {error}"
    else:
        result |= judged(name, w, outcome, mu, Sigma)
    print(json.dumps(result), file=answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # the answer is out
