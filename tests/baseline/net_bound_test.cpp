// The bound for portfolios that are not net short holds against enumeration, and is worth having.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sharpen/baseline/bounds.hpp"
#include "sharpen/select/select.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Problems;
using testing::risk_of;
using testing::RowMatrix;
using testing::view;

// The best Sharpe ratio of at most k names with a net position that is not negative.
double enumerated(const risk::Risk& risk, const VectorXd& mu, Index k) {
  select::SelectSettings settings;
  settings.k = k;
  settings.optimizer = select::Optimizer::greedy;
  select::Selector selector(settings, risk);
  select::Portfolio portfolio;
  double best = 0.0;
  for (unsigned set = 1; set < (1u << mu.size()); ++set) {
    if (std::popcount(set) != k) continue;
    std::vector<Index> K;
    for (Index j = 0; j < mu.size(); ++j)
      if ((set >> j & 1u) != 0) K.push_back(j);
    selector.run_on(risk, 0, view(mu), K, portfolio);
    best = std::max(best, portfolio.sharpe);
  }
  return best;
}

TEST(NetBound, IsNeverBelowTheBestAndMostlyFarBelowTheOther) {
  Problems problems(51);
  int smaller = 0;
  constexpr int kTrials = 150;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Index n = 3 + problems.below(5), k = 1 + problems.below(n);
    // Every third one is nearly singular.
    const double lambda = trial % 3 == 0 ? 1e-9 : 0.1;
    const RowMatrix Sigma =
        testing::naive_covariance(problems.returns(trial % 3 == 0 ? n : 40, n), lambda);
    const auto risk = risk_of(Sigma);
    VectorXd mu = problems.vector(n).cwiseAbs() * -0.001;
    mu[0] = 0.0003;
    const BoundSettings settings = {.k = k,
                                    .bound = trial % 2 == 0 ? Bound::best : Bound::perspective,
                                    .shrinkage = 0.0,
                                    .sdr = {}};
    const SharpeBound bound = net_upper_bound(*risk, 0, view(mu), layer::Net::positive, settings);
    const SharpeBound any = net_upper_bound(*risk, 0, view(mu), layer::Net::any, settings);
    // What is reached carries the rounding of a solve, as large as the condition number allows.
    const double rounding = trial % 3 == 0 ? 1e-6 : 1e-13;
    EXPECT_GE(bound.sharpe, enumerated(*risk, mu, k) * (1.0 - rounding)) << n << ", " << k;
    // Each is proved to within 1e-7, and what rounding may hide is added near singularity.
    EXPECT_LE(bound.sharpe, any.sharpe * (1.0 + (trial % 3 == 0 ? 1e-5 : 2e-7)));
    EXPECT_EQ(any.sharpe, sharpe_upper_bound(*risk, 0, view(mu), settings).sharpe);
    smaller += bound.sharpe < 0.9 * any.sharpe;
  }
  EXPECT_GT(smaller, kTrials / 2);
}

TEST(NetBound, IsExactWithAllNames) {
  Problems problems(52);
  const RowMatrix Sigma = testing::naive_covariance(problems.returns(60, 10), 0.1);
  const auto risk = risk_of(Sigma);
  const VectorXd mu = -problems.vector(10).cwiseAbs();
  const double full = select::full_sharpe(*risk, 0, view(mu), layer::Net::positive);
  const SharpeBound bound =
      net_upper_bound(*risk, 0, view(mu), layer::Net::positive, {.k = 10, .sdr = {}});
  EXPECT_GE(bound.sharpe, full);
  EXPECT_LT(bound.sharpe, full * (1.0 + 1e-6));
}

TEST(NetBound, SignalsWithoutDirectionAreBoundedByRounding) {
  const auto risk = risk_of(RowMatrix::Identity(4, 4));
  const VectorXd down = -VectorXd::Ones(4);
  const SharpeBound bound =
      net_upper_bound(*risk, 0, view(down), layer::Net::positive, {.k = 2, .sdr = {}});
  EXPECT_EQ(bound.status, Status::no_signal);
  EXPECT_GE(bound.sharpe, 0.0);
  EXPECT_LT(bound.sharpe, 1e-14);
  VectorXd bad = down;
  bad[1] = std::numeric_limits<double>::quiet_NaN();
  const SharpeBound invalid =
      net_upper_bound(*risk, 0, view(bad), layer::Net::positive, {.k = 2, .sdr = {}});
  EXPECT_EQ(invalid.status, Status::invalid_input);
}

}  // namespace
}  // namespace sharpen::baseline
