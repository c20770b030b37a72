// Names on which limits hold, against all choices there are.
#include "select/feasible_names.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "layer/feasibility.hpp"
#include "select/naive.hpp"
#include "sharpen/select/limited.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Objective;
using sharpen::testing::Problems;
using sharpen::testing::view;

double between(Problems& problems, double low, double high) {
  return low + (high - low) * static_cast<double>(problems.below(1000)) / 1000.0;
}

// Narrow rows over overlapping groups, and caps that leave hardly a choice.
layer::Limits narrow_limits(Problems& problems, Index n, Index k) {
  layer::Limits limits;
  const double names = static_cast<double>(k);
  limits.lower.assign(at(n), problems.below(3) == 0 ? -0.3 : 0.0);
  limits.upper.assign(at(n), between(problems, 1.02 / names, 1.6 / names));
  for (int r = 0; r < 3; ++r) {
    const double low = between(problems, 0.1, 0.9);
    layer::LimitRow row{.name = "row",
                        .coefficients = {},
                        .lower = low,
                        .upper = low + between(problems, 0.02, 0.3)};
    for (Index i = 0; i < n; ++i) row.coefficients.push_back(problems.below(2) == 0 ? 1.0 : 0.0);
    limits.rows.push_back(row);
  }
  return limits;
}

bool any_support_holds(const layer::Limits& limits, Index n, Index k) {
  const layer::Limits with_net = layer::with_net_row(limits, n, Objective::sharpe);
  for (unsigned bits = 1; bits < 1u << n; ++bits) {
    if (__builtin_popcount(bits) != k) continue;
    layer::Limits on = with_net;
    for (Index i = 0; i < n; ++i)
      if ((bits >> i & 1u) == 0) on.lower[at(i)] = on.upper[at(i)] = 0.0;
    if (layer::feasibility(on, n).answer == layer::Feasibility::Answer::yes) return true;
  }
  return false;
}

TEST(FeasibleNames, AreFoundWhereverThereAreAny) {
  Problems problems(21);
  int possible = 0, impossible = 0;
  for (int i = 0; i < 150; ++i) {
    const Index n = 5 + problems.below(5), k = 2 + problems.below(3);
    const layer::Limits limits = narrow_limits(problems, n, k);
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.vector(n);
    SCOPED_TRACE(::testing::Message() << "problem " << i << ", n = " << n << ", k = " << k);
    const bool any = any_support_holds(limits, n, k);
    (any ? possible : impossible) += 1;
    EXPECT_EQ(shown_infeasible(limits, Objective::sharpe, n, k), !any);
    for (const Optimizer optimizer : {Optimizer::greedy, Optimizer::swap}) {
      SelectSettings settings;
      settings.k = k;
      settings.optimizer = optimizer;
      settings.objective.kind = Objective::sharpe;
      Portfolio out;
      LimitedSelector(settings, n).run(*exact_risk(Sigma), 0, view(mu), limits, out);
      EXPECT_EQ(out.outcome.status != Status::infeasible, any);
      EXPECT_LE(static_cast<Index>(out.support.size()), k);
    }
  }
  EXPECT_GT(possible, 20);
  EXPECT_GT(impossible, 20);
}

TEST(FeasibleNames, KeepWhatCountsNames) {
  layer::Limits limits;
  limits.lower.assign(6, 0.0);
  limits.upper.assign(6, 0.5);
  limits.names.push_back({.name = "all", .members = {0, 1, 2, 3}, .least = 0, .most = 1});
  EXPECT_FALSE(shown_infeasible(limits, Objective::sharpe, 6, 2));
  limits.names.push_back({.name = "rest", .members = {4, 5}, .least = 0, .most = 0});
  EXPECT_TRUE(shown_infeasible(limits, Objective::sharpe, 6, 2));
  limits.names.clear();
  limits.least_if_held.assign(6, 0.45);
  EXPECT_FALSE(shown_infeasible(limits, Objective::sharpe, 6, 3));
  limits.upper.assign(6, 0.46);
  limits.least_if_held.assign(6, 0.4);
  EXPECT_TRUE(shown_infeasible(limits, Objective::sharpe, 6, 3));
}

}  // namespace
}  // namespace sharpen::select::testing
