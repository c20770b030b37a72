// Every vjp of the layer's pieces against finite differences, on every branch.
#include <gtest/gtest.h>

#include <cmath>

#include "sharpen/base/threads.hpp"
#include "sharpen/layer/reoptimize.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/layer/sizing.hpp"
#include "sharpen/layer/soft_topk.hpp"
#include "sharpen/layer/tangent.hpp"
#include "support/gradient_check.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::check_gradient;
using testing::GradientReport;
using testing::naive_covariance;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

constexpr double kTolerance = 1e-7;

#define EXPECT_GRADIENT(report)                                    \
  do {                                                             \
    const GradientReport& r = (report);                            \
    EXPECT_LE(r.worst_digits, kTolerance) << "no digits to check"; \
    EXPECT_TRUE(r.ok) << r.log;                                    \
  } while (false)

// One window's risk model in one form, with room to work.
struct Model {
  RowMatrix returns;
  Eigen::MatrixXd Sigma;
  std::unique_ptr<risk::Risk> risk;
  mutable std::vector<double> scratch;

  Model(Problems& random, Index n, Index T, risk::Form form) : returns(random.returns(T, n)) {
    risk::RiskSettings settings;
    settings.form = form;
    const std::vector<Index> ends = {T};
    risk = risk::from_windows(view(returns), T, ends, settings, Threads(1));
    Sigma = naive_covariance(returns, settings.shrinkage);
    scratch.resize(static_cast<std::size_t>(risk->scratch_size() + 10 * n));
  }
};

Eigen::VectorXd steps(const Eigen::VectorXd& x, double relative) {
  return Eigen::VectorXd::Constant(x.size(), relative * x.norm() / std::sqrt(double(x.size())));
}

struct Branch {
  risk::Form form;
  Net net;
  bool positive;  // B > 0
};

class Pieces : public ::testing::TestWithParam<Branch> {
 protected:
  Problems random{11};
  static constexpr Index n = 8, T = 6;
};

TEST_P(Pieces, TangentVjp) {
  const auto [form, net, positive] = GetParam();
  for (int round = 0; round < 10; ++round) {
    const Model model(random, n, T, form);
    const Eigen::VectorXd mu = random.signal(model.Sigma, positive), g = random.vector(n);
    const double g_t = random.normal();
    Eigen::VectorXd y(n), m(n), dL_dmu(n), work(n);
    double t = 0;
    TangentCache cache;
    const auto forward = [&](const Eigen::VectorXd& at) {
      const Status status =
          tangent_forward(*model.risk, 0, view(at), net, cache, view(y), t, view(m), model.scratch);
      EXPECT_EQ(status, positive || net == Net::any ? Status::ok : Status::neutral_face);
      return g.dot(y) + g_t * t;
    };
    forward(mu);
    tangent_vjp(*model.risk, 0, cache, view(y), view(g), g_t, view(dL_dmu), view(work),
                model.scratch);
    const Eigen::VectorXd analytic = dL_dmu;
    EXPECT_GRADIENT(check_gradient(forward, mu, analytic, steps(mu, 1e-3), kTolerance));
  }
}

TEST_P(Pieces, ScoreVjp) {
  const auto [form, net, positive] = GetParam();
  for (const Score kind : {Score::cholesky, Score::symmetric})
    for (const bool raw : {false, true}) {
      if (raw && net == Net::any) continue;
      for (int round = 0; round < 10; ++round) {
        const Model model(random, n, T, form);
        const ScoreSettings settings{kind, raw, 0.01, net};
        const Eigen::VectorXd mu = random.signal(model.Sigma, positive), g = random.vector(n);
        Eigen::VectorXd z(n), x(n), m(n), dL_dmu(n), work(n);
        ScoreCache cache;
        const auto forward = [&](const Eigen::VectorXd& at) {
          score_forward(settings, *model.risk, 0, view(at), cache, view(z), view(x), view(m),
                        model.scratch);
          return g.dot(x);
        };
        forward(mu);
        score_vjp(settings, *model.risk, 0, cache, view(z), view(g), view(dL_dmu), view(work),
                  model.scratch);
        const Eigen::VectorXd analytic = dL_dmu;
        EXPECT_GRADIENT(check_gradient(forward, mu, analytic, steps(mu, 1e-4), kTolerance));
      }
    }
}

TEST_P(Pieces, ReoptimizationVjpInSignalAndMask) {
  const auto [form, net, positive] = GetParam();
  for (const Reoptimization kind : {Reoptimization::masked, Reoptimization::restricted}) {
    int solved = 0;
    for (int round = 0; round < 20; ++round) {
      const Model model(random, n, T, form);
      const auto reoptimizer = make_reoptimizer(kind, *model.risk, net);
      const Eigen::VectorXd mu = random.signal(model.Sigma, positive), g = random.vector(n);
      Eigen::VectorXd p(n);
      for (Index i = 0; i < n; ++i) p[i] = 1.0 / (1.0 + std::exp(-2.0 * random.normal()));
      const double g_t = random.normal();
      std::vector<double> kept(static_cast<std::size_t>(reoptimizer->kept_size()));
      std::vector<double> scratch(static_cast<std::size_t>(reoptimizer->scratch_size()));
      Eigen::VectorXd y(n), dL_dmu(n), dL_dp(n);
      double t = 0;
      Reoptimizer::Cache cache;
      const auto forward = [&](const Eigen::VectorXd& at_mu, const Eigen::VectorXd& at_p) {
        reoptimizer->forward(0, view(at_mu), view(at_p), cache, view(y), t, kept, scratch);
        return g.dot(y) + g_t * t;
      };
      forward(mu, p);
      // Keep the differences on one side of the kink.
      if (std::abs(cache.tangent.face.B) < 0.05 * std::sqrt(cache.tangent.face.A)) continue;
      ++solved;
      reoptimizer->vjp(0, view(mu), view(p), cache, view(y), view(g), g_t, view(dL_dmu),
                       view(dL_dp), kept, scratch);
      const Eigen::VectorXd wrt_mu = dL_dmu, wrt_p = dL_dp;
      EXPECT_GRADIENT(check_gradient([&](const auto& at) { return forward(at, p); }, mu, wrt_mu,
                                     steps(mu, 1e-4), kTolerance));
      EXPECT_GRADIENT(check_gradient([&](const auto& at) { return forward(mu, at); }, p, wrt_p,
                                     steps(p, 1e-4), kTolerance));
      EXPECT_NEAR(y.dot(model.Sigma * y), 1.0, 1e-9) << "unit risk";
    }
    EXPECT_GE(solved, 10);
  }
}

std::vector<Branch> branches() {
  std::vector<Branch> all;
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank})
    for (const Net net : {Net::positive, Net::any})
      for (const bool positive : {true, false}) all.push_back({form, net, positive});
  return all;
}
std::string branch_name(const ::testing::TestParamInfo<Branch>& info) {
  const Branch& b = info.param;
  return std::string(b.form == risk::Form::dense ? "dense" : "low_rank") +
         (b.net == Net::any ? "_any" : "_positive") + (b.positive ? "_long" : "_face");
}
INSTANTIATE_TEST_SUITE_P(Faces, Pieces, ::testing::ValuesIn(branches()), branch_name);

TEST(SizingVjp, EveryKind) {
  Problems random(12);
  for (const Sizing kind : {Sizing::budget, Sizing::volatility, Sizing::gross})
    for (const double t0 : {0.7, 0.0}) {
      const SizingSettings settings{kind, 0.01, 0.1};
      const Eigen::VectorXd y = random.vector(6), g = random.vector(6);
      Eigen::VectorXd w(6), dL_dy(6);
      const auto forward = [&](const Eigen::VectorXd& at, double t) {
        sizing_forward(settings, view(at), t, view(w));
        return g.dot(w);
      };
      forward(y, t0);
      double dL_dt = -1;
      sizing_vjp(settings, view(y), t0, view(w), view(g), view(dL_dy), dL_dt);
      const Eigen::VectorXd analytic = dL_dy;
      EXPECT_GRADIENT(check_gradient([&](const auto& at) { return forward(at, t0); }, y, analytic,
                                     steps(y, 1e-3), kTolerance));
      const auto numeric = testing::ridders([&](double h) { return forward(y, t0 + h); }, 1e-4);
      EXPECT_NEAR(dL_dt, numeric.value, 1e-7 * (1 + std::abs(dL_dt)));
    }
}

TEST(SoftTopKVjp, EveryBetaAndK) {
  Problems random(13);
  for (const double beta : {0.1, 1.0, 5.0, 30.0, 100.0, 1e4})
    for (const Index k : {1, 2, 5, 7}) {
      Eigen::VectorXd x = random.vector(8).cwiseAbs(), g = random.vector(8);
      if (beta > 200.0) x = Eigen::VectorXd::Ones(8) + x / beta;  // soft at its own scale
      const TopKSettings settings{k, beta};
      Eigen::VectorXd p(8), v(8), dL_dx(8), scratch(8);
      const auto forward = [&](const Eigen::VectorXd& at) {
        soft_topk_forward(settings, view(at), view(p), view(v), view(scratch));
        return g.dot(p);
      };
      forward(x);
      soft_topk_vjp(view(v), view(g), view(dL_dx));
      const Eigen::VectorXd analytic = dL_dx;
      if (analytic.norm() < 1e-6) continue;  // too flat for differences; checked elsewhere
      EXPECT_GRADIENT(check_gradient(forward, x, analytic,
                                     Eigen::VectorXd::Constant(8, 0.02 / beta), kTolerance));
    }
}

// The checker must fail on a wrong gradient, or all of the above says nothing.
TEST(GradientChecker, CatchesAPlantedError) {
  Problems random(14);
  const Model model(random, 8, 6, risk::Form::dense);
  const Eigen::VectorXd mu = random.signal(model.Sigma, true), g = random.vector(8);
  Eigen::VectorXd y(8), m(8), right(8), work(8);
  double t = 0;
  TangentCache cache;
  const auto forward = [&](const Eigen::VectorXd& at) {
    tangent_forward(*model.risk, 0, view(at), Net::positive, cache, view(y), t, view(m),
                    model.scratch);
    return g.dot(y);
  };
  forward(mu);
  tangent_vjp(*model.risk, 0, cache, view(y), view(g), 0.0, view(right), view(work), model.scratch);
  const Eigen::VectorXd good = right;
  EXPECT_TRUE(check_gradient(forward, mu, good, steps(mu, 1e-3), kTolerance).ok);

  // Without the term that keeps y on the unit-risk sphere.
  const Eigen::VectorXd no_radial = cache.scale * testing::solve_spd(model.Sigma, g) / cache.root_C;
  const GradientReport caught = check_gradient(forward, mu, no_radial, steps(mu, 1e-3), kTolerance);
  EXPECT_FALSE(caught.ok);
  EXPECT_GT(caught.worst, 1e-3);
  EXPECT_NE(caught.log.find("entry 0: analytic"), std::string::npos) << caught.log;

  // One entry off by a part in a million; one entry NaN.
  Eigen::VectorXd slightly = good;
  slightly[3] += 1e-6 * good.norm();
  EXPECT_FALSE(check_gradient(forward, mu, slightly, steps(mu, 1e-3), kTolerance).ok);
  Eigen::VectorXd nan = good;
  nan[5] = std::nan("");
  EXPECT_FALSE(check_gradient(forward, mu, nan, steps(mu, 1e-3), kTolerance).ok);
}

}  // namespace
}  // namespace sharpen::layer
