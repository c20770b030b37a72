// What the contracts promise of every framework with every optimizer: nothing after a day reaches
// the weights up to it, and the number of threads reaches nothing at all.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "backtest/panels.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::kNaN;

struct Case {
  Framework framework;
  const char* optimizer;
  HistoricRisk risk = HistoricRisk::rolling;
  bool gaps = false;
  learn::NetworkKind network = learn::NetworkKind::joint;
  std::int64_t retrain = 0;
};

// A training of a second or less.
learn::TrainSettings small_training() {
  learn::TrainSettings t;
  t.hidden = {8, 4};
  t.lookback = 20;
  t.batch = 8;
  t.train_block = 18;
  t.epochs = 3;
  t.ensemble = 2;
  return t;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return std::string(name(info.param.framework)) + "_" + info.param.optimizer +
         (info.param.risk == HistoricRisk::train ? "_train" : "") +
         (info.param.gaps ? "_gaps" : "") +
         (learns(info.param.framework) ? "_" + std::string(name(info.param.network)) : "") +
         (info.param.retrain > 0 ? "_retrained" : "");
}

class EveryPolicy : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr Index kRows = 120, kAssets = 14;

  static market::Panel returns() {
    market::Panel panel = random_panel(kRows, kAssets, 23);
    if (!GetParam().gaps) return panel;
    for (Index t = 0; t < 50; ++t) at(panel, t, 3) = kNaN;
    for (Index t = 80; t < kRows; ++t) at(panel, t, 5) = kNaN;
    return panel;
  }
  static BacktestSettings settings() {
    BacktestSettings s;
    s.framework = GetParam().framework;
    s.optimizer = GetParam().optimizer;
    s.historic_risk = GetParam().risk;
    s.gaps = GetParam().gaps;
    s.k = {.count = 0, .percent = 30.0};
    s.lookback = {.count = 20, .all = false};
    s.min_history = 5;
    s.account.cost_bps.number = 10.0;
    if (s.framework == Framework::historic) s.split = "40%";
    if (learns(s.framework)) {
      s.split = "45%";
      s.min_history = std::nullopt;
      s.training = small_training();
      s.training.network = GetParam().network;
      s.retrain = GetParam().retrain;
    }
    s.bootstrap.replications = 50;
    return s;
  }
  static BacktestResult run(const market::Panel& panel, const market::Panel& signal,
                            const BacktestSettings& s, int threads = 1) {
    const bool given = s.framework == Framework::signal;
    return backtest(panel, s, Threads(threads), given ? &signal : nullptr);
  }
};

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_same(const BacktestResult& a, const BacktestResult& b) {
  ASSERT_EQ(a.run.periods(), b.run.periods());
  EXPECT_EQ(a.run.weights, b.run.weights);
  EXPECT_EQ(a.run.status, b.run.status);
  EXPECT_EQ(a.run.returns, b.run.returns);
  EXPECT_EQ(a.run.costs, b.run.costs);
  EXPECT_EQ(a.delayed_returns, b.delayed_returns);
  EXPECT_EQ(a.equal_returns, b.equal_returns);
  EXPECT_TRUE(same_bits(a.metrics.sharpe, b.metrics.sharpe));
  EXPECT_TRUE(same_bits(a.statistics.interval.low, b.statistics.interval.low));
}

TEST_P(EveryPolicy, SeesNothingAfterTheDecision) {
  const market::Panel panel = returns();
  const market::Panel signal = random_panel(kRows, kAssets, 29);
  const BacktestResult whole = run(panel, signal, settings());
  for (const Index d : {Index{60}, Index{75}, Index{110}}) {
    // Every return and every prediction after row d changes; gaps stay where they are.
    market::Panel other = panel, later = signal;
    for (Index t = d + 1; t < kRows; ++t)
      for (Index j = 0; j < kAssets; ++j) {
        at(other, t, j) = -0.5 * at(other, t, j) + 0.001 * static_cast<double>(j % 3);
        at(later, t, j) += 1.0;
      }
    const BacktestResult changed = run(other, later, settings());
    // Weights held over row d + 1 were decided at the end of row d.
    const Index last = d + 1 - whole.run.first_row;
    ASSERT_GT(last, 0);
    for (Index p = 0; p <= last; ++p) {
      const auto a = whole.run.weights_of(p), b = changed.run.weights_of(p);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "period " << p;
      if (p < last) {
        EXPECT_EQ(whole.run.returns[static_cast<std::size_t>(p)],
                  changed.run.returns[static_cast<std::size_t>(p)]);
      }
    }
    EXPECT_NE(whole.run.returns[static_cast<std::size_t>(last)],
              changed.run.returns[static_cast<std::size_t>(last)])
        << "the change must be felt, or this test says nothing";
  }
}

// Nobody knows that an asset will end, or that the data will.
TEST_P(EveryPolicy, SeesNoEndBeforeItComes) {
  const market::Panel panel = returns(), signal = random_panel(kRows, kAssets, 29);
  BacktestSettings s = settings();
  if (!s.split.empty()) s.split = date_of(48);  // a share would move with the end
  const BacktestResult whole = run(panel, signal, s);
  const auto expect_same_up_to = [&](const market::Panel& other, Index d) {
    const BacktestResult changed = run(other, signal, s);
    for (Index p = 0; p <= d + 1 - whole.run.first_row; ++p) {
      const auto a = whole.run.weights_of(p), b = changed.run.weights_of(p);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "period " << p;
    }
  };
  for (const Index d : {Index{60}, Index{79}, Index{110}}) {
    market::Panel shorter = panel;
    shorter.dates.resize(static_cast<std::size_t>(d + 2));
    shorter.values.resize(static_cast<std::size_t>((d + 2) * kAssets));
    expect_same_up_to(shorter, d);
    if (!GetParam().gaps) continue;
    market::Panel ended = panel;
    for (Index t = d + 1; t < kRows; ++t)
      for (Index j = 0; j < kAssets; j += 2) at(ended, t, j) = kNaN;
    expect_same_up_to(ended, d);
  }
}

TEST_P(EveryPolicy, HasEqualBitsForAnyNumberOfThreads) {
  const market::Panel panel = returns(), signal = random_panel(kRows, kAssets, 29);
  const BacktestResult one = run(panel, signal, settings());
  for (const int threads : {2, 3, 8}) expect_same(one, run(panel, signal, settings(), threads));
}

// A decision that does not look at the account is the same whatever other decisions are made: with
// fewer of them, batches fall differently. Its signal has a memory of every row all the same.
TEST_P(EveryPolicy, DoesNotDependOnWhereBatchesBegin) {
  const market::Panel panel = returns(), signal = random_panel(kRows, kAssets, 29);
  BacktestSettings s = settings();
  s.rules = {.rule = trade::Rule::none, .memory = 2};
  const BacktestResult whole = run(panel, signal, s);
  for (const std::int64_t every : {3, 7, 50}) {
    s.rebalance = every;
    const BacktestResult part = run(panel, signal, s);
    ASSERT_EQ(part.run.first_row, whole.run.first_row);
    for (Index p = 0; p < part.run.periods(); p += every) {
      const auto a = whole.run.weights_of(p), b = part.run.weights_of(p);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "period " << p;
    }
  }
}

TEST_P(EveryPolicy, HoldsAtMostKNamesOfTheDay) {
  const BacktestResult result = run(returns(), random_panel(kRows, kAssets, 29), settings());
  const bool equal = std::string(GetParam().optimizer) == "equal";
  for (Index p = 0; p < result.run.periods(); ++p) {
    const auto held = static_cast<Index>(result.run.weights_of(p).size());
    if (!equal) {
      EXPECT_LE(held, 4);
    }  // 30 % of 14, 13 or 12 assets is 4
    EXPECT_EQ(static_cast<double>(held), result.run.holdings[static_cast<std::size_t>(p)]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryPolicy,
    ::testing::Values(Case{Framework::rolling, "oscar"}, Case{Framework::rolling, "symmetric"},
                      Case{Framework::rolling, "greedy"}, Case{Framework::rolling, "swap"},
                      Case{Framework::rolling, "equal"}, Case{Framework::historic, "oscar"},
                      Case{Framework::historic, "symmetric"}, Case{Framework::historic, "greedy"},
                      Case{Framework::historic, "swap"}, Case{Framework::historic, "equal"},
                      Case{Framework::historic, "oscar", HistoricRisk::train},
                      Case{Framework::historic, "swap", HistoricRisk::train},
                      Case{Framework::signal, "oscar"}, Case{Framework::signal, "symmetric"},
                      Case{Framework::signal, "greedy"}, Case{Framework::signal, "swap"},
                      Case{Framework::signal, "equal"}, Case{Framework::rolling, "pairs"},
                      Case{Framework::rolling, "exact"},
                      Case{Framework::rolling, "swap", HistoricRisk::rolling, true},
                      Case{Framework::rolling, "oscar", HistoricRisk::rolling, true},
                      Case{Framework::rolling, "equal", HistoricRisk::rolling, true},
                      Case{Framework::signal, "symmetric", HistoricRisk::rolling, true},
                      Case{Framework::pfl, "swap"}, Case{Framework::dfl, "swap"},
                      Case{.framework = Framework::dfl, .optimizer = "oscar", .retrain = 15},
                      Case{.framework = Framework::dfl,
                           .optimizer = "symmetric",
                           .network = learn::NetworkKind::shared},
                      Case{.framework = Framework::pfl,
                           .optimizer = "greedy",
                           .gaps = true,
                           .network = learn::NetworkKind::shared,
                           .retrain = 20}),
    case_name);

// The low-rank form shares one band of products among the windows of a batch.
TEST(Batches, GiveTheBitsOfSingleDecisionsInTheLowRankForm) {
  const market::Panel panel = random_panel(90, 80, 31);
  BacktestSettings s;
  s.optimizer = "oscar";
  s.form = risk::Form::low_rank;
  s.lookback = {.count = 15, .all = false};
  s.bootstrap.replications = 10;
  const BacktestResult whole = backtest(panel, s, Threads(2));
  s.rebalance = 100;
  for (const Index row : {20, 33, 77}) {
    s.split = date_of(row);
    const BacktestResult one = backtest(panel, s, Threads(1));
    const auto a = whole.run.weights_of(row - whole.run.first_row), b = one.run.weights_of(0);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << row;
  }
}

}  // namespace
}  // namespace sharpen::backtest::testing
