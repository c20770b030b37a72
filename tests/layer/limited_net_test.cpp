// What rows about the net position mean to the layer, and weights where limits cannot hold.
#include <gtest/gtest.h>

#include <cmath>

#include "layer/limited_layer.hpp"

namespace sharpen::layer::limited_layer {
namespace {

Limits with_net(Index n, double lower, double upper) {
  Limits out;
  out.rows.push_back({"net", std::vector<double>(at(n), 1.0), lower, upper});
  return out;
}

TEST_F(LimitedLayer, NetZeroIsKept) {
  const auto model = risk();
  each_mode([&](Objective objective, Score score, Reoptimization again) {
    if (objective == Objective::sharpe) return;
    const SparseTangent layer(settings(objective, score, again, with_net(n, 0.0, 0.0)), *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    for (Index b = 0; b < B; ++b) {
      EXPECT_TRUE(batch.outcomes[at(b)].solved());
      EXPECT_NEAR(batch.w.row(b).sum(), 0.0, 1e-12 * batch.w.row(b).lpNorm<1>());
    }
  });
}

// A negative net position that a row allows is allowed, whatever the settings say besides.
TEST_F(LimitedLayer, ANegativeLeastNetPositionTakesThePlaceOfZero) {
  const auto model = risk();
  each_mode([&](Objective objective, Score score, Reoptimization again) {
    if (objective != Objective::expected_return) return;
    const LayerSettings limited = settings(objective, score, again, with_net(n, -100.0, 100.0));
    LayerSettings any = limited;
    any.limits = nullptr;
    any.net = Net::any;
    any.sizing = {.kind = Sizing::volatility, .target_volatility = kSigma};
    const SparseTangent layer(limited, *model), closed(any, *model);
    LayerCache cache(layer, B, 1), other(closed, B, 1);
    Passes want = batch;
    want.run(closed, other, Threads(1));
    batch.run(layer, cache, Threads(1));
    EXPECT_TRUE(same_bits(batch.w, want.w));
    EXPECT_TRUE(same_bits(batch.dL_dmu, want.dL_dmu));
    EXPECT_LT(batch.w.rowwise().sum().minCoeff(), 0.0);
  });
}

// Twelve names of 5 % at most do not add up to 1: each gives way by 1/12 - 1/20.
TEST_F(LimitedLayer, LimitsThatCannotHoldAreBrokenByTheLeast) {
  const auto model = risk();
  Limits tight;
  tight.lower.assign(at(n), 0.0);
  tight.upper.assign(at(n), 0.05);
  const SparseTangent layer(
      settings(Objective::sharpe, Score::symmetric, Reoptimization::masked, tight), *model);
  LayerCache cache(layer, B, 1);
  batch.run(layer, cache, Threads(1));
  for (Index b = 0; b < B; ++b) {
    EXPECT_EQ(batch.outcomes[at(b)].status, Status::infeasible);
    EXPECT_NEAR(batch.outcomes[at(b)].violation, 1.0 / 12 - 0.05, 1e-8);
    for (Index i = 0; i < n; ++i) EXPECT_NEAR(batch.w(b, i), 1.0 / 12, 1e-7);
    EXPECT_EQ(batch.dL_dmu.row(b).cwiseAbs().maxCoeff(), 0.0);
  }
}

// Turnover counts for those who hold something.
TEST_F(LimitedLayer, TheFirstPurchaseIsFreeOfTurnover) {
  const auto model = risk();
  Limits limits = with_net(n, 0.0, 1.0);
  limits.lower.assign(at(n), 0.0);
  limits.holdings.assign(at(n), 0.0);
  limits.turnover = 0.1;
  const SparseTangent layer(
      settings(Objective::expected_return, Score::symmetric, Reoptimization::masked, limits),
      *model);
  LayerCache cache(layer, B, 1);
  RowMatrix held = RowMatrix::Zero(B, n);
  for (Index b = 1; b < B; b += 2) held.row(b).setConstant(1.0 / 12);
  BatchLimits own;
  own.holdings = view(std::as_const(held));
  batch.run(layer, cache, Threads(1), own);
  double most = 0.0;
  for (Index b = 0; b < B; ++b) {
    const double traded = (batch.w.row(b) - held.row(b)).lpNorm<1>();
    if (b % 2 == 1)
      EXPECT_LE(traded, 0.1 + 1e-12);
    else
      most = std::max(most, traded);
  }
  EXPECT_GT(most, 0.5);
}

}  // namespace
}  // namespace sharpen::layer::limited_layer
