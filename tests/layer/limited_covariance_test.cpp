// Gradients in the covariance under limits against finite differences: of one solution, and of the
// whole layer.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "layer/limited_layer.hpp"
#include "sharpen/layer/covariance_gradient.hpp"
#include "support/gradient_check.hpp"

namespace sharpen::layer::limited_layer {
namespace {

constexpr double kDigits = 1e-7, kRight = 1e-6;

RowMatrix symmetric_direction(Problems& random, const RowMatrix& S) {
  const RowMatrix M = random.matrix(S.rows(), S.cols());
  return (M + M.transpose()) * (S.diagonal().minCoeff() / M.norm());
}

std::unique_ptr<risk::Risk> model_of(const RowMatrix& S, double shrinkage = 0.0) {
  risk::RiskSettings settings;
  settings.shrinkage = shrinkage;
  return risk::from_covariance(view(S), settings);
}

struct Tally {
  int checked = 0, skipped = 0;

  // The derivative of f along a direction at 0, against `analytic`; a kink has no digits.
  void compare(const std::function<double(double)>& f, double analytic, double size) {
    const auto numeric = sharpen::testing::ridders(f, 1e-3);
    if (numeric.error > kDigits * size) {
      ++skipped;
      return;
    }
    ++checked;
    EXPECT_NEAR(analytic, numeric.value, kRight * size);
  }
};

TEST_F(LimitedLayer, CovarianceGradientOfASolution) {
  for (const Objective kind : {Objective::sharpe, Objective::expected_return, Objective::utility})
    for (const bool masked : {false, true})
      for (const auto& [what, limits] : kinds()) {
        SCOPED_TRACE(what + ", " + std::string(name_of(kind)) + (masked ? ", masked" : ""));
        Tally tally;
        LimitedSolver solver({.kind = kind, .volatility = kSigma, .risk_aversion = 6.0}, limits, n);
        int at_rest = 0;
        for (Index b = 0; b < 8; ++b) {
          const RowMatrix X = random.returns(40, n), Sigma = X.transpose() * X / 40.0;
          const RowMatrix D = symmetric_direction(random, Sigma);
          const Eigen::VectorXd mu = batch.mu.row(b), g = batch.dL_dw.row(b);
          Eigen::VectorXd more = Eigen::VectorXd::Zero(masked ? n : 0);
          for (double& d : more) d = 1e-4 * std::abs(random.normal());
          Eigen::VectorXd w(n), dL_dmu(n);
          const auto model = model_of(Sigma);
          LimitedState state;
          solver.forward(*model, 0, view(mu), view(more), state, view(w));
          ASSERT_TRUE(is_solved(state.end));
          const LimitedEnd end = state.end;
          for (Index i = 0; i < n; ++i) at_rest += w[i] == solver.lower()[at(i)];
          CovarianceSums sums(Score::symmetric, *model);
          sums.begin(0);
          solver.vjp(*model, 0, view(mu), view(more), state, view(g), view(dL_dmu), {}, {}, &sums);
          RowMatrix G = RowMatrix::Zero(n, n);
          sums.finish(view(G));
          EXPECT_EQ(G, G.transpose());
          bool same = true;
          Tally one;
          one.compare(
              [&](double h) {
                const auto moved = model_of(Sigma + h * D);
                LimitedState anew;
                Eigen::VectorXd there(n);
                solver.forward(*moved, 0, view(mu), view(more), anew, view(there));
                same = same && anew.end == end;
                return g.dot(there);
              },
              G.cwiseProduct(D).sum(), G.norm() * D.norm() + 1e-3 * w.norm());
          tally.checked += same ? one.checked : 0;
          tally.skipped += same ? one.skipped : 1;
        }
        EXPECT_GE(tally.checked, 4);
        EXPECT_TRUE(limits.lower.empty() || at_rest > 0) << "no bound was active";
      }
}

TEST_F(LimitedLayer, CovarianceGradientsAreThoseOfFiniteDifferences) {
  for (const auto& [what, limits] : kinds()) {
    Tally tally;
    each_mode([&, &limits = limits](Objective objective, Score score, Reoptimization again) {
      SCOPED_TRACE(what);
      for (Index b = 0; b < 5; ++b) {
        const RowMatrix X = random.returns(40, n), Sigma = X.transpose() * X / 40.0;
        const RowMatrix D = symmetric_direction(random, Sigma);
        Passes run = batch.part(b);
        run.samples = {0};
        Outcome first;
        const auto weights = [&](const RowMatrix& at, RowMatrix* G) {
          const auto model = model_of(at, 0.2);
          const SparseTangent layer(settings(objective, score, again, limits), *model);
          LayerCache cache(layer, 1, 1);
          run.run(layer, cache, Threads(1));
          if (G) {
            *G = RowMatrix::Zero(n, n);
            CovarianceGradient(layer, 1, 1)
                .add(cache, view(std::as_const(run.dL_dw)), view(*G), Threads(1));
            risk::shrinkage_vjp(0.2, view(*G));
          }
          return run.w.row(0).dot(run.dL_dw.row(0));
        };
        RowMatrix G;
        weights(Sigma, &G);
        first = run.outcomes[0];
        ASSERT_TRUE(first.solved());
        if (first.note != Note::none) {  // flagged: without a gradient
          EXPECT_TRUE(G.isZero(0.0));
          continue;
        }
        const double size = G.norm() * D.norm() + 1e-3 * run.w.norm();
        tally.compare([&](double h) { return weights(Sigma + h * D, nullptr); },
                      G.cwiseProduct(D).sum(), size);
      }
    });
    EXPECT_GE(tally.checked, 30) << what;
    EXPECT_LE(tally.skipped, tally.checked / 4) << what;
  }
}

// The same bits for any number of threads, samples met more than once.
TEST_F(LimitedLayer, CovarianceGradientsAddUpForAnyThreadCount) {
  const auto model = risk();
  each_mode([&](Objective objective, Score score, Reoptimization again) {
    const SparseTangent layer(settings(objective, score, again, long_only()), *model);
    std::array<RowMatrix, 2> found;
    for (const int count : {1, 4}) {
      LayerCache cache(layer, B, count);
      batch.run(layer, cache, Threads(count));
      RowMatrix& G = found[count == 4];
      G = RowMatrix::Zero(S * n, n);
      CovarianceGradient(layer, B, count)
          .add(cache, view(std::as_const(batch.dL_dw)), view(G), Threads(count));
      EXPECT_TRUE(G.allFinite());
    }
    EXPECT_TRUE(same_bits(found[0], found[1]));
    EXPECT_GT(found[0].norm(), 0.0);
  });
}

// Limits that have no say: the gradient is the closed form's, to the bit.
TEST_F(LimitedLayer, CovarianceGradientsWithoutASayAreTheClosedForms) {
  const auto model = risk();
  each_mode([&](Objective objective, Score score, Reoptimization again) {
    if (objective != Objective::expected_return) return;
    const LayerSettings limited = settings(objective, score, again, loose());
    LayerSettings closed = limited;
    closed.limits = nullptr;
    closed.sizing = {.kind = Sizing::volatility, .target_volatility = kSigma};
    std::array<RowMatrix, 2> found;
    for (const bool is_limited : {false, true}) {
      const SparseTangent layer(is_limited ? limited : closed, *model);
      LayerCache cache(layer, B, 1);
      batch.run(layer, cache, Threads(1));
      found[is_limited] = RowMatrix::Zero(S * n, n);
      CovarianceGradient(layer, B, 1)
          .add(cache, view(std::as_const(batch.dL_dw)), view(found[is_limited]), Threads(1));
    }
    EXPECT_TRUE(same_bits(found[0], found[1]));
    EXPECT_GT(found[0].norm(), 0.0);
  });
}

}  // namespace
}  // namespace sharpen::layer::limited_layer
