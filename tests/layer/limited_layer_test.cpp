// The layer under limits: the bits of the closed form where no limit has a say, the same answer
// from every start, in every batch and order, and outcomes of every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "layer/limited_layer.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer::limited_layer {
namespace {

// Limits that never bind leave what the layer is without them, backwards as well.
TEST_F(LimitedLayer, LimitsWithoutASayLeaveTheBitsOfTheClosedForm) {
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto model = risk(form);
    each_mode([&](Objective objective, Score score, Reoptimization again) {
      if (objective != Objective::expected_return) return;
      const LayerSettings limited = settings(objective, score, again, loose());
      LayerSettings plain = limited;
      plain.limits = nullptr;
      plain.sizing = {.kind = Sizing::volatility, .target_volatility = kSigma};
      const SparseTangent layer(limited, *model), closed(plain, *model);
      LayerCache cache(layer, B, 1), other(closed, B, 1);
      Passes want = batch;
      want.run(closed, other, Threads(1));
      batch.run(layer, cache, Threads(1));
      EXPECT_TRUE(same_bits(batch.w, want.w));
      EXPECT_TRUE(same_bits(batch.dL_dmu, want.dL_dmu));
      EXPECT_EQ(batch.outcomes, want.outcomes);
    });
  }
}

// w = y / t, or the direction of gross 1 where no portfolio of net position 1 is best.
TEST_F(LimitedLayer, SharpeWithoutLimitsIsTheDirectionOfNetPositionOne) {
  const auto model = risk();
  each_mode([&](Objective objective, Score score, Reoptimization again) {
    if (objective != Objective::sharpe) return;
    const LayerSettings limited = settings(objective, score, again, {});
    LayerSettings plain = limited;
    plain.limits = nullptr;
    const SparseTangent layer(limited, *model), closed(plain, *model);
    LayerCache cache(layer, B, 1), other(closed, B, 1);
    Passes want = batch;
    want.run(closed, other, Threads(1));  // sized to gross 1
    batch.run(layer, cache, Threads(1));
    EXPECT_EQ(batch.outcomes, want.outcomes);
    Index neutral = 0;
    for (Index b = 0; b < B; ++b) {
      const double t = other.net(b);
      neutral += t == 0.0;
      if (t == 0.0) {
        EXPECT_TRUE(same_bits(batch.w.row(b), want.w.row(b)));
        EXPECT_TRUE(same_bits(batch.dL_dmu.row(b), want.dL_dmu.row(b)));
        continue;
      }
      for (Index i = 0; i < n; ++i) EXPECT_EQ(batch.w(b, i), (1.0 / t) * other.direction(b)[at(i)]);
    }
    EXPECT_GT(neutral, 3);
    EXPECT_LT(neutral, B - 3);
  });
}

TEST_F(LimitedLayer, HasTheSameBitsInEveryBatchOnEveryThreadAndFromEveryStart) {
  const auto model = risk();
  Index other_answers = 0;
  for (const auto& [kind, limits] : kinds())
    each_mode([&](Objective objective, Score score, Reoptimization again) {
      SCOPED_TRACE(kind);
      // The only case that may have several (limited.hpp).
      const bool unique =
          objective != Objective::expected_return || again == Reoptimization::masked;
      const SparseTangent layer(settings(objective, score, again, limits), *model);
      LayerCache cache(layer, B, 3), small(layer, 1, 1);
      batch.run(layer, cache, Threads(1));
      for (const int count : {2, 3}) {
        Passes other = batch;
        other.run(layer, cache, Threads(count));
        EXPECT_TRUE(same_bits(batch.w, other.w) && same_bits(batch.dL_dmu, other.dL_dmu)) << count;
        EXPECT_EQ(batch.outcomes, other.outcomes);
      }
      // A place in reverse order, warm from another signal.
      LayerStarts starts(B + 2);
      std::vector<Index> places;
      for (Index b = 0; b < B; ++b) places.push_back(B + 1 - b);
      BatchLimits own;
      own.starts = &starts;
      own.places = places;
      Passes warm = batch;
      warm.mu = batch.mu + 1e-5 * random.matrix(B, n);
      warm.run(layer, cache, Threads(1), own);
      warm.mu = batch.mu;
      for (int turn = 0; turn < 2; ++turn) {
        warm.run(layer, cache, Threads(2), own);
        for (Index b = 0; b < B; ++b) {
          const bool same = same_bits(batch.w.row(b), warm.w.row(b)) &&
                            same_bits(batch.dL_dmu.row(b), warm.dL_dmu.row(b)) &&
                            batch.outcomes[at(b)] == warm.outcomes[at(b)];
          EXPECT_TRUE(same || !unique) << "turn " << turn << ", instance " << b;
          other_answers += !same;
        }
      }
      for (Index b = 0; b < B; b += 5) {
        Passes one = batch.part(b);
        one.run(layer, small, Threads(1));
        EXPECT_TRUE(same_bits(batch.w.row(b), one.w) && same_bits(batch.dL_dmu.row(b), one.dL_dmu));
      }
    });
  EXPECT_LE(other_answers, 4);
}

// Weights meet their limits to rounding.
TEST_F(LimitedLayer, WeightsAreWithinTheLimits) {
  const auto model = risk();
  for (const auto& [kind, limits] : kinds())
    each_mode([&](Objective objective, Score score, Reoptimization again) {
      SCOPED_TRACE(kind);
      const SparseTangent layer(settings(objective, score, again, limits), *model);
      LayerCache cache(layer, B, 1);
      batch.run(layer, cache, Threads(1));
      for (Index b = 0; b < B; ++b) {
        const Outcome& outcome = batch.outcomes[at(b)];
        ASSERT_TRUE(outcome.solved()) << b;
        const Eigen::VectorXd w = batch.w.row(b);
        if (objective == Objective::sharpe && outcome.status == Status::neutral_face) continue;
        for (std::size_t i = 0; i < limits.lower.size(); ++i)
          EXPECT_GE(w(static_cast<Index>(i)), limits.lower[i]);
        for (std::size_t i = 0; i < limits.upper.size(); ++i)
          EXPECT_LE(w(static_cast<Index>(i)), limits.upper[i]);
        for (std::size_t i = 0; i < limits.least_if_held.size(); ++i)
          EXPECT_GE(w(static_cast<Index>(i)), limits.least_if_held[i] * cache.mask(b)[i]);
        EXPECT_LE(w.lpNorm<1>(), limits.gross + 1e-9);
        EXPECT_GE(w.sum(), -1e-9);
        if (objective == Objective::sharpe) {
          EXPECT_NEAR(w.sum(), 1.0, 1e-9);
        }
        const Index s = batch.samples[at(b)];
        const Eigen::MatrixXd Sigma =
            sharpen::testing::naive_covariance(returns.middleRows(s, T), 0.2);
        const double taken = std::sqrt(w.dot(Sigma * w));
        if (objective == Objective::expected_return && outcome.note == Note::none) {
          EXPECT_NEAR(taken, kSigma, 1e-8);
        }
        if (taken > 0.0) {
          EXPECT_NEAR(cache.net(b), w.sum() / taken, 1e-6);
        }
      }
    });
}

TEST_F(LimitedLayer, DoesNotDependOnTheOrderOfNames) {
  std::vector<Index> order(at(n));
  for (Index i = 0; i < n; ++i) order[at(i)] = (5 * i + 3) % n;
  const RowMatrix shuffled = returns(Eigen::all, order);
  const auto model = risk();
  const auto other =
      risk::from_windows(view(shuffled), T, ends,
                         {.shrinkage = 0.2, .form = risk::Form::dense, .parts = {}}, Threads(1));
  const auto turn = [&](std::vector<double> x) {
    std::vector<double> out;
    for (const Index i : order)
      if (!x.empty()) out.push_back(x[at(i)]);
    return out;
  };
  for (const auto& [kind, limits] : kinds())
    each_mode([&](Objective objective, Score score, Reoptimization again) {
      if (score == Score::cholesky) return;
      SCOPED_TRACE(kind);
      Limits turned = limits;
      for (LimitRow& row : turned.rows) row.coefficients = turn(row.coefficients);
      const SparseTangent layer(settings(objective, score, again, limits), *model);
      const SparseTangent second(settings(objective, score, again, turned), *other);
      LayerCache cache(layer, B, 1), other_cache(second, B, 1);
      batch.run(layer, cache, Threads(1));
      Passes moved = batch;
      moved.mu = batch.mu(Eigen::all, order);
      moved.dL_dw = batch.dL_dw(Eigen::all, order);
      moved.run(second, other_cache, Threads(1));
      const RowMatrix want = batch.w(Eigen::all, order), gradient = batch.dL_dmu(Eigen::all, order);
      EXPECT_LT((moved.w - want).norm(), 1e-8 * want.norm());
      EXPECT_LT((moved.dL_dmu - gradient).norm(), 1e-6 * gradient.norm());
    });
}

TEST_F(LimitedLayer, UnderSharpeASignalCountsByItsProportions) {
  const auto model = risk();
  for (const Reoptimization again : {Reoptimization::masked, Reoptimization::restricted}) {
    Limits limits = long_only();
    limits.upper.assign(at(n), 0.3);
    const SparseTangent layer(settings(Objective::sharpe, Score::symmetric, again, limits), *model);
    LayerCache cache(layer, B, 1);
    batch.run(layer, cache, Threads(1));
    Passes scaled = batch;
    scaled.mu *= 0x1p12;
    scaled.run(layer, cache, Threads(1));
    EXPECT_TRUE(same_bits(batch.w, scaled.w));
    EXPECT_TRUE(same_bits(batch.dL_dmu, 0x1p12 * scaled.dL_dmu));
  }
}

// Bounds and holdings of instances are limits of their own.
TEST_F(LimitedLayer, InstancesMayHaveBoundsAndHoldingsOfTheirOwn) {
  const auto model = risk();
  Limits limits = long_only();
  limits.upper.assign(at(n), 0.5);
  limits.holdings.assign(at(n), 0.0);
  limits.turnover = 0.7;
  RowMatrix lower = 0.02 * random.matrix(B, n).cwiseAbs(), upper = lower.array() + 0.2;
  RowMatrix holdings = 0.1 * random.matrix(B, n).cwiseAbs();
  upper(3, 2) = lower(3, 2) - 0.01;
  lower(4, 1) = std::nan("");
  BatchLimits own;
  own.lower = view(std::as_const(lower));
  own.upper = view(std::as_const(upper));
  own.holdings = view(std::as_const(holdings));
  const auto mode = [&](Limits of) {
    return settings(Objective::expected_return, Score::symmetric, Reoptimization::restricted,
                    std::move(of));
  };
  const SparseTangent layer(mode(limits), *model);
  LayerCache cache(layer, B, 1);
  batch.run(layer, cache, Threads(1), own);
  EXPECT_EQ(batch.outcomes[3].status, Status::infeasible);
  EXPECT_EQ(batch.outcomes[4].status, Status::invalid_input);
  for (const Index b : {3, 4}) {
    EXPECT_TRUE(batch.w.row(b).array().isNaN().all());
    EXPECT_TRUE((batch.dL_dmu.row(b).array() == 0.0).all());
  }
  Index solved = 0;
  for (Index b = 5; b < B; ++b) {
    Limits its = limits;
    its.lower.assign(lower.row(b).begin(), lower.row(b).end());
    its.upper.assign(upper.row(b).begin(), upper.row(b).end());
    its.holdings.assign(holdings.row(b).begin(), holdings.row(b).end());
    const SparseTangent same(mode(its), *model);
    LayerCache small(same, 1, 1);
    Passes one = batch.part(b);
    one.run(same, small, Threads(1));
    EXPECT_EQ(one.outcomes[0], batch.outcomes[at(b)]);
    solved += one.outcomes[0].solved();
    if (!one.outcomes[0].solved()) continue;
    EXPECT_TRUE(same_bits(batch.w.row(b), one.w)) << b;
    EXPECT_TRUE(same_bits(batch.dL_dmu.row(b), one.dL_dmu)) << b;
  }
  EXPECT_GT(solved, 10);
}

// Limits of a sample's own, of several lengths.
TEST_F(LimitedLayer, SamplesMayHaveLimitsOfTheirOwn) {
  const auto model = risk();
  const auto all = kinds();
  LimitSchedule schedule;
  for (Index s = 0; s < S; ++s) {
    schedule.limits.push_back(all[at(s)].second);
    schedule.of_sample.push_back(S - 1 - s);
  }
  LayerSettings mode =
      settings(Objective::sharpe, Score::symmetric, Reoptimization::masked, long_only());
  mode.limits = std::make_shared<const LimitSchedule>(schedule);
  const SparseTangent layer(mode, *model);
  LayerCache cache(layer, B, 2);
  batch.run(layer, cache, Threads(2));
  for (Index b = 0; b < B; ++b) {
    LayerSettings alone = mode;
    alone.limits = always(schedule.of(batch.samples[at(b)]));
    const SparseTangent same(alone, *model);
    LayerCache small(same, 1, 1);
    Passes one = batch.part(b);
    one.run(same, small, Threads(1));
    EXPECT_LT((batch.w.row(b) - one.w).norm(), 1e-9 * one.w.norm()) << b;
    EXPECT_LE((batch.dL_dmu.row(b) - one.dL_dmu).norm(), 1e-6 * one.dL_dmu.norm()) << b;
  }
}

TEST_F(LimitedLayer, EndsOfEveryKindAreOutcomes) {
  const auto model = risk();
  const auto run = [&](Objective objective, const Limits& limits, double sign) {
    const SparseTangent layer(
        settings(objective, Score::symmetric, Reoptimization::restricted, limits), *model);
    LayerCache cache(layer, 1, 1);
    Passes one = batch.part(0);
    one.mu = sign * one.mu.cwiseAbs();
    one.run(layer, cache, Threads(1));
    return one;
  };
  const auto expect = [](const Passes& got, Status status, Note note) {
    EXPECT_EQ(got.outcomes[0].status, status);
    EXPECT_EQ(got.outcomes[0].note, note);
    EXPECT_EQ(got.dL_dmu, RowMatrix::Zero(1, n));
    EXPECT_EQ(got.w.hasNaN(), status == Status::invalid_input);
  };
  expect(run(Objective::sharpe, long_only(), -1.0), Status::ok, Note::nothing_earns);
  Limits caps = long_only();
  caps.upper.assign(at(n), 1e-3);
  expect(run(Objective::expected_return, caps, 1.0), Status::ok, Note::below_risk);
  expect(run(Objective::expected_return, long_only(), -1.0), Status::ok, Note::below_risk);
  expect(run(Objective::sharpe, caps, 1.0), Status::infeasible, Note::none);
  Limits forced = long_only();
  forced.rows.push_back({"much", std::vector<double>(at(n), 1.0), 10.0, kUnlimited});
  expect(run(Objective::expected_return, forced, 1.0), Status::ok, Note::above_risk);
  expect(run(Objective::sharpe, long_only(), std::nan("")), Status::invalid_input, Note::none);
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(LimitedLayer, ShapesAndSettingsThatDoNotFitAreErrors) {
  using ::testing::HasSubstr;
  const auto model = risk();
  LayerSettings mode =
      settings(Objective::sharpe, Score::symmetric, Reoptimization::masked, long_only());
  LayerSettings raw = mode;
  raw.raw_score = true;
  EXPECT_THAT(message_of([&] { SparseTangent(raw, *model); }), HasSubstr("raw-score = true"));
  LayerSettings short_schedule = mode;
  LimitSchedule schedule{{long_only()}, {0, 0}};
  short_schedule.limits = std::make_shared<const LimitSchedule>(schedule);
  EXPECT_THAT(message_of([&] { SparseTangent(short_schedule, *model); }),
              HasSubstr("for 2 samples is not for a risk model of 6"));
  mode.limits = nullptr;
  const SparseTangent plain(mode, *model);
  LayerCache plain_cache(plain, B, 1);
  BatchLimits own;
  const RowMatrix bounds = RowMatrix::Zero(B, n);
  own.lower = view(bounds);
  EXPECT_THAT(message_of([&] { batch.run(plain, plain_cache, Threads(1), own); }),
              HasSubstr("need a layer with limits"));
  mode.limits = always(long_only());
  const SparseTangent layer(mode, *model), second(mode, *model);
  LayerCache cache(layer, B, 1);
  own.lower = {bounds.data(), B - 1, n};
  EXPECT_THAT(message_of([&] { batch.run(layer, cache, Threads(1), own); }),
              HasSubstr("lower is 23 x 12; it must be 24 x 12"));
  LayerStarts starts(3);
  const std::vector<Index> places(at(B), 3);
  own = {.starts = &starts, .places = places};
  EXPECT_THAT(message_of([&] { batch.run(layer, cache, Threads(1), own); }),
              HasSubstr("place 3 is outside [0, 2]"));
  EXPECT_THAT(message_of([&] { batch.run(second, cache, Threads(1)); }),
              HasSubstr("the layer it was made for"));
}

}  // namespace
}  // namespace sharpen::layer::limited_layer
