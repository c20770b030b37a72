// The paper's propositions as properties, and its QCQP against an independent iterative solver.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "sharpen/base/threads.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/layer/tangent.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::Problems;
using testing::RowMatrix;
using testing::view;

double sharpe(const Eigen::VectorXd& w, const Eigen::VectorXd& mu, const Eigen::MatrixXd& Sigma) {
  return mu.dot(w) / std::sqrt(w.dot(Sigma * w));
}

// A random market given by its covariance, and the tangent direction our code finds there.
struct Market {
  RowMatrix Sigma;
  Eigen::VectorXd mu, y;
  Eigen::MatrixXd L;
  double t = 0;
  Status status;
  std::unique_ptr<risk::Risk> risk;

  Market(Problems& random, Index n, bool positive, Net net = Net::positive) : y(n) {
    const RowMatrix X = random.matrix(3 * n, n) * random.matrix(n, n);
    Sigma = X.transpose() * X / static_cast<double>(3 * n);
    mu = random.signal(Sigma, positive);
    L = testing::lower_factor(Sigma);
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    risk = risk::from_covariance(view(std::as_const(Sigma)), settings);
    TangentCache cache;
    Eigen::VectorXd m(n);
    std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
    status = tangent_forward(*risk, 0, view(mu), net, cache, view(y), t, view(m), scratch);
  }
};

// SR(lambda w) = SR(w): the layer's weights have one Sharpe ratio whatever the sizing and the scale
// of the signal they came from.
TEST(Proposition1, SharpeOfTheLayersWeightsDoesNotDependOnTheirScale) {
  Problems random(41);
  for (int round = 0; round < 50; ++round) {
    const Index n = 3 + random.below(20);
    const Market market(random, n, true);
    double first = 0.0;
    for (const Sizing sizing : {Sizing::budget, Sizing::volatility, Sizing::gross})
      for (const double scale : {1.0, 1e-3, 37.0}) {
        LayerSettings settings;
        settings.k = 1 + n / 3;
        settings.sizing.kind = sizing;
        const SparseTangent layer(settings, *market.risk);
        LayerCache cache(layer, 1, 1);
        const Eigen::VectorXd mu = scale * market.mu;
        Eigen::VectorXd w(n);
        Outcome outcome;
        const Index sample = 0;
        layer.forward({&sample, 1}, {mu.data(), 1, n}, cache, {w.data(), 1, n}, {&outcome, 1},
                      Threads(1));
        ASSERT_TRUE(outcome.solved());
        const double ratio = sharpe(w, market.mu, market.Sigma);
        if (first == 0.0) first = ratio;
        EXPECT_NEAR(ratio, first, 1e-9 * std::abs(first));
        EXPECT_LE(ratio, sharpe(market.y, market.mu, market.Sigma) * (1 + 1e-9));
      }
  }
}

TEST(Proposition2, SharpeIsTheCosineToTheTangentPortfolio) {
  Problems random(42);
  for (int round = 0; round < 200; ++round) {
    const Market market(random, 2 + random.below(20), true);
    ASSERT_EQ(market.status, Status::ok);
    const double best = sharpe(market.y, market.mu, market.Sigma);
    EXPECT_NEAR(best * best, market.mu.dot(testing::solve_spd(market.Sigma, market.mu)),
                1e-9 * best * best);
    const Eigen::VectorXd top = market.L.transpose() * market.y;
    const auto cosine = [&](const Eigen::VectorXd& w) {
      const Eigen::VectorXd v = market.L.transpose() * w;
      return v.dot(top) / (v.norm() * top.norm());
    };
    const Eigen::VectorXd w1 = random.vector(market.mu.size()),
                          w2 = random.vector(market.mu.size());
    const double s1 = sharpe(w1, market.mu, market.Sigma), s2 = sharpe(w2, market.mu, market.Sigma);
    EXPECT_NEAR(cosine(w1), s1 / best, 1e-8);
    EXPECT_EQ(s1 >= s2, cosine(w1) >= cosine(w2));
    EXPECT_LE(s1, best * (1 + 1e-12));
  }
}

// Over all w whose transformed vector L^T w vanishes off K, the best K of size k holds the k
// largest of |L^T w_tangent|: by enumeration of every K.
TEST(Proposition3, LargestTransformedWeightsAreTheBestSupportOfTheTransformedVector) {
  Problems random(43);
  for (int round = 0; round < 50; ++round) {
    const Index n = 3 + random.below(5);
    const Index k = 1 + random.below(n - 1);
    const Market market(random, n, true);
    const Eigen::VectorXd c = testing::solve_lower(market.L, market.mu);
    double best = 0;
    unsigned best_set = 0;
    for (unsigned set = 0; set < (1u << n); ++set) {
      if (std::popcount(set) != static_cast<int>(k)) continue;
      // max c_K^T v over |v_K| = 1: the norm of c on K.
      double norm2 = 0;
      for (Index i = 0; i < n; ++i)
        if (set >> i & 1u) norm2 += c[i] * c[i];
      if (norm2 > best) {
        best = norm2;
        best_set = set;
      }
    }
    Eigen::VectorXd z(n), x(n), m(n);
    ScoreCache cache;
    std::vector<double> scratch(static_cast<std::size_t>(market.risk->scratch_size()));
    score_forward({Score::cholesky, false, 0.01, Net::positive}, *market.risk, 0, view(market.mu),
                  cache, view(z), view(x), view(m), scratch);
    const Eigen::VectorXd transformed = (market.L.transpose() * market.y).cwiseAbs();
    EXPECT_LE((x - transformed * std::sqrt(double(n))).norm(), 1e-8 * x.norm())
        << "the Cholesky score is |L^T y|, scaled";
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return x[a] > x[b]; });
    unsigned ours = 0;
    for (Index i = 0; i < k; ++i) ours |= 1u << order[static_cast<std::size_t>(i)];
    EXPECT_EQ(ours, best_set);
  }
}

// max c^T v over |v| <= 1, e^T v >= 0 with c = L^-1 mu, e = L^-1 1: projected gradient ascent,
// the projection by Dykstra's alternating method. Knows nothing of faces or closed forms.
Eigen::VectorXd witness(const Market& market) {
  const Eigen::VectorXd c = testing::solve_lower(market.L, market.mu).normalized();
  const Eigen::VectorXd e =
      testing::solve_lower(market.L, Eigen::VectorXd::Ones(c.size())).normalized();
  const auto project = [&](const Eigen::VectorXd& point) {
    Eigen::VectorXd x = point, p = Eigen::VectorXd::Zero(c.size()), q = p;
    for (int i = 0; i < 200; ++i) {
      Eigen::VectorXd y = x + p;
      if (y.norm() > 1.0) y.normalize();
      p = x + p - y;
      Eigen::VectorXd next = y + q;
      next += std::max(0.0, -e.dot(next)) * e;
      q = y + q - next;
      if ((next - x).norm() < 1e-15) return next;
      x = next;
    }
    return x;
  };
  Eigen::VectorXd v = Eigen::VectorXd::Zero(c.size());
  for (int i = 0; i < 5000; ++i) {
    const Eigen::VectorXd next = project(v + c);
    if ((next - v).norm() < 1e-13) break;
    v = next;
  }
  return testing::solve_lower_t(market.L, v);
}

TEST(Qcqp, ClosedFormAgreesWithAnIterativeSolverOnBothFaces) {
  Problems random(44);
  for (int round = 0; round < 60; ++round) {
    const bool positive = round % 2 == 0;
    const Market market(random, 2 + random.below(10), positive);
    EXPECT_EQ(market.status, positive ? Status::ok : Status::neutral_face);
    const Eigen::VectorXd y = witness(market);
    const double ours = market.mu.dot(market.y), theirs = market.mu.dot(y);
    EXPECT_NEAR(ours, theirs, 1e-7 * std::abs(ours)) << "objective, round " << round;
    EXPECT_LE((market.L.transpose() * (market.y - y)).norm(), 1e-4) << "solution, round " << round;
    EXPECT_LE(market.y.dot(market.Sigma * market.y), 1.0 + 1e-10);
    EXPECT_GE(market.y.sum(), -1e-9 * market.y.lpNorm<1>());
    EXPECT_NEAR(market.y.sum(), market.t, 1e-9 * market.y.lpNorm<1>());
  }
}

TEST(Qcqp, NetAnyIsTheUnconstrainedTangent) {
  Problems random(45);
  for (const bool positive : {true, false}) {
    const Market market(random, 8, positive, Net::any);
    EXPECT_EQ(market.status, Status::ok);
    const Eigen::VectorXd a = testing::solve_spd(market.Sigma, market.mu);
    EXPECT_LE((market.y - a / std::sqrt(market.mu.dot(a))).norm(), 1e-9 * market.y.norm());
    EXPECT_EQ(market.t > 0, positive);
  }
}

TEST(Qcqp, DirectionIsContinuousAcrossTheFace) {
  Problems random(46);
  const Market market(random, 6, true);
  const Eigen::VectorXd b = testing::solve_spd(market.Sigma, Eigen::VectorXd::Ones(6));
  // mu with B exactly zero up to rounding, then a nudge to either side.
  Eigen::VectorXd mu = market.mu;
  mu.array() -= b.dot(mu) / b.sum();
  Eigen::VectorXd y[2];
  for (const int side : {0, 1}) {
    const Eigen::VectorXd nudged =
        mu + (side ? 1e-9 : -1e-9) * mu.norm() * Eigen::VectorXd::Ones(6);
    TangentCache cache;
    Eigen::VectorXd m(6);
    double t = 0;
    y[side].resize(6);
    std::vector<double> scratch(static_cast<std::size_t>(market.risk->scratch_size()));
    const Status status = tangent_forward(*market.risk, 0, view(std::as_const(nudged)),
                                          Net::positive, cache, view(y[side]), t, view(m), scratch);
    EXPECT_EQ(status, side ? Status::ok : Status::neutral_face);
  }
  EXPECT_LE((y[0] - y[1]).norm(), 1e-6 * y[0].norm());
}

// mu = -1 + noise: C - B^2/A would lose all digits; the projection before the solve does not.
TEST(Qcqp, NearlyConstantNegativeSignalKeepsItsDigits) {
  Problems random(47);
  const Index n = 20;
  const Market market(random, n, true);
  const Eigen::VectorXd noise = random.vector(n);
  for (const double size : {1e-3, 1e-7}) {
    const Eigen::VectorXd mu = (-1.0 + size * noise.array()).matrix();
    // The noise that the sum really holds, exactly.
    const Eigen::VectorXd held = (mu.array() + 1.0).matrix();
    TangentCache cache;
    Eigen::VectorXd y(n), m(n);
    double t = 1;
    std::vector<double> scratch(static_cast<std::size_t>(market.risk->scratch_size()));
    ASSERT_EQ(tangent_forward(*market.risk, 0, view(mu), Net::positive, cache, view(y), t, view(m),
                              scratch),
              Status::neutral_face);
    const Eigen::VectorXd b = testing::solve_spd(market.Sigma, Eigen::VectorXd::Ones(n));
    Eigen::VectorXd a = testing::solve_spd(market.Sigma, held);
    a -= a.sum() / b.sum() * b;
    a /= std::sqrt(a.dot(market.Sigma * a));
    EXPECT_LE((y - a).norm(), 1e-15 / size * a.norm() * 100);
    EXPECT_LE(std::abs(y.sum()), 1e-14 * y.lpNorm<1>()) << "a net position would be worth -1 each";
    EXPECT_NEAR(mu.dot(y), held.dot(y), 1e-8 * held.dot(y));
  }
}

}  // namespace
}  // namespace sharpen::layer
