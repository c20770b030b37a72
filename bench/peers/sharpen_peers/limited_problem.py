"""The layer under limits: the problem that every peer is given, and the answer it is held against.

Per instance: signal mu (n), covariance Sigma = L L^T (n, n), both in per cent a day.

    best(m)   w = argmax m^T w  s.t.  w^T Sigma w <= sigma^2, 0 <= w <= u, A w <= b
    score     x = sqrt(n) |L^T y| / |L^T y|_2             with y = best(mu)
    mask      p_i = sigmoid(beta (x_i + tau)),  sum p = k
    weights   w = best(p * mu)

The rows of A are ten groups, each of at most 15 % of the capital, and the capital itself. The
optima of theta m^T w - 1/2 w^T Sigma w lie on faces, by which names are free, which at u, and which
rows are active; on a face w = w0 + theta w1, and theta is the one of risk sigma.

The reference finds the face by an interior-point method, takes w from the formula, and believes it
if every condition of optimality holds. It shares no code with any peer. Its differences follow
the formula; a signal is drawn again if they leave the face, or meet a kink of the score. There are
several signals for each covariance, so that no call finds the answer of the one before it.
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from .problem import LOOKBACK, Reference, covariances, simulated_returns, write_binary

SIGMA = 0.25  # per cent a day
UPPER = 0.1
GROUPS, GROUP_CAP = 10, 0.15  # no multiple of u: faces are not degenerate
SIGNALS = 3
STEP = 2e-5  # of differences, relative to the size of the signal


def group_of(n: int) -> np.ndarray:
    return np.arange(n) % GROUPS


def limit_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A (rows, n) and b (rows) of A w <= b."""
    A = np.vstack([group_of(n) == group for group in range(GROUPS)] + [np.ones(n)]).astype(float)
    return A, np.array([GROUP_CAP] * GROUPS + [1.0])


@dataclasses.dataclass
class LimitedProblem:
    mu: np.ndarray  # (S, B, n), S signals
    Sigma: np.ndarray  # (B, n, n)
    L: np.ndarray  # (B, n, n), lower triangular
    p: np.ndarray  # (S, B, n), the reference's mask
    theta: np.ndarray  # (S, B), of the second solve: one over its risk aversion
    g: np.ndarray  # (B, n), dL/dw
    w: np.ndarray  # (S, B, n), the reference's weights
    dL_dmu: np.ndarray  # (S, B, n), differences of the whole layer
    dL_dm: np.ndarray  # (S, B, n), differences of the second solve alone, by m = p * mu
    k: int

    @property
    def n(self) -> int:
        return self.mu.shape[2]

    @property
    def B(self) -> int:
        return self.mu.shape[1]

    def save(self, path: pathlib.Path) -> None:
        np.savez(path.with_suffix(".npz"), **dataclasses.asdict(self))
        write_binary(self, path, SIGNALS, GROUPS, (SIGMA, UPPER, GROUP_CAP))

    @staticmethod
    def load(path: pathlib.Path) -> LimitedProblem:
        with np.load(path.with_suffix(".npz")) as file:
            arrays = {name: file[name] for name in file.files}
        return LimitedProblem(**{**arrays, "k": int(arrays["k"])})


def interior_point(m: np.ndarray, Sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w and the multipliers of w >= 0, w <= u, A w <= b and the risk, by Mehrotra's method: good
    enough to tell which limits are active."""
    n = len(m)
    A, b = limit_rows(n)
    G = np.vstack([-np.eye(n), np.eye(n), A])
    h = np.concatenate([np.zeros(n), np.full(n, UPPER), b])

    def limits(w: np.ndarray) -> np.ndarray:
        return np.concatenate([G @ w - h, [0.5 * (w @ Sigma @ w - SIGMA**2)]])

    def longest(x: np.ndarray, dx: np.ndarray) -> float:
        """Of the steps after which x is positive still."""
        return float((-0.995 * x[dx < 0] / dx[dx < 0]).min(initial=1.0))

    w = np.full(n, 0.5 / n)
    s = np.maximum(-limits(w), 1e-2)
    z = np.full(len(s), np.abs(m).max())
    for _ in range(60):
        J = np.vstack([G, Sigma @ w])
        dual, primal, gap = J.T @ z - m, limits(w) + s, float(s @ z) / len(s)
        if gap < 1e-12 and np.abs(dual).max() < 1e-9 and np.abs(primal).max() < 1e-11:
            break
        H = z[-1] * Sigma + (J.T * (z / s)) @ J

        def direction(product: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            dw = -np.linalg.solve(H, dual + J.T @ ((z * primal - product) / s))
            ds = -primal - J @ dw
            return dw, ds, -(product + z * ds) / s

        _, ds, dz = direction(s * z)
        ahead = float((s + longest(s, ds) * ds) @ (z + longest(z, dz) * dz)) / len(s)
        dw, ds, dz = direction(s * z + ds * dz - gap * (ahead / gap) ** 3)
        w, s, z = w + longest(s, ds) * dw, s + longest(s, ds) * ds, z + longest(z, dz) * dz
    return w, z


class Face:
    """Where the optima near one signal are, and the formula there. M is (..., n) signals."""

    def __init__(self, m: np.ndarray, Sigma: np.ndarray):
        n = len(m)
        self.Sigma, (self.A, self.b) = Sigma, limit_rows(n)
        w, z = interior_point(m, Sigma)
        scale = np.abs(m).max()
        self.lower = z[:n] > scale * w
        self.upper = z[n : 2 * n] > scale * (UPPER - w)
        self.rows = z[2 * n : -1] > scale * (self.b - self.A @ w)
        self.free = ~(self.lower | self.upper)
        F, U, A = self.free, self.upper, self.A[self.rows]
        f, r = int(F.sum()), len(A)
        K = np.zeros((f + r, f + r))
        K[:f, :f], K[:f, f:], K[f:, :f] = Sigma[np.ix_(F, F)], A[:, F].T, A[:, F]
        self.inverse = np.linalg.inv(K)
        self.w0 = np.where(U, UPPER, 0.0)
        right = np.concatenate([-Sigma[F][:, U] @ self.w0[U], self.b[self.rows] - A @ self.w0])
        solved = self.inverse @ right
        self.w0[F], self.nu0 = solved[:f], solved[f:]
        self.spare = SIGMA**2 - float(self.w0 @ Sigma @ self.w0)

    def parts(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w1, the change of the multipliers of rows with theta, and theta."""
        f = int(self.free.sum())
        solved = M[..., self.free] @ self.inverse[:f]
        w1 = np.zeros_like(M)
        w1[..., self.free] = solved[..., :f]
        with np.errstate(all="ignore"):  # NaN is not a solution
            theta = np.sqrt(self.spare / (M * w1).sum(axis=-1))
        return w1, solved[..., f:], theta

    def weights(self, M: np.ndarray) -> np.ndarray:
        w1, _, theta = self.parts(M)
        return self.w0 + theta[..., None] * w1

    def holds(self, M: np.ndarray) -> bool:
        """Whether every condition of optimality is met for every signal."""
        w1, nu1, theta = self.parts(M)
        w = self.w0 + theta[..., None] * w1
        nu = self.nu0 + theta[..., None] * nu1
        gain = theta[..., None] * M - w @ self.Sigma - nu @ self.A[self.rows]
        free, spare = w[..., self.free], (self.b - w @ self.A.T)[..., ~self.rows]
        tiny = 1e-9 * np.abs(theta[..., None] * M).max()
        return bool(
            (theta > 0).all()
            and (free > 0).all()
            and (free < UPPER).all()
            and (spare > 0).all()
            and (nu > 0).all()
            and (gain[..., self.lower] < 0).all()
            and (gain[..., self.upper] > 0).all()
            and (np.abs(gain[..., self.free]) < tiny).all()
        )


class Layer:
    """The whole layer near one signal of one instance, from the formulas."""

    def __init__(self, mu: np.ndarray, Sigma: np.ndarray, L: np.ndarray, k: int):
        self.L, self.reference = L, Reference(Sigma[None], k)
        self.first = Face(mu, Sigma)
        self.signs = np.sign(self.first.weights(mu) @ L)
        self.second = Face(self.mask(mu) * mu, Sigma)

    def mask(self, M: np.ndarray) -> np.ndarray:
        z = self.first.weights(M) @ self.L
        x = np.sqrt(z.shape[-1]) * np.abs(z) / np.linalg.norm(z, axis=-1, keepdims=True)
        return self.reference.mask(np.atleast_2d(x)).reshape(x.shape)

    def weights(self, M: np.ndarray) -> np.ndarray:
        return self.second.weights(self.mask(M) * M)

    def holds(self, M: np.ndarray) -> bool:
        same = (np.sign(self.first.weights(M) @ self.L) == self.signs).all()
        return bool(same) and self.first.holds(M) and self.second.holds(self.mask(M) * M)


def around(at: np.ndarray) -> tuple[np.ndarray, float]:
    """The points (4 n, n) of the four-point central differences, and their step."""
    n, step = len(at), STEP * float(np.sqrt(np.mean(at**2)))
    return np.concatenate([at + by * step * np.eye(n) for by in (1, -1, 2, -2)]), step


def differences(f, at: np.ndarray, g: np.ndarray) -> np.ndarray:
    points, step = around(at)
    plus, minus, plus2, minus2 = (f(points) @ g).reshape(4, -1)
    return (8.0 * (plus - minus) - (plus2 - minus2)) / (12.0 * step)


def one_signal(rng, Sigma, L, g, k) -> tuple:
    """mu, p, theta, w, dL_dmu, dL_dm of the first signal drawn that can be differentiated."""
    n = len(g)
    for _ in range(200):
        mu = 0.1 * simulated_returns(rng, 1, n)[0]
        try:
            layer = Layer(mu, Sigma, L, k)
        except np.linalg.LinAlgError:  # a face without free names: the risk is not what binds
            continue
        p = layer.mask(mu)
        m = p * mu
        if not np.isfinite(p).all() or not layer.holds(around(mu)[0]):
            continue
        if not layer.second.holds(around(m)[0]):
            continue
        theta = layer.second.parts(m)[2]
        by_mu, by_m = differences(layer.weights, mu, g), differences(layer.second.weights, m, g)
        return mu, p, theta, layer.weights(mu), by_mu, by_m
    raise RuntimeError(f"no smooth signal found for n = {n}")


def make_limited_problem(n: int, B: int, seed: int) -> LimitedProblem:
    rng = np.random.default_rng([seed, n, B, 1])
    Sigma = covariances(simulated_returns(rng, LOOKBACK + B, n), B)
    L, g, k = np.linalg.cholesky(Sigma), rng.standard_normal((B, n)), max(1, n // 10)
    found = [
        [one_signal(rng, Sigma[i], L[i], g[i], k) for i in range(B)] for _ in range(SIGNALS)
    ]
    columns = [np.array([[row[c] for row in rows] for rows in found]) for c in range(6)]
    mu, p, theta, w, dL_dmu, dL_dm = columns
    return LimitedProblem(mu, Sigma, L, p, theta, g, w, dL_dmu, dL_dm, k)
