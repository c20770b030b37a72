#include "sharpen/backtest/after_costs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest {
namespace {

using sharpen::testing::kNaN;

const Threads kSingle(1);

std::vector<double> noise(Index n, double mean, std::uint64_t stream) {
  Random random(71, stream);
  std::vector<double> out;
  for (Index t = 0; t < n; ++t) out.push_back(mean + 0.01 * random.normal());
  return out;
}

// A run of n periods with everything that a track can have.
struct Recorded {
  explicit Recorded(Index n, double bps = 10.0) : gross(noise(n, 0.0008, 1)) {
    const std::vector<double> traded = noise(n, 0.0, 2);
    for (Index t = 0; t < n; ++t) {
      const bool rests = t % 3 == 1;
      turnover.push_back(rests ? kNaN : 40.0 * std::abs(traded[at(t)]));
      trading.push_back(rests ? 0.0 : 1e-4 * bps * turnover.back());
      fees.push_back(1e-5);
      financing.push_back(t % 2 == 0 ? 2e-5 : 0.0);
      returns.push_back(gross[at(t)] - trading.back() - fees.back() - financing.back());
      exposure.push_back(1.5);
    }
    delayed = noise(n, 0.0003, 3);
    equal = noise(n, 0.0004, 4);
  }

  Track track() const {
    Track out;
    out.returns = returns;
    out.risk_free = {&rate, 1};
    out.turnover = turnover;
    out.gross = exposure;
    out.gross_returns = gross;
    out.trading_costs = trading;
    out.short_fees = fees;
    out.financing = financing;
    out.delayed = delayed;
    out.equal = equal;
    return out;
  }

  std::vector<double> gross, turnover, trading, fees, financing, returns, exposure, delayed, equal;
  double rate = 1e-4;
};

double mean(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

// Of r less the rate from period `from` on.
double plain_sharpe_of(const std::vector<double>& r, double rate, Index from = 0) {
  std::vector<double> e;
  for (std::size_t t = at(from); t < r.size(); ++t) e.push_back(r[t] - rate);
  double squares = 0.0;
  for (const double value : e) squares += (value - mean(e)) * (value - mean(e));
  return mean(e) / std::sqrt(squares / (static_cast<double>(e.size()) - 1.0));
}

// Turnover 2, none, 1; costs of 20 bp; gross 2 %, -1 %, 3 %.
TEST(AfterCosts, GivesTheFiguresComputedByHand) {
  const std::vector<double> gross = {0.02, -0.01, 0.03}, turnover = {2.0, kNaN, 1.0},
                            trading = {0.004, 0.0, 0.002}, fees = {0.001, 0.001, 0.0},
                            financing = {0.0, 0.0005, 0.0}, exposure = {1.0, 1.2, 0.8};
  const std::vector<double> returns = {0.015, -0.0115, 0.028};
  Track track;
  track.returns = returns;
  track.gross_returns = gross;
  track.turnover = turnover;
  track.trading_costs = trading;
  track.short_fees = fees;
  track.financing = financing;
  track.gross = exposure;
  track.periods_per_year = 12;
  const Metrics m = metrics(track);
  EXPECT_NEAR(m.trading_cost, 0.006, 1e-17);
  EXPECT_NEAR(m.short_fee, 0.002, 1e-17);
  EXPECT_NEAR(m.financing, 0.0005, 1e-17);
  EXPECT_NEAR(m.total_cost, 0.0085, 1e-17);
  EXPECT_NEAR(m.cost_annualized, 0.034, 1e-16);
  // What is left before trading: 1.9 %, -1.15 %, 3 %: 3.75 % for a turnover of 3.
  EXPECT_NEAR(m.break_even_bps, 125.0, 1e-10);
  EXPECT_NEAR(m.mean_holding_period, 2.0, 1e-15);
  EXPECT_NEAR(m.turnover_annualized, 12.0, 1e-14);
  EXPECT_NEAR(m.sharpe_gross, (0.04 / 3) / std::sqrt(0.0008666666666666667 / 2), 1e-12);
  EXPECT_NEAR(m.sharpe_gross_annualized, m.sharpe_gross * std::sqrt(12.0), 1e-14);
  EXPECT_TRUE(std::isnan(m.sharpe_delayed_annualized) && std::isnan(m.equal_sharpe));
}

TEST(AfterCosts, AreOfTheStatisticsPeriodsAndOfTheColumnsTheyName) {
  const Recorded run(60);
  Track track = run.track();
  track.stats_from = 20;
  const Metrics m = metrics(track);
  EXPECT_NEAR(m.sharpe, plain_sharpe_of(run.returns, run.rate, 20), 1e-13);
  EXPECT_NEAR(m.sharpe_gross, plain_sharpe_of(run.gross, run.rate, 20), 1e-13);
  EXPECT_NEAR(m.sharpe_delayed, plain_sharpe_of(run.delayed, run.rate, 20), 1e-13);
  EXPECT_NEAR(m.equal_sharpe, plain_sharpe_of(run.equal, run.rate, 20), 1e-13);
  EXPECT_NEAR(m.short_fee, 40 * 1e-5, 1e-16);
  EXPECT_NEAR(m.financing, 20 * 2e-5, 1e-16);
  EXPECT_EQ(m.total_cost, m.trading_cost + m.short_fee + m.financing);
}

TEST(AfterCosts, WhatWasNotRecordedOrTradedHasNoFigure) {
  const std::vector<double> r = {0.01, 0.02, -0.01}, none = {0.0, 0.0, 0.0};
  const std::vector<double> rests = {kNaN, kNaN, kNaN};
  const Metrics bare = metrics({.returns = r});
  for (const double figure :
       {bare.sharpe_gross, bare.sharpe_delayed, bare.equal_sharpe, bare.total_cost,
        bare.trading_cost, bare.break_even_bps, bare.mean_holding_period, bare.cost_annualized})
    EXPECT_TRUE(std::isnan(figure));
  Track still;
  still.returns = r;
  still.turnover = rests;
  still.trading_costs = still.short_fees = still.financing = none;
  still.gross = r;
  const Metrics m = metrics(still);
  EXPECT_TRUE(std::isnan(m.break_even_bps) && std::isnan(m.mean_holding_period));
  EXPECT_EQ(m.total_cost, 0.0);
  const AfterCosts after = after_costs({.returns = r}, {}, kSingle);
  EXPECT_TRUE(after.cost_curve.empty());
  EXPECT_TRUE(std::isnan(after.regression.alpha) && std::isnan(after.difference.difference));
  const std::vector<double> few = {0.01, 0.02};
  EXPECT_THROW(metrics({.returns = r, .equal = few}), InputError);
  EXPECT_THROW(regression(r, few, {}, kSingle), InputError);
}

// The curve from sums over each resample must be what resampling every series would give.
TEST(CostCurve, PointsAreTheSharpeRatiosAndIntervalsOfTheSeriesPaidAtThatRate) {
  const Recorded run(250);
  const BeforeTrading before = before_trading(run.track());
  const BootstrapSettings settings{.replications = 400, .block = 3.0, .seed = 5};
  const std::vector<CostPoint> curve = cost_curve(before, kCostLevels, 1.0, settings, kSingle);
  ASSERT_EQ(curve.size(), 11u);
  for (std::size_t c = 0; c < curve.size(); ++c) {
    EXPECT_EQ(curve[c].bps, 5.0 * static_cast<double>(c));
    std::vector<double> paid(before.excess);
    for (std::size_t t = 0; t < paid.size(); ++t)
      paid[t] -= 1e-4 * curve[c].bps * before.turnover[t];
    const SharpeInterval interval = sharpe_interval(paid, settings, kSingle);
    EXPECT_EQ(curve[c].sharpe, sharpe_ratio(paid));
    EXPECT_NEAR(curve[c].interval.low, interval.low, 1e-12);
    EXPECT_NEAR(curve[c].interval.high, interval.high, 1e-12);
    if (c > 0) {
      EXPECT_LT(curve[c].sharpe, curve[c - 1].sharpe);
    }
  }
}

TEST(CostCurve, AtTheRunsOwnCostIsTheRunAndCrossesZeroAtTheBreakEven) {
  const Recorded run(250, 10.0);
  const Track track = run.track();
  const BootstrapSettings settings{.replications = 300, .seed = 2};
  const AfterCosts after = after_costs(track, settings, kSingle);
  const Metrics m = metrics(track);
  const SharpeInterval interval = sharpe_interval(excess_returns(track), settings, kSingle);
  const CostPoint& own = after.cost_curve[2];
  EXPECT_NEAR(own.sharpe, m.sharpe, 1e-12);
  EXPECT_NEAR(own.interval.low, interval.low, 1e-12);
  EXPECT_NEAR(own.interval.high, interval.high, 1e-12);
  const std::vector<double> level = {m.break_even_bps};
  EXPECT_NEAR(cost_curve(before_trading(track), level, 1.0, settings, kSingle)[0].sharpe, 0.0,
              1e-13);
}

TEST(CostCurve, ResamplesThatDoNotVaryLieBeyondAllOthers) {
  const BeforeTrading before{.excess = {0.01, 0.02, 0.02}, .turnover = {0.0, 0.0, 0.0}};
  const BootstrapSettings settings{.replications = 2000, .block = 1.0};
  const CostPoint point = cost_curve(before, kCostLevels, 1.0, settings, kSingle)[0];
  const SharpeInterval interval = sharpe_interval(before.excess, settings, kSingle);
  EXPECT_EQ(interval.high, std::numeric_limits<double>::infinity());
  EXPECT_EQ(point.interval.high, interval.high);
  EXPECT_NEAR(point.interval.low, interval.low, 1e-12);
}

TEST(Regression, OfALineIsTheLineWithCertainty) {
  const std::vector<double> b = noise(40, 0.001, 6);
  std::vector<double> e;
  for (const double x : b) e.push_back(0.002 + 1.5 * x);
  const Regression found = regression(e, b, {.replications = 200}, kSingle);
  for (const double alpha : {found.alpha, found.alpha_interval.low, found.alpha_interval.high})
    EXPECT_NEAR(alpha, 0.002, 1e-15);
  for (const double beta : {found.beta, found.beta_interval.low, found.beta_interval.high})
    EXPECT_NEAR(beta, 1.5, 1e-12);
  const std::vector<double> flat(40, 0.001);
  EXPECT_TRUE(std::isnan(regression(e, flat, {}, kSingle).beta));
}

TEST(Regression, AgreesWithLeastSquaresTheoryOnALargeSample) {
  const Index n = 4000;
  const std::vector<double> b = noise(n, 0.001, 7), residual = noise(n, 0.0002, 8);
  std::vector<double> e(at(n));
  for (std::size_t t = 0; t < e.size(); ++t) e[t] = 0.7 * b[t] + residual[t];
  const Regression found = regression(e, b, {.replications = 2000, .block = 1.0}, kSingle);
  const double se = 0.01 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(found.alpha, 0.0002, 3.0 * se);
  EXPECT_NEAR(found.beta, 0.7, 3.0 * se / 0.01);
  const double z = 1.96;
  EXPECT_NEAR(found.alpha_interval.low, found.alpha - z * se, 0.15 * se);
  EXPECT_NEAR(found.alpha_interval.high, found.alpha + z * se, 0.15 * se);
  EXPECT_NEAR(found.beta_interval.low, found.beta - z * se / 0.01, 0.15 * se / 0.01);
  EXPECT_NEAR(found.beta_interval.high, found.beta + z * se / 0.01, 0.15 * se / 0.01);
}

// Strong autocorrelation of the residuals must lengthen the blocks and widen the interval.
TEST(Regression, CountsAutocorrelation) {
  const Index n = 1000;
  const std::vector<double> b = noise(n, 0.0, 9), shocks = noise(n, 0.0, 10);
  std::vector<double> e(at(n)), residual(at(n));
  for (std::size_t t = 1; t < e.size(); ++t) {
    residual[t] = 0.8 * residual[t - 1] + shocks[t];
    e[t] = b[t] + residual[t];
  }
  const auto width = [](const Regression& r) {
    return r.alpha_interval.high - r.alpha_interval.low;
  };
  const Regression chosen = regression(e, b, {.replications = 500}, kSingle);
  EXPECT_GT(chosen.block, 5.0);
  EXPECT_GT(width(chosen),
            1.5 * width(regression(e, b, {.replications = 500, .block = 1.0}, kSingle)));
}

TEST(Regression, CoversTheTruthAboutAsOftenAsItSays) {
  Index covered = 0;
  const Index samples = 200;
  for (Index i = 0; i < samples; ++i) {
    const auto stream = static_cast<std::uint64_t>(100 + 2 * i);
    const std::vector<double> b = noise(120, 0.0005, stream), u = noise(120, 0.0, stream + 1);
    std::vector<double> e(b);
    for (std::size_t t = 0; t < e.size(); ++t) e[t] += u[t];
    const Interval found = regression(e, b, {.replications = 199}, kSingle).alpha_interval;
    covered += found.low < 0.0 && found.high > 0.0;
  }
  EXPECT_GE(covered, 178);
  EXPECT_LE(covered, 199);
}

TEST(AfterCosts, TakesBlocksThatOneRunCanHave) {
  const Recorded run(40);
  for (const double block : {1.0, 20.0, 30.0, 40.0})
    EXPECT_TRUE(std::isfinite(
        after_costs(run.track(), {.replications = 50, .block = block}, kSingle).difference.low))
        << block;
  for (const Index n : {0, 1, 2, 3}) {
    const Recorded few(n);
    EXPECT_TRUE(std::isnan(after_costs(few.track(), {.replications = 50}, kSingle).difference.low));
  }
}

TEST(AfterCosts, HasEqualBitsForAnyNumberOfThreads) {
  const Recorded run(120);
  const BootstrapSettings settings{.replications = 100};
  const AfterCosts one = after_costs(run.track(), settings, kSingle);
  const AfterCosts three = after_costs(run.track(), settings, Threads(3));
  EXPECT_EQ(one.regression.alpha_interval.low, three.regression.alpha_interval.low);
  EXPECT_EQ(one.regression.beta_interval.high, three.regression.beta_interval.high);
  EXPECT_EQ(one.difference.p_value, three.difference.p_value);
  for (std::size_t c = 0; c < one.cost_curve.size(); ++c) {
    EXPECT_EQ(one.cost_curve[c].interval.low, three.cost_curve[c].interval.low);
    EXPECT_EQ(one.cost_curve[c].interval.high, three.cost_curve[c].interval.high);
  }
}

}  // namespace
}  // namespace sharpen::backtest
