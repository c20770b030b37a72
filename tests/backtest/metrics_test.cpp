#include "sharpen/backtest/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest {
namespace {

using sharpen::testing::kNaN;

Metrics of(const std::vector<double>& returns, double periods_per_year = 252) {
  return metrics({.returns = returns, .periods_per_year = periods_per_year});
}

void expect_input_error(const Track& track, const std::string& message) {
  try {
    metrics(track);
    ADD_FAILURE() << "accepted: " << message;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

// r = 1 %, -2 %, 3 %, 0 %: mean 0.5 %; deviations 0.5, -2.5, 2.5, -0.5 %; sum of squares 13e-4.
TEST(Metrics, GiveTheFiguresComputedByHand) {
  const Metrics m = of({0.01, -0.02, 0.03, 0.0}, 4);
  EXPECT_EQ(m.n_periods, 4);
  EXPECT_DOUBLE_EQ(m.mean_return, 0.005);
  EXPECT_NEAR(m.volatility, std::sqrt(13e-4 / 3), 1e-16);
  EXPECT_NEAR(m.volatility_annualized, 2 * std::sqrt(13e-4 / 3), 1e-16);
  EXPECT_NEAR(m.sharpe, 0.005 / std::sqrt(13e-4 / 3), 1e-14);
  EXPECT_NEAR(m.sharpe_annualized, 2 * m.sharpe, 1e-15);
  EXPECT_NEAR(m.sortino, 0.005 / std::sqrt(4e-4 / 4), 1e-14);
  EXPECT_NEAR(m.sortino_annualized, 2 * m.sortino, 1e-14);
  const double wealth = 1.01 * 0.98 * 1.03;
  EXPECT_NEAR(m.final_wealth, wealth, 1e-15);
  EXPECT_NEAR(m.return_annualized, wealth - 1, 1e-15);  // four periods are a year
  EXPECT_NEAR(m.max_drawdown.depth, 0.02, 1e-15);
  EXPECT_EQ(m.max_drawdown.peak, 0);
  EXPECT_EQ(m.max_drawdown.trough, 1);
  EXPECT_EQ(m.max_drawdown.recovery, 2);
  EXPECT_NEAR(m.calmar, (wealth - 1) / 0.02, 1e-12);
  EXPECT_EQ(m.hit_rate, 0.5);
  EXPECT_EQ(m.best_return, 0.03);
  EXPECT_EQ(m.worst_return, -0.02);
  EXPECT_FALSE(m.ruin);
}

TEST(Metrics, SubtractTheRiskFreeRateFromAveragesButNotFromWealth) {
  const std::vector<double> r = {0.01, -0.02, 0.03, 0.0};
  const std::vector<double> rate = {0.001}, rates = {0.001, 0.001, 0.001, 0.001};
  const Metrics one = metrics({.returns = r, .risk_free = rate});
  const Metrics many = metrics({.returns = r, .risk_free = rates});
  EXPECT_EQ(one.sharpe, many.sharpe);
  EXPECT_NEAR(one.sharpe, 0.004 / std::sqrt(13e-4 / 3), 1e-14);
  EXPECT_NEAR(one.mean_excess_return, 0.004, 1e-17);
  EXPECT_NEAR(one.sortino, 0.004 / std::sqrt((0.021 * 0.021 + 0.001 * 0.001) / 4), 1e-14);
  const std::vector<double> changing = {0.01, -0.02, 0.02, -0.01};
  const Metrics moved = metrics({.returns = r, .risk_free = changing, .stats_from = 2});
  EXPECT_NEAR(moved.mean_excess_return, 0.01, 1e-17) << "each period has its own rate";
  EXPECT_EQ(one.final_wealth, of(r).final_wealth);
  EXPECT_EQ(one.volatility, of(r).volatility);
  EXPECT_EQ(one.hit_rate, 0.5);
}

TEST(Metrics, StatisticsStartWhereTheyAreToldAndWealthAtTheBeginning) {
  const std::vector<double> r = {-0.5, 0.01, -0.02, 0.03, 0.0};
  const Metrics m = metrics({.returns = r, .stats_from = 1, .periods_per_year = 4});
  EXPECT_EQ(m.n_periods, 4);
  EXPECT_EQ(m.sharpe, of({0.01, -0.02, 0.03, 0.0}).sharpe);
  EXPECT_NEAR(m.max_drawdown.depth, 0.02, 1e-15);
  EXPECT_EQ(m.max_drawdown.peak, 1);  // counted in the whole track
  EXPECT_EQ(m.max_drawdown.trough, 2);
  EXPECT_EQ(m.max_drawdown.recovery, 3);
  EXPECT_NEAR(m.final_wealth, 0.5 * 1.01 * 0.98 * 1.03, 1e-15);
  EXPECT_NEAR(m.return_annualized, 1.01 * 0.98 * 1.03 - 1, 1e-15);
  // The high before the first period of the statistics is the end of the period before.
  const std::vector<double> falling = {0.1, -0.2};
  const Metrics later = metrics({.returns = falling, .stats_from = 1});
  EXPECT_EQ(later.max_drawdown.peak, 0);
  EXPECT_NEAR(later.max_drawdown.depth, 0.2, 1e-15);
}

TEST(Metrics, RuinIsFlaggedAndNotAveragedAway) {
  const Metrics m = of({0.1, -1.0, 0.5, 0.5});
  EXPECT_TRUE(m.ruin);
  EXPECT_EQ(m.ruin_period, 1);
  EXPECT_EQ(m.final_wealth, 0.0);
  EXPECT_EQ(m.max_drawdown.depth, 1.0);
  EXPECT_EQ(m.max_drawdown.peak, 0);
  EXPECT_EQ(m.max_drawdown.trough, 1);
  EXPECT_EQ(m.max_drawdown.recovery, Drawdown::kNever);
  EXPECT_EQ(m.return_annualized, -1.0);
  EXPECT_EQ(m.calmar, -1.0);
  EXPECT_NEAR(m.mean_return, 0.025, 1e-16);  // of the returns as they are
  // Below -100 % wealth would change its sign, and two such periods would make it positive.
  const Metrics twice = of({-1.5, -2.0});
  EXPECT_TRUE(twice.ruin);
  EXPECT_EQ(twice.final_wealth, 0.0);
  EXPECT_EQ(twice.max_drawdown.depth, 1.0);
  // Before the statistics begin it is ruin all the same.
  const std::vector<double> early = {-1.0, 0.1, 0.2};
  const Metrics skipped = metrics({.returns = early, .stats_from = 1});
  EXPECT_TRUE(skipped.ruin);
  EXPECT_EQ(skipped.final_wealth, 0.0);
  EXPECT_EQ(skipped.max_drawdown.depth, 0.0);
}

TEST(Metrics, WhatDoesNotExistIsNaN) {
  const Metrics none = of({});
  EXPECT_EQ(none.n_periods, 0);
  EXPECT_EQ(none.final_wealth, 1.0);
  for (const double figure :
       {none.mean_return, none.sharpe, none.sharpe_annualized, none.volatility, none.sortino,
        none.return_annualized, none.max_drawdown.depth, none.calmar, none.hit_rate, none.turnover,
        none.mean_gross, none.beta, none.best_return})
    EXPECT_TRUE(std::isnan(figure));
  const Metrics one = of({0.02});
  EXPECT_EQ(one.mean_return, 0.02);
  EXPECT_TRUE(std::isnan(one.volatility));
  EXPECT_TRUE(std::isnan(one.sharpe));
  EXPECT_TRUE(std::isnan(one.sortino));  // nothing fell
  EXPECT_EQ(one.max_drawdown.depth, 0.0);
  EXPECT_EQ(one.max_drawdown.peak, Drawdown::kNever);
  EXPECT_TRUE(std::isnan(one.calmar));
  const Metrics hole = of({0.01, kNaN, 0.02});
  for (const double figure : {hole.mean_return, hole.sharpe, hole.volatility, hole.sortino,
                              hole.final_wealth, hole.max_drawdown.depth, hole.hit_rate,
                              hole.best_return, hole.worst_return, hole.return_annualized})
    EXPECT_TRUE(std::isnan(figure));
}

TEST(Metrics, EqualReturnsHaveNoSharpeRatioWhateverTheRounding) {
  for (const double r : {0.0, 0.001, 0.1, -0.3, 1e-9}) {
    const std::vector<double> same(1000, r);
    EXPECT_TRUE(std::isnan(of(same).sharpe)) << r;
    EXPECT_EQ(of(same).volatility, 0.0) << r;
    const std::vector<double> rate = {0.0001};
    EXPECT_TRUE(std::isnan(metrics({.returns = same, .risk_free = rate}).sharpe)) << r;
  }
  EXPECT_GT(of({0.1, 0.1 + 1e-12}).sharpe, 1e10);  // small is not zero
}

TEST(Metrics, TotalOnAbsurdNumbers) {
  const Metrics huge = of({1e200, -1e200, 1e300});
  EXPECT_TRUE(std::isnan(huge.sharpe));
  EXPECT_TRUE(huge.ruin);
  const Metrics grown = of({1e300, 1e300, -0.5});
  EXPECT_EQ(grown.final_wealth, INFINITY);
  const Metrics infinite = of({INFINITY, 0.1});
  EXPECT_TRUE(std::isnan(infinite.sharpe));
}

TEST(MaxDrawdown, StartsAtTheWealthBeforeTheFirstPeriod) {
  const std::vector<double> r = {-0.1, -0.1, 0.5};
  const Drawdown d = max_drawdown(r);
  EXPECT_NEAR(d.depth, 0.19, 1e-15);
  EXPECT_EQ(d.peak, Drawdown::kStart);
  EXPECT_EQ(d.trough, 1);
  EXPECT_EQ(d.recovery, 2);
}

TEST(MaxDrawdown, TakesTheFirstOfEquallyDeepFallsAndTheLastHighBeforeIt) {
  const std::vector<double> r = {1.0, 0.0, -0.5, 1.0, -0.5, 0.5};
  const Drawdown d = max_drawdown(r);
  EXPECT_EQ(d.depth, 0.5);
  EXPECT_EQ(d.peak, 1);
  EXPECT_EQ(d.trough, 2);
  EXPECT_EQ(d.recovery, 3);
}

RC_GTEST_PROP(MaxDrawdown, IsTheLargestOverAllPairsOfDays, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-120, 150));
  std::vector<double> r;
  for (const int step : steps) r.push_back(step / 100.0);
  const Drawdown d = max_drawdown(r);
  std::vector<double> W = wealth(r);
  W.insert(W.begin(), 1.0);
  double deepest = 0.0;
  for (std::size_t s = 0; s < W.size(); ++s)
    for (std::size_t t = s; t < W.size(); ++t)
      if (W[s] > 0) deepest = std::max(deepest, 1.0 - W[t] / W[s]);
  if (r.empty()) {
    RC_ASSERT(std::isnan(d.depth));
    return;
  }
  RC_ASSERT(d.depth == deepest);
  if (deepest == 0.0) return;
  const auto at = [&](Index period) { return W[static_cast<std::size_t>(period + 1)]; };
  RC_ASSERT(d.depth == 1.0 - at(d.trough) / at(d.peak));
  if (d.recovery == Drawdown::kNever) return;
  RC_ASSERT(d.recovery > d.trough);
  RC_ASSERT(at(d.recovery) >= at(d.peak));
}

RC_GTEST_PROP(Metrics, SharpeIgnoresScaleAndFlipsWithTheSign, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-99, 100));
  std::vector<double> r, doubled, negated;
  for (const int step : steps) {
    r.push_back(step / 1000.0);
    doubled.push_back(2 * r.back());
    negated.push_back(-r.back());
  }
  const double sharpe = sharpe_ratio(r);
  if (std::isnan(sharpe)) {
    RC_ASSERT(std::isnan(sharpe_ratio(doubled)));
    return;
  }
  RC_ASSERT(sharpe_ratio(doubled) == sharpe);
  RC_ASSERT(sharpe_ratio(negated) == -sharpe);
}

TEST(WeightSummary, CountsWhatIsHeldAndHowEvenly) {
  const std::vector<double> w = {0.5, 0.0, -0.25, 0.25, 0.0};
  const WeightSummary e = summarize(w);
  EXPECT_EQ(e.gross, 1.0);
  EXPECT_EQ(e.net, 0.5);
  EXPECT_EQ(e.holdings, 3.0);
  EXPECT_NEAR(e.effective_names, 1 / (0.25 + 0.0625 + 0.0625), 1e-15);
  EXPECT_EQ(e.largest, 0.5);
  const std::vector<double> even(8, -0.3);
  EXPECT_NEAR(summarize(even).effective_names, 8.0, 1e-12);
  const WeightSummary cash = summarize(std::vector<double>(4, 0.0));
  EXPECT_EQ(cash.gross, 0.0);
  EXPECT_EQ(cash.effective_names, 0.0);
  EXPECT_EQ(cash.largest, 0.0);
  const std::vector<double> broken = {kNaN, 0.5};
  EXPECT_TRUE(std::isnan(summarize(broken).largest));
  EXPECT_TRUE(std::isnan(summarize(broken).gross));
}

TEST(Metrics, TurnoverIsMeantPerRebalanceAndAddedUpPerYear) {
  const std::vector<double> r(6, 0.01);
  const std::vector<double> turnover = {1.0, kNaN, 0.4, kNaN, 0.1, kNaN};
  const Metrics m = metrics({.returns = r, .turnover = turnover, .periods_per_year = 12});
  EXPECT_EQ(m.n_rebalances, 3);
  EXPECT_NEAR(m.turnover, 0.5, 1e-16);
  EXPECT_NEAR(m.turnover_annualized, 1.5 * 2, 1e-15);
  const Metrics later =
      metrics({.returns = r, .turnover = turnover, .stats_from = 1, .periods_per_year = 12});
  EXPECT_EQ(later.n_rebalances, 2);
  EXPECT_NEAR(later.turnover, 0.25, 1e-16);
  const std::vector<double> never(6, kNaN);
  EXPECT_EQ(metrics({.returns = r, .turnover = never}).turnover, 0.0);
  EXPECT_TRUE(std::isnan(of(r).turnover));
}

TEST(Metrics, ExposuresAreMeansOverThePeriodsWithCashAsZero) {
  const std::vector<double> r = {0.0, 0.01, 0.02};
  const std::vector<double> gross = {0.0, 1.0, 2.0}, net = {0.0, -1.0, 0.0}, held = {0, 2, 4};
  const std::vector<double> names = {0.0, 2.0, 3.0}, largest = {0.0, 0.5, 0.75};
  const Metrics m = metrics({.returns = r,
                             .gross = gross,
                             .net = net,
                             .holdings = held,
                             .effective_names = names,
                             .largest = largest});
  EXPECT_EQ(m.mean_gross, 1.0);
  EXPECT_NEAR(m.mean_net, -1.0 / 3, 1e-16);
  EXPECT_EQ(m.mean_cardinality, 2.0);
  EXPECT_EQ(m.max_cardinality, 4.0);
  EXPECT_NEAR(m.mean_effective_names, 5.0 / 3, 1e-15);
  EXPECT_NEAR(m.mean_largest_weight, 1.25 / 3, 1e-16);
  EXPECT_EQ(m.max_largest_weight, 0.75);
}

TEST(Metrics, BetaAndTrackingErrorAgainstABenchmark) {
  const std::vector<double> b = {0.01, -0.02, 0.03, 0.0, 0.015};
  std::vector<double> r;
  for (std::size_t t = 0; t < b.size(); ++t) r.push_back(0.001 + 1.5 * b[t]);
  const Metrics m = metrics({.returns = r, .benchmark = b, .periods_per_year = 4});
  EXPECT_NEAR(m.beta, 1.5, 1e-14);
  EXPECT_NEAR(m.correlation, 1.0, 1e-14);
  // d = 0.001 + 0.5 b
  const Metrics of_b = of(b, 4);
  EXPECT_NEAR(m.tracking_error, 0.5 * of_b.volatility, 1e-16);
  EXPECT_NEAR(m.tracking_error_annualized, of_b.volatility, 1e-16);
  EXPECT_NEAR(m.information_ratio, (0.001 + 0.5 * of_b.mean_return) / (0.5 * of_b.volatility),
              1e-13);
  EXPECT_NEAR(m.information_ratio_annualized, 2 * m.information_ratio, 1e-13);
  EXPECT_EQ(m.benchmark_sharpe, of_b.sharpe);
  const std::vector<double> rate = {0.002};
  const Metrics above = metrics({.returns = r, .risk_free = rate, .benchmark = b});
  EXPECT_NEAR(above.benchmark_sharpe, (of_b.mean_return - 0.002) / of_b.volatility, 1e-13);
  EXPECT_NEAR(above.beta, 1.5, 1e-14);
  // The benchmark itself: no tracking error, so no information ratio.
  const Metrics same = metrics({.returns = b, .benchmark = b});
  EXPECT_NEAR(same.beta, 1.0, 1e-15);
  EXPECT_EQ(same.tracking_error, 0.0);
  EXPECT_TRUE(std::isnan(same.information_ratio));
  const std::vector<double> flat(b.size(), 0.001);
  EXPECT_TRUE(std::isnan(metrics({.returns = r, .benchmark = flat}).beta));
}

TEST(Metrics, RefuseColumnsThatDoNotFit) {
  const std::vector<double> r(4, 0.01), three(3, 0.0);
  expect_input_error({.returns = r, .turnover = three},
                     "turnover has 3 entries and there are 4 returns; give one entry per period, "
                     "or none");
  expect_input_error({.returns = r, .risk_free = three},
                     "risk_free has 3 entries and there are 4 returns; give one entry per period, "
                     "or none");
  expect_input_error({.returns = r, .stats_from = 5}, "stats_from = 5 is outside [0, 4]");
  expect_input_error({.returns = r, .stats_from = -1}, "stats_from = -1 is outside [0, 4]");
  expect_input_error({.returns = r, .periods_per_year = 0},
                     "periods_per_year = 0 is outside (0, inf)");
}

TEST(Metrics, NoPeriodLeftForStatisticsIsNotAnError) {
  const std::vector<double> r = {0.1, 0.2};
  const Metrics m = metrics({.returns = r, .stats_from = 2});
  EXPECT_EQ(m.n_periods, 0);
  EXPECT_TRUE(std::isnan(m.sharpe));
  EXPECT_NEAR(m.final_wealth, 1.32, 1e-15);
}

}  // namespace
}  // namespace sharpen::backtest
