// The gradient of the layer in the covariance against finite differences: every combination of
// modes, on both faces, through shrinkage, with equal eigenvalues and with jitter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/covariance_gradient.hpp"
#include "support/gradient_check.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::check_gradient;
using testing::GradientReport;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

// The weights of one signal as a function of a covariance S (n, n), and its vjp.
class OfCovariance {
 public:
  OfCovariance(const LayerSettings& settings, Eigen::VectorXd mu, double shrinkage)
      : w(mu.size()), settings_(settings), mu_(std::move(mu)) {
    risk_settings_.shrinkage = shrinkage;
  }

  const Eigen::VectorXd& operator()(const RowMatrix& S) {
    run(S);
    return w;
  }
  RowMatrix vjp(const RowMatrix& S, const Eigen::VectorXd& dL_dw) {
    const auto [risk, layer, cache] = run(S);
    const Index n = w.size();
    RowMatrix out = RowMatrix::Zero(n, n);
    CovarianceGradient(*layer, 1, 1).add(*cache, {dL_dw.data(), 1, n}, view(out), Threads(1));
    risk::shrinkage_vjp(risk_settings_.shrinkage, view(out));
    return out;
  }

  Eigen::VectorXd w;
  Outcome outcome;

 private:
  struct Parts {
    std::unique_ptr<risk::Risk> risk;
    std::unique_ptr<SparseTangent> layer;
    std::unique_ptr<LayerCache> cache;
  };
  Parts run(const RowMatrix& S) {
    Parts parts;
    parts.risk = risk::from_covariance(view(S), risk_settings_);
    parts.layer = std::make_unique<SparseTangent>(settings_, *parts.risk);
    parts.cache = std::make_unique<LayerCache>(*parts.layer, 1, 1);
    const Index sample = 0;
    parts.layer->forward({&sample, 1}, {mu_.data(), 1, mu_.size()}, *parts.cache,
                         {w.data(), 1, w.size()}, {&outcome, 1}, Threads(1));
    return parts;
  }

  LayerSettings settings_;
  risk::RiskSettings risk_settings_;
  Eigen::VectorXd mu_;
};

std::vector<LayerSettings> modes_of(Index n) {
  std::vector<LayerSettings> all;
  for (const Score score : {Score::cholesky, Score::symmetric})
    for (const Reoptimization reoptimization : {Reoptimization::masked, Reoptimization::restricted})
      for (const Sizing sizing : {Sizing::budget, Sizing::volatility, Sizing::gross})
        for (const Net net : {Net::positive, Net::any})
          for (const bool raw : {false, true})
            for (const Index k : {Index{1}, n / 2, n}) {
              if (net == Net::any && (sizing == Sizing::budget || raw)) continue;
              LayerSettings settings;
              settings.k = k;
              settings.beta = raw ? 0.5 : 3.0;
              settings.score = score;
              settings.raw_score = raw;
              settings.reoptimization = reoptimization;
              settings.sizing.kind = sizing;
              settings.net = net;
              all.push_back(settings);
            }
  return all;
}

std::string described(const LayerSettings& settings) {
  return "k " + std::to_string(settings.k) + " score " + std::string(name_of(settings.score)) +
         " raw " + std::to_string(settings.raw_score) + " reoptimization " +
         std::string(name_of(settings.reoptimization)) + " sizing " +
         std::string(name_of(settings.sizing.kind)) + " net " + std::string(name_of(settings.net)) +
         "\n";
}

RowMatrix random_covariance(Problems& random, Index n) {
  const RowMatrix X = random.returns(3 * n, n);
  return X.transpose() * X / double(3 * n);
}

// The lower triangle of a symmetric matrix as coordinates, and dL in each of them.
Eigen::VectorXd coordinates(const RowMatrix& S, double off_diagonal) {
  Eigen::VectorXd out(S.rows() * (S.rows() + 1) / 2);
  Index at = 0;
  for (Index i = 0; i < S.rows(); ++i)
    for (Index j = 0; j <= i; ++j) out[at++] = (i == j ? 1.0 : off_diagonal) * S(i, j);
  return out;
}
RowMatrix symmetric(const Eigen::VectorXd& x, Index n) {
  RowMatrix S(n, n);
  Index at = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) S(i, j) = S(j, i) = x[at++];
  return S;
}

struct Checks {
  int checked = 0, skipped = 0;
  std::array<std::array<int, 2>, 2> faces{};  // [first][second]
};

void check_covariance(const LayerSettings& settings, const RowMatrix& S, const Eigen::VectorXd& mu,
                      const Eigen::VectorXd& g, double shrinkage, Checks& seen) {
  constexpr double kTolerance = 1e-6;
  const Index n = S.rows();
  OfCovariance layer(settings, mu, shrinkage);
  const RowMatrix G = layer.vjp(S, g);
  if (!layer.outcome.solved()) return;
  const Outcome outcome = layer.outcome;
  EXPECT_EQ(G, G.transpose());
  bool same_faces = true;
  const auto f = [&](const Eigen::VectorXd& x) {
    const double value = g.dot(layer(symmetric(x, n)));
    same_faces = same_faces && layer.outcome.status == outcome.status &&
                 layer.outcome.neutral_first == outcome.neutral_first;
    return value;
  };
  const double size = S.trace() / double(n);
  const double floor = 1e-3 * g.norm() * layer.w.norm() / size;
  const GradientReport report =
      check_gradient(f, coordinates(S, 1.0), coordinates(G, 2.0),
                     Eigen::VectorXd::Constant(n * (n + 1) / 2, 1e-3 * S.diagonal().minCoeff()),
                     kTolerance, floor);
  // A difference across a kink (a face, or the zero of a score or weight) has no digits.
  if (!same_faces || report.worst_digits > 0.3 * kTolerance) {
    ++seen.skipped;
    return;
  }
  ++seen.checked;
  ++seen.faces[outcome.neutral_first][outcome.status == Status::neutral_face];
  EXPECT_TRUE(report.ok) << "n " << n << " " << described(settings) << report.log;
}

TEST(CovarianceGradient, EveryMode) {
  Problems random(31);
  Checks seen;
  Index n = 3;
  for (int round = 0; round < 4; ++round)
    for (const LayerSettings& settings : modes_of(n)) {
      const RowMatrix S = random_covariance(random, n);
      const Eigen::VectorXd mu = random.signal(S, round % 2 == 0);
      check_covariance(settings, S, mu, random.vector(n), round < 2 ? 0.0 : 0.2, seen);
      n = n == 8 ? 3 : n + 1;
    }
  for (const auto& first : seen.faces)
    for (const int count : first) EXPECT_GE(count, 5) << "a pair of faces was not covered";
  EXPECT_GE(seen.checked, 250);
  EXPECT_LE(seen.skipped, seen.checked / 10) << "too many checks without digits";
}

// Divided differences of equal eigenvalues are derivatives.
TEST(CovarianceGradient, EqualEigenvalues) {
  Problems random(32);
  Checks seen;
  const Index n = 5;
  for (const LayerSettings& settings : modes_of(n))
    for (const double apart : {0.0, 1e-9, 1e-5}) {
      RowMatrix S = 1e-4 * RowMatrix::Identity(n, n);
      S(0, 0) = 3e-4;
      S(1, 1) *= 1.0 + apart;
      const Eigen::VectorXd mu = random.signal(S, apart != 1e-9);
      check_covariance(settings, S, mu, random.vector(n), 0.0, seen);
    }
  EXPECT_GE(seen.checked, 100);
  EXPECT_LE(seen.skipped, seen.checked / 10);
}

// An asset without any variance is given some, which counts as a constant: directions that leave
// the trace alone leave it alone.
TEST(CovarianceGradient, JitterIsAConstant) {
  Problems random(33);
  const Index n = 6;
  int checked = 0;
  for (const LayerSettings& settings : modes_of(n)) {
    RowMatrix S = RowMatrix::Zero(n, n);
    S.topLeftCorner(n - 1, n - 1) = random_covariance(random, n - 1);
    RowMatrix D = RowMatrix::Zero(n, n);
    const RowMatrix M = random.matrix(n - 1, n - 1);
    D.topLeftCorner(n - 1, n - 1) = M + M.transpose();
    D.topLeftCorner(n - 1, n - 1).diagonal().array() -= D.trace() / double(n - 1);
    D *= S.trace() / double(n) / D.norm();
    const Eigen::VectorXd others = random.signal(S.topLeftCorner(n - 1, n - 1), true);
    Eigen::VectorXd mu(n);
    mu << others, 1e-12 * others.norm();
    const Eigen::VectorXd g = random.vector(n);
    OfCovariance layer(settings, mu, 0.0);
    const RowMatrix G = layer.vjp(S, g);
    ASSERT_GT(layer.outcome.jitter, 0.0);
    if (!layer.outcome.solved()) continue;
    const double jitter = layer.outcome.jitter;
    const auto numeric = testing::ridders(
        [&](double h) {
          const double value = g.dot(layer(S + h * D));
          EXPECT_NEAR(layer.outcome.jitter, jitter, 1e-12 * jitter);
          return value;
        },
        1e-2);
    const double analytic = G.cwiseProduct(D).sum();
    const double size = std::max(std::abs(analytic), 1e-2 * g.norm() * layer.w.norm());
    if (numeric.error > 1e-6 * size) continue;
    ++checked;
    EXPECT_NEAR(analytic, numeric.value, 1e-5 * size) << described(settings);
  }
  EXPECT_GE(checked, 80);
}

// Larger problems along random directions.
TEST(CovarianceGradient, InnerProductsOnLargerProblems) {
  Problems random(34);
  const Index n = 40;
  for (const Score score : {Score::cholesky, Score::symmetric})
    for (const Reoptimization reoptimization : {Reoptimization::masked, Reoptimization::restricted})
      for (const bool positive : {true, false}) {
        LayerSettings settings;
        settings.k = 8;
        settings.score = score;
        settings.reoptimization = reoptimization;
        settings.sizing.kind = Sizing::volatility;
        const RowMatrix S = random_covariance(random, n), M = random.matrix(n, n);
        const RowMatrix D = (M + M.transpose()) * (S.diagonal().minCoeff() / M.norm());
        const Eigen::VectorXd mu = random.signal(S, positive), g = random.vector(n);
        OfCovariance layer(settings, mu, 0.1);
        const RowMatrix G = layer.vjp(S, g);
        const auto numeric =
            testing::ridders([&](double h) { return g.dot(layer(S + h * D)); }, 1e-2);
        EXPECT_NEAR(G.cwiseProduct(D).sum(), numeric.value, 1e-6 * G.norm() * D.norm());
      }
}

// Samples that several instances meet add up, in the same bits for any number of threads; samples
// that none meets, and instances without direction, add nothing.
TEST(CovarianceGradient, AddsUpInstancesOfASampleForAnyThreadCount) {
  Problems random(35);
  const Index n = 7, samples = 5, batch = 24;
  std::vector<RowMatrix> Sigmas;
  std::vector<ConstMat> views;
  for (Index s = 0; s < samples; ++s) Sigmas.push_back(random_covariance(random, n));
  for (const RowMatrix& Sigma : Sigmas) views.push_back(view(Sigma));
  const auto risk = risk::from_covariances(views, {}, Threads(1));
  RowMatrix mu = random.matrix(batch, n), dL_dw = random.matrix(batch, n), w(batch, n);
  mu.row(3).setZero();
  mu(4, 2) = testing::kNaN;
  std::vector<Index> met(static_cast<std::size_t>(batch));
  for (Index i = 0; i < batch; ++i) met[static_cast<std::size_t>(i)] = random.below(samples - 1);
  for (const LayerSettings& settings : modes_of(n)) {
    SparseTangent layer(settings, *risk);
    const auto gradient = [&](std::span<const Index> which, Index first, int count) {
      const auto size = static_cast<Index>(which.size());
      const Threads threads(count);
      LayerCache cache(layer, size, count);
      std::vector<Outcome> outcomes(which.size());
      RowMatrix out = RowMatrix::Zero(samples * n, n);
      layer.forward(which, {mu.data() + first * n, size, n}, cache, {w.data(), size, n}, outcomes,
                    threads);
      CovarianceGradient(layer, size, count)
          .add(cache, {dL_dw.data() + first * n, size, n}, view(out), threads);
      return out;
    };
    const RowMatrix all = gradient(met, 0, 1);
    EXPECT_EQ(all, gradient(met, 0, 4)) << described(settings);
    EXPECT_TRUE(all.bottomRows(n).isZero(0.0)) << "no instance met it";
    RowMatrix sum = RowMatrix::Zero(samples * n, n);
    for (Index i = 0; i < batch; ++i)
      sum += gradient(std::span(met).subspan(static_cast<std::size_t>(i), 1), i, 1);
    EXPECT_TRUE(all.allFinite());
    EXPECT_LE((all - sum).norm(), 1e-9 * sum.norm()) << described(settings);
  }
}

TEST(CovarianceGradient, DenseAndLowRankFormsAgree) {
  Problems random(37);
  const Index n = 9, T = 6;
  const RowMatrix returns = random.returns(T, n), mu = random.matrix(4, n), g = random.matrix(4, n);
  const std::vector<Index> ends = {T}, met(4, 0);
  for (const LayerSettings& settings : modes_of(n)) {
    std::array<RowMatrix, 2> found{RowMatrix::Zero(n, n), RowMatrix::Zero(n, n)};
    for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
      risk::RiskSettings risk_settings;
      risk_settings.form = form;
      const auto risk = risk::from_windows(view(returns), T, ends, risk_settings, Threads(1));
      const SparseTangent layer(settings, *risk);
      LayerCache cache(layer, 4, 1);
      RowMatrix w(4, n);
      std::vector<Outcome> outcomes(4);
      layer.forward(met, view(mu), cache, view(w), outcomes, Threads(1));
      CovarianceGradient(layer, 4, 1)
          .add(cache, view(g), view(found[form == risk::Form::dense]), Threads(1));
    }
    EXPECT_LE((found[0] - found[1]).norm(), 1e-9 * found[0].norm()) << described(settings);
  }
}

TEST(CovarianceGradient, RefusesWhatDoesNotFit) {
  Problems random(36);
  const Index n = 4;
  const RowMatrix Sigma = random_covariance(random, n);
  const auto risk = risk::from_covariance(view(Sigma), {});
  LayerSettings settings;
  settings.k = 2;
  const SparseTangent layer(settings, *risk);
  LayerCache cache(layer, 2, 1);
  RowMatrix mu = random.matrix(2, n), w(2, n), out(n, n), wrong(n, n + 1);
  std::vector<Outcome> outcomes(2);
  const std::vector<Index> met = {0, 0};
  layer.forward(met, view(std::as_const(mu)), cache, view(w), outcomes, Threads(1));
  CovarianceGradient good(layer, 2, 1), small(layer, 1, 1);
  EXPECT_THROW(small.add(cache, view(std::as_const(w)), view(out), Threads(1)), InputError);
  EXPECT_THROW(good.add(cache, view(std::as_const(w)), view(wrong), Threads(1)), InputError);
  EXPECT_THROW(good.add(cache, view(std::as_const(out)), view(out), Threads(1)), InputError);
}

}  // namespace
}  // namespace sharpen::layer
