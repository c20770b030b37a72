"""What the layer costs from PyTorch: against C++ alone, and against the closed form in PyTorch.

    build/venv/bin/python python/bench/torch_bench.py [THREADS]

Checks that all agree first, then times them in turn. Prints, for every number with a bound,
`bench: NAME VALUE BOUND ok|short`.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any, Callable

import numpy as np
import torch

import sharpen
from sharpen import _core
from sharpen.torch import Risk, SparseTangent


def soft_topk(x: torch.Tensor, k: int, beta: float) -> torch.Tensor:
    """sigmoid(beta (x + tau)) with rows that add up to k; bisection, then one Newton step that
    carries the gradient."""
    with torch.no_grad():
        low = -x.max(1, keepdim=True).values - 40.0 / beta
        high = -x.min(1, keepdim=True).values + 40.0 / beta
        for _ in range(50):
            middle = (low + high) / 2
            over = torch.sigmoid(beta * (x + middle)).sum(1, keepdim=True) > k
            high, low = torch.where(over, middle, high), torch.where(over, low, middle)
        tau = (low + high) / 2
        p = torch.sigmoid(beta * (x + tau))
        slope = (beta * p * (1 - p)).sum(1, keepdim=True)
    total = torch.sigmoid(beta * (x + tau)).sum(1, keepdim=True)
    return torch.sigmoid(beta * (x + tau - (total - k) / slope))


class ClosedForm(torch.nn.Module):
    """The same layer (cholesky score, masked, gross sizing) in batched PyTorch, by a stored
    inverse or by cholesky_solve."""

    def __init__(self, Sigma: torch.Tensor, k: int, beta: float, stored: bool) -> None:
        super().__init__()
        self.k, self.beta, self.stored = k, beta, stored
        self.L = torch.linalg.cholesky(Sigma)
        self.inverse = torch.linalg.inv(Sigma)
        self.L_inverse = torch.linalg.inv(self.L)
        ones = torch.ones(Sigma.shape[0], Sigma.shape[1], dtype=Sigma.dtype)
        self.b = self.solve(ones)
        self.A = self.b.sum(1, keepdim=True)

    def solve(self, m: torch.Tensor) -> torch.Tensor:
        if self.stored:
            return torch.bmm(self.inverse, m.unsqueeze(2)).squeeze(2)
        return torch.cholesky_solve(m.unsqueeze(2), self.L).squeeze(2)

    def project(self, mu: torch.Tensor) -> torch.Tensor:
        B = (self.b * mu).sum(1, keepdim=True)
        return torch.where(B > 0, mu, mu - B / self.A)

    def forward(self, mu: torch.Tensor) -> torch.Tensor:
        m = self.project(mu).unsqueeze(2)
        if self.stored:
            z = torch.bmm(self.L_inverse, m)
        else:
            z = torch.linalg.solve_triangular(self.L, m, upper=False)
        s = z.squeeze(2).abs()
        x = s * (s.shape[1] ** 0.5) / s.norm(dim=1, keepdim=True)
        a = self.solve(self.project(soft_topk(x, self.k, self.beta) * mu))
        return a / a.abs().sum(1, keepdim=True)


def both_ways(call: Callable[[torch.Tensor], torch.Tensor], mu: torch.Tensor, g: torch.Tensor) -> Any:
    mu = mu.detach().requires_grad_()
    w = call(mu)
    w.backward(g)
    return w.detach(), mu.grad


def in_turn(*calls: Callable[[], Any], seconds: float = 3.0) -> list[float]:
    """The median time of each in microseconds, called one after the other."""
    times: list[list[int]] = [[] for _ in calls]
    for call in calls:
        for _ in range(3):
            call()
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or len(times[0]) < 20:
        for call, taken in zip(calls, times):
            start = time.perf_counter_ns()
            call()
            taken.append(time.perf_counter_ns() - start)
    return [statistics.median(taken) / 1e3 for taken in times]


def report(name: str, value: float, bound: float, most: bool) -> None:
    kept = value <= bound if most else value >= bound
    sign = "<=" if most else ">="
    print(f"bench: {name} {value:.3g} {sign}{bound:g} {'ok' if kept else 'short'}")


def call_overhead() -> None:
    """B = 1, n = 20: what Python, PyTorch and its autograd add to the C++ calls."""
    returns = np.random.default_rng(0).normal(4e-4, 0.01, (200, 20))
    risk = Risk.from_windows(returns, 60)[3]
    layer = SparseTangent(4)
    mu = torch.randn(1, 20, dtype=torch.float64, requires_grad=True)
    g, out = torch.ones(1, 20, dtype=torch.float64), torch.empty(1, 20, dtype=torch.float64)
    threads, (key, texts) = layer.threads, layer._layer
    core = risk._model.layer((key, threads), texts, threads)
    samples = risk._index

    def direct() -> None:
        done = _core.forward(core, mu.data_ptr(), out.data_ptr(), samples.data_ptr(), 1)
        done.vjp(g.data_ptr(), out.data_ptr())

    def direct_forward() -> None:
        _core.forward(core, mu.data_ptr(), out.data_ptr(), samples.data_ptr(), 1)

    forward, both, core_forward, core_both = in_turn(
        lambda: layer(mu, risk), lambda: layer(mu, risk).backward(g), direct_forward, direct
    )
    print(f"B = 1, n = 20: forward {forward:.1f} us, of it C++ {core_forward:.1f}; "
          f"forward and backward {both:.1f} us, of it C++ {core_both:.1f}")
    report("python_call_overhead_us", forward - core_forward, 30, True)
    report("python_call_overhead_with_backward_us", both - core_both, 30, True)


def against_the_closed_form(n: int, batch: int) -> tuple[float, float]:
    returns = np.random.default_rng(n).normal(4e-4, 0.01, (2 * n + batch, n))
    lookback, k, beta = 2 * n, max(1, n // 10), 5.0
    Sigmas = []
    for i in range(batch):
        S = np.cov(returns[i : i + lookback].T)
        Sigmas.append(0.9 * S + 0.1 * np.trace(S) / n * np.eye(n))
    Sigma = torch.from_numpy(np.array(Sigmas))
    risk = Risk.from_covariance(Sigma, score="cholesky")
    layer = SparseTangent(k, beta, score="cholesky", reoptimization="masked", sizing="gross")
    torch.manual_seed(0)
    mu = torch.randn(batch, n, dtype=torch.float64)
    g = torch.randn(batch, n, dtype=torch.float64)
    peers = [ClosedForm(Sigma, k, beta, stored) for stored in (True, False)]

    w, gradient = both_ways(lambda m: layer(m, risk), mu, g)
    for peer in peers:
        w_peer, gradient_peer = both_ways(peer, mu, g)
        if not torch.allclose(w, w_peer, atol=1e-9) or not torch.allclose(
            gradient, gradient_peer, rtol=1e-5, atol=1e-7 * float(gradient.abs().max())
        ):
            sys.exit(f"the layer and the closed form disagree at n = {n}, B = {batch}")

    threads, (key, texts) = layer.threads, layer._layer
    core = risk._model.layer((key, threads), texts, threads)
    out, samples = torch.empty_like(mu), risk._index

    def direct() -> None:
        done = _core.forward(core, mu.data_ptr(), out.data_ptr(), samples.data_ptr(), batch)
        done.vjp(g.data_ptr(), out.data_ptr())

    ours, stored, solved, alone = in_turn(
        lambda: both_ways(lambda m: layer(m, risk), mu, g),
        lambda: both_ways(peers[0], mu, g),
        lambda: both_ways(peers[1], mu, g),
        direct,
    )
    print(f"n = {n:3}, B = {batch:2}: layer {ours:8.1f} us, C++ alone {alone:8.1f}, closed form "
          f"{stored:9.1f} (inverse) {solved:9.1f} (cholesky_solve)")
    return min(stored, solved) / ours, ours / alone


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else torch.get_num_threads()
    sharpen.set_threads(threads)
    torch.set_num_threads(threads)
    print(f"sharpen {sharpen.__version__}, PyTorch {torch.__version__}, {threads} threads")
    call_overhead()
    worst = min(against_the_closed_form(n, b)[0] for n in (20, 50, 100, 200) for b in (1, 64))
    report("torch_layer_speed_vs_closed_form", worst, 2, False)


if __name__ == "__main__":
    main()
