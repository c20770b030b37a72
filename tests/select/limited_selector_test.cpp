// Portfolios of at most k names under limits, as decisions are made.
#include "sharpen/select/limited.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "select/limited_search.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::VectorXd;
using layer::Objective;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

// Three factors.
struct Market {
  Market(std::uint64_t seed, Index n_) : n(n_), mu(n_), Sigma(n_, n_) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    RowMatrix B(n, 3);
    for (Index i = 0; i < n; ++i)
      for (Index f = 0; f < 3; ++f) B(i, f) = normal(engine);
    Sigma = 1e-4 * B * B.transpose();
    for (Index i = 0; i < n; ++i) {
      Sigma(i, i) += 5e-5;
      mu(i) = 1e-3 * (normal(engine) + 0.3);
    }
    set_up();
  }
  void set_up() {
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    risk = risk::from_covariance(view(Sigma), settings);
  }
  Portfolio run(const SelectSettings& settings, const layer::Limits& limits) const {
    Portfolio out;
    LimitedSelector(settings, n).run(*risk, 0, view(mu), limits, out);
    return out;
  }
  double sharpe(const Portfolio& p) const {
    const VectorXd w = Eigen::Map<const VectorXd>(p.weights.data(), n);
    return mu.dot(w) / std::sqrt(w.dot(Sigma * w));
  }

  Index n;
  VectorXd mu;
  RowMatrix Sigma;
  std::unique_ptr<risk::Risk> risk;
};

constexpr std::array kAll = {Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy,
                             Optimizer::swap};

SelectSettings choose(Index k, Optimizer optimizer, Objective objective = Objective::sharpe) {
  SelectSettings settings;
  settings.k = k;
  settings.optimizer = optimizer;
  settings.objective = {.kind = objective, .volatility = 0.01, .risk_aversion = 5.0};
  return settings;
}

layer::Limits long_only(Index n) {
  layer::Limits limits;
  limits.lower.assign(at(n), 0.0);
  return limits;
}

TEST(LimitedSelector, KeepsItsLimitsAndSaysWhatItsWeightsSay) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Market market(seed, 24);
    layer::Limits limits = long_only(24);
    limits.upper.assign(24, 0.4);
    for (const Optimizer optimizer : kAll) {
      SCOPED_TRACE(std::string(name(optimizer)) + " " + std::to_string(seed));
      const Portfolio p = market.run(choose(5, optimizer), limits);
      ASSERT_EQ(p.outcome.status, Status::ok);
      EXPECT_LE(p.support.size(), 5u);
      double net = 0.0;
      for (Index i = 0; i < 24; ++i) {
        const double w = p.weights[at(i)];
        EXPECT_GE(w, 0.0);
        EXPECT_LE(w, 0.4 + 1e-12);
        EXPECT_EQ(w != 0.0, std::ranges::binary_search(p.support, i));
        net += w;
      }
      EXPECT_NEAR(net, 1.0, 1e-9);
      EXPECT_NEAR(p.sharpe, market.sharpe(p), 1e-12);
      EXPECT_NEAR(*p.value, p.sharpe, 1e-12);
    }
  }
}

TEST(LimitedSelector, SearchesFindAtLeastWhatScoresDo) {
  double by_score = 0.0, greedy = 0.0, swap = 0.0, full = 0.0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Market market(seed, 30);
    const layer::Limits limits = long_only(30);
    by_score += *market.run(choose(4, Optimizer::symmetric), limits).value;
    greedy += *market.run(choose(4, Optimizer::greedy), limits).value;
    const Portfolio best = market.run(choose(4, Optimizer::swap), limits);
    swap += *best.value;
    const double all = limited_full_sharpe({}, *market.risk, 0, view(market.mu), limits);
    EXPECT_GE(all, best.sharpe - 1e-12);
    full += all;
  }
  EXPECT_LT(by_score, greedy);
  EXPECT_LE(greedy, swap);
  EXPECT_LE(swap, full);
}

TEST(LimitedSelector, ValueIsTheObjectiveAfterCosts) {
  const Market market(3, 10);
  layer::Limits limits = long_only(10);
  limits.holdings.assign(10, 0.05);
  limits.costs.assign(10, 1e-4);
  for (const Objective objective :
       {Objective::sharpe, Objective::expected_return, Objective::utility}) {
    const Portfolio p = market.run(choose(4, Optimizer::swap, objective), limits);
    ASSERT_EQ(p.outcome.status, Status::ok);
    const VectorXd w = Eigen::Map<const VectorXd>(p.weights.data(), 10);
    const double earned = market.mu.dot(w) - 1e-4 * (w.array() - 0.05).abs().sum();
    const double variance = w.dot(market.Sigma * w);
    const double expected = objective == Objective::sharpe            ? earned / std::sqrt(variance)
                            : objective == Objective::expected_return ? earned
                                                                      : earned - 2.5 * variance;
    EXPECT_NEAR(*p.value, expected, 1e-12);
    if (objective == Objective::expected_return) {
      EXPECT_NEAR(std::sqrt(variance), 0.01, 1e-11);
    }
  }
}

TEST(LimitedSelector, OtherLimitsOnOtherDaysLeaveNothingBehind) {
  const Market market(8, 16);
  layer::Limits first = long_only(16), second = long_only(16);
  second.upper.assign(16, 0.3);
  LimitedSelector selector(choose(4, Optimizer::swap), 16);
  Portfolio one, two, again;
  selector.run(*market.risk, 0, view(market.mu), first, one);
  selector.run(*market.risk, 0, view(market.mu), second, two);
  selector.run(*market.risk, 0, view(market.mu), first, again);
  EXPECT_EQ(one.weights, again.weights);
  EXPECT_EQ(two.weights, market.run(choose(4, Optimizer::swap), second).weights);
}

TEST(LimitedSelector, BatchHasTheBitsOfOneByOne) {
  const Market market(5, 20);
  SelectSettings settings = choose(4, Optimizer::swap);
  auto schedule = std::make_shared<layer::LimitSchedule>();
  schedule->limits = {long_only(20)};
  settings.limits = schedule;
  RowMatrix mu(8, 20);
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  for (Index b = 0; b < 8; ++b)
    for (Index i = 0; i < 20; ++i) mu(b, i) = 1e-3 * normal(engine);
  const std::vector<Index> samples(8, 0);
  const std::vector<Portfolio> batch =
      select_batch(settings, *market.risk, samples, view(mu), Threads(3));
  for (Index b = 0; b < 8; ++b) {
    Portfolio alone;
    LimitedSelector(settings, 20).run(*market.risk, 0, view(mu).row(b), schedule->limits[0], alone);
    EXPECT_EQ(batch[at(b)].weights, alone.weights);
    EXPECT_EQ(batch[at(b)].value, alone.value);
  }
}

// Or something better, which a search from another start may find.
TEST(LimitedSelector, LimitsThatAreNotFeltGiveTheBitsOfNone) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Market market(seed, 18);
    if (seed % 3 == 2) market.mu = -market.mu.cwiseAbs();  // the face of net position zero
    layer::Limits wide;
    wide.lower.assign(18, -1e3);
    wide.upper.assign(18, 1e3);
    wide.gross = 1e4;
    wide.rows = {{"net", std::vector<double>(18, 1.0), 0.0, layer::kUnlimited}};
    for (const Optimizer optimizer : kAll) {
      SCOPED_TRACE(std::string(name(optimizer)) + " " + std::to_string(seed));
      SelectSettings settings = choose(4, optimizer, Objective::expected_return);
      settings.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.01};
      Portfolio plain;
      Selector(settings, *market.risk).run(*market.risk, 0, view(market.mu), plain);
      const Portfolio limited = market.run(settings, wide);
      const bool by_score = optimizer == Optimizer::oscar || optimizer == Optimizer::symmetric;
      if (limited.weights != plain.weights && !by_score) {
        EXPECT_GT(limited.sharpe, plain.sharpe);
        ++better;
        continue;
      }
      EXPECT_EQ(limited.outcome, plain.outcome);
      EXPECT_EQ(limited.weights, plain.weights);
      EXPECT_EQ(limited.support, plain.support);
      EXPECT_EQ(limited.sharpe, plain.sharpe);
      settings.objective.kind = Objective::utility;
      const Portfolio utility = market.run(settings, wide);
      EXPECT_GE(*utility.value, 0.5 * *plain.value / 5.0 * (1.0 - 1e-12));
      EXPECT_TRUE(utility.support == plain.support || !by_score);
      // With a net position of 1, no bounds are wide on that face.
      if (plain.outcome.neutral_first || plain.outcome.status != Status::ok) continue;
      settings.objective.kind = Objective::sharpe;
      const Portfolio sharpe = market.run(settings, wide);
      EXPECT_GE(sharpe.sharpe, plain.sharpe - 1e-12);
      EXPECT_TRUE(sharpe.support == plain.support || !by_score);
      const VectorXd w = Eigen::Map<const VectorXd>(sharpe.weights.data(), 18);
      EXPECT_NEAR(w.sum(), 1.0, 1e-12);
    }
  }
  EXPECT_LE(better, 10);
}

// Of many assets only a pool is searched; what it misses comes in.
TEST(LimitedSelector, OfManyAssetsFindsAtLeastAboutWhatAllOfThemGive) {
  const Index n = 320;
  const Market market(11, n);
  layer::Limits limits = long_only(n);
  limits.upper.assign(at(n), 0.4);
  limits.holdings.assign(at(n), 0.0);
  limits.holdings[7] = limits.holdings[250] = 0.5;
  limits.costs.assign(at(n), 1e-5);
  limits.turnover = 1.8;
  limits.rows = {{"first half", std::vector<double>(at(n), 0.0), 0.3, 1.0}};
  std::fill_n(limits.rows[0].coefficients.begin(), n / 2, 1.0);
  for (const Objective objective :
       {Objective::sharpe, Objective::expected_return, Objective::utility}) {
    SelectSettings settings = choose(6, Optimizer::swap, objective);
    settings.objective.volatility = 0.004;
    const Portfolio p = market.run(settings, limits);
    ASSERT_EQ(p.outcome.status, Status::ok);
    EXPECT_LE(p.support.size(), 6u);
    LimitedSearch all(settings.objective, limits, n, 6);
    std::vector<double> w(at(n));
    ASSERT_EQ(all.run(*market.risk, 0, view(market.mu), true, w), layer::LimitedEnd::ok);
    EXPECT_GE(*p.value, 0.99 * all.solver().value());
  }
}

TEST(LimitedSelector, SlowAllOfManyAssetsAreSolvedExactly) {
  const Index n = 1000;
  const Market market(12, n);
  layer::Limits limits = long_only(n);
  limits.upper.assign(at(n), 0.02);
  for (const Objective objective : {Objective::sharpe, Objective::utility}) {
    const Portfolio p = market.run(choose(n, Optimizer::swap, objective), limits);
    LimitedSearch all(choose(n, Optimizer::swap, objective).objective, limits, n, n);
    std::vector<double> w(at(n));
    ASSERT_EQ(all.run_on_all(*market.risk, 0, view(market.mu), w), layer::LimitedEnd::ok);
    ASSERT_EQ(p.outcome.status, Status::ok);
    for (Index i = 0; i < n; ++i) EXPECT_NEAR(p.weights[at(i)], w[at(i)], 1e-9);
  }
}

// On the names it holds, no weight moved to another one earns more per risk, but for what is at its
// cap: the conditions of optimality, from the weights alone.
TEST(LimitedSelector, WeightsAreOptimalOnTheirNames) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Market market(seed, 25);
    layer::Limits limits = long_only(25);
    limits.upper.assign(25, 0.3);
    const Portfolio p = market.run(choose(6, kAll[seed % 4]), limits);
    ASSERT_EQ(p.outcome.status, Status::ok);
    const VectorXd w = Eigen::Map<const VectorXd>(p.weights.data(), 25);
    const double theta = w.dot(market.Sigma * w) / market.mu.dot(w);
    const VectorXd e = theta * market.mu - market.Sigma * w;
    const double scale = e.cwiseAbs().maxCoeff() + (market.Sigma * w).cwiseAbs().maxCoeff();
    double least = 1e300, most = -1e300, capped = 1e300;
    for (const Index i : p.support) {
      if (w(i) == 0.3) {
        capped = std::min(capped, e(i));
        continue;
      }
      least = std::min(least, e(i));
      most = std::max(most, e(i));
    }
    EXPECT_LE(most - least, 1e-9 * scale);
    EXPECT_GE(capped, most - 1e-9 * scale);
  }
}

TEST(LimitedSelector, TheOrderOfTheAssetsDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Market market(seed, 20);
    Market turned(seed, 20);
    std::vector<Index> order(20);
    std::iota(order.begin(), order.end(), Index{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    turned.mu = market.mu(order);
    turned.Sigma = market.Sigma(order, order);
    turned.set_up();
    for (const Optimizer optimizer : {Optimizer::symmetric, Optimizer::greedy, Optimizer::swap}) {
      const Portfolio one = market.run(choose(5, optimizer), long_only(20));
      const Portfolio two = turned.run(choose(5, optimizer), long_only(20));
      EXPECT_NEAR(*one.value, *two.value, 1e-9);
      for (Index i = 0; i < 20; ++i)
        EXPECT_NEAR(two.weights[at(i)], one.weights[at(order[at(i)])], 1e-9);
    }
  }
}

TEST(LimitedSelector, AGrossOfOneIsLongOnlyAndTheScaleOfTheSignalIsNothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Market market(seed, 18);
    layer::Limits gross;
    gross.gross = 1.0;
    const Portfolio held = market.run(choose(4, Optimizer::swap), long_only(18));
    const Portfolio bounded = market.run(choose(4, Optimizer::swap), gross);
    market.mu *= 1e3;
    const Portfolio scaled = market.run(choose(4, Optimizer::swap), long_only(18));
    ASSERT_EQ(held.outcome.status, Status::ok);
    EXPECT_NEAR(*bounded.value, *held.value, 1e-9);
    for (std::size_t i = 0; i < 18; ++i) {
      EXPECT_NEAR(bounded.weights[i], held.weights[i], 1e-8);
      EXPECT_NEAR(scaled.weights[i], held.weights[i], 1e-8);
    }
  }
}

TEST(LimitedSelector, SaysWhatLimitsAndSignalsAllow) {
  Market market(2, 8);
  layer::Limits limits = long_only(8);
  limits.upper.assign(8, 0.2);
  for (const Optimizer optimizer : kAll) {
    const Portfolio p = market.run(choose(4, optimizer), limits);
    EXPECT_EQ(p.outcome.status, Status::infeasible);
    EXPECT_NEAR(p.outcome.violation, 0.05, 1e-3);  // four names have to be 25 % each
    EXPECT_LE(p.support.size(), 4u);
    EXPECT_NEAR(std::accumulate(p.weights.begin(), p.weights.end(), 0.0), 1.0, 1e-9);
  }
  market.mu = -market.mu.cwiseAbs();
  const Portfolio least = market.run(choose(3, Optimizer::swap), long_only(8));
  EXPECT_EQ(least.outcome.status, Status::ok);
  EXPECT_EQ(least.outcome.note, Note::nothing_earns);
  EXPECT_LT(least.sharpe, 0.0);
  const Portfolio cash = market.run(choose(3, Optimizer::swap, Objective::utility), long_only(8));
  EXPECT_EQ(cash.outcome.status, Status::no_signal);
  EXPECT_TRUE(cash.support.empty());
  market.mu(3) = std::nan("");
  const Portfolio invalid = market.run(choose(3, Optimizer::greedy), long_only(8));
  EXPECT_EQ(invalid.outcome.status, Status::invalid_input);
  EXPECT_TRUE(std::isnan(invalid.sharpe));
  EXPECT_THROW(market.run(choose(3, Optimizer::greedy), long_only(7)), InputError);
}

}  // namespace
}  // namespace sharpen::select
