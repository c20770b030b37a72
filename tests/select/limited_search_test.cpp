// At most k names under limits, against all supports there are.
#include "select/limited_search.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::VectorXd;
using layer::LimitedEnd;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

// Three factors, and caps for every second problem.
struct Problem {
  Problem(std::uint64_t seed, Index most) : engine(seed), n(6 + below(most - 5)), k(2 + below(3)) {
    std::normal_distribution<double> normal;
    RowMatrix B(n, 3);
    for (Index i = 0; i < n; ++i)
      for (Index f = 0; f < 3; ++f) B(i, f) = normal(engine);
    Sigma = 1e-4 * B * B.transpose();
    mu = VectorXd(n);
    const double own = 3e-5 + 5e-7 * static_cast<double>(below(100));
    for (Index i = 0; i < n; ++i) {
      Sigma(i, i) += own;
      mu(i) = 1e-3 * (normal(engine) + 0.5);
    }
    limits.lower.assign(at(n), 0.0);
    if (seed % 2 == 1) limits.upper.assign(at(n), 0.6);
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    risk = risk::from_covariance(view(Sigma), settings);
  }
  Index below(Index m) { return std::uniform_int_distribution<Index>(0, m - 1)(engine); }

  double sharpe(const VectorXd& w) const { return mu.dot(w) / std::sqrt(w.dot(Sigma * w)); }

  // The best of all supports of k names.
  double best() const {
    double largest = -1.0;
    VectorXd w(n);
    for (unsigned mask = 1; mask < 1u << n; ++mask) {
      if (std::popcount(mask) != static_cast<int>(k)) continue;
      layer::Limits inside = limits;
      inside.upper.resize(at(n), layer::kUnlimited);
      for (Index i = 0; i < n; ++i)
        if ((mask >> i & 1u) == 0) inside.upper[at(i)] = 0.0;
      layer::LimitedSolver solver({}, inside, n);
      layer::LimitedState state;
      if (solver.forward(*risk, 0, view(mu), {}, state, view(w)) == LimitedEnd::ok)
        largest = std::max(largest, sharpe(w));
    }
    return largest;
  }

  std::mt19937_64 engine;
  Index n, k;
  RowMatrix Sigma;
  VectorXd mu;
  layer::Limits limits;
  std::unique_ptr<risk::Risk> risk;
};

void compare_with_enumeration(std::uint64_t problems, Index most) {
  double shares = 0.0;
  Index equal = 0, count = 0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("problem " + std::to_string(seed));
    const Problem problem(seed, most);
    const double best = problem.best();
    if (best <= 0.0) continue;  // nothing earns
    VectorXd w(problem.n);
    LimitedSearch search({}, problem.limits, problem.n, problem.k);
    ASSERT_EQ(search.run(*problem.risk, 0, view(problem.mu), true, view(w)), LimitedEnd::ok);
    ASSERT_LE((w.array() != 0.0).count(), problem.k);
    EXPECT_NEAR(w.sum(), 1.0, 1e-9);
    EXPECT_GE(w.minCoeff(), 0.0);
    EXPECT_LE(w.maxCoeff(), problem.limits.upper.empty() ? 1.0 + 1e-9 : 0.6 + 1e-9);
    const double share = problem.sharpe(w) / best;
    EXPECT_LT(share, 1.0 + 1e-9);
    shares += share;
    equal += share > 1.0 - 1e-9;
    ++count;
  }
  EXPECT_GT(shares / static_cast<double>(count), 0.999);
  EXPECT_GT(equal, count * 95 / 100);
  ::testing::Test::RecordProperty("equal", static_cast<int>(equal));
  ::testing::Test::RecordProperty("problems", static_cast<int>(count));
}

TEST(LimitedSearch, FindsNearlyAlwaysTheBestSupport) { compare_with_enumeration(150, 10); }
TEST(LimitedSearch, SlowFindsNearlyAlwaysTheBestSupportOfEighteen) {
  compare_with_enumeration(1000, 18);
}

TEST(LimitedSearch, SaysThatFewNamesCannotFillTheirCaps) {
  Problem problem(4, 12);
  problem.limits.upper.assign(at(problem.n), 0.2);
  LimitedSearch search({}, problem.limits, problem.n, 4);
  VectorXd w(problem.n);
  EXPECT_EQ(search.run(*problem.risk, 0, view(problem.mu), true, view(w)), LimitedEnd::infeasible);
}

// Uncorrelated names of given volatility.
struct Small {
  Small(const VectorXd& mu_, const VectorXd& volatility) : mu(mu_), w(mu_.size()) {
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    Sigma = volatility.cwiseAbs2().asDiagonal();
    risk = risk::from_covariance(view(Sigma), settings);
  }
  LimitedEnd run(const layer::ObjectiveSettings& objective, const layer::Limits& limits, Index k) {
    return LimitedSearch(objective, limits, mu.size(), k).run(*risk, 0, view(mu), true, view(w));
  }

  VectorXd mu, w;
  RowMatrix Sigma;
  std::unique_ptr<risk::Risk> risk;
};

TEST(LimitedSearch, PrefersWhatKeepsItsRiskToWhatEarnsMore) {
  Small market(Eigen::Vector4d(0.01, 0.01, 0.05, 0.05), Eigen::Vector4d(0.08, 0.08, 0.4, 0.4));
  layer::ObjectiveSettings objective;
  objective.kind = layer::Objective::expected_return;
  objective.volatility = 0.10;
  layer::Limits limits;
  limits.lower.assign(4, 0.0);
  limits.rows = {{"net", {1.0, 1.0, 1.0, 1.0}, 1.0, 1.0}};
  EXPECT_EQ(market.run(objective, limits, 2), LimitedEnd::ok);
  EXPECT_NEAR(std::sqrt(market.w.dot(market.Sigma * market.w)), 0.10, 1e-9);
  EXPECT_LE((market.w.array() != 0.0).count(), 2);
}

TEST(LimitedSearch, KeepsNamesThatMustBeHeld) {
  Small market(Eigen::Vector4d(-0.01, 0.02, 0.03, 0.04), Eigen::Vector4d::Constant(0.2));
  layer::Limits limits;
  limits.lower = {0.05, 0.0, 0.0, 0.0};
  EXPECT_EQ(market.run({}, limits, 2), LimitedEnd::ok);
  EXPECT_NEAR(market.w(0), 0.05, 1e-12);
  EXPECT_NEAR(market.w(3), 0.95, 1e-12);
  limits.lower = {0.05, 0.05, 0.05, 0.0};
  EXPECT_EQ(market.run({}, limits, 2), LimitedEnd::infeasible);
  EXPECT_TRUE(std::isnan(market.w(0)));
}

TEST(LimitedSearch, FindsTheNamesThatARowNeeds) {
  Small market(Eigen::Vector3d(0.05, 0.01, 0.04), Eigen::Vector3d::Constant(0.2));
  layer::Limits limits;
  limits.lower.assign(3, 0.0);
  limits.upper = {0.5, 0.5, 1.0};
  limits.rows = {{"first two", {1.0, 1.0, 0.0}, 0.8, layer::kUnlimited}};
  EXPECT_EQ(market.run({}, limits, 2), LimitedEnd::ok);
  EXPECT_NEAR(market.w(0), 0.5, 1e-9);
  EXPECT_NEAR(market.w(1), 0.5, 1e-9);
}

TEST(LimitedSearch, SellsShortWhereThatIsAllowed) {
  Small market(Eigen::Vector4d(0.04, -0.05, 0.001, 0.02), Eigen::Vector4d::Constant(0.2));
  layer::Limits limits;
  limits.gross = 1.6;
  EXPECT_EQ(market.run({}, limits, 2), LimitedEnd::ok);
  EXPECT_NEAR(market.w(0), 1.3, 1e-9);
  EXPECT_NEAR(market.w(1), -0.3, 1e-9);
}

TEST(LimitedSearch, WhereNothingEarnsHoldsWhatRisksLeast) {
  Small market(Eigen::Vector4d(-0.04, -0.05, -0.001, -0.02), Eigen::Vector4d(0.3, 0.1, 0.2, 0.2));
  layer::Limits limits;
  limits.lower.assign(4, 0.0);
  EXPECT_EQ(market.run({}, limits, 1), LimitedEnd::nothing_earns);
  EXPECT_NEAR(market.w(1), 1.0, 1e-12);
}

// Without limits, and with every signal negative: a direction of net position zero.
TEST(LimitedSearch, GivesADirectionWhereNoPortfolioIsBest) {
  VectorXd mu(6);
  for (Index i = 0; i < 6; ++i) mu(i) = -1e-3 * static_cast<double>(i + 1);
  Small market(mu, VectorXd::Constant(6, 1e-2));
  EXPECT_EQ(market.run({}, {}, 3), LimitedEnd::neutral);
  EXPECT_NEAR(market.w.lpNorm<1>(), 1.0, 1e-9);
  EXPECT_LE((market.w.array() != 0.0).count(), 3);
}

}  // namespace
}  // namespace sharpen::select
