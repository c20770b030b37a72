"""A PyTorch model of one's own, trained through the layer: what it learns is to decide.

    python examples/torch_predictor.py

The market is simulated, so that there is something to learn and the answer is known. The model
looks at the last 25 returns of every asset and shares its weights between assets; the layer turns
what it expects into a portfolio of at most k names, and the gradient of the portfolio's return
flows back through selection and optimisation. The exact portfolios of both ways of training are
then held over days that neither has seen. One market and one seed prove nothing: sharpen.study is
for that.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sharpen
from sharpen.torch import Risk, SparseTangent, mixed_loss

LOOKBACK, K, TEST = 25, 4, 400


class Predictor(nn.Module):
    """(B, T, n) windows to (B, n) expected returns, every asset by itself."""

    def __init__(self, lookback: int, unit: float) -> None:
        super().__init__()
        self.unit = unit
        self.network = nn.Sequential(nn.Linear(lookback, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        x = windows.transpose(1, 2) / self.unit  # (B, n, T)
        return 0.1 * self.unit * self.network(x).squeeze(-1)


def train(risk: Risk, alpha: float, epochs: int = 8) -> Predictor:
    """alpha = 0 only predicts; else half of the gradient at mu comes from the decision, after a
    first epoch of prediction."""
    torch.manual_seed(0)
    windows, targets = risk.windows.float(), risk.targets.float()
    model = Predictor(LOOKBACK, float(windows.std()))
    layer = SparseTangent(k=K, beta=5.0)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    samples = TensorDataset(windows, targets, torch.arange(len(risk)))
    for epoch in range(epochs):
        share = alpha if epoch > 0 else 0.0
        for x, r, i in DataLoader(samples, batch_size=64, shuffle=True):
            mu = model(x)
            w = layer(mu, risk[i])
            loss = mixed_loss(mu, w, r, share, mixing="balanced") / model.unit**2
            adam.zero_grad()
            loss.backward()
            adam.step()
    return model


def main() -> None:
    prices = sharpen.simulate(assets=20, days=1500, seed=2, predictability=0.4)
    returns = prices.pct_change().iloc[1:]
    risk = Risk.from_windows(returns, LOOKBACK)
    training, test = risk[:-TEST], risk[-TEST:]
    layer = SparseTangent(k=K, sizing="volatility", target_volatility=0.10)

    print(f"{len(training)} days to train on, {len(test)} to test on, {risk.n} assets, k = {K}\n")
    print("trained to   Sharpe ratio a year, test days")
    for name, alpha in (("predict", 0.0), ("decide", 0.5)):
        model = train(training, alpha)
        with torch.no_grad():
            mu = model(test.windows.float()).double()
        w = layer.decide(mu, test, optimizer="swap")  # at most k names, exactly
        assert int((w != 0).sum(dim=1).max()) <= K
        earned = (w * test.targets).sum(dim=1)
        print(f"{name:<12} {float(earned.mean() / earned.std()) * 252**0.5:.2f}")


if __name__ == "__main__":
    main()
