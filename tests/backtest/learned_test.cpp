// What learned signals add to the engine: regret, and days that cannot be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "backtest/panels.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/learned.hpp"
#include "sharpen/base/error.hpp"
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

BacktestSettings small_training(Framework framework) {
  BacktestSettings s;
  s.framework = framework;
  s.k = {.count = 2, .percent = 0.0};
  s.lookback = {.count = 20, .all = false};
  s.split = date_of(60);
  s.training.hidden = {4};
  s.training.lookback = 20;
  s.training.batch = 8;
  s.training.train_block = 18;
  s.training.epochs = 1;
  s.training.ensemble = 2;
  s.bootstrap.replications = 10;
  return s;
}

void expect_same_bits(const BacktestResult& a, const BacktestResult& b) {
  EXPECT_EQ(a.run.returns, b.run.returns);
  EXPECT_EQ(a.run.weights, b.run.weights);
  EXPECT_EQ(a.metrics.sharpe, b.metrics.sharpe);
  EXPECT_EQ(a.statistics.interval.low, b.statistics.interval.low);
  ASSERT_EQ(a.regret.has_value(), b.regret.has_value());
  if (a.regret) {
    EXPECT_EQ(a.regret->mean, b.regret->mean);
  }
  EXPECT_EQ(a.trainings.size(), b.trainings.size());
  EXPECT_EQ(a.warnings, b.warnings);
}

TEST(Prepared, GivesTheBitsOfTheWholeBacktest) {
  const market::Panel panel = random_panel(120, 6, 5);
  BacktestSettings s = small_training(Framework::pfl);
  s.training.validation = 0.0;
  const Expectations remembered = expectations(panel, s, Threads(2));
  s.rules.rule = trade::Rule::none;
  const Expectations expected = expectations(panel, s, Threads(2));
  // One training serves every optimizer and k under the same rule.
  for (const char* optimizer : {"oscar", "swap", "mssrm"})
    for (const Index k : {1, 3}) {
      s.optimizer = optimizer;
      s.k.count = k;
      const backtest::Run oracle = hindsight_run(panel, s, Threads(1));
      expect_same_bits(backtest(panel, s, Prepared{&expected, &oracle}, Threads(1)),
                       backtest(panel, s, Threads(1)));
      EXPECT_THROW(backtest(panel, s, Prepared{&remembered, &oracle}, Threads(1)), InputError);
    }
  s.rules.rule = trade::Rule::cost;
  s.optimizer = "swap";
  expect_same_bits(backtest(panel, s, Prepared{&remembered, nullptr}, Threads(1)),
                   backtest(panel, s, Threads(1)));
  s.framework = Framework::rolling;
  expect_same_bits(backtest(panel, s, Prepared{}, Threads(1)), backtest(panel, s, Threads(1)));
}

TEST(TrainingSizing, IsTheNetworksAndNotThatOfWhatIsHeld) {
  const market::Panel panel = random_panel(120, 6, 5);
  BacktestSettings budget = small_training(Framework::dfl);
  budget.training.alpha = 0.5;
  budget.sizing.kind = layer::Sizing::budget;
  BacktestSettings volatility = budget;
  volatility.sizing.kind = layer::Sizing::volatility;
  BacktestSettings both = volatility;
  both.training_sizing = budget.sizing;
  const Expectations expected = expectations(panel, both, Threads(1));
  EXPECT_EQ(expected.values, expectations(panel, budget, Threads(1)).values);
  EXPECT_NE(expected.values, expectations(panel, volatility, Threads(1)).values);
  // The same signal held at one volatility.
  expect_same_bits(backtest(panel, both, Threads(1)),
                   backtest(panel, volatility, Prepared{&expected, nullptr}, Threads(1)));
}

TEST(Prepared, RefusesWhatWasPreparedForSomethingElse) {
  const market::Panel panel = random_panel(120, 6, 5);
  BacktestSettings s = small_training(Framework::dfl);
  const Expectations expected = expectations(panel, s, Threads(1));
  BacktestSettings later = s;
  later.split = date_of(70);
  EXPECT_THROW(backtest(panel, later, Prepared{&expected, nullptr}, Threads(1)), InputError);
  EXPECT_THROW(backtest(random_panel(120, 5, 5), s, Prepared{&expected, nullptr}, Threads(1)),
               InputError);
  const backtest::Run oracle = hindsight_run(panel, s, Threads(1));
  const auto refuses = [&](const auto& change) {
    backtest::Run other = oracle;
    change(other);
    EXPECT_THROW(backtest(panel, s, Prepared{&expected, &other}, Threads(1)), InputError);
  };
  refuses([](backtest::Run& run) { run.status.clear(); });
  refuses([](backtest::Run& run) { run.net.pop_back(); });
  refuses([](backtest::Run& run) { run.gross_returns.pop_back(); });
  refuses([](backtest::Run& run) { run.dates.back() += "x"; });
  refuses([](backtest::Run& run) { ++run.first_row; });
  refuses([&](backtest::Run& run) { run = hindsight_run(panel, later, Threads(1)); });
  s.framework = Framework::rolling;
  EXPECT_THROW(backtest(panel, s, Prepared{&expected, nullptr}, Threads(1)), InputError);
  EXPECT_THROW(expectations(panel, s, Threads(1)), InputError);
}

TEST(LearnedSignal, OfAWindowWithoutRiskIsInvalidWhateverTheEnsemble) {
  market::Panel panel = random_panel(120, 6, 5);
  for (Index t = 70; t < 100; ++t)  // longer than a window
    for (Index i = 0; i < 6; ++i) at(panel, t, i) = 0.0;
  BacktestSettings s = small_training(Framework::pfl);
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
  BacktestSettings s = small_training(Framework::pfl);
  s.gaps = true;
  s.k.count = 7;
  s.training.ensemble = 1;
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
