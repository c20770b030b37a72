#include "sharpen/select/explain.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sharpen/base/error.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using sharpen::testing::Problems;
using sharpen::testing::risk_of;
using sharpen::testing::view;

// S(K) by the definition, and its root.
double naive_sharpe(const Eigen::VectorXd& mu, const Eigen::MatrixXd& Sigma,
                    const std::vector<Index>& K, layer::Net net) {
  if (K.empty()) return 0.0;
  const Eigen::VectorXd m = mu(K);
  const Eigen::MatrixXd S = Sigma(K, K);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(m.size());
  const Eigen::VectorXd a = S.ldlt().solve(m), b = S.ldlt().solve(ones);
  const double B = ones.dot(a);
  if (B > 0 || net == layer::Net::any) return std::sqrt(m.dot(a));
  const Eigen::VectorXd shifted = m - B / ones.dot(b) * ones;  // C - B^2/A would cancel
  return std::sqrt(shifted.dot(S.ldlt().solve(shifted)));
}

SelectSettings settings_of(Index k, Optimizer optimizer = Optimizer::swap,
                           layer::Net net = layer::Net::positive) {
  SelectSettings settings;
  settings.k = k;
  settings.optimizer = optimizer;
  settings.net = net;
  return settings;
}

struct Case {
  Eigen::VectorXd mu;
  Eigen::MatrixXd Sigma;
  SelectSettings settings;
  std::unique_ptr<risk::Risk> risk;
  Portfolio portfolio;
  Explanation explanation;
};

Case solved(Problems& problems, Index n, Index k, Optimizer optimizer, layer::Net net,
            bool positive) {
  Case c;
  c.Sigma = sharpen::testing::naive_covariance(problems.returns(40, n), 0.1);
  c.mu = problems.signal(c.Sigma, positive);
  c.settings = settings_of(k, optimizer, net);
  c.risk = risk_of(c.Sigma);
  Selector selector(c.settings, *c.risk);
  selector.run(*c.risk, 0, view(c.mu), c.portfolio);
  c.explanation = explain(c.settings, *c.risk, 0, view(c.mu), c.portfolio);
  return c;
}

void check(const Case& c) {
  const auto& K = c.portfolio.support;
  const double sharpe = naive_sharpe(c.mu, c.Sigma, K, c.settings.net);
  ASSERT_EQ(c.explanation.reasons.size(), K.size());
  double contributions = 0;
  for (std::size_t i = 0; i < K.size(); ++i) {
    const Reason& reason = c.explanation.reasons[i];
    EXPECT_EQ(reason.asset, K[i]);
    EXPECT_EQ(reason.mu, c.mu[K[i]]);
    std::vector<Index> others = K;
    others.erase(others.begin() + static_cast<Index>(i));
    EXPECT_NEAR(reason.sharpe_lost_if_removed,
                sharpe - naive_sharpe(c.mu, c.Sigma, others, c.settings.net), 1e-9);
    contributions += reason.risk_contribution;
  }
  if (!K.empty()) {
    EXPECT_NEAR(contributions, 1, 1e-10);
  }

  double best_gain = 0;
  Index best = -1;
  for (Index j = 0; j < c.mu.size(); ++j) {
    if (std::find(K.begin(), K.end(), j) != K.end()) continue;
    std::vector<Index> more = K;
    more.push_back(j);
    const double gain = naive_sharpe(c.mu, c.Sigma, more, c.settings.net) - sharpe;
    if (gain > best_gain) {
      best_gain = gain;
      best = j;
    }
  }
  if (best_gain < 1e-8) return;  // too close to nothing to ask which
  ASSERT_TRUE(c.explanation.best_left_out.has_value());
  EXPECT_EQ(c.explanation.best_left_out->asset, best);
  EXPECT_NEAR(c.explanation.best_left_out->sharpe_gain, best_gain, 1e-9);
}

TEST(Explain, AgreesWithSolvingEveryAlternative) {
  Problems problems(41);
  for (int trial = 0; trial < 60; ++trial)
    for (const bool positive : {true, false})
      for (const layer::Net net : {layer::Net::positive, layer::Net::any})
        for (const Optimizer optimizer : {Optimizer::oscar, Optimizer::swap}) {
          const Index n = 2 + problems.below(9);
          check(solved(problems, n, 1 + problems.below(n), optimizer, net, positive));
        }
}

// The other names solved again by the selector itself, one by one.
TEST(Explain, AgreesWithTheSelectorNearSingularityAndInEverySizing) {
  Problems problems(47);
  for (int trial = 0; trial < 40; ++trial) {
    const Index n = 4 + problems.below(8), k = 2 + problems.below(n - 1);
    Case c;
    // Fewer rows than names: what is left of many variances is 1e-10 of the average.
    c.Sigma =
        sharpen::testing::naive_covariance(problems.returns(3 + problems.below(20), n), 1e-10);
    c.mu = problems.signal(c.Sigma, trial % 2 == 0);
    c.settings = settings_of(k, trial % 3 == 0 ? Optimizer::oscar : Optimizer::greedy,
                             trial % 5 == 0 ? layer::Net::any : layer::Net::positive);
    c.settings.sizing.kind = trial % 5 == 0   ? layer::Sizing::gross
                             : trial % 4 == 0 ? layer::Sizing::budget
                                              : layer::Sizing::volatility;
    c.risk = risk_of(c.Sigma);
    Selector selector(c.settings, *c.risk);
    selector.run(*c.risk, 0, view(c.mu), c.portfolio);
    const Explanation found = explain(c.settings, *c.risk, 0, view(c.mu), c.portfolio);
    ASSERT_EQ(found.reasons.size(), c.portfolio.support.size());
    for (std::size_t s = 0; s < found.reasons.size(); ++s) {
      std::vector<Index> others = c.portfolio.support;
      others.erase(others.begin() + static_cast<Index>(s));
      Portfolio without;
      selector.run_on(*c.risk, 0, view(c.mu), others, without);
      EXPECT_NEAR(found.reasons[s].sharpe_lost_if_removed, c.portfolio.sharpe - without.sharpe,
                  1e-6 * c.portfolio.sharpe)
          << trial;
    }
  }
}

TEST(Explain, StopsWhenItIsTold) {
  Problems problems(48);
  const Case c = solved(problems, 8, 3, Optimizer::swap, layer::Net::positive, true);
  EXPECT_THROW(explain(c.settings, *c.risk, 0, view(c.mu), c.portfolio, [] { return true; }),
               Interrupted);
}

TEST(Explain, RanksByTheScoreOfTheOptimizer) {
  Problems problems(42);
  for (const bool positive : {true, false})
    for (const Optimizer optimizer : {Optimizer::oscar, Optimizer::symmetric}) {
      const Index n = 9, k = 4;
      const Case c = solved(problems, n, k, optimizer, layer::Net::positive, positive);
      const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
      const double A = ones.dot(c.Sigma.ldlt().solve(ones));
      const double B = ones.dot(c.Sigma.ldlt().solve(c.mu));
      ASSERT_EQ(B > 0, positive);
      const Eigen::VectorXd m = positive ? c.mu : Eigen::VectorXd(c.mu - B / A * ones);
      const Eigen::VectorXd z = optimizer == Optimizer::oscar
                                    ? Eigen::VectorXd(c.Sigma.llt().matrixL().solve(m))
                                    : Eigen::VectorXd(sharpen::testing::inverse_root(c.Sigma) * m);
      std::vector<Index> ranks;
      for (const Reason& reason : c.explanation.reasons) {
        EXPECT_NEAR(reason.score, std::abs(z[reason.asset]) / z.norm(), 1e-9);
        ranks.push_back(reason.score_rank);
      }
      // These optimizers hold the k largest scores.
      std::sort(ranks.begin(), ranks.end());
      EXPECT_EQ(ranks, (std::vector<Index>{1, 2, 3, 4}));
    }
}

TEST(Explain, CashHasNoReasonsAndNamesWhatWouldHelp) {
  Case c;
  c.Sigma = Eigen::Matrix3d::Identity();
  c.mu = Eigen::Vector3d(-1, -2, -3);
  c.risk = risk_of(c.Sigma);
  c.settings = settings_of(1);
  Selector selector(c.settings, *c.risk);
  selector.run(*c.risk, 0, view(c.mu), c.portfolio);
  ASSERT_EQ(c.portfolio.outcome.status, Status::no_signal);
  c.explanation = explain(c.settings, *c.risk, 0, view(c.mu), c.portfolio);
  EXPECT_TRUE(c.explanation.reasons.empty());
  EXPECT_FALSE(c.explanation.best_left_out.has_value());
}

TEST(Explain, InvalidInputHasNoExplanation) {
  const auto risk = risk_of(Eigen::Matrix2d::Identity());
  const std::vector<double> mu = {NAN, 1.0};
  const SelectSettings settings = settings_of(1);
  Portfolio portfolio;
  Selector(settings, *risk).run(*risk, 0, mu, portfolio);
  const Explanation explanation = explain(settings, *risk, 0, mu, portfolio);
  EXPECT_TRUE(explanation.reasons.empty());
  EXPECT_FALSE(explanation.best_left_out.has_value());
}

TEST(Explain, TheScaleOfTheSignalChangesOnlyWhatHasItsScale) {
  Problems problems(43);
  const Case c = solved(problems, 8, 3, Optimizer::swap, layer::Net::positive, true);
  for (const double scale : {1e-200, 1e150}) {
    const Eigen::VectorXd mu = scale * c.mu;
    Portfolio portfolio;
    Selector(c.settings, *c.risk).run(*c.risk, 0, view(mu), portfolio);
    const Explanation other = explain(c.settings, *c.risk, 0, view(mu), portfolio);
    ASSERT_EQ(other.reasons.size(), c.explanation.reasons.size());
    for (std::size_t i = 0; i < other.reasons.size(); ++i) {
      EXPECT_EQ(other.reasons[i].asset, c.explanation.reasons[i].asset);
      EXPECT_NEAR(other.reasons[i].score, c.explanation.reasons[i].score, 1e-12);
      EXPECT_NEAR(other.reasons[i].sharpe_lost_if_removed / scale,
                  c.explanation.reasons[i].sharpe_lost_if_removed, 1e-9);
    }
    ASSERT_TRUE(other.best_left_out && c.explanation.best_left_out);
    EXPECT_EQ(other.best_left_out->asset, c.explanation.best_left_out->asset);
  }
}

}  // namespace
}  // namespace sharpen::select
