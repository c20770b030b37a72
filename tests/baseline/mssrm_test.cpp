// mssrm against a plain implementation, against enumeration, and at its edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::kNaN;
using testing::Problems;
using testing::risk_of;
using testing::RowMatrix;
using testing::view;
using Support = std::vector<Index>;

MssrmResult solved(const MatrixXd& Sigma, const VectorXd& mu, const MssrmSettings& settings) {
  const auto risk = risk_of(Sigma);
  MssrmResult out;
  Mssrm(settings, *risk).run(*risk, 0, view(mu), out);
  return out;
}

// S(K) of select.hpp.
double value_of(const MatrixXd& Sigma, const VectorXd& mu, const Support& K,
                layer::Net net = layer::Net::positive) {
  const VectorXd ones = VectorXd::Ones(static_cast<Index>(K.size())), m = mu(K);
  const VectorXd a = testing::solve_spd(Sigma(K, K), m), b = testing::solve_spd(Sigma(K, K), ones);
  const double B = a.sum(), C = a.dot(m);
  return B > 0.0 || net == layer::Net::any ? C : C - B * B / b.sum();
}

VectorXd unit_risk(const MatrixXd& Sigma, const VectorXd& w) {
  return w / std::sqrt(w.dot(Sigma * w));
}

VectorXd k_largest(VectorXd w, Index k) {
  Support order(static_cast<std::size_t>(w.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(w[a]) > std::abs(w[b]); });
  for (std::size_t i = static_cast<std::size_t>(k); i < order.size(); ++i) w[order[i]] = 0.0;
  return w;
}

Support support_of(const VectorXd& w) {
  Support K;
  for (Index i = 0; i < w.size(); ++i)
    if (w[i] != 0.0) K.push_back(i);
  return K;
}

// The ascent, line by line.
Support plain_ascent(const MatrixXd& Sigma, const VectorXd& mu, Index k) {
  const VectorXd ones = VectorXd::Ones(mu.size()), b = testing::solve_spd(Sigma, ones);
  const double B = b.dot(mu);
  const VectorXd m = B > 0.0 ? mu : VectorXd(mu - B / b.sum() * ones);
  VectorXd w = unit_risk(Sigma, k_largest(testing::solve_spd(Sigma, m), k));
  for (int step = 0; step < 10000; ++step) {
    const VectorXd g = unit_risk(Sigma, m - m.dot(w) * (Sigma * w));
    VectorXd next = w;
    for (double eta = 1.0; eta > 1e-18; eta /= 2.0) {
      const VectorXd trial = unit_risk(Sigma, k_largest(w + eta * g, k));
      if (!(m.dot(trial) > m.dot(w))) continue;
      next = trial;
      break;
    }
    const double change = (next - w).norm() / w.norm();
    w = next;
    if (change <= 1e-8) break;
  }
  return support_of(w);
}

struct SignedProblem {
  MatrixXd Sigma;
  VectorXd mu;
};

SignedProblem problem_of(Problems& problems, Index n, bool positive) {
  SignedProblem p;
  p.Sigma = testing::naive_covariance(problems.returns(60, n), 0.1);
  p.mu = problems.signal(p.Sigma, positive);
  return p;
}

TEST(Mssrm, IsTheAscentItSays) {
  Problems problems(31);
  for (int trial = 0; trial < 60; ++trial) {
    const Index n = 5 + problems.below(15), k = 1 + problems.below(n);
    const SignedProblem p = problem_of(problems, n, trial % 2 == 0);
    const MssrmResult out = solved(p.Sigma, p.mu, {{.k = k}});
    const Support expected = plain_ascent(p.Sigma, p.mu, k);
    // The names are those of the ascent; a support without a direction is cash.
    if (out.portfolio.outcome.status == Status::no_signal) {
      EXPECT_LT(value_of(p.Sigma, p.mu, expected), 1e-12);
    } else {
      EXPECT_EQ(out.portfolio.support, expected) << "n = " << n << ", k = " << k;
    }
  }
}

TEST(Mssrm, WeightsAreTheOptimumOnTheNamesChosen) {
  Problems problems(32);
  for (int trial = 0; trial < 40; ++trial) {
    const SignedProblem p = problem_of(problems, 15, trial % 2 == 0);
    for (const layer::Net net : {layer::Net::positive, layer::Net::any}) {
      const MssrmResult out = solved(p.Sigma, p.mu, {{.k = 5, .net = net}});
      if (!out.portfolio.outcome.solved()) continue;
      const double best = value_of(p.Sigma, p.mu, out.portfolio.support, net);
      EXPECT_NEAR(out.portfolio.sharpe, std::sqrt(best), 1e-9);
      const VectorXd w = Eigen::Map<const VectorXd>(out.portfolio.weights.data(), 15);
      EXPECT_NEAR(p.mu.dot(w) / std::sqrt(w.dot(p.Sigma * w)), out.portfolio.sharpe, 1e-12);
      EXPECT_NEAR(w.lpNorm<1>(), 1.0, 1e-12);
      EXPECT_LE((w.array() != 0.0).count(), 5);
    }
  }
}

TEST(Mssrm, ReachesMostOfTheBestAndNeverMore) {
  Problems problems(33);
  double share = 0.0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Index n = 9, k = 3;
    const SignedProblem p = problem_of(problems, n, true);
    double best = 0.0;
    for (unsigned set = 1; set < (1u << n); ++set) {
      if (std::popcount(set) != k) continue;
      Support K;
      for (Index j = 0; j < n; ++j)
        if ((set >> j & 1u) != 0) K.push_back(j);
      best = std::max(best, value_of(p.Sigma, p.mu, K));
    }
    const double reached = *solved(p.Sigma, p.mu, {{.k = k}}).portfolio.value;
    EXPECT_LE(reached, best * (1.0 + 1e-9));
    share += std::sqrt(reached / best) / kTrials;
  }
  EXPECT_GT(share, 0.93);
}

TEST(Mssrm, WithAllNamesIsTheTangentPortfolio) {
  Problems problems(34);
  for (const bool positive : {true, false}) {
    const SignedProblem p = problem_of(problems, 12, positive);
    const MssrmResult out = solved(p.Sigma, p.mu, {{.k = 12}});
    EXPECT_EQ(out.portfolio.outcome.status, positive ? Status::ok : Status::neutral_face);
    EXPECT_EQ(out.portfolio.outcome.neutral_first, !positive);
    const double full = select::full_sharpe(*risk_of(p.Sigma), 0, view(p.mu), layer::Net::positive);
    EXPECT_NEAR(out.portfolio.sharpe, full, 1e-12);
  }
}

TEST(Mssrm, HoldsOneNameForOne) {
  Problems problems(35);
  for (int trial = 0; trial < 20; ++trial) {
    const SignedProblem p = problem_of(problems, 8, true);
    const MssrmResult out = solved(p.Sigma, p.mu, {{.k = 1}});
    if (out.portfolio.support.empty()) {
      EXPECT_EQ(out.portfolio.outcome.status, Status::no_signal);
      continue;
    }
    ASSERT_EQ(out.portfolio.support.size(), 1u);
    const Index j = out.portfolio.support[0];
    EXPECT_NEAR(out.portfolio.sharpe, p.mu[j] / std::sqrt(p.Sigma(j, j)), 1e-12);
    EXPECT_GT(p.mu[j], 0.0);
  }
}

TEST(Mssrm, ScalingSignalOrRiskKeepsTheNames) {
  Problems problems(36);
  for (int trial = 0; trial < 20; ++trial) {
    const SignedProblem p = problem_of(problems, 14, trial % 2 == 0);
    const MssrmResult one = solved(p.Sigma, p.mu, {{.k = 4}});
    for (const double scale : {1e-120, 3e-4, 7.0, 1e90}) {
      const MssrmResult mu = solved(p.Sigma, scale * p.mu, {{.k = 4}});
      EXPECT_EQ(mu.portfolio.support, one.portfolio.support) << scale;
      EXPECT_NEAR(mu.portfolio.sharpe / scale, one.portfolio.sharpe, 1e-9);
      const MssrmResult Sigma = solved(scale * p.Sigma, p.mu, {{.k = 4}});
      EXPECT_EQ(Sigma.portfolio.support, one.portfolio.support) << scale;
      EXPECT_NEAR(Sigma.portfolio.sharpe * std::sqrt(scale), one.portfolio.sharpe, 1e-9);
    }
  }
}

TEST(Mssrm, WithoutDirectionIsCash) {
  Problems problems(37);
  const MatrixXd Sigma = testing::naive_covariance(problems.returns(60, 5), 0.1);
  for (const VectorXd& mu : {VectorXd(VectorXd::Zero(5)), VectorXd(-VectorXd::Ones(5))}) {
    const MssrmResult out = solved(Sigma, mu, {{.k = 2}});
    EXPECT_EQ(out.portfolio.outcome.status, Status::no_signal);
    EXPECT_EQ(out.iterations, 0);
    for (const double w : out.portfolio.weights) EXPECT_EQ(w, 0.0);
  }
  const MatrixXd one = MatrixXd::Identity(1, 1);
  EXPECT_EQ(solved(one, -VectorXd::Ones(1), {{.k = 1}}).portfolio.outcome.status,
            Status::no_signal);
  EXPECT_EQ(solved(one, VectorXd::Ones(1), {{.k = 1}}).portfolio.weights, std::vector<double>{1.0});
}

TEST(Mssrm, SignalThatIsNoNumberIsInvalid) {
  Problems problems(38);
  const SignedProblem p = problem_of(problems, 6, true);
  const auto risk = risk_of(p.Sigma);
  Mssrm mssrm({{.k = 3}}, *risk);
  MssrmResult out, fresh;
  for (const double bad : {kNaN, std::numeric_limits<double>::infinity()}) {
    VectorXd mu = p.mu;
    mu[2] = bad;
    mssrm.run(*risk, 0, view(mu), out);
    EXPECT_EQ(out.portfolio.outcome.status, Status::invalid_input);
    for (const double w : out.portfolio.weights) EXPECT_TRUE(std::isnan(w));
  }
  // What came before leaves no trace.
  mssrm.run(*risk, 0, view(p.mu), out);
  Mssrm({{.k = 3}}, *risk).run(*risk, 0, view(p.mu), fresh);
  EXPECT_EQ(out.portfolio.weights, fresh.portfolio.weights);
  EXPECT_EQ(out.iterations, fresh.iterations);
}

TEST(Mssrm, DuplicatesNeedJitterAndSaySo) {
  Problems problems(39);
  RowMatrix window = problems.returns(60, 8);
  window.col(7) = window.col(2);
  const VectorXd mu = 0.001 * problems.vector(8);
  const Index end = 60;
  const auto risk =
      risk::from_windows(view(window), 60, std::span(&end, 1),
                         {.shrinkage = 0.0, .parts = {false, false, false}}, Threads(1));
  MssrmResult out;
  Mssrm({{.k = 3}}, *risk).run(*risk, 0, view(mu), out);
  EXPECT_TRUE(out.portfolio.outcome.jittered());
  for (const double w : out.portfolio.weights) EXPECT_TRUE(std::isfinite(w));
  EXPECT_LE(out.portfolio.support.size(), 3u);
}

TEST(Mssrm, BothFormsOfRiskChooseTheSameNames) {
  Problems problems(40);
  const RowMatrix window = problems.returns(20, 70);
  const VectorXd mu = 0.001 * problems.vector(70);
  const Index end = 20;
  Support support[2];
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto risk = risk::from_windows(
        view(window), 20, std::span(&end, 1),
        {.shrinkage = 0.1, .form = form, .parts = {false, false, false}}, Threads(1));
    MssrmResult out;
    Mssrm({{.k = 7}}, *risk).run(*risk, 0, view(mu), out);
    support[form == risk::Form::dense] = out.portfolio.support;
  }
  EXPECT_EQ(support[0].size(), 7u);
  EXPECT_EQ(support[0], support[1]);
}

TEST(Mssrm, SaysWhenItRanOutOfSteps) {
  Problems problems(41);
  const SignedProblem p = problem_of(problems, 15, true);
  const MssrmResult out = solved(p.Sigma, p.mu, {{.k = 5}, 1e-8, 1});
  EXPECT_EQ(out.portfolio.outcome.status, Status::not_converged);
  EXPECT_EQ(out.iterations, 1);
  EXPECT_EQ(solved(p.Sigma, p.mu, {{.k = 5}}).portfolio.outcome.status, Status::ok);
}

TEST(Mssrm, RefusesSettingsAndShapesByName) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([] { MssrmSettings{{.k = 4}}.validate(3); }),
            "k = 4 is outside [1, 3]: choose at least one name and at most all 3 assets");
  EXPECT_EQ(message([] { MssrmSettings{{}, 1.0}.validate(3); }), "tolerance = 1 is outside (0, 1)");
  EXPECT_EQ(message([] {
              MssrmSettings{{}, 1e-8, -1}.validate(3);
            }),
            "max_iterations = -1 is outside [1, inf)");
  const auto risk = risk_of(MatrixXd::Identity(3, 3));
  Mssrm mssrm({{.k = 1}}, *risk);
  MssrmResult out;
  const VectorXd two = VectorXd::Ones(2), three = VectorXd::Ones(3);
  EXPECT_NE(message([&] { mssrm.run(*risk, 0, view(two), out); }), "");
  EXPECT_NE(message([&] { mssrm.run(*risk, 1, view(three), out); }), "");
}

}  // namespace
}  // namespace sharpen::baseline
