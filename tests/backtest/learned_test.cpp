// What learned signals add to the engine: regret, and days that cannot be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "backtest/panels.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/learned.hpp"
#include "sharpen/learn/train.hpp"

namespace sharpen::backtest::testing {
namespace {

Run run_of(std::vector<double> gross, std::vector<double> net, std::vector<PeriodStatus> status,
           double risk_free) {
  Run run;
  run.dates.resize(gross.size());
  run.gross_returns = std::move(gross);
  run.net = std::move(net);
  run.status = std::move(status);
  run.risk_free = risk_free;
  return run;
}

TEST(Regret, IsWhatForesightEarnsMoreOnItsDecisions) {
  using enum PeriodStatus;
  const double f = 0.001;
  // r'w is the gross return without what cash earned: (1 - net) f. The second period has no
  // decision, and the run ends one period before the oracle's.
  const backtest::Run run = run_of({0.010, 0.5, -0.020}, {1.0, 1.0, 0.5}, {ok, held, ok}, f);
  const backtest::Run oracle =
      run_of({0.030, 0.9, 0.040, 7.0}, {0.0, 1.0, 1.0, 1.0}, {ok, held, ok, ok}, f);
  const Regret found = regret(run, oracle);
  EXPECT_NEAR(found.oracle, ((0.030 - f) + 0.040) / 2.0, 1e-15);
  EXPECT_NEAR(found.mean, ((0.030 - f - 0.010) + (0.040 - (-0.020 - 0.5 * f))) / 2.0, 1e-15);
  EXPECT_NEAR(found.relative(), found.mean / found.oracle, 1e-15);
}

TEST(LearnedSignal, OfAWindowWithoutRiskIsInvalidWhateverTheEnsemble) {
  market::Panel panel = random_panel(120, 6, 5);
  for (Index t = 70; t < 100; ++t)  // longer than a window
    for (Index i = 0; i < 6; ++i) at(panel, t, i) = 0.0;
  BacktestSettings s;
  s.framework = Framework::pfl;
  s.k = {.count = 2, .percent = 0.0};
  s.lookback = {.count = 20, .all = false};
  s.split = date_of(60);
  s.training.hidden = {4};
  s.training.lookback = 20;
  s.training.batch = 8;
  s.training.epochs = 1;
  s.bootstrap.replications = 10;
  for (const Index members : {1, 3}) {
    s.training.ensemble = members;
    const BacktestResult result = backtest(panel, s, Threads(1));
    const Index flat = 95 - result.run.first_row;
    EXPECT_EQ(result.run.status[static_cast<std::size_t>(flat)], PeriodStatus::invalid_input)
        << members;
    EXPECT_FALSE(result.warnings.empty());
  }
}

TEST(LearnedSignal, GivesAnAssetThatTrainingLackedTheUnitOfTheOthers) {
  market::Panel panel = random_panel(140, 7, 5);
  for (Index t = 0; t < 70; ++t) at(panel, t, 2) = std::nan("");
  BacktestSettings s;
  s.framework = Framework::pfl;
  s.gaps = true;
  s.k = {.count = 7, .percent = 0.0};
  s.lookback = {.count = 20, .all = false};
  s.split = date_of(60);
  s.training.hidden = {4};
  s.training.lookback = 20;
  s.training.batch = 8;
  s.training.epochs = 1;
  s.training.ensemble = 1;
  s.bootstrap.replications = 10;
  const BacktestResult result = backtest(panel, s, Threads(1));
  const auto holds = [&](Index row) {
    for (const Position& position : result.run.weights_of(row - result.run.first_row))
      if (position.asset == 2) return true;
    return false;
  };
  EXPECT_FALSE(holds(85));  // its window still has a gap
  EXPECT_TRUE(holds(95));
}

}  // namespace
}  // namespace sharpen::backtest::testing
