// Decisions in the order of time: the account they see, their companions, and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <map>

#include "backtest/panels.hpp"
#include "backtest/tradable.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/limit_rules.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::Folder;
using sharpen::testing::kNaN;
using ::testing::HasSubstr;

BacktestSettings small_walk() {
  BacktestSettings s;
  s.k = {.count = 3};
  s.lookback = {.count = 20, .all = false};
  s.bootstrap.replications = 10;
  return s;
}

// The arithmetic of decisions that do not look at the account, and of one that trades for nothing:
// what was held drifts by (1 + r) / (1 + gross).
TEST(Trading, WithoutRuleMemoryAndCostsNothingIsNew) {
  const market::Panel panel = random_panel(90, 8, 41);
  for (const char* optimizer : {"swap", "oscar", "mssrm"}) {
    BacktestSettings s = small_walk();
    s.optimizer = optimizer;
    s.rules = {.rule = trade::Rule::none, .memory = 1};
    s.account.cost_bps.number = 0.0;
    s.rebalance = 3;
    const backtest::Run run = backtest(panel, s, Threads(2)).run;
    const OptimizerPolicy policy(std::make_unique<RollingMean>(), solve::optimizer_named(optimizer),
                                 s);
    std::vector<double> held(sharpen::at(panel.n()), 0.0);
    for (Index row = 20; row < panel.rows(); ++row) {
      const Index p = row - 20;
      if (p % 3 == 0) {
        const std::vector<Index> ends = {20}, assets = {0, 1, 2, 3, 4, 5, 6, 7};
        const WindowBatch window{.returns = panel.matrix().middle_rows(row - 20, 20),
                                 .lookback = 20,
                                 .ends = ends,
                                 .first_row = row - 20,
                                 .assets = assets};
        std::vector<Decision> decision(1);
        policy.decide(window, decision);
        std::ranges::fill(held, 0.0);
        for (const Position& position : decision[0].positions)
          held[sharpen::at(position.asset)] = position.weight;
      }
      double gross = 0.0, invested = 0.0;
      for (Index j = 0; j < panel.n(); ++j) {
        gross += held[sharpen::at(j)] * panel.matrix()(row, j);
        invested += held[sharpen::at(j)];
      }
      gross += (1.0 - invested) * 0.0;
      for (const Position& position : run.weights_of(p))
        ASSERT_EQ(position.weight, held[sharpen::at(position.asset)]) << optimizer << " " << p;
      ASSERT_EQ(run.returns[sharpen::at(p)], gross) << optimizer << " " << p;
      ASSERT_EQ(run.costs[sharpen::at(p)], 0.0);
      for (Index j = 0; j < panel.n(); ++j)
        held[sharpen::at(j)] =
            held[sharpen::at(j)] * (1.0 + panel.matrix()(row, j)) / (1.0 + gross);
    }
  }
}

TEST(Trading, ADecisionThatBelievesInAbsurdCostsNeverTrades) {
  const market::Panel panel = random_panel(70, 8, 43);
  WalkSettings walk;
  walk.lookback = walk.min_history = 20;
  OptimizerPolicy policy(std::make_unique<RollingMean>(), solve::optimizer_named("swap"),
                         small_walk());
  policy.trade_by({.ruling = {.rule = trade::Rule::cost},
                   .optimizer = &solve::optimizer_named("swap"),
                   .periods_per_year = 252.0});
  walk.decision_costs = costs_of(1e6, panel);
  const backtest::Run cash = walk_forward(panel, policy, walk, Threads(1));
  EXPECT_TRUE(cash.trades.empty()) << "cash stays cash";
  EXPECT_TRUE(cash.weights.empty());

  std::string file = "date,asset,bps\n";
  for (const std::string& ticker : panel.tickers)
    file += fmt::format("{0},{2},0\n{1},{2},1000000\n", panel.dates[0], panel.dates[20], ticker);
  walk.decision_costs =
      std::make_shared<trade::CostBook>(settings::NumberOrFile{.number = 0.0, .file = file},
                                        panel.tickers, panel.left_out, panel.dates.front());
  const backtest::Run once = walk_forward(panel, policy, walk, Threads(1));
  EXPECT_EQ(once.trades_of(0).size(), 3u);
  EXPECT_EQ(once.trades.size(), 3u) << "no share changes after the first purchase";
  EXPECT_EQ(once.weights_of(once.periods() - 1).size(), 3u);
}

TEST(Trading, CompanionsAreTheRunsTheyStandFor) {
  market::Panel panel = random_panel(100, 8, 47);
  for (Index t = 60; t < 100; ++t) at(panel, t, 2) = kNaN;
  BacktestSettings s = small_walk();
  s.gaps = true;
  s.rebalance = 2;
  s.risk_free = 0.02;
  s.account.short_fee = 0.01;
  const BacktestResult now = backtest(panel, s, Threads(2));
  s.account.delay = 1;
  const BacktestResult later = backtest(panel, s, Threads(1));
  EXPECT_EQ(now.delayed_returns, later.run.returns);
  EXPECT_NE(now.run.returns, later.run.returns);
  EXPECT_EQ(later.run.status[0], PeriodStatus::idle);
  s.optimizer = "equal";
  EXPECT_EQ(later.equal_returns, backtest(panel, s, Threads(1)).run.returns);
}

TEST(Trading, CompanionsEndWithTheRunAndHaveNoGaps) {
  // Equal weights lose everything in row 30, a run that is in cash does not.
  market::Panel panel = random_panel(60, 4, 49);
  for (Index j = 0; j < 4; ++j) at(panel, 30, j) = -1.0;
  BacktestSettings s = small_walk();
  s.rules.expected_sharpe = 1e-12;
  const BacktestResult result = backtest(panel, s, Threads(1));
  ASSERT_EQ(result.run.periods(), 40);
  ASSERT_EQ(result.equal_returns.size(), 40u);
  ASSERT_EQ(result.delayed_returns.size(), 40u);
  EXPECT_NEAR(result.equal_returns[10], -1.0, 1e-3);
  for (std::size_t p = 11; p < 40; ++p) EXPECT_EQ(result.equal_returns[p], 0.0) << p;
}

// q by plain algebra, averaged by hand over the rows before each decision, given as a signal.
TEST(Trading, AMemoryIsTheAverageOfDirectionsPerUnitOfVolatility) {
  const Index rows = 70, n = 6, T = 20, N = 2, M = 6;
  market::Panel panel = random_panel(rows, n, 53);
  for (Index t = 0; t < 15; ++t) at(panel, t, 1) = kNaN;  // enters late
  BacktestSettings s = small_walk();
  s.k = {.count = 6};
  s.gaps = true;
  s.rebalance = 4;
  s.rules = {.rule = trade::Rule::none, .memory = N};
  const BacktestResult remembered = backtest(panel, s, Threads(2));

  std::map<Index, Eigen::VectorXd> x, deviation;
  for (Index d = T - 1; d < rows; ++d) {
    std::vector<Index> there;
    for (Index j = 0; j < n; ++j)
      if (std::isfinite(panel.matrix()(d - T + 1, j))) there.push_back(j);
    const auto m = static_cast<Index>(there.size());
    RowMatrix window(T, m);
    for (Index t = 0; t < T; ++t)
      for (Index j = 0; j < m; ++j)
        window(t, j) = panel.matrix()(d - T + 1 + t, there[sharpen::at(j)]);
    const Eigen::VectorXd mu = window.colwise().mean();
    const Eigen::MatrixXd centered = window.rowwise() - mu.transpose();
    const Eigen::MatrixXd S = centered.transpose() * centered / static_cast<double>(T - 1);
    const Eigen::MatrixXd Sigma =
        0.9 * S + 0.1 * S.trace() / static_cast<double>(m) * Eigen::MatrixXd::Identity(m, m);
    const Eigen::VectorXd q = mu / std::sqrt(mu.dot(Sigma.ldlt().solve(mu)));
    x[d] = deviation[d] = Eigen::VectorXd::Zero(n);
    for (Index j = 0; j < m; ++j) {
      deviation[d](there[sharpen::at(j)]) = std::sqrt(Sigma(j, j));
      x[d](there[sharpen::at(j)]) = q(j) / std::sqrt(Sigma(j, j));
    }
  }
  market::Panel signal = panel;
  for (Index d = T - 1; d < rows; ++d) {
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(n);
    double total = 0.0;
    for (Index j = 0; j < M && d - j >= T - 1; ++j) {
      mean += std::pow(0.5, static_cast<double>(j)) * x[d - j];
      total += std::pow(0.5, static_cast<double>(j));
    }
    for (Index j = 0; j < n; ++j) at(signal, d, j) = deviation[d](j) * mean(j) / total;
  }
  s.framework = Framework::signal;
  s.rules.memory = 1;
  const BacktestResult given = backtest(panel, s, Threads(1), &signal);
  ASSERT_EQ(given.run.periods(), remembered.run.periods());
  for (std::size_t p = 0; p < given.run.returns.size(); ++p)
    EXPECT_NEAR(given.run.returns[p], remembered.run.returns[p], 1e-10) << p;
}

TEST(Trading, WhatIsForgottenChangesNothing) {
  const Index cut = 17, first = 80;
  const market::Panel panel = random_panel(120, 8, 59);
  market::Panel shorter = panel;
  shorter.dates.erase(shorter.dates.begin(), shorter.dates.begin() + cut);
  shorter.values.erase(shorter.values.begin(), shorter.values.begin() + cut * panel.n());
  BacktestSettings s = small_walk();
  s.split = panel.dates[first];
  s.rules.memory = 14;  // the first decision remembers rows from 80 - 42 on, their windows from 19
  const backtest::Run whole = backtest(panel, s, Threads(1)).run,
                      part = backtest(shorter, s, Threads(1)).run;
  EXPECT_EQ(whole.dates, part.dates);
  EXPECT_EQ(whole.weights, part.weights);
  EXPECT_EQ(whole.returns, part.returns);
  s.rules.memory = 20;
  EXPECT_NE(backtest(panel, s, Threads(1)).run.weights,
            backtest(shorter, s, Threads(1)).run.weights)
      << "a longer memory does reach back to them";
}

TEST(Trading, ADelayedDecisionSeesNothingAfterItsRow) {
  const market::Panel panel = random_panel(100, 8, 61);
  const Index d = 70;
  market::Panel other = panel;
  for (Index t = d + 1; t < 100; ++t)
    for (Index j = 0; j < 8; ++j) at(other, t, j) *= -0.7;
  for (const std::int64_t delay : {1, 3}) {
    BacktestSettings s = small_walk();
    s.account.delay = delay;
    s.account.cost_bps.number = 0.5;  // a trade every day or so
    const backtest::Run a = backtest(panel, s, Threads(1)).run,
                        b = backtest(other, s, Threads(1)).run;
    const auto targets = [](const backtest::Run& run, Index p) {
      std::vector<std::pair<Index, double>> out;
      for (const Trade& trade : run.trades_of(p)) out.emplace_back(trade.asset, trade.to);
      return out;
    };
    // The targets of trades at the end of row d + delay were decided by row d.
    const Index last = d + 1 + static_cast<Index>(delay) - a.first_row;
    for (Index p = 0; p <= last; ++p) EXPECT_EQ(targets(a, p), targets(b, p)) << p;
    EXPECT_NE(targets(a, last + 1), targets(b, last + 1));
  }
}

// An order leaves alone what the decision left alone, also if it is filled later.
TEST(Trading, ADelayedDecisionNotToTradeTradesNothing) {
  const market::Panel panel = random_panel(80, 8, 63);
  std::string file = "date,asset,bps\n";
  for (const std::string& ticker : panel.tickers)
    file += fmt::format("{0},{2},0\n{1},{2},1000000\n", panel.dates[0], panel.dates[29], ticker);
  WalkSettings walk;
  walk.lookback = walk.min_history = 20;
  walk.decision_costs =
      std::make_shared<trade::CostBook>(settings::NumberOrFile{.number = 0.0, .file = file},
                                        panel.tickers, panel.left_out, panel.dates.front());
  OptimizerPolicy policy(std::make_unique<RollingMean>(), solve::optimizer_named("swap"),
                         small_walk());
  policy.trade_by({.ruling = {.rule = trade::Rule::cost},
                   .optimizer = &solve::optimizer_named("swap"),
                   .periods_per_year = 252.0});
  for (const Index delay : {1, 3}) {
    walk.delay = delay;
    const backtest::Run run = walk_forward(panel, policy, walk, Threads(1));
    EXPECT_FALSE(run.trades_of(9).empty());
    for (Index p = 10 + delay; p < run.periods(); ++p) EXPECT_TRUE(run.trades_of(p).empty()) << p;
    EXPECT_EQ(run.weights_of(run.periods() - 1).size(), 3u);
  }
  BacktestSettings s = small_walk();
  s.optimizer = "equal";
  s.account.delay = 2;
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.trades_of(50).size(), 8u)
      << "without a rule every weight is a target";
}

TEST(Trading, KeepsWhatIsHeldWhereNothingCanBeDecided) {
  market::Panel panel = random_panel(80, 5, 67);
  for (Index t = 40; t < 80; ++t)
    for (Index j = 0; j < 5; ++j) at(panel, t, j) = 0.0;
  for (const trade::Rule rule : {trade::Rule::cost, trade::Rule::band}) {
    BacktestSettings s = small_walk();
    s.rules.rule = rule;
    const BacktestResult result = backtest(panel, s, Threads(1));
    const Index p = 60 - result.run.first_row;  // the window has zeros only
    ASSERT_EQ(result.run.status[sharpen::at(p)], PeriodStatus::invalid_input);
    EXPECT_EQ(result.run.turnover[sharpen::at(p)], 0.0);
    EXPECT_EQ(result.run.weights_of(p).size(), 3u);
  }
  BacktestSettings s = small_walk();
  s.rules.rule = trade::Rule::none;
  const backtest::Run run = backtest(panel, s, Threads(1)).run;
  EXPECT_TRUE(run.weights_of(60 - run.first_row).empty()) << "without a rule it is cash";
}

TEST(Trading, TurnoverIsLimitedFromWhatIsHeld) {
  const market::Panel panel = random_panel(80, 8, 71);
  for (const trade::Rule rule : {trade::Rule::cost, trade::Rule::band, trade::Rule::none})
    for (const double bps : {0.0, 5.0}) {
      BacktestSettings s = small_walk();
      s.rules.rule = rule;
      s.account.cost_bps.number = bps;
      s.k = {.count = rule == trade::Rule::none ? 8 : 4};
      s.limits = std::make_shared<layer::LimitRules>(
          layer::read_limits("max_turnover = 0.1\nlong_only = true\nmax_weight = 0.3\n", ""));
      s.objective = {.kind = layer::Objective::expected_return, .volatility = 0.006};
      const backtest::Run run = backtest(panel, s, Threads(2)).run;
      EXPECT_GT(run.turnover[0], 0.1) << "the first purchase is exempt";
      Index traded = 0;
      for (std::size_t p = 1; p < run.turnover.size(); ++p) {
        EXPECT_LE(run.turnover[p], 0.1 + 1e-9) << p;
        traded += run.turnover[p] > 0.0;
        EXPECT_LE(run.weights_of(static_cast<Index>(p)).size(), 8u);
      }
      EXPECT_GT(traded, 5);
      EXPECT_EQ(std::ranges::count(run.status, PeriodStatus::infeasible), 0);
      s.account.delay = 1;
      EXPECT_EQ(backtest(panel, s, Threads(1)).run.status[0], PeriodStatus::idle);
    }
  BacktestSettings s = small_walk();
  s.limits = std::make_shared<layer::LimitRules>(
      layer::read_limits("max_turnover = 0.1\n[holdings]\nA0 = 0.5\n", ""));
  s.objective = {.kind = layer::Objective::expected_return, .volatility = 0.006};
  EXPECT_THROW(backtest(panel, s, Threads(1)), InputError) << "the account says what is held";
}

class TradableFile : public ::testing::Test {
 protected:
  std::string message(const std::string& text) {
    try {
      static_cast<void>(frozen_names(
          market::parse_panel(text, "t.csv", market::PanelKind::prices, market::Cells::raw),
          "t.csv", panel_, 1));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  market::Panel panel_ = random_panel(4, 2, 73);
};

TEST_F(TradableFile, SaysWhatIsWrong) {
  EXPECT_EQ(message("date,A1,A0\n2020-01-02,1,0\n2020-01-03,1,1\n"), "");
  EXPECT_THAT(message("date,A0\n2020-01-02,1\n2020-01-03,1\n"),
              HasSubstr("no column for ticker A1"));
  EXPECT_THAT(message("date,A1,A0\n2020-01-02,1,0\n"), HasSubstr("no row for 2020-01-03"));
  EXPECT_THAT(message("date,A1,A0\n2020-01-02,1,0.5\n2020-01-03,1,1\n"),
              HasSubstr("has 0.5 for ticker A0 on 2020-01-02"));
  EXPECT_THAT(message("date,A1,A0\n2020-01-02,1,\n2020-01-03,1,1\n"), HasSubstr("no value"));
}

TEST_F(TradableFile, FreezesNamesByDateAndTicker) {
  const std::vector<char> frozen =
      frozen_names(market::parse_panel("date,A1,A0\n2020-01-02,1,0\n2020-01-03,0,1\n", "t.csv",
                                       market::PanelKind::prices, market::Cells::raw),
                   "t.csv", panel_, 1);
  EXPECT_EQ(frozen, (std::vector<char>{0, 0, 1, 0, 0, 1, 0, 0}));
}

TEST(Trading, FrozenNamesAreDecidedAround) {
  const market::Panel panel = random_panel(80, 6, 79);
  market::Panel tradable = panel;
  for (Index t = 0; t < 80; ++t)
    for (Index j = 0; j < 6; ++j) at(tradable, t, j) = (t + 5 * j) % 7 == 0 ? 0.0 : 1.0;
  const Folder folder;
  const std::string file = folder.path("tradable.csv");
  market::write_panel(tradable, file);
  for (const trade::Rule rule : {trade::Rule::cost, trade::Rule::band, trade::Rule::none}) {
    BacktestSettings s = small_walk();
    s.rules.rule = rule;
    s.account.tradable = file;
    const BacktestResult result = backtest(panel, s, Threads(2));
    const backtest::Run& run = result.run;
    for (Index p = 0; p < run.periods(); ++p)
      for (const Trade& trade : run.trades_of(p))
        EXPECT_EQ(at(tradable, run.first_row + p - 1, trade.asset), 1.0) << p;
    EXPECT_GT(run.trades.size(), 20u);
    EXPECT_EQ(run.returns, backtest(panel, s, Threads(1)).run.returns);
  }
}

// Equal weights, as decided and as the account beside: all of the wealth, and nothing is borrowed.
TEST(Trading, EqualWeightsAreOfWhatIsLeftBesideFrozenNames) {
  const market::Panel panel = random_panel(80, 6, 79);
  market::Panel tradable = panel;
  for (Index t = 0; t < 80; ++t)
    for (Index j = 0; j < 6; ++j) at(tradable, t, j) = (t + 5 * j) % 7 == 0 ? 0.0 : 1.0;
  const Folder folder;
  BacktestSettings s = small_walk();
  s.optimizer = "equal";
  s.account.tradable = folder.path("tradable.csv");
  market::write_panel(tradable, s.account.tradable);
  const BacktestResult result = backtest(panel, s, Threads(2));
  ASSERT_GT(result.run.periods(), 20);
  for (Index p = 0; p < result.run.periods(); ++p) {
    EXPECT_NEAR(result.run.gross[static_cast<std::size_t>(p)], 1.0, 1e-12) << p;
    EXPECT_NEAR(result.equal_returns[static_cast<std::size_t>(p)],
                result.run.returns[static_cast<std::size_t>(p)], 1e-12)
        << p;
  }
}

// A suspension: no prices, no trades, and still one of the k names.
TEST(Trading, FrozenNamesWithoutPricesCountAmongTheNames) {
  const market::Panel whole = random_panel(80, 6, 83);
  const Folder folder;
  for (const trade::Rule rule : {trade::Rule::cost, trade::Rule::band, trade::Rule::none}) {
    BacktestSettings s = small_walk();
    s.gaps = true;
    s.rules.rule = rule;
    const Index suspended = backtest(whole, s, Threads(1)).run.weights_of(19).front().asset;
    market::Panel panel = whole, tradable = whole;
    for (double& value : tradable.values) value = 1.0;
    for (Index t = 40; t < 80; ++t) {
      at(panel, t, suspended) = kNaN;
      at(tradable, t - 1, suspended) = at(tradable, t, suspended) = 0.0;
    }
    s.account.tradable = folder.path("tradable.csv");
    market::write_panel(tradable, s.account.tradable);
    const backtest::Run run = backtest(panel, s, Threads(1)).run;
    for (Index p = 20; p < run.periods(); ++p) {
      double net = 0.0;
      bool is_held = false;
      for (const Position& position : run.weights_of(p)) {
        net += position.weight;
        is_held = is_held || position.asset == suspended;
      }
      EXPECT_TRUE(is_held) << p;
      EXPECT_LE(run.weights_of(p).size(), 3u) << p;
      if (!run.trades_of(p).empty()) {
        EXPECT_GE(net, -1e-9) << p;
      }
    }
  }
}

}  // namespace
}  // namespace sharpen::backtest::testing
