// The published opponents in a walk: nothing of the future reaches them, the number of threads
// reaches nothing, and what sdr carries from one decision to the next stays in its walk.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backtest/panels.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::kNaN;

struct BaselineCase {
  const char* optimizer;
  Framework framework = Framework::rolling;
  HistoricRisk risk = HistoricRisk::rolling;
  bool gaps = false;
};

std::string baseline_case_name(const ::testing::TestParamInfo<BaselineCase>& info) {
  std::string text = info.param.optimizer;
  for (char& c : text)
    if (c == '-') c = '_';
  return text + "_" + std::string(name(info.param.framework)) +
         (info.param.risk == HistoricRisk::train ? "_train" : "") +
         (info.param.gaps ? "_gaps" : "");
}

class BaselinePolicy : public ::testing::TestWithParam<BaselineCase> {
 protected:
  static constexpr Index kRows = 70, kAssets = 9;

  static market::Panel returns() {
    market::Panel panel = random_panel(kRows, kAssets, 29);
    if (!GetParam().gaps) return panel;
    for (Index t = 0; t < 35; ++t) at(panel, t, 3) = kNaN;
    for (Index t = 50; t < kRows; ++t) at(panel, t, 5) = kNaN;
    return panel;
  }
  static BacktestResult run(const market::Panel& panel, int threads) {
    BacktestSettings s;
    s.optimizer = GetParam().optimizer;
    s.framework = GetParam().framework;
    s.historic_risk = GetParam().risk;
    s.gaps = GetParam().gaps;
    s.k = {.count = 3, .percent = 0.0};
    s.lookback = {.count = 20, .all = false};
    s.min_history = 5;
    if (s.framework == Framework::historic) s.split = "40%";
    s.bootstrap.replications = 20;
    const market::Panel signal = random_panel(kRows, kAssets, 31);
    return backtest(panel, s, Threads(threads),
                    s.framework == Framework::signal ? &signal : nullptr);
  }
};

TEST_P(BaselinePolicy, HoldsAtMostKNamesAndDecidesEveryPeriod) {
  const BacktestResult result = run(returns(), 2);
  const bool long_only = std::string(GetParam().optimizer) == "mssrm-long";
  Index held = 0;
  for (Index p = 0; p < result.run.periods(); ++p) {
    const auto weights = result.run.weights_of(p);
    EXPECT_LE(weights.size(), 3u);
    held += !weights.empty();
    double total = 0.0;
    for (const Position& w : weights) {
      total += w.weight;
      EXPECT_TRUE(!long_only || w.weight > 0.0);
    }
    EXPECT_TRUE(!long_only || weights.empty() || std::abs(total - 1.0) < 1e-12) << total;
  }
  EXPECT_GT(held, result.run.periods() / 2);
  EXPECT_GT(result.run.iterations, 0);
}

TEST_P(BaselinePolicy, ThreadsChangeNothing) {
  const BacktestResult one = run(returns(), 1), four = run(returns(), 4);
  EXPECT_EQ(one.run.returns, four.run.returns);
  EXPECT_EQ(one.run.weights, four.run.weights);
  EXPECT_EQ(one.run.iterations, four.run.iterations);
  EXPECT_EQ(one.run.n_certified, four.run.n_certified);
}

TEST_P(BaselinePolicy, KnowsNothingOfTheFuture) {
  const market::Panel now = returns();
  constexpr Index kChanged = 52;
  market::Panel later = now;
  for (Index t = kChanged; t < kRows; ++t)
    for (Index j = 0; j < kAssets; ++j) at(later, t, j) = 0.03 * std::sin(double(t * kAssets + j));
  if (GetParam().gaps)
    for (Index t = kChanged; t < kRows; ++t) at(later, t, 5) = kNaN;
  const BacktestResult before = run(now, 1), after = run(later, 1);
  for (Index p = 0; before.run.first_row + p <= kChanged; ++p) {
    const auto a = before.run.weights_of(p), b = after.run.weights_of(p);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "period " << p;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, BaselinePolicy,
    ::testing::Values(BaselineCase{"mssrm-long"}, BaselineCase{"mssrm"}, BaselineCase{"sdr"},
                      BaselineCase{"mssrm-long", Framework::signal},
                      BaselineCase{"mssrm", Framework::signal},
                      BaselineCase{"sdr", Framework::signal},
                      BaselineCase{"mssrm-long", Framework::historic},
                      BaselineCase{"mssrm-long", Framework::historic, HistoricRisk::train},
                      BaselineCase{"mssrm", Framework::historic, HistoricRisk::train},
                      BaselineCase{"sdr", Framework::historic, HistoricRisk::train},
                      BaselineCase{"mssrm-long", Framework::rolling, HistoricRisk::rolling, true},
                      BaselineCase{"mssrm", Framework::rolling, HistoricRisk::rolling, true},
                      BaselineCase{"sdr", Framework::rolling, HistoricRisk::rolling, true}),
    baseline_case_name);

WalkSettings short_walk() {
  WalkSettings walk;
  walk.lookback = 20;
  walk.min_history = 10;
  return walk;
}

TEST(SdrPolicy, StartsColdWithEveryWalk) {
  const market::Panel panel = random_panel(40, 8, 5);
  solve::OptimizerSettings settings;
  settings.k = {.count = 3, .percent = 0.0};
  const OptimizerPolicy policy(std::make_unique<RollingMean>(), solve::optimizer_named("sdr"),
                               settings);
  EXPECT_TRUE(policy.sequential());
  const backtest::Run first = walk_forward(panel, policy, short_walk(), Threads(1));
  const backtest::Run second = walk_forward(panel, policy, short_walk(), Threads(1));
  EXPECT_EQ(first.weights, second.weights);
  EXPECT_EQ(first.iterations, second.iterations);
}

// The interior point method starts afresh with every problem, so each decision can be repeated
// alone.
TEST(SdrPolicy, KeepsTheKappaThatTheFirstDecisionOfASpellFound) {
  const market::Panel panel = random_panel(60, 8, 5);
  solve::OptimizerSettings settings;
  settings.k = {.count = 3, .percent = 0.0};
  settings.sdr_recovery = baseline::Recovery::match;
  settings.sdr_monthly = true;
  std::vector<Index> months;
  for (Index row = 0; row < panel.rows(); ++row) months.push_back(row / 7);
  const OptimizerPolicy policy(std::make_unique<RollingMean>(), solve::optimizer_named("sdr"),
                               settings, months);
  const backtest::Run run = walk_forward(panel, policy, short_walk(), Threads(1));

  Index spell = -1, kept = 0;
  double kappa = 0.0;
  for (Index p = 0; p < run.periods(); ++p) {
    const Index row = run.first_row + p - 1;  // of the decision
    const Index T = std::min<Index>(20, row + 1);
    const ConstMat window = panel.matrix().middle_rows(row + 1 - T, T);
    std::vector<double> mean(8, 0.0);
    for (Index t = 0; t < T; ++t)
      for (std::size_t j = 0; j < 8; ++j) mean[j] += window.row(t)[j] / static_cast<double>(T);
    const std::vector<Index> ends = {T};
    const auto risk = risk::from_windows(window, T, ends, {}, Threads(1));
    baseline::SdrSelectSettings select;
    select.k = 3;
    select.recovery = baseline::Recovery::match;
    baseline::SdrSelector selector(select, *risk);
    baseline::SdrPortfolio expected;
    if (row / 7 == spell) {
      selector.run_at(*risk, 0, mean, kappa, expected);
      EXPECT_EQ(expected.solves, 1);
      kept += expected.matched != 3 ? 1 : 0;
    } else {
      selector.run(*risk, 0, mean, expected);
      kappa = expected.kappa;
      spell = row / 7;
    }
    std::vector<Index> held;
    for (const Position& position : run.weights_of(p)) held.push_back(position.asset);
    EXPECT_EQ(held, expected.portfolio.support) << "period " << p;
  }
  EXPECT_GT(kept, 0) << "no decision would have looked for another kappa";
}

TEST(SdrPolicy, FindsKappaForTheFirstPeriodOfEachMonth) {
  const market::Panel panel = random_panel(90, 8, 5);
  BacktestSettings s;
  s.optimizer = "sdr";
  s.k = {.count = 3, .percent = 0.0};
  s.lookback = {.count = 20, .all = false};
  s.sdr_recovery = baseline::Recovery::match;
  s.bootstrap.replications = 10;
  const backtest::Run always = backtest(panel, s, Threads(1)).run;
  s.sdr_monthly = true;
  const backtest::Run monthly = backtest(panel, s, Threads(1)).run;
  const auto names = [](const backtest::Run& run, Index p) {
    std::vector<Index> held;
    for (const Position& position : run.weights_of(p)) held.push_back(position.asset);
    return held;
  };
  Index firsts = 0, others = 0;
  for (Index p = 0; p < monthly.periods(); ++p) {
    const auto month = [&](Index q) {
      return monthly.dates[static_cast<std::size_t>(q)].substr(0, 7);
    };
    const bool first = p == 0 || month(p) != month(p - 1);
    if (first) {
      ++firsts;
      EXPECT_EQ(names(monthly, p), names(always, p)) << "period " << p;
    } else if (names(monthly, p) != names(always, p)) {
      ++others;
    }
  }
  EXPECT_GE(firsts, 2);
  EXPECT_GT(others, 0);
}

OptimizerPolicy mssrm_long(Index k) {
  solve::OptimizerSettings settings;
  settings.k = {.count = k, .percent = 0.0};
  return {std::make_unique<RollingMean>(), solve::optimizer_named("mssrm-long"), settings};
}

TEST(MssrmLongPolicy, IsTheAlgorithmOnTheWindow) {
  const market::Panel panel = random_panel(40, 8, 6);
  const OptimizerPolicy policy = mssrm_long(3);
  const backtest::Run run = walk_forward(panel, policy, short_walk(), Threads(1));
  const ConstMat window = panel.matrix().middle_rows(19, 20);
  std::vector<double> mean(8);
  for (Index t = 0; t < 20; ++t)
    for (std::size_t j = 0; j < 8; ++j) mean[j] += window.row(t)[j];
  for (double& m : mean) m /= 20.0;
  baseline::MssrmLongResult expected;
  baseline::MssrmLong({.k = 3}, 8).run_on_window(window, mean, expected);
  const auto held = run.weights_of(run.periods() - 1);
  ASSERT_EQ(held.size(), expected.portfolio.support.size());
  for (const Position& p : held)
    EXPECT_EQ(p.weight, expected.portfolio.weights[static_cast<std::size_t>(p.asset)]);
}

TEST(MssrmLongPolicy, HoldsCashWhileEverythingFalls) {
  market::Panel panel = random_panel(30, 4, 7);
  for (double& r : panel.values) r = -std::abs(r) - 1e-4;
  const OptimizerPolicy policy = mssrm_long(2);
  const backtest::Run run = walk_forward(panel, policy, short_walk(), Threads(1));
  EXPECT_TRUE(run.weights.empty());
  for (const PeriodStatus status : run.status) EXPECT_EQ(status, PeriodStatus::no_signal);
}

TEST(MssrmLongPolicy, MoreNamesThanAssetsAreAll) {
  const market::Panel panel = random_panel(30, 4, 8);
  const OptimizerPolicy all = mssrm_long(4);
  const OptimizerPolicy more = mssrm_long(400);
  EXPECT_EQ(walk_forward(panel, all, short_walk(), Threads(1)).weights,
            walk_forward(panel, more, short_walk(), Threads(1)).weights);
}

}  // namespace
}  // namespace sharpen::backtest::testing
