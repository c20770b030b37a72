"""Sparse portfolios in a scikit-learn pipeline: transform, fit, choose k by time-series splits.

    python examples/sklearn_pipeline.py
"""

from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline

import sharpen


def main() -> None:
    prices = sharpen.simulate(assets=30, days=1000, seed=7, predictability=0.3)
    returns = prices.pct_change().iloc[1:]
    past, future = returns.iloc[:-250], returns.iloc[-250:]

    pipeline = Pipeline(
        [
            ("moving", VarianceThreshold(1e-8).set_output(transform="pandas")),
            ("portfolio", sharpen.SparseTangentPortfolio(transaction_costs=0.0005)),
        ]
    )
    grid = {"portfolio__cardinality": [3, 5, 10], "portfolio__shrinkage": [0.1, 0.5]}
    search = GridSearchCV(pipeline, grid, cv=TimeSeriesSplit(4)).fit(past)

    print("chosen by the past:", search.best_params_)
    portfolio = search.best_estimator_["portfolio"]
    names = portfolio.feature_names_in_
    for i in portfolio.support_:
        print(f"  {names[i]:<6} {portfolio.weights_[i]:+.3f}")
    print(f"Sharpe ratio a year, fitted:  {portfolio.sharpe_ * 252**0.5:.2f}")
    print(f"Sharpe ratio a year, future:  {search.score(future) * 252**0.5:.2f}")

    out_of_sample = sharpen.cross_val_predict(
        search.best_estimator_, returns, cv=TimeSeriesSplit(12)
    )
    ratio = out_of_sample.mean() / out_of_sample.std() * 252**0.5
    print(f"Sharpe ratio a year, refitted every {len(returns) // 13} days: {ratio:.2f}")
    print("The fitted ratio flatters: only the others are of days that no fit had seen.")


if __name__ == "__main__":
    main()
