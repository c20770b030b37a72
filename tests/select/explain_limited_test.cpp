// The reasons of a portfolio under limits, against plain solves without a name or a limit.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "sharpen/select/explain.hpp"
#include "sharpen/select/limited.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::VectorXd;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

struct Explained {
  explicit Explained(std::uint64_t seed) : n(14), mu(14), Sigma(14, 14) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    RowMatrix B(n, 3);
    for (Index i = 0; i < n; ++i)
      for (Index f = 0; f < 3; ++f) B(i, f) = normal(engine);
    Sigma = 1e-4 * B * B.transpose();
    for (Index i = 0; i < n; ++i) {
      Sigma(i, i) += 5e-5;
      mu(i) = 1e-3 * (normal(engine) + 0.6);
    }
    risk::RiskSettings plain;
    plain.shrinkage = 0.0;
    risk = risk::from_covariance(view(Sigma), plain);
    limits.lower.assign(at(n), 0.0);
    limits.upper.assign(at(n), 0.35);
    limits.rows = {{"first seven", std::vector<double>(at(n), 0.0), 0.0, 0.45}};
    for (std::size_t i = 0; i < 7; ++i) limits.rows[0].coefficients[i] = 1.0;
    settings.k = 5;
  }
  Portfolio run(const layer::Limits& under, Index k) const {
    SelectSettings now = settings;
    now.k = k;
    Portfolio out;
    LimitedSelector(now, n).run(*risk, 0, view(mu), under, out);
    return out;
  }
  // The best on these names alone.
  Portfolio on(const std::vector<Index>& K, layer::Limits under) const {
    for (Index i = 0; i < n; ++i)
      if (std::ranges::find(K, i) == K.end()) under.lower[at(i)] = under.upper[at(i)] = 0.0;
    return run(under, n);
  }

  Index n;
  VectorXd mu;
  RowMatrix Sigma;
  std::unique_ptr<risk::Risk> risk;
  layer::Limits limits;
  SelectSettings settings;
};

TEST(ExplainLimited, SaysWhatPlainSolvesSay) {
  int binding = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Explained problem(seed);
    const Portfolio p = problem.run(problem.limits, 5);
    ASSERT_EQ(p.outcome.status, Status::ok);
    const Explanation why =
        explain_limited(problem.settings, *problem.risk, 0, view(problem.mu), problem.limits, p);
    ASSERT_EQ(why.reasons.size(), p.support.size());
    double contributions = 0.0;
    for (const Reason& reason : why.reasons) {
      contributions += reason.risk_contribution;
      std::vector<Index> others = p.support;
      std::erase(others, reason.asset);
      const Portfolio without = problem.on(others, problem.limits);
      if (without.outcome.status == Status::infeasible)
        EXPECT_TRUE(std::isnan(reason.sharpe_lost_if_removed));
      else
        EXPECT_NEAR(reason.sharpe_lost_if_removed, p.sharpe - without.sharpe, 1e-9);
    }
    EXPECT_NEAR(contributions, 1.0, 1e-9);

    double best = p.sharpe;
    for (Index j = 0; j < problem.n; ++j) {
      std::vector<Index> more = p.support;
      more.push_back(j);
      best = std::max(best, problem.on(more, problem.limits).sharpe);
    }
    EXPECT_NEAR(why.best_left_out ? why.best_left_out->sharpe_gain : 0.0, best - p.sharpe, 1e-9);

    for (const BindingLimit& limit : why.binding) {
      ++binding;
      layer::Limits without = problem.limits;
      if (limit.asset >= 0) {
        EXPECT_EQ(limit.name, "upper");
        EXPECT_NEAR(p.weights[at(limit.asset)], 0.35, 1e-9);
        without.upper[at(limit.asset)] = layer::kUnlimited;
      } else {
        EXPECT_EQ(limit.name, "first seven");
        EXPECT_NEAR(limit.value, 0.45, 1e-9);
        without.rows.clear();
      }
      EXPECT_GT(limit.multiplier, 0.0);
      EXPECT_NEAR(limit.sharpe_cost, problem.on(p.support, without).sharpe - p.sharpe, 1e-9);
    }
  }
  EXPECT_GE(binding, 8);
}

TEST(ExplainLimited, MultiplierIsWhatALittleMoreIsWorth) {
  Explained problem(3);
  problem.settings.objective = {.kind = layer::Objective::utility, .risk_aversion = 4.0};
  const Portfolio p = problem.run(problem.limits, 5);
  const Explanation why =
      explain_limited(problem.settings, *problem.risk, 0, view(problem.mu), problem.limits, p);
  ASSERT_FALSE(why.binding.empty());
  for (const BindingLimit& limit : why.binding) {
    layer::Limits wider = problem.limits;
    const double step = 1e-6;
    if (limit.asset >= 0)
      wider.upper[at(limit.asset)] += step;
    else
      wider.rows[0].upper += step;
    const double gain = *problem.on(p.support, wider).value - *p.value;
    EXPECT_NEAR(gain / step, limit.multiplier, 1e-3 * limit.multiplier);
  }
}

}  // namespace
}  // namespace sharpen::select
