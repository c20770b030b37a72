// The whole layer, signal to weights, against finite differences: every combination of modes, on
// both faces and across a change of face between the two solves.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "support/gradient_check.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::check_gradient;
using testing::GradientReport;
using testing::naive_covariance;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

// A layer over one window, as a function R^n -> R^n.
class Function {
 public:
  Function(const LayerSettings& settings, const risk::Risk& risk)
      : layer_(settings, risk), cache_(layer_, 1, 1), w(risk.n()) {}

  const Eigen::VectorXd& operator()(const Eigen::VectorXd& mu) {
    const Index sample = 0;
    layer_.forward({&sample, 1}, {mu.data(), 1, mu.size()}, cache_, {w.data(), 1, w.size()},
                   {&outcome, 1}, threads_);
    return w;
  }
  Eigen::VectorXd vjp(const Eigen::VectorXd& dL_dw) {
    Eigen::VectorXd out(w.size());
    layer_.vjp(cache_, {dL_dw.data(), 1, w.size()}, {out.data(), 1, w.size()}, threads_);
    return out;
  }
  const LayerCache& cache() const { return cache_; }
  // A gradient this small beside |g| |w| / |mu| drowns in the rounding of differences.
  double floor(const Eigen::VectorXd& mu, const Eigen::VectorXd& g) const {
    return 1e-3 * g.norm() * w.norm() / mu.norm();
  }

 private:
  Threads threads_{1};
  SparseTangent layer_;
  LayerCache cache_;

 public:
  Eigen::VectorXd w;
  Outcome outcome;
};

std::vector<LayerSettings> all_modes(Index n) {
  std::vector<LayerSettings> all;
  for (const Score score : {Score::cholesky, Score::symmetric})
    for (const Reoptimization reoptimization : {Reoptimization::masked, Reoptimization::restricted})
      for (const Sizing sizing : {Sizing::budget, Sizing::volatility, Sizing::gross})
        for (const Net net : {Net::positive, Net::any})
          for (const bool raw : {false, true})
            for (const Index k : {Index{1}, Index{3}, n - 1, n})
              for (const double beta : {0.1, 5.0, 30.0, 1e4}) {
                if (net == Net::any && (sizing == Sizing::budget || raw)) continue;
                LayerSettings settings;
                settings.k = k;
                settings.beta = beta;
                settings.score = score;
                settings.raw_score = raw;
                settings.reoptimization = reoptimization;
                settings.sizing.kind = sizing;
                settings.net = net;
                all.push_back(settings);
              }
  return all;
}

// [first face][second face]: how many checks fell there.
using Faces = std::array<std::array<int, 2>, 2>;

void check_all_modes(risk::Form form, double shrinkage, double tolerance, Faces& seen) {
  constexpr Index n = 7, T = 5;
  Problems random(21);
  int checked = 0, skipped = 0;
  for (const LayerSettings& settings : all_modes(n))
    for (int round = 0; round < 3; ++round) {
      const RowMatrix returns = random.returns(T, n);
      risk::RiskSettings risk_settings;
      risk_settings.form = form;
      risk_settings.shrinkage = shrinkage;
      const std::vector<Index> ends = {T};
      const auto risk = risk::from_windows(view(returns), T, ends, risk_settings, Threads(1));
      const Eigen::VectorXd mu =
          random.signal(naive_covariance(returns, shrinkage), round % 2 == 0);
      const Eigen::VectorXd g = random.vector(n);
      Function layer(settings, *risk);
      layer(mu);
      if (layer.outcome.status == Status::no_signal) {
        // A mask that is hard to the last digit on one name with a negative signal: cash.
        EXPECT_TRUE(settings.k == 1 && settings.reoptimization == Reoptimization::restricted);
        EXPECT_EQ(layer.vjp(g), Eigen::VectorXd::Zero(n));
        continue;
      }
      ASSERT_TRUE(layer.outcome.solved());
      const Outcome outcome = layer.outcome;
      const Eigen::VectorXd analytic = layer.vjp(g);
      const double floor = layer.floor(mu, g);
      // The mask turns over a change of 1 / beta in the score, and a raw score is up to 1/c large.
      const double relative = 0.02 / (settings.beta * (settings.raw_score ? 100.0 : 1.0) + 20.0);
      // The rounding of the score reaches the weights times beta.
      const double allowed = settings.beta > 100.0 ? 100.0 * tolerance : tolerance;
      bool same_faces = true;
      const auto f = [&](const Eigen::VectorXd& at) {
        const double value = g.dot(layer(at));
        same_faces = same_faces && layer.outcome == outcome;
        return value;
      };
      const GradientReport report =
          check_gradient(f, mu, analytic,
                         Eigen::VectorXd::Constant(n, relative * mu.norm() / std::sqrt(double(n))),
                         allowed, floor);
      // A difference across a kink (a face, or the zero of a score or weight) has no digits.
      if (!same_faces || report.worst_digits > 0.3 * allowed) {
        ++skipped;
        continue;
      }
      ++checked;
      ++seen[outcome.neutral_first][outcome.status == Status::neutral_face];
      EXPECT_TRUE(report.ok) << "k " << settings.k << " beta " << settings.beta << " score "
                             << int(settings.score) << " raw " << settings.raw_score << " reopt "
                             << int(settings.reoptimization) << " sizing "
                             << int(settings.sizing.kind) << " net " << int(settings.net) << "\n"
                             << report.log;
    }
  EXPECT_LE(skipped, checked / 20) << "too many checks without digits";
}

TEST(LayerGradient, EveryModeInTheDenseForm) {
  Faces seen{};
  check_all_modes(risk::Form::dense, 0.1, 1e-6, seen);
  for (const auto& first : seen)
    for (const int count : first) EXPECT_GE(count, 20) << "a pair of faces was not covered";
}

TEST(LayerGradient, EveryModeInTheLowRankForm) {
  Faces seen{};
  check_all_modes(risk::Form::low_rank, 0.1, 1e-6, seen);
  for (const auto& first : seen)
    for (const int count : first) EXPECT_GE(count, 20) << "a pair of faces was not covered";
}

TEST(LayerGradient, EveryModeInTheLowRankFormWithLittleShrinkage) {
  Faces seen{};
  check_all_modes(risk::Form::low_rank, 1e-3, 1e-6, seen);
  for (const auto& first : seen)
    for (const int count : first) EXPECT_GE(count, 20) << "a pair of faces was not covered";
}

// Larger problems along random directions: <g, J d> both ways.
TEST(LayerGradient, InnerProductsOnLargerProblems) {
  Problems random(22);
  for (const auto& [n, T] : {std::pair<Index, Index>{40, 60}, {90, 20}})
    for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank})
      for (const Score score : {Score::cholesky, Score::symmetric})
        for (const Reoptimization reoptimization :
             {Reoptimization::masked, Reoptimization::restricted})
          for (const bool positive : {true, false}) {
            const RowMatrix returns = random.returns(T, n);
            risk::RiskSettings risk_settings;
            risk_settings.form = form;
            const std::vector<Index> ends = {T};
            const auto risk = risk::from_windows(view(returns), T, ends, risk_settings, Threads(1));
            LayerSettings settings;
            settings.k = n / 10;
            settings.score = score;
            settings.reoptimization = reoptimization;
            settings.sizing.kind = Sizing::volatility;
            const Eigen::VectorXd mu = random.signal(naive_covariance(returns, 0.1), positive);
            const Eigen::VectorXd g = random.vector(n), d = random.vector(n).normalized();
            Function layer(settings, *risk);
            layer(mu);
            const double analytic = layer.vjp(g).dot(d);
            const double size = layer.vjp(g).norm();
            const auto numeric = testing::ridders(
                [&](double h) { return g.dot(layer(mu + h * d)); }, 1e-4 * mu.norm());
            EXPECT_LE(std::abs(analytic - numeric.value), 1e-6 * size);
          }
}

// k = 1 and beta = 30: nearly every mask is saturated, and the gradient must still be right.
TEST(LayerGradient, KOneBetaThirty) {
  Problems random(23);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    const Index n = 3 + random.below(10), T = 20;
    const RowMatrix returns = random.returns(T, n);
    const std::vector<Index> ends = {T};
    const auto risk = risk::from_windows(view(returns), T, ends, {}, Threads(1));
    LayerSettings settings;
    settings.k = 1;
    settings.beta = 30.0;
    settings.score = round % 2 ? Score::cholesky : Score::symmetric;
    settings.reoptimization = round % 4 < 2 ? Reoptimization::masked : Reoptimization::restricted;
    settings.sizing.kind = Sizing::volatility;
    const Eigen::VectorXd mu = random.signal(naive_covariance(returns, 0.1), round % 3 != 0);
    const Eigen::VectorXd g = random.vector(n);
    Function layer(settings, *risk);
    layer(mu);
    if (!layer.outcome.solved()) continue;
    const Eigen::VectorXd analytic = layer.vjp(g);
    const GradientReport report =
        check_gradient([&](const Eigen::VectorXd& at) { return g.dot(layer(at)); }, mu, analytic,
                       Eigen::VectorXd::Constant(n, 3e-4 * mu.norm() / std::sqrt(double(n))), 1e-5,
                       layer.floor(mu, g));
    if (report.worst_digits > 1e-6) continue;
    ++checked;
    EXPECT_TRUE(report.ok) << "round " << round << "\n" << report.log;
  }
  EXPECT_GE(checked, 150);
}

TEST(LayerGradient, ZeroForNoSignalAndForASaturatedMask) {
  Problems random(24);
  const Index n = 6, T = 30;
  const RowMatrix returns = random.returns(T, n);
  const std::vector<Index> ends = {T};
  const auto risk = risk::from_windows(view(returns), T, ends, {}, Threads(1));
  LayerSettings settings;
  settings.k = 2;
  Function layer(settings, *risk);
  layer(Eigen::VectorXd::Zero(n));
  EXPECT_EQ(layer.outcome.status, Status::no_signal);
  EXPECT_EQ(layer.w, Eigen::VectorXd::Zero(n));
  EXPECT_EQ(layer.vjp(Eigen::VectorXd::Ones(n)), Eigen::VectorXd::Zero(n));

  // A mask that is hard to the last bit: only the direct path to the weights is left.
  settings.beta = 1e6;
  settings.sizing.kind = Sizing::volatility;
  Function hard(settings, *risk);
  const Eigen::VectorXd mu = random.signal(naive_covariance(returns, 0.1), true);
  hard(mu);
  ASSERT_TRUE(hard.outcome.solved());
  int ones = 0;
  for (const double p : hard.cache().mask(0)) ones += p == 1.0;
  ASSERT_EQ(ones, 2);
  const Eigen::VectorXd g = random.vector(n), gradient = hard.vjp(g);
  for (Index i = 0; i < n; ++i)
    if (hard.cache().mask(0)[static_cast<std::size_t>(i)] == 0.0) {
      EXPECT_EQ(gradient[i], 0.0);
    }
}

// Exactly tied scores at the threshold, in independent markets, where they stay tied: the mask
// is shared, its sum is k, the same answer comes twice, and differences agree.
TEST(LayerGradient, TiedScores) {
  RowMatrix Sigma = 1e-4 * RowMatrix::Identity(6, 6);
  risk::RiskSettings no_shrinkage;
  no_shrinkage.shrinkage = 0.0;
  const auto risk = risk::from_covariance(view(std::as_const(Sigma)), no_shrinkage);
  Problems random(25);
  for (const Reoptimization reoptimization : {Reoptimization::masked, Reoptimization::restricted})
    for (const Score score : {Score::cholesky, Score::symmetric})
      for (const Index k : {2, 3}) {
        LayerSettings settings;
        settings.k = k;
        settings.score = score;
        settings.reoptimization = reoptimization;
        settings.sizing.kind = Sizing::volatility;
        Function layer(settings, *risk);
        Eigen::VectorXd mu(6);
        mu << .03, .01, .01, .005, .002, .01;
        const Eigen::VectorXd first = layer(mu), second = layer(mu);
        ASSERT_EQ(layer.outcome.status, Status::ok);
        EXPECT_EQ(first, second);
        const ConstVec p = layer.cache().mask(0);
        EXPECT_EQ(p[1], p[2]);
        EXPECT_EQ(p[1], p[5]);
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), double(k), 1e-9);
        const Eigen::VectorXd g = random.vector(6);
        const Eigen::VectorXd analytic = layer.vjp(g);
        const GradientReport report =
            check_gradient([&](const Eigen::VectorXd& at) { return g.dot(layer(at)); }, mu,
                           analytic, Eigen::VectorXd::Constant(6, 1e-5), 1e-6);
        EXPECT_LE(report.worst_digits, 1e-6);
        EXPECT_TRUE(report.ok) << report.log;
      }
}

}  // namespace
}  // namespace sharpen::layer
