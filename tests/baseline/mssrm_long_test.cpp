// mssrm-long against a plain implementation, against enumeration, and at its edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "baseline/screen.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::kNaN;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

// Largest eigenvalue, by a power iteration that is long enough for small problems.
double largest_eigenvalue(const MatrixXd& Q) {
  VectorXd x = VectorXd::LinSpaced(Q.rows(), 1.0, 2.0);
  for (int i = 0; i < 20000; ++i) x = (Q * x).normalized();
  return x.dot(Q * x);
}

VectorXd projected(VectorXd v, Index k) {
  v = v.cwiseMax(0.0);
  std::vector<Index> order(static_cast<std::size_t>(v.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return v[a] > v[b]; });
  for (std::size_t i = static_cast<std::size_t>(k); i < order.size(); ++i) v[order[i]] = 0.0;
  return v;
}

struct Plain {
  VectorXd v;
  Index iterations = 0;
};

// The published iteration, line by line.
Plain plain(const MatrixXd& Q, const VectorXd& m, Index k) {
  const double alpha = 0.999 / largest_eigenvalue(Q);
  Plain out{m, 0};
  while (out.iterations < 10000) {
    const VectorXd next = projected(out.v - alpha * (Q * out.v - m), k);
    const double change = (next - out.v).norm() / out.v.norm();
    out.v = next;
    ++out.iterations;
    if (change <= 1e-5) break;
  }
  return out;
}

MatrixXd with_epsilon(const MatrixXd& Sigma, double epsilon) {
  return Sigma + epsilon * MatrixXd::Identity(Sigma.rows(), Sigma.cols());
}

double objective(const MatrixXd& Q, const VectorXd& m, const VectorXd& v) {
  return 0.5 * v.dot(Q * v) - m.dot(v);
}

// The global optimum over v >= 0 with at most k names: on the best support every entry is
// positive and the gradient is zero.
double enumerated(const MatrixXd& Q, const VectorXd& m, Index k) {
  const Index n = m.size();
  double best = 0.0;
  for (unsigned set = 1; set < (1u << n); ++set) {
    if (std::popcount(set) > k) continue;
    std::vector<Index> K;
    for (Index j = 0; j < n; ++j)
      if ((set >> j & 1u) != 0) K.push_back(j);
    const VectorXd v = testing::solve_spd(Q(K, K), m(K));
    if (v.minCoeff() > 0.0) best = std::min(best, -0.5 * m(K).dot(v));
  }
  return best;
}

MssrmLongResult solved(const MatrixXd& Sigma, const VectorXd& m, Index k, double epsilon = 1e-3) {
  MssrmLongResult out;
  const RowMatrix rows = Sigma;
  MssrmLong({.k = k, .epsilon = epsilon}, m.size()).run(view(rows), view(m), out);
  return out;
}

VectorXd vector_of(const std::vector<double>& x) {
  return Eigen::Map<const VectorXd>(x.data(), static_cast<Index>(x.size()));
}

// Monthly returns of the size that epsilon is meant for.
RowMatrix window_of(Problems& problems, Index rows, Index n) {
  return 8.0 * problems.returns(rows, n);
}

TEST(MssrmLong, IsThePublishedIteration) {
  Problems problems(11);
  for (int trial = 0; trial < 60; ++trial) {
    const Index n = 4 + problems.below(12), k = 1 + problems.below(n), T = 5 + problems.below(30);
    const RowMatrix window = window_of(problems, T, n);
    const VectorXd m = window.colwise().mean();
    if (m.maxCoeff() <= 0.0) continue;
    const MatrixXd Q = with_epsilon(testing::naive_covariance(window, 0.0), 1e-3);
    const Plain expected = plain(Q, m, k);
    MssrmLongResult out;
    MssrmLong({.k = k}, n).run_on_window(view(window), view(m), out);
    ASSERT_EQ(out.portfolio.outcome.status, Status::ok);
    EXPECT_EQ(out.iterations, expected.iterations);
    EXPECT_LT((vector_of(out.v) - expected.v).norm(), 1e-9 * expected.v.norm());
    const VectorXd w = expected.v / expected.v.sum();
    EXPECT_LT((vector_of(out.portfolio.weights) - w).norm(), 1e-9);
    const MatrixXd Sigma = Q - 1e-3 * MatrixXd::Identity(n, n);
    EXPECT_NEAR(out.portfolio.sharpe, m.dot(w) / std::sqrt(w.dot(Sigma * w)), 1e-8);
  }
}

TEST(MssrmLong, WindowAndItsCovarianceAgree) {
  Problems problems(12);
  for (const Index T : {6, 40}) {
    const RowMatrix window = window_of(problems, T, 15);
    const VectorXd m = 0.01 * problems.vector(15);
    MssrmLongResult out;
    MssrmLong({.k = 5}, 15).run_on_window(view(window), view(m), out);
    const MssrmLongResult given = solved(testing::naive_covariance(window, 0.0), m, 5);
    EXPECT_EQ(out.portfolio.support, given.portfolio.support);
    EXPECT_EQ(out.iterations, given.iterations);
    EXPECT_LT((vector_of(out.v) - vector_of(given.v)).norm(), 1e-9 * vector_of(out.v).norm());
    EXPECT_NEAR(out.portfolio.sharpe, given.portfolio.sharpe, 1e-9);
  }
}

TEST(MssrmLong, GradientVanishesOnTheSupportAndNoStepIsLeft) {
  Problems problems(13);
  for (int trial = 0; trial < 40; ++trial) {
    const Index n = 12, k = 1 + problems.below(n);
    const MatrixXd Sigma = testing::naive_covariance(window_of(problems, 30, n), 0.0);
    VectorXd m = 0.01 * problems.vector(n);
    m[0] = std::abs(m[0]);
    const MatrixXd Q = with_epsilon(Sigma, 1e-3);
    const VectorXd v = vector_of(solved(Sigma, m, k).v);
    const double lambda = largest_eigenvalue(Q);
    const VectorXd g = Q * v - m;
    for (Index i = 0; i < n; ++i)
      EXPECT_TRUE(v[i] == 0.0 || std::abs(g[i]) < 1e-5 * lambda * v.norm());
    EXPECT_LE((v.array() > 0.0).count(), k);
    EXPECT_LT((projected(v - 0.999 / lambda * g, k) - v).norm(), 2e-5 * v.norm());
  }
}

TEST(MssrmLong, WhatItCertifiesIsGloballyOptimal) {
  Problems problems(14);
  int certified = 0, wrong = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Index n = 3 + problems.below(6), k = 1 + problems.below(n);
    const double epsilon = trial % 2 == 0 ? 1e-3 : 3e-2;
    const MatrixXd Sigma = testing::naive_covariance(window_of(problems, 20, n), 0.0);
    const VectorXd m = 0.01 * problems.vector(n);
    const MatrixXd Q = with_epsilon(Sigma, epsilon);
    const MssrmLongResult out = solved(Sigma, m, k, epsilon);
    const double best = enumerated(Q, m, k), reached = objective(Q, m, vector_of(out.v));
    EXPECT_GE(reached, best - 1e-12);
    const bool optimal = reached <= best + 1e-4 * std::abs(best);
    wrong += !optimal;
    certified += out.certified;
    EXPECT_TRUE(optimal || !out.certified) << reached << " against " << best;
  }
  EXPECT_GT(certified, 100);
  EXPECT_GT(wrong, 5);  // so that a certificate given to all would be found out
}

TEST(MssrmLong, HoldsCashWhereNothingIsExpectedToRise) {
  Problems problems(15);
  const MatrixXd Sigma = testing::naive_covariance(problems.returns(30, 6), 0.0);
  for (VectorXd m : {VectorXd(-problems.vector(6).cwiseAbs()), VectorXd(VectorXd::Zero(6))}) {
    const MssrmLongResult out = solved(Sigma, m, 3);
    EXPECT_EQ(out.portfolio.outcome.status, Status::no_signal);
    EXPECT_TRUE(out.portfolio.support.empty());
    EXPECT_EQ(vector_of(out.portfolio.weights), VectorXd::Zero(6));
    EXPECT_EQ(out.portfolio.sharpe, 0.0);
    EXPECT_TRUE(out.certified);
  }
}

TEST(MssrmLong, HoldsTheOneNameThatRises) {
  Problems problems(16);
  const MatrixXd Sigma = testing::naive_covariance(problems.returns(30, 6), 0.0);
  VectorXd m = VectorXd::Constant(6, -1.0);
  m[4] = 1e-3;
  const MssrmLongResult out = solved(Sigma, m, 3);
  EXPECT_EQ(out.portfolio.support, std::vector<Index>{4});
  EXPECT_EQ(out.portfolio.weights[4], 1.0);
  EXPECT_TRUE(out.certified);
}

TEST(MssrmLong, NumbersThatAreNoneMakeTheInstanceInvalid) {
  Problems problems(17);
  const RowMatrix window = problems.returns(20, 5);
  const VectorXd m = VectorXd::Constant(5, 0.01);
  MssrmLong mssrm({.k = 2}, 5);
  const auto expect_invalid = [&](const RowMatrix& rows, const VectorXd& signal) {
    MssrmLongResult out;
    mssrm.run_on_window(view(rows), view(signal), out);
    EXPECT_EQ(out.portfolio.outcome.status, Status::invalid_input);
    EXPECT_FALSE(out.certified);
    EXPECT_TRUE(out.portfolio.support.empty());
    for (const double w : out.portfolio.weights) EXPECT_TRUE(std::isnan(w));
  };
  for (const double bad : {kNaN, std::numeric_limits<double>::infinity()}) {
    VectorXd signal = m;
    signal[3] = bad;
    expect_invalid(window, signal);
    RowMatrix rows = window;
    rows(7, 2) = bad;
    expect_invalid(rows, m);
  }
  expect_invalid(1e200 * window, m);  // its squares overflow
  // What came before leaves no trace.
  MssrmLongResult after, fresh;
  mssrm.run_on_window(view(window), view(m), after);
  MssrmLong({.k = 2}, 5).run_on_window(view(window), view(m), fresh);
  EXPECT_EQ(after.v, fresh.v);
  EXPECT_EQ(after.portfolio.weights, fresh.portfolio.weights);
}

// From so many assets on entries that cannot matter are not computed: assets that nobody holds, and
// that bring their number there, change nothing.
TEST(MssrmLong, EntriesThatAreNotComputedAreNotMissed) {
  constexpr Index n = Screen::kFrom - 1, more = n + 65, T = 12;
  Problems problems(17);
  for (const Index k : {1, 4, 60}) {
    RowMatrix window = RowMatrix::Zero(T, more);
    window.leftCols(n) = window_of(problems, T, n);
    VectorXd m = VectorXd::Constant(more, -1.0);
    m.head(n) = 0.02 * problems.vector(n);
    const RowMatrix left = window.leftCols(n);
    const VectorXd head = m.head(n);
    MssrmLongResult all, few;
    MssrmLong({.k = k}, n).run_on_window(view(left), view(head), all);
    MssrmLong({.k = k}, more).run_on_window(view(window), view(m), few);
    EXPECT_EQ(few.portfolio.support, all.portfolio.support);
    EXPECT_EQ(few.iterations, all.iterations);
    EXPECT_EQ(few.certified, all.certified);
    EXPECT_LT((vector_of(few.v).head(n) - vector_of(all.v)).norm(), 1e-9 * vector_of(all.v).norm());
  }
}

TEST(MssrmLong, MatrixThatIsNotFiniteIsInvalid) {
  RowMatrix Sigma = RowMatrix::Identity(3, 3);
  Sigma(0, 2) = Sigma(2, 0) = kNaN;
  MssrmLongResult out;
  const VectorXd m = VectorXd::Ones(3);
  MssrmLong({.k = 2}, 3).run(view(Sigma), view(m), out);
  EXPECT_EQ(out.portfolio.outcome.status, Status::invalid_input);
}

// No covariance, but it must not read as an answer: without risk on either side of it the steps
// run away, and a zero for what is not finite would look like cash.
TEST(MssrmLong, MatrixThatIsIndefiniteIsNeverAnAnswer) {
  RowMatrix away = RowMatrix::Identity(3, 3), negative = -RowMatrix::Identity(3, 3);
  away(0, 0) = -1000.0;
  const RowMatrix none = -1e-3 * RowMatrix::Identity(3, 3);  // lambda_max(Q) is 0
  const VectorXd m = VectorXd::Ones(3);
  for (const RowMatrix& Sigma : {away, negative, none}) {
    MssrmLongResult out;
    MssrmLong({.k = 2}, 3).run(view(Sigma), view(m), out);
    EXPECT_EQ(out.portfolio.outcome.status, Status::invalid_input);
    EXPECT_FALSE(out.certified);
    EXPECT_TRUE(out.portfolio.support.empty());
    for (const double w : out.portfolio.weights) EXPECT_TRUE(std::isnan(w));
    for (const double x : out.v) EXPECT_TRUE(std::isnan(x));
  }
}

TEST(MssrmLong, TakesEveryNameThatRisesForLargeK) {
  Problems problems(18);
  const RowMatrix window = window_of(problems, 40, 7);
  const MatrixXd Sigma = testing::naive_covariance(window, 0.0);
  const VectorXd m = VectorXd::Constant(7, 0.01) + 0.002 * problems.vector(7);
  const MssrmLongResult all = solved(Sigma, m, 7), more = solved(Sigma, m, 1000);
  EXPECT_EQ(all.v, more.v);
  EXPECT_TRUE(all.certified);
  const MatrixXd Q = with_epsilon(Sigma, 1e-3);
  EXPECT_NEAR(objective(Q, m, vector_of(all.v)), enumerated(Q, m, 7), 1e-7);
}

TEST(MssrmLong, TiesGoToTheLowerColumn) {
  const RowMatrix Sigma = 0.01 * RowMatrix::Identity(6, 6);
  const MssrmLongResult out = solved(Sigma, VectorXd::Constant(6, 0.02), 2);
  EXPECT_EQ(out.portfolio.support, (std::vector<Index>{0, 1}));
  EXPECT_EQ(out.portfolio.weights[0], 0.5);
}

TEST(MssrmLong, HoldsDuplicatesInEqualParts) {
  Problems problems(19);
  RowMatrix window = window_of(problems, 30, 6);
  window.col(5) = window.col(1);
  VectorXd m = VectorXd::Constant(6, 1e-4);
  m[1] = m[5] = 0.03;
  MssrmLongResult out;
  MssrmLong({.k = 3}, 6).run_on_window(view(window), view(m), out);
  ASSERT_EQ(out.portfolio.outcome.status, Status::ok);
  EXPECT_GT(out.portfolio.weights[1], 0.0);
  EXPECT_NEAR(out.portfolio.weights[1], out.portfolio.weights[5], 1e-12);
}

TEST(MssrmLong, AssetsWithoutRiskAreNoTrouble) {
  const RowMatrix window = RowMatrix::Constant(10, 4, 0.01);
  const VectorXd m = VectorXd::LinSpaced(4, 0.01, 0.04);
  MssrmLongResult out;
  MssrmLong({.k = 2}, 4).run_on_window(view(window), view(m), out);
  EXPECT_EQ(out.portfolio.outcome.status, Status::ok);
  EXPECT_EQ(out.portfolio.support, (std::vector<Index>{2, 3}));
  EXPECT_NEAR(out.portfolio.weights[3], 4.0 / 7.0, 1e-9);
  EXPECT_TRUE(std::isnan(out.portfolio.sharpe));  // there is no risk to divide by
}

TEST(MssrmLong, IsScaleFreeInTheSignal) {
  Problems problems(20);
  const MatrixXd Sigma = testing::naive_covariance(window_of(problems, 30, 8), 0.0);
  const VectorXd m = 0.01 * problems.vector(8).cwiseAbs();
  const MssrmLongResult one = solved(Sigma, m, 4);
  for (const double scale : {0x1p-600, 0x1p-3, 0x1p40, 0x1p700}) {
    const MssrmLongResult other = solved(Sigma, scale * m, 4);
    EXPECT_EQ(other.portfolio.weights, one.portfolio.weights) << scale;
    EXPECT_EQ(other.iterations, one.iterations);
    EXPECT_EQ(vector_of(other.v), VectorXd(scale * vector_of(one.v)));
  }
}

TEST(MssrmLong, SaysWhenItRanOutOfSteps) {
  Problems problems(21);
  const RowMatrix Sigma = testing::naive_covariance(window_of(problems, 30, 8), 0.0);
  const VectorXd m = 0.01 * problems.vector(8).cwiseAbs();
  MssrmLongResult out;
  MssrmLong({.k = 8, .max_iterations = 3}, 8).run(view(Sigma), view(m), out);
  EXPECT_EQ(out.portfolio.outcome.status, Status::not_converged);
  EXPECT_EQ(out.iterations, 3);
  EXPECT_FALSE(out.certified);
  EXPECT_NEAR(vector_of(out.portfolio.weights).sum(), 1.0, 1e-12);
}

TEST(MssrmLong, RefusesSettingsAndShapesByName) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([] { MssrmLongSettings{.k = 0}.validate(); }), "k = 0 is outside [1, inf)");
  EXPECT_EQ(message([] { MssrmLongSettings{.epsilon = 0.0}.validate(); }),
            "epsilon = 0 is outside (0, inf)");
  EXPECT_EQ(message([] { MssrmLongSettings{.tolerance = kNaN}.validate(); }),
            "tolerance = nan is outside (0, 1)");
  EXPECT_EQ(message([] { MssrmLongSettings{.max_iterations = 0}.validate(); }),
            "max_iterations = 0 is outside [1, inf)");
  MssrmLong mssrm({.k = 1}, 3);
  MssrmLongResult out;
  const RowMatrix rows = RowMatrix::Identity(3, 3), one = RowMatrix::Ones(1, 3);
  const VectorXd two = VectorXd::Ones(2), three = VectorXd::Ones(3);
  EXPECT_NE(message([&] { mssrm.run(view(rows), view(two), out); }), "");
  EXPECT_NE(message([&] { mssrm.run(view(one), view(three), out); }), "");
  EXPECT_EQ(message([&] { mssrm.run_on_window(view(one), view(three), out); }),
            "the window has 1 rows, but a covariance needs 2 at least");
}

}  // namespace
}  // namespace sharpen::baseline
