// Names per group, and names held by so much at least or not at all, against all choices there are.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "select/limited_search.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::VectorXd;
using layer::LimitedEnd;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

struct Ruled {
  explicit Ruled(std::uint64_t seed) : engine(seed), n(6 + below(5)), k(2 + below(3)) {
    std::normal_distribution<double> normal;
    RowMatrix B(n, 3);
    for (Index i = 0; i < n; ++i)
      for (Index f = 0; f < 3; ++f) B(i, f) = normal(engine);
    Sigma = 1e-4 * B * B.transpose();
    mu = VectorXd(n);
    for (Index i = 0; i < n; ++i) {
      Sigma(i, i) += 5e-5;
      mu(i) = 1e-3 * (normal(engine) + 0.5);
    }
    const bool shorts = seed % 4 == 3;
    limits.lower.assign(at(n), shorts ? -0.4 : 0.0);
    if (shorts) limits.gross = 1.8;
    if (seed % 2 == 1) limits.upper.assign(at(n), 0.6);
    limits.least_if_held.assign(at(n), 0.05 + 0.05 * static_cast<double>(below(4)));
    if (seed % 3 != 0) {
      layer::NamesLimit even{"even", {}, 0, 1}, low{"low", {}, 1, 2};
      for (Index i = 0; i < n; ++i) {
        if (i % 2 == 0) even.members.push_back(i);
        if (i < 4) low.members.push_back(i);
      }
      if (k > 2) even.most = 2;
      limits.names = {even, low};
    }
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    risk = risk::from_covariance(view(Sigma), settings);
  }
  Index below(Index m) { return std::uniform_int_distribution<Index>(0, m - 1)(engine); }
  double sharpe(const VectorXd& w) const { return mu.dot(w) / std::sqrt(w.dot(Sigma * w)); }

  bool keeps(const VectorXd& w) const {
    if (std::abs(w.sum() - 1.0) > 1e-9 || w.lpNorm<1>() > limits.gross + 1e-9) return false;
    if ((w.array() != 0.0).count() > k) return false;
    for (Index i = 0; i < n; ++i) {
      if (w(i) < limits.lower[at(i)] - 1e-9) return false;
      if (!limits.upper.empty() && w(i) > limits.upper[at(i)] + 1e-9) return false;
      if (w(i) != 0.0 && std::abs(w(i)) < limits.least_if_held[at(i)] - 1e-9) return false;
    }
    for (const layer::NamesLimit& group : limits.names) {
      Index count = 0;
      for (const Index i : group.members) count += w(i) != 0.0;
      if (count < group.least || count > group.most) return false;
    }
    return true;
  }

  double best_on(unsigned mask, unsigned sold) const {
    VectorXd w(n);
    layer::Limits inside = limits;
    inside.upper.resize(at(n), layer::kUnlimited);
    for (Index i = 0; i < n; ++i) {
      const double least = limits.least_if_held[at(i)];
      double& lower = inside.lower[at(i)];
      double& upper = inside.upper[at(i)];
      if ((mask >> i & 1u) == 0)
        lower = upper = 0.0;
      else if ((sold >> i & 1u) != 0)
        upper = -least;
      else
        lower = least;
      if (lower > upper) return -1.0;
    }
    layer::LimitedSolver solver({}, inside, n);
    layer::LimitedState state;
    const LimitedEnd end = solver.forward(*risk, 0, view(mu), {}, state, view(w));
    return end == LimitedEnd::ok && keeps(w) ? sharpe(w) : -1.0;
  }

  // The best of all supports and signs.
  double best() const {
    double largest = -1.0;
    for (unsigned mask = 1; mask < 1u << n; ++mask) {
      if (std::popcount(mask) > static_cast<int>(k)) continue;
      // The subsets of mask that are sold short, the empty one last.
      for (unsigned sold = limits.lower[0] < 0.0 ? mask : 0u;; sold = (sold - 1) & mask) {
        largest = std::max(largest, best_on(mask, sold));
        if (sold == 0) break;
      }
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

void compare_with_all(std::uint64_t problems) {
  Index equal = 0, count = 0, lost = 0;
  double shares = 0.0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE("problem " + std::to_string(seed));
    const Ruled problem(seed);
    const double best = problem.best();
    VectorXd w(problem.n);
    LimitedSearch search({}, problem.limits, problem.n, problem.k);
    const LimitedEnd end = search.run(*problem.risk, 0, view(problem.mu), true, view(w));
    if (is_solved(end)) {
      EXPECT_TRUE(problem.keeps(w)) << w.transpose();
    }
    if (best <= 0.0) continue;
    ++count;
    if (end != LimitedEnd::ok) {
      lost += !is_solved(end);
      continue;
    }
    const double share = problem.sharpe(w) / best;
    EXPECT_LT(share, 1.0 + 1e-9);
    shares += share;
    equal += share > 1.0 - 1e-9;
  }
  ::testing::Test::RecordProperty("equal", static_cast<int>(equal));
  EXPECT_GE(equal, count * 95 / 100)
      << count << " problems, " << lost << " lost, mean " << shares / static_cast<double>(count);
  EXPECT_EQ(lost, 0);
}

TEST(LimitedNames, AreNearlyAlwaysTheBestOfAllChoices) { compare_with_all(150); }
TEST(LimitedNames, SlowAreNearlyAlwaysTheBestOfAllChoicesOfMany) { compare_with_all(2000); }

}  // namespace
}  // namespace sharpen::select
