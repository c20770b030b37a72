// Whole backtests: frameworks against plain recomputation, timing, settings and their messages.
#include "sharpen/backtest/backtest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>

#include "backtest/panels.hpp"
#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::kNaN;
using ::testing::HasSubstr;

// Decisions that do not look at the account, which trades for nothing.
BacktestSettings quick() {
  BacktestSettings s;
  s.account.cost_bps.number = 0.0;
  s.rules.rule = trade::Rule::none;
  s.lookback = {.count = 20, .all = false};
  s.bootstrap.replications = 50;
  return s;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string message_of(const market::Panel& panel, const BacktestSettings& s,
                       const market::Panel* signal = nullptr) {
  return message_of([&] { static_cast<void>(backtest(panel, s, Threads(1), signal)); });
}

Eigen::VectorXd weights_in(const BacktestResult& result, Index period) {
  Eigen::VectorXd w = Eigen::VectorXd::Zero(static_cast<Index>(result.tickers.size()));
  for (const Position& held : result.run.weights_of(period)) w[held.asset] = held.weight;
  return w;
}

// sigma* y with y the tangent direction of all assets (k = n): plain algebra.
Eigen::VectorXd naive_weights(const Eigen::VectorXd& mu, const Eigen::MatrixXd& Sigma,
                              double target) {
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(mu.size());
  const Eigen::MatrixXd inverse = Sigma.inverse();
  const Eigen::VectorXd b = inverse * one;
  Eigen::VectorXd m = mu;
  if (b.dot(mu) <= 0) m -= b.dot(mu) / b.sum() * one;
  const Eigen::VectorXd a = inverse * m;
  return target * a / std::sqrt(m.dot(a));
}

RowMatrix rows_of(const market::Panel& panel, Index first, Index count) {
  return Eigen::Map<const RowMatrix>(panel.values.data(), panel.rows(), panel.n())
      .middleRows(first, count);
}

TEST(Backtest, RollingAndHistoricAgreeWithPlainAlgebra) {
  const Index rows = 80, n = 5, T = 20;
  const market::Panel panel = random_panel(rows, n, 41);
  for (const Framework framework : {Framework::rolling, Framework::historic})
    for (const HistoricRisk risk : {HistoricRisk::rolling, HistoricRisk::train}) {
      BacktestSettings s = quick();
      s.framework = framework;
      s.historic_risk = risk;
      s.k = {.count = n};
      s.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.01};
      const BacktestResult result = backtest(panel, s, Threads(1));
      const bool historic = framework == Framework::historic;
      const bool fixed = historic && risk == HistoricRisk::train;
      ASSERT_EQ(result.run.first_row, historic ? 64 : T);
      EXPECT_EQ(result.training_rows, historic ? 64 : 0);
      for (Index p = 0; p < result.run.periods(); ++p) {
        const Index end = result.run.first_row + p;
        const RowMatrix window = rows_of(panel, end - T, T), training = rows_of(panel, 0, 64);
        const Eigen::VectorXd mu = (historic ? training : window).colwise().mean();
        const Eigen::MatrixXd Sigma =
            sharpen::testing::naive_covariance(fixed ? training : window, 0.1);
        EXPECT_LT((weights_in(result, p) - naive_weights(mu, Sigma, 0.01)).norm(), 1e-9)
            << name(framework) << " " << p;
      }
    }
}

TEST(Backtest, AGrowingWindowUsesAllRowsUpToTheDecision) {
  const market::Panel panel = random_panel(40, 4, 43);
  BacktestSettings s = quick();
  s.k = {.count = 4};
  s.lookback = {.count = 0, .all = true};
  s.min_history = 6;
  const BacktestResult result = backtest(panel, s, Threads(2));
  ASSERT_EQ(result.run.first_row, 6);
  for (Index p = 0; p < result.run.periods(); ++p) {
    const RowMatrix window = rows_of(panel, 0, 6 + p);
    const Eigen::VectorXd y = naive_weights(window.colwise().mean(),
                                            sharpen::testing::naive_covariance(window, 0.1), 1.0);
    EXPECT_LT((weights_in(result, p) - y / y.lpNorm<1>()).norm(), 1e-9) << p;
  }
  s.min_history.reset();
  EXPECT_THAT(message_of(panel, s), HasSubstr("would be row 101 (after 100 rows of history)"));
}

TEST(Backtest, MinHistoryStartsEarlyOnAGrowingWindowAndThenRolls) {
  const market::Panel panel = random_panel(60, 4, 45);
  BacktestSettings s = quick();
  s.k = {.count = 4};
  s.min_history = 5;
  const BacktestResult early = backtest(panel, s, Threads(1));
  s.min_history.reset();
  const BacktestResult full = backtest(panel, s, Threads(1));
  ASSERT_EQ(early.run.first_row, 5);
  ASSERT_EQ(full.run.first_row, 20);
  for (Index p = 0; p < full.run.periods(); ++p)
    EXPECT_EQ(weights_in(full, p), weights_in(early, p + 15));
  const RowMatrix window = rows_of(panel, 0, 7);
  const Eigen::VectorXd y =
      naive_weights(window.colwise().mean(), sharpen::testing::naive_covariance(window, 0.1), 1.0);
  EXPECT_LT((weights_in(early, 2) - y / y.lpNorm<1>()).norm(), 1e-9);
}

// Row d of the signal is for the row after d. Tomorrow's returns under today's date win whatever
// the market does; under tomorrow's date, a day late, they win nothing.
TEST(Backtest, AnOracleSignalWinsAndTheSameSignalADayLateDoesNot) {
  const Index rows = 300, n = 8;
  const market::Panel panel = panel_of(0.01 * Problems(47).matrix(rows, n));
  market::Panel oracle = panel, late = panel;
  for (Index t = 0; t + 1 < rows; ++t)
    for (Index j = 0; j < n; ++j) at(oracle, t, j) = panel.matrix()(t + 1, j);
  BacktestSettings s = quick();
  s.framework = Framework::signal;
  s.k = {.count = 3};
  const BacktestResult wins = backtest(panel, s, Threads(1), &oracle);
  EXPECT_GT(wins.metrics.sharpe, 1.0);
  EXPECT_EQ(wins.metrics.hit_rate, 1.0);
  const BacktestResult loses = backtest(panel, s, Threads(1), &late);
  EXPECT_LT(std::abs(loses.metrics.sharpe), 3.0 / std::sqrt(280.0));
}

TEST(Backtest, ASignalIsMatchedByNameAndDate) {
  const market::Panel panel = random_panel(60, 3, 49), signal = random_panel(60, 3, 50);
  BacktestSettings s = quick();
  s.framework = Framework::signal;
  s.k = {.count = 2};
  const BacktestResult plain = backtest(panel, s, Threads(1), &signal);
  // Other columns first, one more, and more dates on both sides.
  market::Panel wide;
  wide.tickers = {"A2", "other", "A0", "A1"};
  wide.dates = {"2019-01-01"};
  wide.values = {0, 0, 0, 0};
  for (Index t = 0; t < 60; ++t) {
    wide.dates.push_back(date_of(t));
    const auto r = signal.matrix().row(t);
    wide.values.insert(wide.values.end(), {r[2], 9.0, r[0], r[1]});
  }
  const BacktestResult same = backtest(panel, s, Threads(1), &wide);
  EXPECT_EQ(plain.run.weights, same.run.weights);

  market::Panel fewer = signal;
  fewer.tickers[1] = "A11";
  EXPECT_EQ(message_of(panel, s, &fewer),
            "the signal has no column for ticker A1; add it, or leave the asset out by --tickers");
  market::Panel shorter = signal;
  shorter.dates.erase(shorter.dates.begin() + 25, shorter.dates.begin() + 27);
  shorter.values.erase(shorter.values.begin() + 75, shorter.values.begin() + 81);
  EXPECT_EQ(message_of(panel, s, &shorter),
            "the signal has no row for 2020-01-26 (and 1 more), where a decision is due (it covers "
            "2020-01-01 to 2020-03-04); add the rows, or choose the periods to trade by --split "
            "DATE and --to DATE");
  // Rows where no decision is made may be missing.
  s.rebalance = 7;  // decisions at rows 19, 26, 33, ...
  EXPECT_EQ(
      message_of(panel, s, &shorter),
      "the signal has no row for 2020-01-27, where a decision is due (it covers 2020-01-01 to "
      "2020-03-04); add the rows, or choose the periods to trade by --split DATE and --to "
      "DATE");
  s.rebalance = 4;  // 19, 23, 27, 31, ...
  EXPECT_EQ(message_of(panel, s, &shorter), "no error");
  s.rebalance = 1;
  market::Panel holed = signal;
  at(holed, 30, 1) = kNaN;
  EXPECT_EQ(message_of(panel, s, &holed),
            "the signal has no value for ticker A1 on 2020-02-03; fill it, or use --universe "
            "available");
  s.gaps = true;
  const BacktestResult without = backtest(panel, s, Threads(1), &holed);
  EXPECT_EQ(weights_in(without, 31 - 20)[1], 0.0) << "no prediction, no position";
  EXPECT_EQ(without.run.holdings[31 - 20], 2.0) << "and the others are held as ever";
}

TEST(Backtest, TheBenchmarkLeavesTheUniverseAndIsComparedWith) {
  const market::Panel panel = random_panel(60, 4, 53);
  BacktestSettings s = quick();
  s.optimizer = "equal";
  s.min_history = 0;
  s.benchmark = "A2";
  const BacktestResult result = backtest(panel, s, Threads(1));
  EXPECT_EQ(result.tickers, (std::vector<std::string>{"A0", "A1", "A3"}));
  EXPECT_EQ(result.run.holdings.front(), 3);
  ASSERT_EQ(result.run.benchmark.size(), 60u);
  std::vector<double> excess;
  for (Index t = 0; t < 60; ++t) {
    EXPECT_EQ(result.run.benchmark[static_cast<std::size_t>(t)], panel.matrix()(t, 2));
    excess.push_back(panel.matrix()(t, 2));
  }
  EXPECT_DOUBLE_EQ(result.metrics.benchmark_sharpe, sharpe_ratio(excess));
  EXPECT_TRUE(std::isfinite(result.metrics.beta));

  s.benchmark = "A9";
  EXPECT_EQ(message_of(panel, s),
            "benchmark = A9: the panel has no such ticker, and no such file is there; name one of "
            "its columns, or a CSV of date,price");
  s.benchmark = "A0";
  EXPECT_EQ(message_of(random_panel(60, 1, 53), s),
            "benchmark = A0 is the only asset, and nothing would be left to hold");
  market::Panel holed = panel;
  at(holed, 30, 0) = kNaN;
  s.gaps = true;
  EXPECT_EQ(message_of(holed, s),
            "benchmark = A0 has no return on 2020-02-03; choose another one, or dates where it is "
            "complete");
}

TEST(Backtest, TheBenchmarkIsThatOfTheTradedRowsAndOfTheSameRate) {
  const market::Panel panel = random_panel(60, 4, 54);
  BacktestSettings s = quick();
  s.benchmark = "A1";
  s.risk_free = 0.05;
  const BacktestResult result = backtest(panel, s, Threads(1));
  ASSERT_EQ(result.run.first_row, 20);
  std::vector<double> excess;
  for (Index t = 20; t < 60; ++t) {
    EXPECT_EQ(result.run.benchmark[static_cast<std::size_t>(t - 20)], panel.matrix()(t, 1));
    excess.push_back(panel.matrix()(t, 1) - 0.05 / 252.0);
  }
  EXPECT_DOUBLE_EQ(result.metrics.benchmark_sharpe, sharpe_ratio(excess));
  EXPECT_EQ(result.statistics.moments.sharpe, result.metrics.sharpe) << "of excess returns, both";
}

TEST(Backtest, FixedWeightsNeedNoWindowBeforeThem) {
  const market::Panel panel = random_panel(60, 3, 56);
  BacktestSettings s = quick();
  s.framework = Framework::historic;
  s.historic_risk = HistoricRisk::train;
  s.lookback = {.count = 100, .all = false};
  s.split = "20%";
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.first_row, 12);
  s.min_history = 30;
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.first_row, 30) << "what was asked for is kept";
  s.min_history.reset();
  s.historic_risk = HistoricRisk::rolling;
  EXPECT_THAT(message_of(panel, s), HasSubstr("nothing to trade"));
}

TEST(Backtest, ADayWithFewerAssetsThanKHoldsWhatThereIs) {
  market::Panel panel = random_panel(60, 5, 58);
  for (Index t = 0; t < 40; ++t)
    for (const Index j : {1, 3, 4}) at(panel, t, j) = kNaN;
  BacktestSettings s = quick();
  s.k = {.count = 4};
  s.gaps = true;
  const BacktestResult result = backtest(panel, s, Threads(1));
  for (Index p = 0; p < result.run.periods(); ++p)
    EXPECT_LE(result.run.holdings[static_cast<std::size_t>(p)], 2) << p;
  EXPECT_GT(result.metrics.mean_cardinality, 0.5);
}

TEST(Backtest, WeightsOutOfTheRangeOfNumbersAreCash) {
  const market::Panel panel = random_panel(40, 3, 62);
  BacktestSettings s = quick();
  s.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 1e308};
  const BacktestResult result = backtest(panel, s, Threads(1));
  for (Index p = 0; p < result.run.periods(); ++p) {
    EXPECT_TRUE(result.run.weights_of(p).empty());
    EXPECT_NE(result.run.status[static_cast<std::size_t>(p)], PeriodStatus::ok);
  }
  EXPECT_EQ(result.metrics.final_wealth, 1.0);
}

TEST(Backtest, SaysHowOftenTheCovarianceNeededJitter) {
  market::Panel panel = random_panel(40, 3, 60);
  for (Index t = 0; t < 40; ++t) at(panel, t, 1) = at(panel, t, 0);  // the same asset twice
  BacktestSettings s = quick();
  s.shrinkage = 0.0;
  const BacktestResult result = backtest(panel, s, Threads(1));
  EXPECT_EQ(result.run.n_jittered, 20);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(plain(result.warnings[0]),
            "the covariance was nearly singular at 20 of 20 decisions and needed jitter; more "
            "--shrinkage, a longer --lookback or fewer assets would avoid it");
  s.shrinkage = 0.1;
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.n_jittered, 0);
}

TEST(Backtest, EqualWeightsIgnoreSizing) {
  const market::Panel panel = random_panel(30, 4, 55);
  BacktestSettings s = quick();
  s.optimizer = "equal";
  s.min_history = 0;
  s.stats_from = "2";
  s.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 1e-4};
  const BacktestResult result = backtest(panel, s, Threads(1));
  double wealth = 1.0;
  std::vector<double> means;
  for (Index t = 0; t < 30; ++t) {
    double mean = 0.0;
    for (Index j = 0; j < 4; ++j) mean += panel.matrix()(t, j) / 4.0;
    wealth *= 1.0 + mean;
    if (t > 0) means.push_back(mean);
  }
  EXPECT_NEAR(result.metrics.final_wealth, wealth, 1e-13);
  EXPECT_NEAR(result.metrics.sharpe, sharpe_ratio(means), 1e-12);
  EXPECT_EQ(result.metrics.n_periods, 29);
}

TEST(Backtest, FlagsRuinAndDaysWithoutDecision) {
  market::Panel panel = random_panel(40, 2, 57);
  for (Index t = 0; t < 40; ++t)
    for (Index j = 0; j < 2; ++j) at(panel, t, j) = 0.0;  // nothing moves: no covariance
  BacktestSettings s = quick();
  s.k = {.count = 1};
  const BacktestResult flat = backtest(panel, s, Threads(1));
  EXPECT_EQ(flat.run.status.front(), PeriodStatus::invalid_input);
  EXPECT_EQ(flat.metrics.final_wealth, 1.0);
  ASSERT_EQ(flat.warnings.size(), 2u);
  EXPECT_EQ(
      flat.warnings[0],
      "20 of 20 decisions could not be made (no asset moves in the window, or numbers are out "
      "of range): cash was held");
  EXPECT_EQ(flat.warnings[1], "the returns do not vary: there is no Sharpe ratio");

  panel = random_panel(40, 2, 57);
  at(panel, 30, 0) = -1.0;
  at(panel, 30, 1) = -1.0;
  s.optimizer = "equal";
  const BacktestResult ruined = backtest(panel, s, Threads(1));
  EXPECT_TRUE(ruined.metrics.ruin);
  EXPECT_EQ(ruined.metrics.final_wealth, 0.0);
  EXPECT_EQ(ruined.metrics.max_drawdown.depth, 1.0);
  ASSERT_EQ(ruined.warnings.size(), 1u);
  EXPECT_EQ(ruined.warnings[0],
            "ruin: the return on 2020-02-03 is -1, all wealth is lost, and trading stops there");
}

TEST(Backtest, RefusesSettingsThatDoNotFit) {
  const market::Panel panel = random_panel(60, 4, 59);
  BacktestSettings s = quick();
  s.min_history = 0;
  EXPECT_EQ(message_of(panel, s),
            "min-history = 0 goes with optimizer = equal only; swap needs 2 rows of history at "
            "least");
  s.min_history = 1;
  EXPECT_EQ(
      message_of(panel, s),
      "min-history = 1 is too short for optimizer = swap: a covariance needs 2 rows at least");
  s = quick();
  s.k = {.count = 5};
  EXPECT_THAT(message_of(panel, s), HasSubstr("k = 5"));
  s = quick();
  s.optimizer = "magic";
  EXPECT_THAT(message_of(panel, s),
              HasSubstr("optimizer = magic is none of oscar, symmetric, greedy, swap, "));
  s = quick();
  s.net = layer::Net::any;
  s.sizing.kind = layer::Sizing::budget;
  EXPECT_THAT(message_of(panel, s), HasSubstr("net = any cannot go with sizing = budget"));
  s = quick();
  s.framework = Framework::signal;
  EXPECT_EQ(message_of(panel, s), "framework = signal needs predictions; give --signal FILE");
  s = quick();
  EXPECT_EQ(message_of(panel, s, &panel),
            "a signal has no meaning for framework = rolling; use framework signal");
  s.framework = Framework::historic;
  s.split = "none";
  EXPECT_THAT(message_of(panel, s), HasSubstr("split = none leaves framework = historic nothing"));
  s.split = "1%";
  s.historic_risk = HistoricRisk::train;
  EXPECT_EQ(message_of(panel, s),
            "historic-risk = train needs 2 rows of training at least; choose a later --split");
  s = quick();
  s.periods_per_year = 0;
  EXPECT_EQ(message_of(panel, s), "periods-per-year = 0 is outside (0, inf)");
  s = quick();
  s.risk_free = kNaN;
  EXPECT_EQ(message_of(panel, s), "risk-free = nan is not a number");
}

TEST(Backtest, TheRiskFreeRateIsAYear) {
  const market::Panel panel = random_panel(60, 4, 61);
  BacktestSettings s = quick();
  s.risk_free = 0.06;
  s.periods_per_year = 12;
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.risk_free, 0.005);
}

TEST(SplitRow, TakesSharesAndDates) {
  std::vector<std::string> dates;
  for (Index t = 0; t < 56; ++t) dates.push_back(date_of(t));
  EXPECT_EQ(split_row(dates, "80%"), 45);  // 44.8
  EXPECT_EQ(split_row(dates, "0.8"), 45);
  EXPECT_EQ(split_row(dates, "12.5%"), 7);
  EXPECT_EQ(split_row(dates, "0.1%"), 1) << "each part keeps a row";
  EXPECT_EQ(split_row(dates, "99.9%"), 55);
  EXPECT_EQ(split_row(dates, "2020-02-01"), 28);
  EXPECT_EQ(split_row(dates, "2020-02"), 28);
  EXPECT_EQ(split_row(dates, "20200202"), 29);
  EXPECT_EQ(split_row(dates, "2020-01-30"), 28) << "no such row: the next one";
  const auto message = [&](const std::string& split) {
    return message_of([&] { static_cast<void>(split_row(dates, split)); });
  };
  for (const std::string split : {"0%", "100%", "0", "-0.5", "x", "", "80 %", "%", "nan%", "1.5"})
    EXPECT_THAT(message(split),
                HasSubstr("is neither a share nor a date; write a share such as 80%"))
        << split;
  EXPECT_EQ(message("2020"),
            "split = 2020 leaves nothing to train on: no row is before it; the returns run from "
            "2020-01-01 to 2020-02-28");
  EXPECT_EQ(message("2021-05"),
            "split = 2021-05 leaves nothing to test: every row is before it; the returns run from "
            "2020-01-01 to 2020-02-28");
  const std::vector<std::string> one = {"2020-01-01"};
  EXPECT_THAT(message_of([&] { static_cast<void>(split_row(one, "80%")); }),
              HasSubstr("needs 2 rows of returns at least and the panel has 1"));
}

TEST(StatsRow, TakesRowsAndDates) {
  std::vector<std::string> dates;
  for (Index t = 0; t < 56; ++t) dates.push_back(date_of(t));
  EXPECT_EQ(stats_row(dates, "1"), 0);
  EXPECT_EQ(stats_row(dates, "56"), 55);
  EXPECT_EQ(stats_row(dates, "2020-02-02"), 29);
  EXPECT_EQ(stats_row(dates, "2020-02"), 28);
  EXPECT_EQ(stats_row(dates, "20200202"), 29);
  EXPECT_EQ(stats_row(dates, "2019-05"), 0);
  const auto message = [&](const std::string& from) {
    return message_of([&] { static_cast<void>(stats_row(dates, from)); });
  };
  EXPECT_EQ(message("0"),
            "stats-from = 0 is outside [1, 56], the rows of the returns; write dates "
            "as YYYY-MM-DD");
  EXPECT_EQ(message("2020"),
            "stats-from = 2020 is outside [1, 56], the rows of the returns; write "
            "dates as YYYY-MM-DD");
  EXPECT_THAT(message("-1"), HasSubstr("is neither a row nor a date"));
  EXPECT_THAT(message("99999999999999999999"), HasSubstr("is neither a row nor a date"));
  EXPECT_EQ(message("2020-03"),
            "stats-from = 2020-03 is after the last return; the returns run "
            "from 2020-01-01 to 2020-02-28");
}

}  // namespace
}  // namespace sharpen::backtest::testing
