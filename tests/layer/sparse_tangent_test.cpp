// The layer over batches: equal bits, outcomes, totality, no allocation.
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/layer/covariance_gradient.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sharpen/base/error.hpp"
#include "support/allocations.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::naive_covariance;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Batch {
  std::vector<Index> samples;
  RowMatrix mu, dL_dw, w, dL_dmu;
  std::vector<Outcome> outcomes;

  void run(const SparseTangent& layer, LayerCache& cache, const Threads& threads) {
    w.resize(mu.rows(), mu.cols());
    dL_dmu.resize(mu.rows(), mu.cols());
    outcomes.resize(samples.size());
    layer.forward(samples, view(mu), cache, view(w), outcomes, threads);
    layer.vjp(cache, view(dL_dw), view(dL_dmu), threads);
  }
};

bool same_bits(const RowMatrix& a, const RowMatrix& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * 8) == 0;
}

class SparseTangentBatch : public ::testing::Test {
 protected:
  static constexpr Index n = 30, T = 25, S = 12, B = 40;
  Problems random{31};
  RowMatrix returns = random.returns(T + S, n);
  std::vector<Index> ends;
  Batch batch;

  void SetUp() override {
    for (Index s = 0; s < S; ++s) ends.push_back(T + s);
    batch.mu = 0.001 * random.matrix(B, n);
    batch.dL_dw = random.matrix(B, n);
    for (Index i = 0; i < B; ++i) batch.samples.push_back((5 * i) % S);
    // Every kind of instance is among them.
    batch.mu.row(3).setZero();
    batch.mu(5, 7) = kNaN;
    batch.mu(6, 0) = std::numeric_limits<double>::infinity();
    batch.mu.row(8).setConstant(-0.001);
    batch.mu.row(9) *= -1.0;
    batch.mu.row(10) *= 1e-200;
    batch.mu.row(11) *= 1e200;
    batch.mu.row(12).setConstant(0.001);
  }

  std::unique_ptr<risk::Risk> risk(risk::Form form) const {
    risk::RiskSettings settings;
    settings.form = form;
    return risk::from_windows(view(returns), T, ends, settings, Threads(1));
  }

  static std::vector<LayerSettings> modes() {
    std::vector<LayerSettings> all;
    for (const Score score : {Score::cholesky, Score::symmetric})
      for (const Reoptimization reoptimization :
           {Reoptimization::masked, Reoptimization::restricted})
        for (const Sizing sizing : {Sizing::budget, Sizing::volatility, Sizing::gross}) {
          LayerSettings settings;
          settings.k = 4;
          settings.score = score;
          settings.reoptimization = reoptimization;
          settings.sizing.kind = sizing;
          all.push_back(settings);
        }
    return all;
  }
};

TEST_F(SparseTangentBatch, HasTheBitsOfInstancesOneByOneForAnyThreadCount) {
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto model = risk(form);
    for (const LayerSettings& settings : modes()) {
      const SparseTangent layer(settings, *model);
      LayerCache cache(layer, B, 3);
      batch.run(layer, cache, Threads(1));
      for (const int count : {2, 3}) {
        Batch other = batch;
        other.run(layer, cache, Threads(count));
        ASSERT_TRUE(same_bits(batch.w, other.w)) << count << " threads";
        ASSERT_TRUE(same_bits(batch.dL_dmu, other.dL_dmu)) << count << " threads";
        ASSERT_EQ(batch.outcomes, other.outcomes);
      }
      LayerCache small(layer, 1, 1);
      for (Index i = 0; i < B; ++i) {
        Batch one;
        one.samples = {batch.samples[static_cast<std::size_t>(i)]};
        one.mu = batch.mu.row(i);
        one.dL_dw = batch.dL_dw.row(i);
        one.run(layer, small, Threads(1));
        ASSERT_TRUE(same_bits(batch.w.row(i), one.w)) << "instance " << i;
        ASSERT_TRUE(same_bits(batch.dL_dmu.row(i), one.dL_dmu)) << "instance " << i;
        ASSERT_EQ(batch.outcomes[static_cast<std::size_t>(i)], one.outcomes[0]);
      }
    }
  }
}

TEST_F(SparseTangentBatch, OneBadInstanceHasAStatusAndTheRestIsSolved) {
  const auto model = risk(risk::Form::dense);
  for (const LayerSettings& settings : modes()) {
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    for (Index i = 0; i < B; ++i) {
      const Status status = batch.outcomes[static_cast<std::size_t>(i)].status;
      const Eigen::VectorXd w = batch.w.row(i), gradient = batch.dL_dmu.row(i);
      if (i == 5 || i == 6) {
        EXPECT_EQ(status, Status::invalid_input);
        EXPECT_TRUE(w.array().isNaN().all());
        EXPECT_EQ(gradient, Eigen::VectorXd::Zero(n));
      } else if (i == 3 || i == 8) {  // zero, and proportional to 1 with B < 0
        EXPECT_EQ(status, Status::no_signal);
        EXPECT_EQ(w, Eigen::VectorXd::Zero(n));
        EXPECT_EQ(gradient, Eigen::VectorXd::Zero(n));
      } else {
        EXPECT_TRUE(status == Status::ok || status == Status::neutral_face) << i;
        EXPECT_TRUE(w.allFinite() && gradient.allFinite()) << i;
        EXPECT_GT(w.norm(), 0.0);
      }
    }
  }
}

TEST_F(SparseTangentBatch, SizingsHoldTheirPromises) {
  const auto model = risk(risk::Form::dense);
  for (LayerSettings settings : modes()) {
    settings.sizing.target_volatility = 0.02;
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    for (Index i = 0; i < B; ++i) {
      const Outcome outcome = batch.outcomes[static_cast<std::size_t>(i)];
      if (!outcome.solved()) continue;
      const Eigen::VectorXd w = batch.w.row(i);
      const Index s = batch.samples[static_cast<std::size_t>(i)];
      const Eigen::MatrixXd Sigma = naive_covariance(returns.middleRows(s, T), 0.1);
      if (settings.sizing.kind == Sizing::volatility) {
        EXPECT_NEAR(std::sqrt(w.dot(Sigma * w)), 0.02, 1e-11);
      } else if (settings.sizing.kind == Sizing::gross) {
        EXPECT_NEAR(w.lpNorm<1>(), 1.0, 1e-12);
      } else {
        const double t = cache.net(i);
        EXPECT_NEAR(w.sum(), t / (t + settings.sizing.offset), 1e-8);
      }
      const double net = Eigen::Map<const Eigen::VectorXd>(cache.direction(i).data(), n).sum();
      EXPECT_EQ(outcome.status == Status::neutral_face, cache.net(i) == 0.0);
      EXPECT_NEAR(net, cache.net(i), 1e-8 * std::abs(net) + 1e-7);
      EXPECT_GE(cache.net(i), 0.0);
      const ConstVec p = cache.mask(i);
      EXPECT_NEAR(Eigen::Map<const Eigen::VectorXd>(p.data(), n).sum(), 4.0, 1e-9);
    }
  }
}

TEST_F(SparseTangentBatch, ScaleOfTheSignalDoesNotMatter) {
  const auto model = risk(risk::Form::dense);
  LayerSettings settings;
  settings.k = 4;
  const SparseTangent layer(settings, *model);
  LayerCache cache(layer, B, 1);
  batch.run(layer, cache, Threads(1));
  Batch scaled = batch;
  scaled.mu *= 0x1p-40;
  scaled.run(layer, cache, Threads(1));
  EXPECT_TRUE(same_bits(batch.w, scaled.w)) << "a power of two leaves the bits alone";
  for (Index i = 0; i < B; ++i)
    EXPECT_EQ(Eigen::VectorXd(batch.dL_dmu.row(i)) * 0x1p40, Eigen::VectorXd(scaled.dL_dmu.row(i)))
        << "and scales the gradient by its inverse";
}

TEST_F(SparseTangentBatch, AllKeptIsTheFullTangentPortfolio) {
  const auto model = risk(risk::Form::dense);
  for (LayerSettings settings : modes()) {
    settings.k = n;
    settings.sizing.kind = Sizing::volatility;
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    for (Index i = 13; i < B; ++i) {
      const Index s = batch.samples[static_cast<std::size_t>(i)];
      const Eigen::MatrixXd Sigma = naive_covariance(returns.middleRows(s, T), 0.1);
      const Eigen::VectorXd mu = batch.mu.row(i), w = batch.w.row(i);
      const Eigen::VectorXd b = testing::solve_spd(Sigma, Eigen::VectorXd::Ones(n));
      Eigen::VectorXd a = testing::solve_spd(Sigma, mu);
      if (a.sum() <= 0) a -= a.sum() / b.sum() * b;
      const Eigen::VectorXd want = 0.1 * a / std::sqrt(a.dot(Sigma * a));
      EXPECT_LE((w - want).norm(), 1e-8 * want.norm());
    }
  }
}

TEST_F(SparseTangentBatch, AllocatesNothingAfterSetUp) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own allocator, which cannot be counted";
#endif
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto model = risk(form);
    for (const LayerSettings& settings : modes()) {
      const SparseTangent layer(settings, *model);
      LayerCache cache(layer, B, 2);
      CovarianceGradient by_covariance(layer, B, 2);
      RowMatrix dL_dSigma = RowMatrix::Zero(model->samples() * n, n);
      const Threads one(1), two(2);
      for (const Threads* threads : {&one, &two}) {
        batch.run(layer, cache, *threads);
        const auto before = testing::allocation_count();
        layer.forward(batch.samples, view(batch.mu), cache, view(batch.w), batch.outcomes,
                      *threads);
        layer.vjp(cache, view(batch.dL_dw), view(batch.dL_dmu), *threads);
        by_covariance.add(cache, view(batch.dL_dw), view(dL_dSigma), *threads);
        EXPECT_EQ(testing::allocation_count(), before);
      }
    }
  }
}

// Under limits, once solutions have been as large as they get.
TEST_F(SparseTangentBatch, AllocatesNothingUnderLimitsOnceItHasSolvedTheBatch) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own allocator, which cannot be counted";
#endif
  const auto model = risk(risk::Form::dense);
  LimitSchedule schedule;
  schedule.limits.resize(1);
  Limits& limits = schedule.limits[0];
  limits.lower.assign(n, 0.0);
  limits.upper.assign(n, 0.2);
  limits.least_if_held.assign(n, 0.02);
  limits.gross = 0.9;
  limits.rows.push_back({"some", std::vector<double>(n, 0.5), 0.0, 0.4});
  for (LayerSettings settings : modes()) {
    settings.limits = std::make_shared<const LimitSchedule>(schedule);
    settings.objective = {.kind = Objective::expected_return, .volatility = 0.01};
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, B, 1);
    LayerStarts starts(B);
    std::vector<Index> places(B);
    for (Index b = 0; b < B; ++b) places[at(b)] = b;
    const BatchLimits own = {.starts = &starts, .places = places};
    const Threads one(1);
    batch.run(layer, cache, one);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto before = testing::allocation_count();
      layer.forward(batch.samples, view(batch.mu), cache, view(batch.w), batch.outcomes, one, own);
      layer.vjp(cache, view(batch.dL_dw), view(batch.dL_dmu), one);
      if (epoch > 0) {
        EXPECT_EQ(testing::allocation_count(), before);
      }
    }
  }
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(SparseTangentBatch, ShapesAndSettingsThatDoNotFitAreErrors) {
  const auto model = risk(risk::Form::dense);
  LayerSettings settings;
  const auto with = [&](auto&& change) {
    LayerSettings changed = settings;
    change(changed);
    return message_of([&] { SparseTangent(changed, *model); });
  };
  EXPECT_EQ(with([](auto&) {}), "no error");
  EXPECT_EQ(with([](auto& s) { s.k = 31; }), "k = 31 is outside [1, 30]");
  EXPECT_EQ(with([](auto& s) { s.k = 0; }), "k = 0 is outside [1, 30]");
  EXPECT_NE(with([](auto& s) { s.beta = -1; }).find("beta = -1"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.sizing.offset = 0; }).find("offset = 0"), std::string::npos);
  EXPECT_NE(with([](auto& s) {
              s.net = Net::any;
              s.sizing.kind = Sizing::budget;
            }).find("net = any does not go with sizing = budget"),
            std::string::npos);
  EXPECT_NE(with([](auto& s) {
              s.net = Net::any;
              s.raw_score = true;
            }).find("raw-score = true needs net = positive"),
            std::string::npos);

  risk::RiskSettings no_root;
  no_root.parts.root = false;
  const auto partial = risk::from_windows(view(returns), T, ends, no_root, Threads(1));
  EXPECT_NE(message_of([&] { SparseTangent(settings, *partial); }).find("parts.root"),
            std::string::npos);

  const SparseTangent layer(settings, *model);
  LayerCache cache(layer, B, 1);
  const auto forward = [&](std::vector<Index> samples, Index rows, Index cols, int threads) {
    return message_of([&] {
      RowMatrix mu = RowMatrix::Ones(rows, cols), w(rows, cols);
      std::vector<Outcome> outcomes(samples.size());
      layer.forward(samples, view(std::as_const(mu)), cache, view(w), outcomes, Threads(threads));
    });
  };
  EXPECT_NE(forward({0, 1}, 3, n, 1).find("mu is 3 x 30; it must be 2 x 30"), std::string::npos);
  EXPECT_NE(forward({0, 1}, 2, n - 1, 1).find("mu is 2 x 29"), std::string::npos);
  EXPECT_NE(forward({0, S}, 2, n, 1).find("sample 12 is outside [0, 11]"), std::string::npos);
  EXPECT_NE(forward({0, -1}, 2, n, 1).find("sample -1"), std::string::npos);
  EXPECT_NE(forward({0, 1}, 2, n, 2).find("does not fit a cache"), std::string::npos);

  // A cache of a smaller layer would be overrun.
  LayerSettings masked = settings;
  masked.reoptimization = Reoptimization::masked;
  const SparseTangent other(masked, *model);
  LayerCache small(other, B, 1);
  RowMatrix mu = RowMatrix::Ones(1, n), w(1, n);
  const std::vector<Index> samples = {0};
  std::vector<Outcome> outcomes(1);
  EXPECT_NE(message_of([&] {
              layer.forward(samples, view(std::as_const(mu)), small, view(w), outcomes, Threads(1));
            }).find("another size or mode"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              layer.vjp(small, view(std::as_const(mu)), view(w), Threads(1));
            }).find("another size or mode"),
            std::string::npos);
}

TEST_F(SparseTangentBatch, WeightsBeyondTheRangeOfDoublesAreInvalidNotInfinite) {
  const auto model = risk(risk::Form::dense);
  for (LayerSettings settings : modes()) {
    settings.sizing.offset = 1e-310;
    settings.sizing.target_volatility = 1e308;
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    for (Index i = 0; i < B; ++i) {
      const bool solved = batch.outcomes[static_cast<std::size_t>(i)].solved();
      EXPECT_FALSE(batch.w.row(i).array().isInf().any());
      EXPECT_EQ(solved && batch.w.row(i).array().isNaN().any(), false);
      if (!solved) {
        EXPECT_EQ(Eigen::VectorXd(batch.dL_dmu.row(i)), Eigen::VectorXd::Zero(n));
      }
    }
  }
}

// A single asset: net long it is held, with a negative signal it is cash.
TEST(SparseTangentEdge, OneAsset) {
  RowMatrix Sigma(1, 1);
  Sigma << 0.04;
  const auto model = risk::from_covariance(view(Sigma), {});
  for (const Reoptimization reoptimization : {Reoptimization::masked, Reoptimization::restricted}) {
    LayerSettings settings;
    settings.reoptimization = reoptimization;
    const SparseTangent layer(settings, *model);
    LayerCache cache(layer, 2, 1);
    Batch batch;
    batch.samples = {0, 0};
    batch.mu.resize(2, 1);
    batch.mu << 0.5, -0.5;
    batch.dL_dw = RowMatrix::Ones(2, 1);
    batch.run(layer, cache, Threads(1));
    EXPECT_EQ(batch.outcomes[0].status, Status::ok);
    EXPECT_DOUBLE_EQ(batch.w(0, 0), 1.0);
    EXPECT_EQ(batch.outcomes[1].status, Status::no_signal);
    EXPECT_EQ(batch.w(1, 0), 0.0);
    EXPECT_EQ(batch.dL_dmu(1, 0), 0.0);
  }
}

// At a hard mask the restricted mode is the optimum on the support, zero elsewhere; the masked
// mode is not.
TEST(SparseTangentEdge, HardMaskOfTheRestrictedModeIsTheOptimumOnItsSupport) {
  Problems random(33);
  const Index n = 10, T = 40;
  const RowMatrix returns = random.returns(T, n);
  const std::vector<Index> ends = {T};
  const auto model = risk::from_windows(view(returns), T, ends, {}, Threads(1));
  const Eigen::MatrixXd Sigma = naive_covariance(returns, 0.1);
  const std::vector<Index> K = {1, 4, 8};
  for (const bool positive : {true, false}) {
    const Eigen::VectorXd mu = random.signal(Sigma, positive);
    Eigen::VectorXd p = Eigen::VectorXd::Zero(n);
    for (const Index j : K) p[j] = 1.0;
    Eigen::VectorXd y(n);
    double t = 0;
    const auto restricted = make_reoptimizer(Reoptimization::restricted, *model, Net::positive);
    std::vector<double> kept(static_cast<std::size_t>(restricted->kept_size()));
    std::vector<double> scratch(static_cast<std::size_t>(restricted->scratch_size()));
    Reoptimizer::Cache cache;
    ASSERT_TRUE(
        (Outcome{restricted->forward(0, view(mu), view(p), cache, view(y), t, kept, scratch), false,
                 0.0})
            .solved());
    const Eigen::MatrixXd S = Sigma(K, K);
    const Eigen::VectorXd m = mu(K), one = Eigen::VectorXd::Ones(3);
    Eigen::VectorXd a = testing::solve_spd(S, m);
    const Eigen::VectorXd b = testing::solve_spd(S, one);
    if (a.sum() <= 0) a -= a.sum() / b.sum() * b;
    a /= std::sqrt(a.dot(S * a));
    Eigen::VectorXd want = Eigen::VectorXd::Zero(n);
    want(K) = a;
    EXPECT_LE((y - want).norm(), 1e-10 * want.norm());
    for (Index j = 0; j < n; ++j)
      if (p[j] == 0.0) {
        EXPECT_EQ(y[j], 0.0);
      }
  }
}

}  // namespace
}  // namespace sharpen::layer
