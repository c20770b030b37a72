"""The problem that every peer of the layer is given, and the answer it is held against.

Per instance: signal mu (n), covariance Sigma = L L^T (n, n), both in per cent a day.

    tangent(m)  y = argmax m^T y  s.t.  |L^T y| <= 1, 1^T y >= 0
    score       x = sqrt(n) |L^T y| / |L^T y|_2           with y = tangent(mu)
    mask        p_i = sigmoid(beta (x_i + tau)),  sum p = k
    weights     w = tangent(p * mu)                       volatility sizing, one per cent a day

w has kinks: where 1^T Sigma^-1 m changes sign in either solve, and where an entry of L^T y does.
Signals near one are drawn again, so that a difference quotient means something everywhere. Nothing
else is chosen: about half the instances lie on the face 1^T y = 0.

The reference is the closed form in NumPy, float64, its root found by bisection to the last bit. It
shares no code with any peer.
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

LOOKBACK = 100
SHRINKAGE = 0.1
BETA = 5.0


@dataclasses.dataclass
class Problem:
    mu: np.ndarray  # (B, n)
    Sigma: np.ndarray  # (B, n, n)
    L: np.ndarray  # (B, n, n), lower triangular
    p: np.ndarray  # (B, n), the reference's mask
    g: np.ndarray  # (B, n), dL/dw
    w: np.ndarray  # (B, n), the reference's weights
    dL_dmu: np.ndarray  # (B, n), differences of the whole layer
    dL_dm: np.ndarray  # (B, n), differences of the second solve alone, by m = p * mu
    k: int

    @property
    def n(self) -> int:
        return self.mu.shape[1]

    @property
    def B(self) -> int:
        return self.mu.shape[0]

    def save(self, path: pathlib.Path) -> None:
        np.savez(path.with_suffix(".npz"), **dataclasses.asdict(self))
        write_binary(self, path, signals=1)

    @staticmethod
    def load(path: pathlib.Path) -> Problem:
        with np.load(path.with_suffix(".npz")) as file:
            arrays = {name: file[name] for name in file.files}
        return Problem(**{**arrays, "k": int(arrays["k"])})


def write_binary(problem, path: pathlib.Path, signals: int, groups: int = 0, limits=(0, 0, 0)):
    """What layer_peer.cpp reads: five int64, then doubles."""
    with open(path.with_suffix(".bin"), "wb") as file:
        sizes = [problem.n, problem.B, problem.k, signals, groups]
        np.array(sizes, dtype=np.int64).tofile(file)
        arrays = (limits, problem.mu, problem.Sigma, problem.g, problem.w, problem.dL_dmu)
        for array in arrays:
            np.ascontiguousarray(array, dtype=np.float64).tofile(file)


def simulated_returns(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Five factors and noise, in per cent a day."""
    loadings = rng.standard_normal((5, n))
    return 0.5 * rng.standard_normal((rows, 5)) @ loadings + rng.standard_normal((rows, n))


def covariances(returns: np.ndarray, B: int) -> np.ndarray:
    """Sigma (B, n, n) of the B windows, shrunk towards a multiple of the identity."""
    n = returns.shape[1]
    Sigma = np.empty((B, n, n))
    for i in range(B):
        Sigma[i] = np.cov(returns[i : i + LOOKBACK], rowvar=False)
        level = np.trace(Sigma[i]) / n
        Sigma[i] *= 1.0 - SHRINKAGE
        Sigma[i].flat[:: n + 1] += SHRINKAGE * level
    return Sigma


class Reference:
    """Forward only, batched: what w is, from the formulas."""

    def __init__(self, Sigma: np.ndarray, k: int):
        self.k = k
        self.inverse = np.linalg.inv(Sigma)
        self.inverse = 0.5 * (self.inverse + self.inverse.transpose(0, 2, 1))
        self.L_inverse = np.linalg.inv(np.linalg.cholesky(Sigma))
        self.b = self.inverse.sum(axis=2)
        self.A = self.b.sum(axis=1, keepdims=True)

    def project(self, mu: np.ndarray) -> np.ndarray:
        """The signal on its face."""
        B = np.einsum("bn,bn->b", self.b, mu)[:, None]
        return np.where(B > 0, mu, mu - B / self.A)

    def distance(self, mu: np.ndarray) -> np.ndarray:
        """How far, in [0, 1], a signal is from the other face."""
        B = np.einsum("bn,bn->b", self.b, mu)
        C = np.einsum("bn,bnm,bm->b", mu, self.inverse, mu)
        return np.abs(B) / np.sqrt(self.A[:, 0] * C)

    def tangent(self, mu: np.ndarray) -> np.ndarray:
        m = self.project(mu)
        a = np.matmul(self.inverse, m[:, :, None])[:, :, 0]
        return a / np.sqrt(np.einsum("bn,bn->b", m, a))[:, None]

    def score(self, mu: np.ndarray) -> np.ndarray:
        m = self.project(mu)
        z = np.abs(np.matmul(self.L_inverse, m[:, :, None])[:, :, 0])
        return np.sqrt(mu.shape[1]) * z / np.linalg.norm(z, axis=1, keepdims=True)

    def mask(self, x: np.ndarray) -> np.ndarray:
        n = x.shape[1]
        level = np.log(self.k / (n - self.k)) / BETA
        low = level - x.max(axis=1, keepdims=True)
        high = level - x.min(axis=1, keepdims=True)
        for _ in range(60):
            middle = 0.5 * (low + high)
            p = 1.0 / (1.0 + np.exp(-BETA * (x + middle)))
            below = p.sum(axis=1, keepdims=True) < self.k
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return p

    def weights(self, mu: np.ndarray) -> np.ndarray:
        return self.tangent(self.mask(self.score(mu)) * mu)

    def smooth(self, mu: np.ndarray) -> np.ndarray:
        """Which instances are far enough from every kink for differences."""
        x = self.score(mu)
        first, second = self.distance(mu), self.distance(self.mask(x) * mu)
        return (first > 0.02) & (second > 0.02) & (x.min(axis=1) > 2e-3)


def differences(f, at: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The gradient of <g, f> in every instance by the four-point central difference."""
    gradient = np.empty_like(at)
    step = 1e-4 * np.sqrt(np.mean(at**2, axis=1))
    for j in range(at.shape[1]):

        def shifted(by: float) -> np.ndarray:
            moved = at.copy()
            moved[:, j] += by * step
            return np.einsum("bn,bn->b", g, f(moved))

        gradient[:, j] = (8.0 * (shifted(1) - shifted(-1)) - (shifted(2) - shifted(-2))) / (
            12.0 * step
        )
    return gradient


def make_problem(n: int, B: int, seed: int) -> Problem:
    rng = np.random.default_rng([seed, n, B])
    Sigma = covariances(simulated_returns(rng, LOOKBACK + B, n), B)
    k = max(1, n // 10)
    reference = Reference(Sigma, k)
    mu = 0.1 * simulated_returns(rng, B, n)
    for _ in range(1000):
        again = ~reference.smooth(mu)
        if not again.any():
            break
        mu[again] = 0.1 * simulated_returns(rng, int(again.sum()), n)
    else:
        raise RuntimeError(f"no smooth signal found for n = {n}, B = {B}, seed = {seed}")
    g = rng.standard_normal((B, n))
    p = reference.mask(reference.score(mu))
    return Problem(
        mu=mu,
        Sigma=Sigma,
        L=np.linalg.cholesky(Sigma),
        p=p,
        g=g,
        w=reference.weights(mu),
        dL_dmu=differences(reference.weights, mu, g),
        dL_dm=differences(reference.tangent, p * mu, g),
        k=k,
    )


def worst_error(got: np.ndarray, want: np.ndarray) -> float:
    """Largest |got - want| / |want| over the instances; NaN counts as infinite."""
    error = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
    return float(np.where(np.isnan(error), np.inf, error).max())


def disagreement(weights: float, gradient: float, tolerance: tuple[float, float]) -> str:
    """In words, what errors of weights and gradient are more than their tolerance; or nothing."""
    for what, error, bound in zip(("weights", "gradient"), (weights, gradient), tolerance):
        if not error <= bound:
            return f"{what} off by {error:.1e}, more than {bound:g}"
    return ""
