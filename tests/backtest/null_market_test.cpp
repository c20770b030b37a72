// Markets whose expected returns are known: where they are all zero nothing may be earned, and
// where they are not, knowing them must pay.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::backtest {
namespace {

constexpr int kSeeds = 20;

struct Sample {
  double mean = 0.0, standard_error = 0.0;
};

Sample sample_of(const std::vector<double>& values) {
  double mean = 0.0, squares = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return {mean, std::sqrt(squares / (n - 1.0) / n)};
}

market::SimulatedMarket market_of(int seed, double predictability) {
  market::SimulationSettings s;
  s.assets = 10;
  s.days = 400;
  s.seed = static_cast<std::uint64_t>(seed);
  s.predictability = predictability;
  return market::simulate_market(s);
}

BacktestSettings settings_of(Framework framework, const std::string& optimizer) {
  BacktestSettings s;
  s.framework = framework;
  s.optimizer = optimizer;
  s.k = {.count = 3};
  s.lookback = {.count = 60, .all = false};
  s.split = framework == Framework::historic ? "40%" : "";
  s.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.006};
  s.bootstrap.replications = 10;
  return s;
}

struct Case {
  Framework framework;
  const char* optimizer;
};

class NullMarket : public ::testing::TestWithParam<Case> {};

TEST_P(NullMarket, PaysNothing) {
  std::vector<double> sharpes;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const market::Panel returns = market::simple_returns(market_of(seed, 0.0).prices);
    const BacktestResult result =
        backtest(returns, settings_of(GetParam().framework, GetParam().optimizer), Threads(1));
    ASSERT_TRUE(std::isfinite(result.metrics.sharpe));
    sharpes.push_back(result.metrics.sharpe);
  }
  const Sample sample = sample_of(sharpes);
  EXPECT_LE(std::abs(sample.mean), 2.5 * sample.standard_error);
  // Noise of the size that so many days have: the test could see a Sharpe ratio of 0.04 a day.
  EXPECT_LT(sample.standard_error, 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    All, NullMarket,
    ::testing::Values(Case{Framework::rolling, "oscar"}, Case{Framework::rolling, "swap"},
                      Case{Framework::historic, "symmetric"}, Case{Framework::historic, "swap"},
                      Case{Framework::rolling, "equal"}),
    [](const auto& tested) {
      return std::string(name(tested.param.framework)) + "_" + tested.param.optimizer;
    });

TEST(PredictableMarket, PaysWhoKnowsTheExpectedReturnsInTime) {
  std::vector<double> known, late;
  for (int seed = 1; seed <= 5; ++seed) {
    const market::SimulatedMarket simulated = market_of(seed, 0.3);
    const market::Panel returns = market::simple_returns(simulated.prices);
    // What was expected of row t + 1 stands under the date of row t.
    market::Panel signal = returns, stale = returns;
    const Index n = returns.n();
    for (Index t = 0; t < returns.rows(); ++t)
      for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(t * n + j);
        signal.values[at] = simulated.expected_matrix()(std::min(t + 1, returns.rows() - 1), j);
        stale.values[at] = simulated.expected_matrix()(std::max(t - 9, Index{0}), j);
      }
    const BacktestSettings s = settings_of(Framework::signal, "swap");
    known.push_back(backtest(returns, s, Threads(1), &signal).metrics.sharpe);
    late.push_back(backtest(returns, s, Threads(1), &stale).metrics.sharpe);
  }
  const Sample in_time = sample_of(known), too_late = sample_of(late);
  EXPECT_GT(in_time.mean, 5.0 * in_time.standard_error);
  EXPECT_GT(in_time.mean, 2.0 * std::abs(too_late.mean));
}

}  // namespace
}  // namespace sharpen::backtest
