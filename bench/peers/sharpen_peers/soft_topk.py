"""The mask in PyTorch, batched: p = sigmoid(beta (x + tau)) with sum p = k in every row.

tau by Newton's method on log S_out - log S_in = 0, where S_out sums p over all but the k largest
scores and S_in sums 1 - p over those: nearly straight in tau, so that four or five steps from
midway between the k-th and the next score are enough (plain Newton on sum p = k, or bisection,
takes dozens of passes). Backward by the implicit function theorem, v = beta p (1 - p):

    dL/dx = g v - (<g, v> / sum v) v
"""

from __future__ import annotations

import torch


def mask_of(x: torch.Tensor, k: int, beta: float) -> torch.Tensor:
    """p (B, n) of scores x (B, n) without ties, no gradient."""
    scaled = beta * x
    largest = torch.topk(scaled, k + 1, dim=1).values
    inside = largest[:, :k]
    outside = scaled.masked_fill(scaled >= largest[:, k - 1 : k], -torch.inf)
    tau = -0.5 * (largest[:, k - 1 : k] + largest[:, k:])
    for _ in range(50):
        p = torch.sigmoid(outside + tau)
        q = torch.sigmoid(-inside - tau)
        S_out, S_in = p.sum(dim=1, keepdim=True), q.sum(dim=1, keepdim=True)
        if float((S_out - S_in).abs().amax()) <= 1e-10 * k:
            return torch.sigmoid(scaled + tau)
        slope_out = 1.0 - torch.linalg.vecdot(p, p).unsqueeze(1) / S_out
        slope_in = 1.0 - torch.linalg.vecdot(q, q).unsqueeze(1) / S_in
        tau = tau - torch.log(S_out / S_in) / (slope_out + slope_in)
    raise RuntimeError("the mask did not converge")


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
