// The inner lines of the paper's Algorithm 1, spelled out one after the other, against the layer:
//   w0 = w*(mu; Sigma),  s = |L^T w0|,  mu' = SoftTopK(s, k) * mu,  w = w*(mu'; Sigma).
#include <gtest/gtest.h>

#include <cmath>

#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::Problems;
using testing::RowMatrix;
using testing::view;

constexpr double kOffset = 0.01, kBeta = 2.0;

// w*(mu; Sigma) of the QCQP: y of unit risk and t, then w = y / (t + c).
Eigen::VectorXd qcqp(const Eigen::VectorXd& mu, const Eigen::MatrixXd& Sigma) {
  const Eigen::VectorXd b = testing::solve_spd(Sigma, Eigen::VectorXd::Ones(mu.size()));
  const double B = b.dot(mu);
  const Eigen::VectorXd m = B > 0 ? mu : (mu.array() - B / b.sum()).matrix();
  const Eigen::VectorXd a = testing::solve_spd(Sigma, m);
  const double root = std::sqrt(m.dot(a));
  return a / root / (std::max(B, 0.0) / root + kOffset);
}

// p_i = sigmoid(beta (s_i + tau)) with sum p = k, by halving until nothing changes.
Eigen::VectorXd soft_top_k(const Eigen::VectorXd& s, Index k, double beta) {
  const auto mask = [&](double tau) -> Eigen::VectorXd {
    return (1.0 + (-beta * (s.array() + tau)).exp()).inverse().matrix();
  };
  double low = -s.maxCoeff() - 100.0 / beta, high = -s.minCoeff() + 100.0 / beta;
  for (int i = 0; i < 200; ++i)
    (mask(0.5 * (low + high)).sum() < static_cast<double>(k) ? low : high) = 0.5 * (low + high);
  return mask(low);
}

struct Answer {
  Eigen::VectorXd w, p;
  Outcome outcome;
};

Answer layer_of(const LayerSettings& settings, const risk::Risk& risk, const Eigen::VectorXd& mu) {
  const SparseTangent layer(settings, risk);
  LayerCache cache(layer, 1, 1);
  const Index n = mu.size(), sample = 0;
  Answer out{Eigen::VectorXd(n), Eigen::VectorXd(n), {}};
  layer.forward({&sample, 1}, {mu.data(), 1, n}, cache, {out.w.data(), 1, n}, {&out.outcome, 1},
                Threads(1));
  for (Index i = 0; i < n; ++i) out.p[i] = cache.mask(0)[static_cast<std::size_t>(i)];
  return out;
}

LayerSettings papers(Index k, TopKSolver solver) {
  LayerSettings settings;
  settings.k = k;
  settings.beta = kBeta;
  settings.score = Score::cholesky;
  settings.raw_score = true;
  settings.reoptimization = Reoptimization::masked;
  settings.sizing = {.kind = Sizing::budget, .offset = kOffset};
  settings.topk = solver;
  return settings;
}

TEST(Algorithm1, IsWhatTheLayerDoesInThePapersModes) {
  Problems random(51);
  int faces[2] = {0, 0};
  for (int round = 0; round < 60; ++round) {
    const Index n = 3 + random.below(12), T = 100, k = 1 + random.below(n - 1);
    const RowMatrix returns = random.returns(T, n);
    const Eigen::MatrixXd Sigma = testing::naive_covariance(returns, 0.10);
    const Eigen::MatrixXd L = testing::lower_factor(Sigma);
    const Eigen::VectorXd mu = random.signal(Sigma, round % 2 == 0);

    const Eigen::VectorXd w0 = qcqp(mu, Sigma);
    const Eigen::VectorXd s = (L.transpose() * w0).cwiseAbs();
    const Eigen::VectorXd p = soft_top_k(s, k, kBeta);
    const Eigen::VectorXd w = qcqp(p.cwiseProduct(mu), Sigma);

    const std::vector<Index> ends = {T};
    const auto risk = risk::from_windows(view(returns), T, ends, {}, Threads(1));
    const Answer exact = layer_of(papers(k, TopKSolver::newton), *risk, mu);
    ASSERT_TRUE(exact.outcome.solved());
    ++faces[exact.outcome.neutral_first ? 1 : 0];
    EXPECT_LE((exact.p - p).norm(), 1e-7) << "round " << round;
    EXPECT_LE((exact.w - w).norm(), 1e-6 * w.norm()) << "round " << round;
    // The paper's 32 halvings.
    const Answer halved = layer_of(papers(k, TopKSolver::bisection), *risk, mu);
    EXPECT_LE((halved.p - p).norm(), 1e-5) << "round " << round;
    EXPECT_LE((halved.w - w).norm(), 1e-3 * w.norm()) << "round " << round;
  }
  EXPECT_EQ(faces[0], 30);
  EXPECT_EQ(faces[1], 30);
}

// Scores of unit root mean square change nothing but the meaning of beta.
TEST(Algorithm1, WithScaledScoresIsThePapersWithAnotherBeta) {
  Problems random(52);
  for (int round = 0; round < 20; ++round) {
    const Index n = 4 + random.below(10), T = 60;
    const RowMatrix returns = random.returns(T, n);
    const Eigen::MatrixXd Sigma = testing::naive_covariance(returns, 0.10);
    const Eigen::VectorXd mu = random.signal(Sigma, round % 2 == 0);
    const std::vector<Index> ends = {T};
    const auto risk = risk::from_windows(view(returns), T, ends, {}, Threads(1));
    const Eigen::VectorXd s =
        (testing::lower_factor(Sigma).transpose() * qcqp(mu, Sigma)).cwiseAbs();

    LayerSettings raw = papers(2, TopKSolver::newton), scaled = raw;
    scaled.raw_score = false;
    scaled.beta = 3.0;
    raw.beta = scaled.beta * std::sqrt(static_cast<double>(n)) / s.norm();
    const Answer a = layer_of(raw, *risk, mu), b = layer_of(scaled, *risk, mu);
    EXPECT_LE((a.p - b.p).norm(), 1e-8);
    EXPECT_LE((a.w - b.w).norm(), 1e-7 * b.w.norm());
  }
}

}  // namespace
}  // namespace sharpen::layer
