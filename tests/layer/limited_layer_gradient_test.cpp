// Gradients of the layer under limits against finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layer/limited_layer.hpp"

namespace sharpen::layer::limited_layer {
namespace {

// The derivative of g^T w along an axis: from above, from below.
struct Slopes {
  double above, below;
};

Slopes slopes_of(const SparseTangent& layer, LayerCache& cache, Passes run, Index i, double h) {
  const auto value = [&](double step) {
    Passes moved = run;
    moved.mu(0, i) += step;
    moved.run(layer, cache, Threads(1));
    return moved.w.row(0).dot(moved.dL_dw.row(0));
  };
  const double here = value(0.0);
  return {(4.0 * value(h / 2.0) - value(h) - 3.0 * here) / h,
          (-4.0 * value(-h / 2.0) + value(-h) + 3.0 * here) / h};
}

TEST_F(LimitedLayer, GradientsAreThoseOfFiniteDifferences) {
  const auto model = risk();
  for (const auto& [kind, limits] : kinds()) {
    Index smooth = 0, kinks = 0;
    each_mode([&](Objective objective, Score score, Reoptimization again) {
      SCOPED_TRACE(kind);
      const SparseTangent layer(settings(objective, score, again, limits), *model);
      LayerCache cache(layer, 1, 1);
      for (Index b = 0; b < 6; ++b) {
        Passes run = batch.part(b);
        run.run(layer, cache, Threads(1));
        ASSERT_TRUE(run.outcomes[0].solved()) << b;
        const double size = run.dL_dmu.norm() + run.w.norm() / batch.mu.row(b).norm();
        for (Index i = 0; i < n; ++i) {
          const auto [above, below] = slopes_of(layer, cache, run, i, 2e-9);
          const double d = run.dL_dmu(0, i);
          const bool one_sided = std::abs(above - below) > 1e-3 * size;
          ++(one_sided ? kinks : smooth);
          const double off = one_sided ? std::min(std::abs(above - d), std::abs(below - d))
                                       : std::abs(0.5 * (above + below) - d);
          EXPECT_LT(off, 1e-4 * size) << "instance " << b << ", name " << i << ": " << above << " "
                                      << below << " " << d << " of " << size;
        }
      }
    });
    EXPECT_GT(smooth, 500) << kind;
    EXPECT_LT(kinks, smooth / 10) << kind;
  }
}

}  // namespace
}  // namespace sharpen::layer::limited_layer
