"""The layers under limits that are compared, behind the calls of layers.py.

A QP cannot say w^T Sigma w <= sigma^2: theta, one over the risk aversion at which the risk is
sigma, has to be found, by several QPs. PIQP does so, for the second problem alone; a row of its own,
qpth and ProxSuite are given theta. The gradient is that of best(m) all the same, where theta moves
with m: with J g the backward pass of the QP by theta m,

    h = J g,  v = J Sigma w,    dL_dm = theta (h - (h^T m) / (v^T m) v)
"""

from __future__ import annotations

import numpy as np

from .layers import CLARABEL, SCS, Sharpen, TorchPeer
from .limited_problem import (
    GROUP_CAP,
    GROUPS,
    SIGMA,
    SIGNALS,
    UPPER,
    LimitedProblem,
    group_of,
    limit_rows,
)
from .problem import BETA

LIMITS = limit_rows(1)[1]  # of the rows, for any n


class LimitedPeer(TorchPeer):
    """One call after the other has another signal."""

    signals = SIGNALS

    def construct(self, problem: LimitedProblem, threads: int) -> None:
        import torch

        self.threads = threads
        torch.set_num_threads(threads)
        self.at = -1
        given = problem.mu if self.scope == "layer" else problem.p * problem.mu
        self.given = [torch.tensor(signal, requires_grad=True) for signal in given]
        self.g = torch.tensor(problem.g)
        self.k = problem.k
        self.prepare(problem, threads)

    def forward(self):
        self.at = (self.at + 1) % SIGNALS
        self.signal = self.given[self.at]
        return super().forward()

    def wanted(self, problem: LimitedProblem) -> tuple[np.ndarray, np.ndarray]:
        gradient = problem.dL_dmu if self.scope == "layer" else problem.dL_dm
        return problem.w[self.at], gradient[self.at]


class LimitedSharpen(LimitedPeer):
    packages = Sharpen.packages

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import sharpen
        import sharpen.torch as st

        sharpen.set_threads(threads)
        names = [f"asset{i + 1}" for i in range(problem.n)]
        groups = {name: f"group{g}" for name, g in zip(names, group_of(problem.n))}
        limits = sharpen.Limits(
            long_only=True,
            max_weight=UPPER,
            max_net=1.0,
            groups=groups,
            rows=[f"group{g} <= {GROUP_CAP}" for g in range(GROUPS)],
        )
        self.risk = st.Risk.from_covariance(problem.Sigma, score="cholesky")
        self.layer = st.SparseTangent(
            k=problem.k,
            beta=BETA,
            score="cholesky",
            reoptimization="masked",
            limits=limits,
            objective="return",
            target_volatility=SIGMA,
            periods_per_year=1,  # the target is per period, then
            assets=names,
            threads=threads,
        )

    def solve(self, mu):
        return self.layer(mu, self.risk)


class KnownAversion(LimitedPeer):
    """The second solve as a QP: min 1/2 w^T Sigma w - s^T w under the limits, s = theta m."""

    scope = "second solve"
    tolerance = (1e-5, 1e-3)

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import torch

        self.Sigma = torch.tensor(problem.Sigma)
        self.theta = torch.tensor(problem.theta)[:, :, None]
        A, b = limit_rows(problem.n)
        self.A, self.b = torch.tensor(A), torch.tensor(b)

    def solve(self, m):
        self.s = (self.theta[self.at] * m.detach()).requires_grad_()
        return self.quadratic_program(self.s)

    def backward(self):
        import torch

        w, m = self.w.detach(), self.signal.detach()
        Sigma_w = (self.Sigma @ w.unsqueeze(2)).squeeze(2)
        (v,) = torch.autograd.grad(self.w, self.s, Sigma_w, retain_graph=True)
        (h,) = torch.autograd.grad(self.w, self.s, self.g)
        ratio = (h * m).sum(dim=1, keepdim=True) / (v * m).sum(dim=1, keepdim=True)
        self.gradient = self.theta[self.at] * (h - ratio * v)
        return self.gradient


class LimitedQpth(KnownAversion):
    packages = ("torch", "qpth.qp")

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import torch

        super().prepare(problem, threads)
        one = torch.eye(problem.n, dtype=self.A.dtype)
        self.G = torch.cat([-one, one, self.A])
        bounds = torch.zeros(2 * problem.n, dtype=self.A.dtype)
        bounds[problem.n :] = UPPER
        self.h = torch.cat([bounds, self.b])
        self.empty = torch.empty(0, dtype=self.A.dtype)

    def quadratic_program(self, s):
        from qpth.qp import QPFunction

        solve = QPFunction(verbose=-1, check_Q_spd=False, eps=1e-12, maxIter=30)
        return solve(self.Sigma, -s, self.G, self.h, self.empty, self.empty)


class LimitedProxQp(KnownAversion):
    packages = ("torch", "proxsuite", "proxsuite.torch.qplayer")

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import torch

        super().prepare(problem, threads)
        one = torch.eye(problem.n, dtype=self.A.dtype)
        self.C = torch.cat([one, self.A])
        self.lower = torch.full((len(self.C),), -1e20, dtype=self.A.dtype)
        self.lower[: problem.n] = 0.0
        self.upper = torch.cat([torch.full((problem.n,), UPPER, dtype=self.A.dtype), self.b])
        self.empty = torch.empty(0, dtype=self.A.dtype)

    def quadratic_program(self, s):
        from proxsuite.torch.qplayer import QPFunction

        solve = QPFunction(structural_feasibility=True, omp_parallel=self.threads > 1, eps=1e-9)
        w, _, _ = solve(self.Sigma, -s, self.empty, self.empty, self.C, self.lower, self.upper)
        return w


class ActiveSet:
    """The optimality conditions on the active set of a QP's solution w at theta,

        [Sigma_FF A_F^T; A_F 0] [x; .] = [.; .]     free names F, active rows A,

    where w = w0 + theta w1.
    """

    def __init__(self, found, theta: float, m: np.ndarray, Sigma: np.ndarray, rows: np.ndarray):
        self.m, self.Sigma, self.rows = m, Sigma, rows
        w = np.array(found.x)
        self.lower, self.upper = found.z_bl > w, found.z_bu > UPPER - w
        self.free, self.active = ~(self.lower | self.upper), found.z_u > found.s_u
        A = rows[np.ix_(self.active, self.free)]
        self.f = f = A.shape[1]
        K = np.zeros((f + len(A), f + len(A)))
        K[:f, :f], K[:f, f:], K[f:, :f] = Sigma[np.ix_(self.free, self.free)], A.T, A
        self.inverse = np.linalg.inv(K)
        self.w1 = np.zeros_like(w)
        self.w1[self.free] = self.solve(m)
        self.w, self.w0, self.theta = w, w - theta * self.w1, theta

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self.inverse[: self.f, : self.f] @ right[self.free]

    def theta_of(self, sigma: float) -> float:
        """Where the risk would be sigma, or NaN."""
        spare = sigma**2 - self.w0 @ self.Sigma @ self.w0
        return float(np.sqrt(spare / (self.m @ self.w1))) if spare > 0 else np.nan

    def reaches(self, theta: float) -> bool:
        """Whether the set is that of the optimum at theta, too; w is that, then."""
        w = self.w0 + theta * self.w1
        gain = theta * self.m - self.Sigma @ w
        nu = self.inverse[self.f :, : self.f] @ gain[self.free]
        gain -= nu @ self.rows[self.active]
        slack = LIMITS - self.rows @ w
        if not (
            (w[self.free] >= 0).all()
            and (w[self.free] <= UPPER).all()
            and (slack[~self.active] >= 0).all()
            and (nu >= 0).all()
            and (gain[self.lower] <= 0).all()
            and (gain[self.upper] >= 0).all()
        ):
            return False
        self.w, self.theta = w, theta
        return True

    def vjp(self, g: np.ndarray) -> np.ndarray:
        gradient = np.zeros_like(g)
        h, v, m = self.solve(g), self.solve(self.Sigma @ self.w), self.m[self.free]
        gradient[self.free] = self.theta * (h - (h @ m) / (v @ m) * v)
        return gradient


class PiqpKnown(LimitedPeer):
    """PIQP has no backward pass: ours solves the optimality conditions on its active set. Each
    instance has a solver of its own, set up once, of which a call changes the linear term only."""

    scope = "second solve"
    tolerance = (1e-6, 1e-5)
    packages = ("torch", "piqp")

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import piqp

        n = problem.n
        self.m = problem.p * problem.mu
        self.known, self.Sigma, self.upstream = problem.theta, problem.Sigma, problem.g
        self.rows = limit_rows(n)[0]
        self.solvers = []
        for Sigma in problem.Sigma:
            solver = piqp.DenseSolver()
            for what in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
                setattr(solver.settings, what, 1e-11)
            bounds = {"x_l": np.zeros(n), "x_u": np.full(n, UPPER)}
            solver.setup(Sigma, np.zeros(n), G=self.rows, h_u=LIMITS, **bounds)
            self.solvers.append(solver)
        pairs = zip(problem.Sigma, self.m[0])  # the risk is sigma there without limits
        self.theta = np.array([SIGMA / np.sqrt(m @ np.linalg.solve(S, m)) for S, m in pairs])

    def at_theta(self, i: int, theta: float) -> ActiveSet:
        m = self.m[self.at, i]
        self.solvers[i].update(c=-theta * m)
        self.solvers[i].solve()
        return ActiveSet(self.solvers[i].result, theta, m, self.Sigma[i], self.rows)

    def best(self, i: int) -> ActiveSet:
        return self.at_theta(i, float(self.known[self.at, i]))

    def forward(self):
        self.at = (self.at + 1) % SIGNALS
        self.found = [self.best(i) for i in range(len(self.solvers))]
        return self.weights()

    def backward(self):
        self.derived = np.array([s.vjp(g) for s, g in zip(self.found, self.upstream)])
        return self.derived

    def weights(self) -> np.ndarray:
        return np.array([s.w for s in self.found])

    def gradients(self) -> np.ndarray:
        return self.derived


class Piqp(PiqpKnown):
    """The same, but theta is found: from that of the last call on, each QP's active set says where
    the risk would be sigma, and the next QP is asked there, unless the set is that of the optimum
    there already. Bisection where that leads astray."""

    def best(self, i: int) -> ActiveSet:
        low, high, theta = 0.0, np.inf, float(self.theta[i])
        for _ in range(50):
            found = self.at_theta(i, theta)
            wanted = found.theta_of(SIGMA)
            if np.isfinite(wanted) and found.reaches(wanted):
                self.theta[i] = wanted
                return found
            if found.w @ found.Sigma @ found.w > SIGMA**2:
                high = theta
            else:
                low = theta
            middle = 0.5 * (low + high) if np.isfinite(high) else 2.0 * theta
            theta = wanted if low < wanted < high else middle
        raise RuntimeError("no risk aversion found")


class LimitedCvxpyLayers(LimitedPeer):
    """The whole layer: two cone programs by CVXPYlayers (diffcp), our mask between them."""

    tolerance = (1e-4, 5e-3)
    solver: dict[str, object] = {}
    packages = ("torch", "cvxpy", "diffcp", "cvxpylayers.torch")

    def prepare(self, problem: LimitedProblem, threads: int) -> None:
        import cvxpy as cp
        import torch
        from cvxpylayers.torch import CvxpyLayer

        n = problem.n
        A, b = limit_rows(n)
        w, m, L_transposed = cp.Variable(n), cp.Parameter(n), cp.Parameter((n, n))
        limits = [cp.norm(L_transposed @ w) <= SIGMA, w >= 0, w <= UPPER, A @ w <= b]
        conic = cp.Problem(cp.Maximize(m @ w), limits)
        self.layer = CvxpyLayer(conic, parameters=[m, L_transposed], variables=[w])
        self.L_transposed = torch.tensor(problem.L).mT.contiguous()
        self.settings = {**self.solver, "n_jobs_forward": threads, "n_jobs_backward": threads}

    def best(self, m):
        (w,) = self.layer(m, self.L_transposed, solver_args=self.settings)
        return w

    def solve(self, mu):
        from .soft_topk import SoftTopK

        z = (self.L_transposed @ self.best(mu).unsqueeze(2)).squeeze(2).abs()
        x = mu.shape[1] ** 0.5 * z / z.norm(dim=1, keepdim=True)
        return self.best(SoftTopK.apply(x, self.k, BETA) * mu)


class LimitedCvxpyLayersClarabel(LimitedCvxpyLayers):
    solver = CLARABEL


class LimitedCvxpyLayersScs(LimitedCvxpyLayers):
    solver = SCS


LIMITED_PEERS: dict[str, type[TorchPeer]] = {
    "sharpen from PyTorch": LimitedSharpen,
    "PIQP": Piqp,
    "PIQP, risk aversion given": PiqpKnown,
    "ProxSuite QPLayer": LimitedProxQp,
    "qpth": LimitedQpth,
    "CVXPYlayers, Clarabel": LimitedCvxpyLayersClarabel,
    "CVXPYlayers, SCS": LimitedCvxpyLayersScs,
}
