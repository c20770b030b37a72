"""The layers that are compared, each behind the same three calls.

    construct(problem, threads)   everything that does not depend on mu
    forward()                     w (B, n) from the signal
    backward()                    dL/dmu (B, n), or dL/dm of the second solve alone

`tolerance` is how far weights and gradients may lie from the reference and its differences,
relative and in the worst instance: what the peer's solver is good for. The times of a row that
misses it do not count.
`scope` is "layer" (score, mask and both solves) or "second solve" (w from m = p * mu, with the
mask given): what a QP layer can express. A second solve alone is less work than the layer.
Packages are imported by `load`, so that one that is missing costs only its own row.
"""

from __future__ import annotations

import importlib

import numpy as np

from .problem import BETA, Problem


class TorchPeer:
    """What all peers under PyTorch share: the signal as a leaf, autograd for the rest."""

    scope = "layer"
    tolerance = (1e-8, 1e-6)
    packages: tuple[str, ...] = ("torch",)
    note = ""  # what a reader of the row must know
    signals = 1  # as many calls have signals of their own

    def load(self) -> None:
        for name in self.packages:
            importlib.import_module(name)

    def construct(self, problem: Problem, threads: int) -> None:
        import torch

        self.threads = threads
        torch.set_num_threads(threads)
        signal = problem.mu if self.scope == "layer" else problem.p * problem.mu
        self.signal = torch.tensor(signal, requires_grad=True)
        self.g = torch.tensor(problem.g)
        self.k = problem.k
        self.prepare(problem, threads)

    def forward(self):
        self.w = self.solve(self.signal)
        return self.w

    def backward(self):
        import torch

        (self.gradient,) = torch.autograd.grad(self.w, self.signal, self.g)
        return self.gradient

    def wanted(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """Weights and gradient of the reference, for the last call."""
        return problem.w, problem.dL_dmu if self.scope == "layer" else problem.dL_dm

    def weights(self) -> np.ndarray:
        return self.w.detach().numpy()

    def gradients(self) -> np.ndarray:
        return self.gradient.detach().numpy()


class Sharpen(TorchPeer):
    """Ours: sharpen.torch.SparseTangent."""

    packages = ("torch", "sharpen", "sharpen.torch")

    def prepare(self, problem: Problem, threads: int) -> None:
        import sharpen
        import sharpen.torch as st

        sharpen.set_threads(threads)  # the factors below, too: the default is one per core
        self.risk = st.Risk.from_covariance(problem.Sigma, score="cholesky")
        self.layer = st.SparseTangent(
            k=problem.k,
            beta=BETA,
            score="cholesky",
            reoptimization="masked",
            sizing="volatility",
            target_volatility=1.0,
            periods_per_year=1,  # the target is per period, then
            threads=threads,
        )

    def solve(self, mu):
        return self.layer(mu, self.risk)


class ClosedForm(TorchPeer):
    """The formulas in batched PyTorch, gradients by autograd."""

    def prepare(self, problem: Problem, threads: int) -> None:
        import torch

        Sigma = torch.tensor(problem.Sigma)
        self.L = torch.linalg.cholesky(Sigma)
        ones = torch.ones(problem.B, problem.n, 1, dtype=Sigma.dtype)
        self.b = torch.cholesky_solve(ones, self.L)[:, :, 0]
        self.A = self.b.sum(dim=1, keepdim=True)

    def project(self, mu):
        B = (self.b * mu).sum(dim=1, keepdim=True)
        return mu - B.clamp(max=0.0) / self.A

    def solve(self, mu):
        from .soft_topk import SoftTopK

        z = self.lower_solve(self.project(mu)).abs()
        x = mu.shape[1] ** 0.5 * z / z.norm(dim=1, keepdim=True)
        return self.tangent(self.project(SoftTopK.apply(x, self.k, BETA) * mu))

    def tangent(self, m):
        a = self.covariance_solve(m)
        return a / (m * a).sum(dim=1, keepdim=True).sqrt()


class ClosedFormCholesky(ClosedForm):
    """Solves with the factor."""

    def lower_solve(self, m):
        import torch

        return torch.linalg.solve_triangular(self.L, m.unsqueeze(2), upper=False).squeeze(2)

    def covariance_solve(self, m):
        import torch

        return torch.cholesky_solve(m.unsqueeze(2), self.L).squeeze(2)


class ClosedFormTriangular(ClosedFormCholesky):
    """The same with two triangular solves: PyTorch goes back through them much faster."""

    def tangent(self, m):
        import torch

        z = self.lower_solve(m)
        a = torch.linalg.solve_triangular(self.L.mT, z.unsqueeze(2), upper=True).squeeze(2)
        return a / z.norm(dim=1, keepdim=True)


class ClosedFormInverse(ClosedForm):
    """Products with stored inverses of L and Sigma, as rows from the left: a column from the
    right takes PyTorch up to five times as long."""

    def prepare(self, problem: Problem, threads: int) -> None:
        import torch

        super().prepare(problem, threads)
        identity = torch.eye(problem.n, dtype=self.L.dtype).expand_as(self.L)
        L_inverse = torch.linalg.solve_triangular(self.L, identity, upper=False)
        self.L_inverse_transposed = L_inverse.mT.contiguous()
        self.inverse = L_inverse.mT @ L_inverse

    def lower_solve(self, m):
        return (m.unsqueeze(1) @ self.L_inverse_transposed).squeeze(1)

    def covariance_solve(self, m):
        return (m.unsqueeze(1) @ self.inverse).squeeze(1)


CLARABEL = {
    "solve_method": "Clarabel",
    "tol_gap_abs": 1e-12,
    "tol_gap_rel": 1e-12,
    "tol_feas": 1e-12,
}
SCS = {"solve_method": "SCS", "eps_abs": 1e-8, "eps_rel": 1e-8}


class CvxpyLayers(TorchPeer):
    """The paper's formulation: two conic solves by CVXPYlayers (diffcp), our mask between them.

    At the solvers' own settings weights are right to 1e-4 at best; these cost hardly more.
    """

    tolerance = (1e-4, 5e-3)
    solver: dict[str, object] = {}
    packages = ("torch", "cvxpy", "diffcp", "cvxpylayers.torch")

    def prepare(self, problem: Problem, threads: int) -> None:
        import cvxpy as cp
        import torch
        from cvxpylayers.torch import CvxpyLayer

        n = problem.n
        y, t = cp.Variable(n), cp.Variable()
        mu, L_transposed = cp.Parameter(n), cp.Parameter((n, n))
        constraints = [cp.sum(y) == t, cp.norm(L_transposed @ y) <= 1, t >= 0]
        conic = cp.Problem(cp.Maximize(mu @ y), constraints)
        self.layer = CvxpyLayer(conic, parameters=[mu, L_transposed], variables=[y])
        self.L_transposed = torch.tensor(problem.L).mT.contiguous()
        self.settings = {
            **self.solver,
            "n_jobs_forward": threads,
            "n_jobs_backward": threads,
        }

    def tangent(self, m):
        (y,) = self.layer(m, self.L_transposed, solver_args=self.settings)
        return y

    def solve(self, mu):
        from .soft_topk import SoftTopK

        z = (self.L_transposed @ self.tangent(mu).unsqueeze(2)).squeeze(2).abs()
        x = mu.shape[1] ** 0.5 * z / z.norm(dim=1, keepdim=True)
        return self.tangent(SoftTopK.apply(x, self.k, BETA) * mu)


class CvxpyLayersClarabel(CvxpyLayers):
    solver = CLARABEL


class CvxpyLayersScs(CvxpyLayers):
    solver = SCS


class QpPeer(TorchPeer):
    """The second solve as a QP: min 1/2 a^T Sigma a - m^T a s.t. 1^T a >= 0, then y of unit risk.

    The QP is homogeneous in m, so that its solution is y up to its length on both faces.
    """

    scope = "second solve"
    tolerance = (1e-5, 1e-3)

    def prepare(self, problem: Problem, threads: int) -> None:
        import torch

        self.Sigma = torch.tensor(problem.Sigma)
        self.ones = torch.ones(1, problem.n, dtype=self.Sigma.dtype)
        self.zero = torch.zeros(1, dtype=self.Sigma.dtype)
        self.empty = torch.empty(0, dtype=self.Sigma.dtype)

    def solve(self, m):
        a = self.quadratic_program(m)
        risk = (a * (self.Sigma @ a.unsqueeze(2)).squeeze(2)).sum(dim=1, keepdim=True).sqrt()
        return a / risk


class Qpth(QpPeer):
    packages = ("torch", "qpth.qp")

    def prepare(self, problem: Problem, threads: int) -> None:
        import torch

        super().prepare(problem, threads)
        # Seen with PyTorch 2.15 and its MKL: pivots of 0, with several threads, for n = 200.
        if int(torch.linalg.lu_factor(self.Sigma).pivots.min()) < 1:
            self.threads = 1
            torch.set_num_threads(1)
            self.note = "one thread: with more, PyTorch's batched LU factorisation fails here"

    def quadratic_program(self, m):
        from qpth.qp import QPFunction

        return QPFunction(verbose=-1, check_Q_spd=False)(
            self.Sigma, -m, -self.ones, self.zero, self.empty, self.empty
        )


class ProxQp(QpPeer):
    packages = ("torch", "proxsuite", "proxsuite.torch.qplayer")

    def prepare(self, problem: Problem, threads: int) -> None:
        import torch

        super().prepare(problem, threads)
        self.infinity = torch.full((1,), 1e20, dtype=self.Sigma.dtype)

    def quadratic_program(self, m):
        from proxsuite.torch.qplayer import QPFunction

        solution, _, _ = QPFunction(structural_feasibility=True, omp_parallel=self.threads > 1)(
            self.Sigma, -m, self.empty, self.empty, self.ones, self.zero, self.infinity
        )
        return solution


PEERS: dict[str, type[TorchPeer]] = {
    "sharpen from PyTorch": Sharpen,
    "closed form, cholesky_solve": ClosedFormCholesky,
    "closed form, triangular solves": ClosedFormTriangular,
    "closed form, stored inverse": ClosedFormInverse,
    "CVXPYlayers, Clarabel": CvxpyLayersClarabel,
    "CVXPYlayers, SCS": CvxpyLayersScs,
    "qpth": Qpth,
    "ProxSuite QPLayer": ProxQp,
}
