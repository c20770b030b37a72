// The engine against an account kept by hand: drift, costs, cash, gaps, ruin.
#include "sharpen/backtest/walk_forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "backtest/panels.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::kNaN;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Weights that depend on the last row of the window: long what rose, short what fell.
class Follow : public Policy {
 public:
  explicit Follow(double scale) : scale_(scale) {}
  Index least_history() const override { return 1; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override {
    for (Index i = 0; i < batch.size(); ++i) {
      Decision& decision = out[static_cast<std::size_t>(i)];
      decision.outcome.status = Status::ok;
      decision.positions.clear();
      for (std::size_t j = 0; j < batch.assets.size(); ++j)
        decision.positions.push_back(
            {batch.assets[j],
             scale_ * batch.returns(batch.end(i) - 1, static_cast<Index>(j)) * 10.0});
    }
  }

 private:
  double scale_;
};

// Always the same weights.
class Fixed : public Policy {
 public:
  explicit Fixed(std::vector<double> weights) : weights_(std::move(weights)) {}
  Index least_history() const override { return 0; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override {
    for (Decision& decision : out) {
      decision.outcome.status = Status::ok;
      for (const Index asset : batch.assets)
        decision.positions.push_back({asset, weights_[static_cast<std::size_t>(asset)]});
    }
  }

 private:
  std::vector<double> weights_;
};

WalkSettings walk_with(Index lookback, Index min_history) {
  WalkSettings walk;
  walk.lookback = lookback;
  walk.min_history = min_history;
  return walk;
}

double weight_in(const Run& run, Index period, Index asset) {
  for (const Position& held : run.weights_of(period))
    if (held.asset == asset) return held.weight;
  return 0.0;
}

// Money instead of weights: the account starts with 1, buys shares worth w V, and counts what it
// has after each row. Costs are paid from its cash.
TEST(WalkForward, AgreesWithAnAccountKeptInMoney) {
  const Index rows = 60, n = 4;
  const market::Panel panel = random_panel(rows, n, 3);
  for (const Index every : {1, 3, 7}) {
    WalkSettings walk = walk_with(5, 5);
    walk.rebalance = every;
    walk.costs = costs_of(25.0, panel);
    walk.risk_free = 0.0003;
    const auto run = walk_forward(panel, Follow(2.0), walk, Threads(1));
    ASSERT_EQ(run.periods(), rows - 5);

    std::vector<double> money(static_cast<std::size_t>(n), 0.0);
    double cash = 1.0;
    for (Index p = 0; p < run.periods(); ++p) {
      const Index row = 5 + p;
      double before = cash;
      for (const double m : money) before += m;
      double turnover = 0.0;
      if (p % every == 0) {
        double invested = 0.0;
        for (Index j = 0; j < n; ++j) {
          const double w = 2.0 * panel.matrix()(row - 1, j) * 10.0;
          turnover += std::abs(w - money[static_cast<std::size_t>(j)] / before);
          money[static_cast<std::size_t>(j)] = w * before;
          invested += w * before;
        }
        cash = before - invested;
      }
      const auto at = static_cast<std::size_t>(p);
      for (Index j = 0; j < n; ++j)
        EXPECT_NEAR(weight_in(run, p, j), money[static_cast<std::size_t>(j)] / before, 1e-12);
      double after = cash *= 1.0003;
      for (Index j = 0; j < n; ++j)
        after += money[static_cast<std::size_t>(j)] *= 1.0 + panel.matrix()(row, j);
      cash -= 0.0025 * turnover * before;
      EXPECT_NEAR(run.gross_returns[at], after / before - 1.0, 1e-13);
      EXPECT_NEAR(run.costs[at], 0.0025 * turnover, 1e-14);
      EXPECT_EQ(run.returns[at], run.gross_returns[at] - run.costs[at]);
      if (p % every == 0) {
        EXPECT_NEAR(run.turnover[at], turnover, 1e-12);
      } else {
        EXPECT_TRUE(std::isnan(run.turnover[at]));
      }
      EXPECT_EQ(run.status[at], p % every == 0 ? PeriodStatus::ok : PeriodStatus::held);
      EXPECT_EQ(run.dates[at], panel.dates[static_cast<std::size_t>(row)]);
    }
  }
}

TEST(WalkForward, TradesAddUpToTurnoverAndLeadFromDriftedWeightsToHeldOnes) {
  const market::Panel panel = random_panel(30, 3, 5);
  WalkSettings walk = walk_with(1, 1);
  walk.rebalance = 2;
  const auto run = walk_forward(panel, Follow(1.0), walk, Threads(1));
  for (Index p = 0; p < run.periods(); ++p) {
    double sum = 0.0;
    for (const Trade& trade : run.trades_of(p)) {
      sum += std::abs(trade.to - trade.from);
      EXPECT_EQ(trade.to, weight_in(run, p, trade.asset));
      if (p == 0) {
        EXPECT_EQ(trade.from, 0.0);
      }
      if (p > 0) {
        const auto before = static_cast<std::size_t>(p - 1);
        const double r = panel.matrix()(run.first_row + p - 1, trade.asset);
        EXPECT_NEAR(trade.from,
                    weight_in(run, p - 1, trade.asset) * (1 + r) / (1 + run.gross_returns[before]),
                    1e-15);
      }
    }
    const double turnover = run.turnover[static_cast<std::size_t>(p)];
    EXPECT_NEAR(sum, std::isnan(turnover) ? 0.0 : turnover, 1e-15);
    if (p % 2 == 1) {
      EXPECT_TRUE(run.trades_of(p).empty());
    }
  }
}

TEST(WalkForward, CashEarnsTheRiskFreeRateAndIdleRowsAreCash) {
  const market::Panel panel = random_panel(12, 2, 7);
  WalkSettings walk = walk_with(4, 4);
  walk.risk_free = 0.01;
  walk.stats_from = 1;
  const auto run = walk_forward(panel, Fixed({0.0, 0.0}), walk, Threads(1));
  EXPECT_EQ(run.first_row, 1);
  EXPECT_EQ(run.stats_from, 0);
  EXPECT_EQ(run.periods(), 11);
  for (Index p = 0; p < run.periods(); ++p) {
    EXPECT_EQ(run.returns[static_cast<std::size_t>(p)], 0.01);
    EXPECT_EQ(run.status[static_cast<std::size_t>(p)],
              p < 3 ? PeriodStatus::idle : PeriodStatus::ok);
  }
  walk.stats_from = 8;
  const auto late = walk_forward(panel, Fixed({0.0, 0.0}), walk, Threads(1));
  EXPECT_EQ(late.first_row, 4) << "wealth covers every traded row";
  EXPECT_EQ(late.stats_from, 4);
}

TEST(WalkForward, RuinEndsTheRun) {
  market::Panel panel = random_panel(10, 2, 9);
  at(panel, 6, 0) = -0.5;
  const auto run = walk_forward(panel, Fixed({2.0, 0.0}), walk_with(2, 2), Threads(1));
  EXPECT_TRUE(run.ruined());
  EXPECT_EQ(run.periods(), 5);
  EXPECT_EQ(run.dates.back(), panel.dates[6]);
  EXPECT_EQ(run.returns.back(), -1.0);
  EXPECT_EQ(run.status.back(), PeriodStatus::ruin);

  // Costs count: a gross loss that leaves something can still be ruin.
  WalkSettings costly = walk_with(2, 2);
  const market::Panel other = random_panel(10, 2, 9);
  costly.costs = costs_of(9000.0, other);
  const auto first = walk_forward(other, Fixed({2.0, 0.0}), costly, Threads(1));
  EXPECT_EQ(first.periods(), 1);
  EXPECT_TRUE(first.ruined());

  WalkSettings late = walk_with(2, 2);
  late.stats_from = 9;
  const auto before = walk_forward(panel, Fixed({2.0, 0.0}), late, Threads(1));
  EXPECT_EQ(before.stats_from, before.periods()) << "no statistics are left";
  const Metrics nothing = metrics(before.track(252));
  EXPECT_EQ(nothing.n_periods, 0);
  EXPECT_EQ(nothing.final_wealth, 0.0);
}

TEST(WalkForward, AnAssetThatEndsIsSoldAtItsLastPrice) {
  // A0 has no return from row 5 on. Rebalancing every 4 periods from row 2: rows 2, 6, 10.
  market::Panel panel = random_panel(12, 2, 11);
  for (Index t = 5; t < 12; ++t) at(panel, t, 0) = kNaN;
  WalkSettings walk = walk_with(2, 2);
  walk.rebalance = 4;
  walk.costs = costs_of(100.0, panel);
  const auto run = walk_forward(panel, Fixed({0.5, 0.25}), walk, Threads(1));
  ASSERT_EQ(run.periods(), 10);
  const Index ended = 3, sold = 4;  // periods of rows 5 and 6; row 6 is a rebalance as well
  EXPECT_GT(weight_in(run, ended, 0), 0.4);
  EXPECT_NEAR(run.gross_returns[ended], weight_in(run, ended, 1) * panel.matrix()(5, 1), 1e-15);
  EXPECT_EQ(weight_in(run, sold, 0), 0.0);
  EXPECT_EQ(weight_in(run, sold, 1), 0.25);

  // Without a rebalance there: sold all the same, at a cost, and only that asset.
  walk.rebalance = 100;
  const auto held = walk_forward(panel, Fixed({0.5, 0.25}), walk, Threads(1));
  ASSERT_EQ(held.trades_of(sold).size(), 1u);
  const Trade sale = held.trades_of(sold)[0];
  EXPECT_EQ(sale.asset, 0);
  EXPECT_EQ(sale.to, 0.0);
  EXPECT_NEAR(sale.from, weight_in(held, ended, 0) / (1 + held.gross_returns[ended]), 1e-15);
  EXPECT_NEAR(held.costs[sold], 0.01 * sale.from, 1e-15);
  EXPECT_EQ(held.turnover[sold], sale.from) << "a trade counts without a decision";
  EXPECT_EQ(metrics(held.track(252)).n_rebalances, 2);
  EXPECT_EQ(held.status[sold], PeriodStatus::held);
  for (Index p = sold + 1; p < 10; ++p) EXPECT_TRUE(held.trades_of(p).empty());
}

TEST(WalkForward, AnAssetEntersWhenItsWindowIsComplete) {
  market::Panel panel = random_panel(20, 3, 13);
  for (Index t = 0; t < 6; ++t) at(panel, t, 2) = kNaN;
  for (Index t = 15; t < 20; ++t) at(panel, t, 1) = kNaN;
  const auto run = walk_forward(panel, Follow(1.0), walk_with(4, 4), Threads(1));
  for (Index p = 0; p < run.periods(); ++p) {
    const Index row = 4 + p;
    // Rows 6..9 are the first complete window of A2.
    EXPECT_EQ(weight_in(run, p, 2) != 0.0, row >= 10) << row;
    EXPECT_EQ(weight_in(run, p, 1) != 0.0, row <= 15) << row;
    EXPECT_NE(weight_in(run, p, 0), 0.0);
  }
}

// Checks what a batch promises, and holds nothing.
class Inspect : public Policy {
 public:
  Index least_history() const override { return 2; }
  Index batch_size(Index, Index) const override { return 3; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override {
    for (Index t = 0; t < batch.returns.rows; ++t)
      for (const double r : batch.returns.row(t)) EXPECT_TRUE(std::isfinite(r)) << t;
    EXPECT_EQ(batch.end(batch.size() - 1), batch.returns.rows) << "nothing after the last window";
    EXPECT_LE(batch.size(), 3);
    for (Index i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(batch.decision_row(i), batch.first_row + batch.end(i) - 1);
      out[static_cast<std::size_t>(i)].outcome.status = Status::ok;
    }
  }
};

// Decisions far apart leave rows between their windows, and these may have gaps.
TEST(WalkForward, BatchesAreCompleteBetweenTheirWindowsToo) {
  market::Panel panel = random_panel(700, 3, 14);
  for (Index t = 5; t < 700; t += 20) at(panel, t, 1) = kNaN;  // windows end at 4, 24, 44, ...
  WalkSettings walk = walk_with(4, 4);
  walk.rebalance = 20;
  const auto run = walk_forward(panel, Inspect(), walk, Threads(1));
  EXPECT_EQ(run.n_decisions, 35);
  walk.rebalance = 1;
  EXPECT_EQ(walk_forward(panel, Inspect(), walk, Threads(1)).n_decisions, 696);
}

TEST(WalkForward, EqualWeightsTradeFromTheFirstRow) {
  market::Panel panel = random_panel(6, 4, 15);
  for (Index t = 0; t < 3; ++t) at(panel, t, 3) = kNaN;
  const auto run = walk_forward(panel, equal_weights(), walk_with(100, 0), Threads(1));
  ASSERT_EQ(run.periods(), 6);
  EXPECT_EQ(run.n_decisions, 6);
  for (Index p = 0; p < 6; ++p) {
    // A3 has its first return in row 3, which a decision knows from row 4 on.
    EXPECT_EQ(run.holdings[static_cast<std::size_t>(p)], p < 4 ? 3 : 4) << p;
    EXPECT_EQ(weight_in(run, p, 0), p < 4 ? 1.0 / 3.0 : 0.25);
  }
}

TEST(WalkForward, WithoutAnyAssetEverythingIsCash) {
  market::Panel panel = random_panel(8, 2, 17);
  for (double& value : panel.values) value = kNaN;
  const auto run = walk_forward(panel, equal_weights(), walk_with(2, 2), Threads(1));
  EXPECT_EQ(run.periods(), 6);
  for (const PeriodStatus status : run.status) EXPECT_EQ(status, PeriodStatus::no_signal);
  for (const double r : run.returns) EXPECT_EQ(r, 0.0);
}

// Remembers the decisions before. The first one gives others some time to overtake it.
class Remembers : public Policy {
 public:
  Index least_history() const override { return 1; }
  Index batch_size(Index, Index) const override { return 1; }
  bool sequential() const override { return true; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override {
    const bool first = begun_++ == 0;
    for (int round = 0; first && begun_ == 1 && round < 10000; ++round) std::this_thread::yield();
    const std::scoped_lock lock(mutex_);
    for (Index i = 0; i < batch.size(); ++i) {
      rows_.push_back(batch.decision_row(i));
      out[static_cast<std::size_t>(i)].outcome.status = Status::ok;
    }
  }
  mutable std::atomic<int> begun_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<Index> rows_;
};

TEST(WalkForward, APolicyThatRemembersIsAskedOldestFirst) {
  const Remembers policy;
  const auto run = walk_forward(random_panel(300, 2, 18), policy, walk_with(1, 1), Threads(4));
  ASSERT_EQ(policy.rows_.size(), 299u);
  for (std::size_t i = 0; i < 299; ++i) EXPECT_EQ(policy.rows_[i], static_cast<Index>(i));
  EXPECT_EQ(run.n_decisions, 299);
}

TEST(WalkForward, StopsWhenAskedAndTellsHowFarItIs) {
  const market::Panel panel = random_panel(200, 3, 19);
  std::vector<Index> seen;
  Control control;
  control.progress = [&](Index done, Index total) {
    EXPECT_EQ(total, 198);
    seen.push_back(done);
  };
  static_cast<void>(walk_forward(panel, equal_weights(), walk_with(2, 2), Threads(2), control));
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 198);
  control.stop = [&] { return true; };
  EXPECT_THROW(
      static_cast<void>(walk_forward(panel, equal_weights(), walk_with(2, 2), Threads(2), control)),
      Interrupted);
}

TEST(WalkForward, RefusesSettingsThatLeaveNothingToTrade) {
  const market::Panel panel = random_panel(10, 2, 21);
  const auto message = [&](const WalkSettings& walk) -> std::string {
    try {
      static_cast<void>(walk_forward(panel, Follow(1), walk, Threads(1)));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(walk_with(10, 10)),
            "nothing to trade: the panel has 10 returns and the first period to hold would be row "
            "11 (after 10 rows of history); give more rows, or a shorter --lookback, "
            "--min-history or --split");
  WalkSettings walk = walk_with(2, 2);
  walk.first_row = 12;
  EXPECT_THAT(message(walk), HasSubstr("(after 12 rows of training)"));
  walk = walk_with(2, 2);
  walk.rebalance = 0;
  EXPECT_EQ(message(walk), "rebalance = 0 is outside [1, inf)");
  walk = walk_with(2, 2);
  walk.short_fee = -1;
  EXPECT_EQ(message(walk), "short-fee = -1 is outside [0, inf)");
  walk = walk_with(2, 2);
  walk.financing = kNaN;
  EXPECT_EQ(message(walk), "financing = nan is outside [0, inf)");
  walk = walk_with(2, 2);
  walk.delay = -1;
  EXPECT_EQ(message(walk), "delay = -1 is outside [0, inf)");
  walk = walk_with(2, 2);
  walk.risk_free = kNaN;
  EXPECT_EQ(message(walk), "risk-free = nan is outside (-1, inf)");
  walk.risk_free = -1;
  EXPECT_EQ(message(walk), "risk-free = -1 is outside (-1, inf)");
  walk = walk_with(2, 2);
  walk.stats_from = 10;
  EXPECT_EQ(message(walk), "stats-from = 11 is outside [1, 10], the rows of the returns");
  EXPECT_EQ(message(walk_with(2, 0)),
            "min-history = 0 is too short for this policy: it needs 1 rows at least");
  EXPECT_EQ(message(walk_with(0, 5)), "lookback = 0 is outside [1, inf)");
  const auto shorter = [&](Index lookback) {
    static_cast<void>(walk_forward(panel, Inspect(), walk_with(lookback, 5), Threads(1)));
  };
  EXPECT_THROW(shorter(1), InputError) << "the policy needs 2 rows";
  EXPECT_NO_THROW(shorter(2));
  EXPECT_EQ(message(walk_with(2, 9)), "");
}

}  // namespace
}  // namespace sharpen::backtest::testing
