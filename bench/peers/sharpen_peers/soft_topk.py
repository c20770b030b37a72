"""The mask in PyTorch, batched: p = sigmoid(beta (x + tau)) with sum p = k in every row.

tau by Newton's method on the logarithm of the odds sum(p) : n - sum(p), which is nearly straight in
tau, inside a bracket; backward by the implicit function theorem, v = beta p (1 - p):

    dL/dx = g v - (<g, v> / sum v) v
"""

from __future__ import annotations

import math

import torch


def mask_of(x: torch.Tensor, k: int, beta: float) -> torch.Tensor:
    """p (B, n) of scores x (B, n), no gradient."""
    n = x.shape[1]
    target = math.log(k / (n - k))
    low = target / beta - x.amax(dim=1, keepdim=True)
    high = target / beta - x.amin(dim=1, keepdim=True)
    tau = target / beta - x.mean(dim=1, keepdim=True)
    for _ in range(100):
        p = torch.sigmoid(beta * (x + tau))
        total = p.sum(dim=1, keepdim=True)
        miss = total - k
        if float(miss.abs().amax()) <= 1e-12 * k:
            break
        low = torch.where(miss < 0, tau, low)
        high = torch.where(miss < 0, high, tau)
        slope = beta * (p * (1.0 - p)).sum(dim=1, keepdim=True)
        step = (torch.log(total / (n - total)) - target) * total * (n - total) / (n * slope)
        newton = tau - step
        inside = (newton > low) & (newton < high)
        tau = torch.where(inside, newton, 0.5 * (low + high))
    return p


class SoftTopK(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, k: int, beta: float) -> torch.Tensor:
        p = mask_of(x, k, beta)
        ctx.save_for_backward(p)
        ctx.beta = beta
        return p

    @staticmethod
    def backward(ctx, g: torch.Tensor):
        (p,) = ctx.saved_tensors
        v = ctx.beta * p * (1.0 - p)
        gv = g * v
        ratio = gv.sum(dim=1, keepdim=True) / v.sum(dim=1, keepdim=True)
        return gv - ratio * v, None, None
