// What a portfolio that knows the simulated market's expected returns earns: the ceiling for
// every predictor trained on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/simulate.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::backtest {
namespace {

struct Earned {
  double oracle = 0.0;   // Sharpe ratio a year
  double rolling = 0.0;  // of the window's own means
  double quiet = 0.0;    // share of the oracle's names with less than twice the least volatility
};

// The sparse tangent portfolio of each day, covariance from the 100 returns before it.
Earned earned(const market::SimulatedMarket& market, Index k) {
  constexpr Index lookback = 100;
  const market::Panel returns = market::simple_returns(market.prices);
  const ConstMat r = returns.matrix();
  std::vector<Index> ends(static_cast<std::size_t>(r.rows - lookback));
  std::iota(ends.begin(), ends.end(), lookback);
  risk::RiskSettings settings;
  settings.shrinkage = 0.1;
  settings.parts = {.lower = false, .root = false};
  const auto risk = risk::from_windows(r, lookback, ends, settings, Threads(1));
  select::Selector selector(
      {{.k = k,
        .sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.1 / std::sqrt(252.0)}},
       select::Optimizer::greedy},
      *risk);
  const double least = *std::min_element(market.volatilities.begin(), market.volatilities.end());
  select::Portfolio portfolio;
  std::vector<double> oracle, rolling, means(static_cast<std::size_t>(r.cols));
  double held = 0.0, quiet = 0.0;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    const auto earn = [&](ConstVec mu) {
      selector.run(*risk, static_cast<Index>(s), mu, portfolio);
      return std::inner_product(portfolio.weights.begin(), portfolio.weights.end(),
                                r.row(ends[s]).begin(), 0.0);
    };
    oracle.push_back(earn(market.expected_matrix().row(ends[s])));
    for (const Index i : portfolio.support) {
      held += 1.0;
      quiet += market.volatilities[static_cast<std::size_t>(i)] < 2.0 * least;
    }
    std::fill(means.begin(), means.end(), 0.0);
    for (Index t = ends[s] - lookback; t < ends[s]; ++t)
      for (Index i = 0; i < r.cols; ++i) means[static_cast<std::size_t>(i)] += r(t, i) / lookback;
    rolling.push_back(earn(means));
  }
  const double year = std::sqrt(252.0);
  return {sharpe_ratio(oracle) * year, sharpe_ratio(rolling) * year, quiet / held};
}

TEST(SimulatedOracle, EarnsThreeToFiveAYearAndLivesOnTheQuietAssets) {
  double five = 0.0, ten = 0.0, rolling = 0.0, quiet = 0.0;
  constexpr int seeds = 2;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const market::SimulatedMarket market = market::simulate_market({.days = 800, .seed = seed});
    const Earned at_five = earned(market, 5), at_ten = earned(market, 10);
    five += at_five.oracle / seeds;
    ten += at_ten.oracle / seeds;
    rolling += at_five.rolling / seeds;
    quiet += at_five.quiet / seeds;
  }
  EXPECT_GT(five, 3.0);
  EXPECT_GT(ten, five);
  EXPECT_LT(ten, 6.5);
  EXPECT_LT(rolling, 1.5);  // past means know little of it
  EXPECT_GT(quiet, 0.7);    // they are half of the assets
}

TEST(SimulatedOracle, HasNothingToKnowInANullMarket) {
  const market::SimulatedMarket market =
      market::simulate_market({.assets = 20, .days = 150, .predictability = 0.0});
  EXPECT_TRUE(std::isnan(earned(market, 2).oracle));  // always cash
}

}  // namespace
}  // namespace sharpen::backtest
