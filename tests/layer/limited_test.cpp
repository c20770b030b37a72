// Portfolios under limits: every optimum is judged by the conditions of optimality, computed here
// from the weights and multipliers alone; the problem is convex, so that they are proof.
#include "sharpen/layer/limited.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layer/active_path.hpp"
#include "layer/limited_instances.hpp"
#include "sharpen/base/threads.hpp"
#include "support/problems.hpp"
#include "support/real_moments.hpp"

namespace sharpen::layer::limited {
namespace {

// The largest violation of a condition, relative to what it is made of.
class Judge {
 public:
  Judge(const Instance& instance, const MatrixXd& H, const Limits& limits, const VectorXd& w,
        ConstVec multipliers, double theta)
      : instance_(instance), limits_(limits), w_(w), multipliers_(multipliers), theta_(theta) {
    const VectorXd Hw = H * w;
    e_ = theta * instance.mu - Hw;
    scale_ = std::max((theta * instance.mu).cwiseAbs().maxCoeff(), Hw.cwiseAbs().maxCoeff());
    for (std::size_t r = 0; r < limits.rows.size(); ++r)
      e_ -=
          multipliers[r] * Eigen::Map<const VectorXd>(limits.rows[r].coefficients.data(), w.size());
    assets();
    rows();
  }
  double worst() const { return worst_; }
  const std::string& where() const { return where_; }

 private:
  void note(double violation, const std::string& where) {
    if (violation > worst_) {
      worst_ = violation;
      where_ = where;
    }
  }
  void assets() {
    const double nu = multipliers_[limits_.rows.size()],
                 tau = multipliers_[limits_.rows.size() + 1];
    for (Index i = 0; i < w_.size(); ++i) {
      const double w = w_(i);
      const double low = limits_.lower.empty() ? -kInf : limits_.lower[at(i)];
      const double high = limits_.upper.empty() ? kInf : limits_.upper[at(i)];
      const std::string name = "asset " + std::to_string(i);
      note(low - w, name + " below");
      note(w - high, name + " above");
      double left = nu * (w > 0.0 ? 1.0 : -1.0), right = nu * (w >= 0.0 ? 1.0 : -1.0);
      if (limits_.gross == kInf) left = right = 0.0;
      if (!limits_.holdings.empty()) {
        const double kappa = tau + theta_ * (limits_.costs.empty() ? 0.0 : limits_.costs[at(i)]);
        const double h = limits_.holdings[at(i)];
        left += kappa * (w > h ? 1.0 : -1.0);
        right += kappa * (w >= h ? 1.0 : -1.0);
      }
      if (w > low) note((left - e_(i)) / scale_, name + " wants less");
      if (w < high) note((e_(i) - right) / scale_, name + " wants more");
    }
  }
  void row(double value, double lower, double upper, double multiplier, const std::string& name) {
    note((value - upper) / std::max(1.0, std::abs(upper)), name + " above");
    note((lower - value) / std::max(1.0, std::abs(lower)), name + " below");
    const double slack = multiplier > 0.0 ? upper - value : value - lower;
    if (multiplier != 0.0) note(std::min(std::abs(multiplier) / scale_, slack), name + " slack");
  }
  void rows() {
    for (std::size_t r = 0; r < limits_.rows.size(); ++r) {
      const LimitRow& limit = limits_.rows[r];
      const double value = Eigen::Map<const VectorXd>(limit.coefficients.data(), w_.size()).dot(w_);
      row(value, limit.lower, limit.upper, multipliers_[r], limit.name + std::to_string(r));
    }
    const double nu = multipliers_[limits_.rows.size()],
                 tau = multipliers_[limits_.rows.size() + 1];
    row(w_.lpNorm<1>(), -kInf, limits_.gross, nu, "gross");
    if (limits_.holdings.empty()) return;
    const Eigen::Map<const VectorXd> h(limits_.holdings.data(), w_.size());
    row((w_ - h).lpNorm<1>(), -kInf, limits_.turnover, tau, "turnover");
  }

  const Instance& instance_;
  const Limits& limits_;
  const VectorXd& w_;
  ConstVec multipliers_;
  double theta_;
  VectorXd e_;
  double scale_ = 0.0, worst_ = 0.0;
  std::string where_;
};

double return_after_costs(const Instance& instance, const VectorXd& w) {
  double earned = instance.mu.dot(w);
  const Limits& limits = instance.limits;
  for (std::size_t i = 0; i < limits.costs.size(); ++i)
    earned -= limits.costs[i] * std::abs(w(static_cast<Index>(i)) - limits.holdings[i]);
  return earned;
}

// Whether the combination of rows by these multipliers is larger for every w between the bounds
// than the limits of the rows allow: it is least at bounds and kinks, asset by asset.
bool proves_infeasible(const Limits& limits, ConstVec multipliers, Index n) {
  const std::size_t rows = limits.rows.size();
  double allowed = 0.0, least = 0.0, size = 0.0;
  for (std::size_t r = 0; r < rows + 2; ++r) {
    const double y = multipliers[r];
    if (y == 0.0) continue;
    const double upper = r < rows    ? limits.rows[r].upper
                         : r == rows ? limits.gross
                                     : limits.turnover;
    const double lower = r < rows ? limits.rows[r].lower : 0.0;
    allowed += y * (y > 0.0 ? upper : lower);
    size += std::abs(y);
  }
  for (Index i = 0; i < n; ++i) {
    const double h = limits.holdings.empty() ? 0.0 : limits.holdings[at(i)];
    const auto sum = [&](double w) {
      double value = multipliers[rows] * std::abs(w) + multipliers[rows + 1] * std::abs(w - h);
      for (std::size_t r = 0; r < rows; ++r)
        value += multipliers[r] * limits.rows[r].coefficients[at(i)] * w;
      return value;
    };
    const double low = limits.lower.empty() ? -1e6 : limits.lower[at(i)];
    const double high = limits.upper.empty() ? 1e6 : limits.upper[at(i)];
    double own = kInf;
    for (const double w : {low, high, std::clamp(0.0, low, high), std::clamp(h, low, high)})
      own = std::min(own, sum(w));
    least += own;
  }
  return least > allowed - 1e-9 * size;
}

// What the solver adds for `sharpe`.
Limits all_limits(const ObjectiveSettings& objective, const Instance& instance) {
  Limits limits = instance.limits;
  if (objective.kind == Objective::sharpe)
    limits.rows.push_back({"net", std::vector<double>(at(instance.n), 1.0), 1.0, 1.0});
  return limits;
}

struct Tally {
  Index ok = 0, flagged = 0, infeasible = 0;
};

void judge_instance(std::uint64_t seed, Index most, Tally& tally) {
  SCOPED_TRACE("instance " + std::to_string(seed));
  Instance instance(seed, most);
  const auto risk = risk_of(instance.Sigma);
  const ObjectiveSettings objective = some_objective(instance, static_cast<int>(seed % 3));
  const Limits limits = all_limits(objective, instance);
  LimitedSolver solver(objective, instance.limits, instance.n);
  LimitedState state;
  VectorXd w(instance.n);
  const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, state, view(w));
  ASSERT_NE(end, LimitedEnd::not_converged);
  if (end == LimitedEnd::infeasible) {
    EXPECT_TRUE(proves_infeasible(limits, solver.proof(), instance.n));
    ++tally.infeasible;
    return;
  }
  ++(end == LimitedEnd::ok ? tally.ok : tally.flagged);
  if (end == LimitedEnd::neutral) return;
  const double theta = solver.theta();
  const Judge judge(instance, instance.Sigma, limits, w, solver.multipliers(), theta);
  EXPECT_LT(judge.worst(), 1e-9) << judge.where();
  const double variance = w.dot(instance.Sigma * w);
  if (end != LimitedEnd::ok) return;
  if (objective.kind == Objective::expected_return) {
    EXPECT_NEAR(std::sqrt(variance) / objective.volatility, 1.0, 1e-9);
  } else if (objective.kind == Objective::sharpe) {
    EXPECT_NEAR(theta * return_after_costs(instance, w) / variance, 1.0, 1e-9);
  }
}

TEST(Limited, OptimaMeetTheConditions) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 900; ++seed) judge_instance(seed, 40, tally);
  EXPECT_GT(tally.ok, 600);
  EXPECT_GT(tally.flagged, 30);
  EXPECT_GT(tally.infeasible, 20);
}

TEST(Limited, SlowOptimaMeetTheConditionsUpToTwoHundredAssets) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) judge_instance(seed << 20, 200, tally);
  EXPECT_GT(tally.ok, 15000);
}

// A million, most of them small: few assets have every coincidence there is.
TEST(Limited, SlowAMillionOptimaMeetTheConditions) {
  constexpr Index kBatches = 1000, kEach = 1000;
  const Threads threads(0);
  std::vector<Tally> tallies(at(kBatches));
  threads.for_each(kBatches, [&](Index batch, int) {
    if (::testing::Test::HasFailure()) return;
    for (Index i = 0; i < kEach; ++i) {
      const Index most = i % 200 == 0 ? 200 : i % 10 == 0 ? 40 : 8;
      const auto seed = static_cast<std::uint64_t>(batch * kEach + i);
      judge_instance(seed ^ std::uint64_t{1} << 40, most, tallies[at(batch)]);
    }
  });
  Tally all;
  for (const Tally& tally : tallies) {
    all.ok += tally.ok;
    all.flagged += tally.flagged;
    all.infeasible += tally.infeasible;
  }
  EXPECT_EQ(all.ok + all.flagged + all.infeasible, kBatches * kEach);
  EXPECT_GT(all.infeasible, 10000);
}

// From anywhere the same bits: the answer depends on what is free and active alone.
TEST(Limited, StartsNearbyGiveTheSameBits) {
  Index same = 0, shorter = 0, count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Instance instance(seed);
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver(some_objective(instance, static_cast<int>(seed % 3)), instance.limits,
                         instance.n);
    LimitedState warm, cold;
    VectorXd w(instance.n), again(instance.n);
    VectorXd near = instance.mu;
    for (Index i = 0; i < near.size(); ++i) near(i) *= 1.0 + 0.01 * instance.normal();
    if (solver.forward(*risk, 0, view(near), {}, warm, view(w)) != LimitedEnd::ok) continue;
    const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, cold, view(w));
    const Index steps = solver.steps();
    ASSERT_EQ(solver.forward(*risk, 0, view(instance.mu), {}, warm, view(again)), end) << seed;
    if (end != LimitedEnd::ok) continue;
    ++count;
    same += w == again;
    shorter += solver.steps() <= steps;
    EXPECT_LT((w - again).lpNorm<Eigen::Infinity>(), 1e-9 * std::max(1.0, w.lpNorm<1>())) << seed;
  }
  EXPECT_GT(count, 150);
  EXPECT_GT(same, count * 95 / 100);  // the rest have ties at the optimum
  EXPECT_GT(shorter, count * 95 / 100);
}

struct KnownAnswer {
  const char* data;
  double long_only;
  Index held;  // by long_only
  double at_most_a_tenth, a_tenth_short_to_a_fifth, gross, third;
};

void PrintTo(const KnownAnswer& answer, std::ostream* out) { *out << answer.data; }

class KnownSharpe : public ::testing::TestWithParam<KnownAnswer> {};

TEST_P(KnownSharpe, IsReachedToNineDigits) {
  const auto data = sharpen::testing::real_moments(GetParam().data);
  if (!data) GTEST_SKIP() << GetParam().data << " is not in " << sharpen::testing::data_folder();
  const Index n = data->mu.size();
  const auto risk = risk_of(RowMatrix(data->Sigma));
  Index held = 0;
  const auto best = [&](const Limits& limits) {
    LimitedState state;
    VectorXd w(n);
    LimitedSolver solver({}, limits, n);
    EXPECT_EQ(solver.forward(*risk, 0, view(data->mu), {}, state, view(w)), LimitedEnd::ok);
    EXPECT_NEAR(w.sum(), 1.0, 1e-12);
    held = (w.array() != 0.0).count();
    return data->mu.dot(w) / std::sqrt(w.dot(data->Sigma * w));
  };
  Limits limits;
  limits.gross = 1.6;
  EXPECT_NEAR(best(limits), GetParam().gross, 6e-10);
  limits = {};
  limits.lower.assign(at(n), -0.1);
  limits.upper.assign(at(n), 0.2);
  EXPECT_NEAR(best(limits), GetParam().a_tenth_short_to_a_fifth, 6e-10);
  limits.lower.assign(at(n), 0.0);
  limits.upper.assign(at(n), 0.1);
  EXPECT_NEAR(best(limits), GetParam().at_most_a_tenth, 6e-10);
  limits.upper.clear();
  EXPECT_NEAR(best(limits), GetParam().long_only, 6e-10);
  EXPECT_EQ(held, GetParam().held);
  LimitRow third{"third", std::vector<double>(at(n)), -kInf, 0.3};
  std::fill_n(third.coefficients.begin(), n / 3, 1.0);
  limits.rows.push_back(third);
  EXPECT_NEAR(best(limits), GetParam().third, 6e-10);
}

INSTANTIATE_TEST_SUITE_P(
    Markets, KnownSharpe,
    ::testing::Values(
        KnownAnswer{"port1", .210441927, 4, .177016562, .272861664, .249711049, .208885663},
        KnownAnswer{"port2", .363785403, 13, .337698939, .656618286, .456634209, .361184934},
        KnownAnswer{"port3", .295635985, 15, .291842738, .501808716, .364019542, .294570721},
        KnownAnswer{"ff25", .265086634, 6, .256892189, .318316033, .300730321, .263853337},
        KnownAnswer{"ff49", .289532863, 11, .281354671, .379271907, .335908732, .286337278},
        KnownAnswer{"ff100", .270553508, 8, .266549357, .580460649, .365982575, .270535156}));

// Gross exposure of no more than the net one leaves no room for shorts.
TEST(Limited, GrossOfOneIsLongOnly) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Instance instance(seed);
    const auto risk = risk_of(instance.Sigma);
    const auto best = [&](const Limits& limits) {
      LimitedSolver solver({}, limits, instance.n);
      LimitedState state;
      VectorXd w(instance.n);
      solver.forward(*risk, 0, view(instance.mu), {}, state, view(w));
      return w;
    };
    Limits gross, lower;
    gross.gross = 1.0;
    lower.lower.assign(at(instance.n), 0.0);
    EXPECT_LT((best(gross) - best(lower)).lpNorm<Eigen::Infinity>(), 1e-9) << seed;
  }
}

// Limits that never bind leave the closed form, whatever the risk form.
TEST(Limited, WithoutBindingLimitsIsTheTangentPortfolio) {
  sharpen::testing::Problems problems(7);
  const RowMatrix returns = problems.returns(60, 90);
  const std::array<Index, 1> ends = {60};
  const Threads threads(1);
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto risk = risk::from_windows(view(returns), 60, ends,
                                         {.shrinkage = 0.2, .form = form, .parts = {}}, threads);
    const VectorXd mu = problems.vector(90).cwiseAbs();
    VectorXd a(90), scratch(risk->scratch_size()), w(90);
    risk->solve(0, view(mu), view(a), view(scratch));
    ASSERT_GT(a.sum(), 0.0);
    Limits loose;
    loose.gross = 1e6;
    for (const Limits& limits : {Limits{}, loose}) {
      LimitedSolver solver({}, limits, 90);
      LimitedState state;
      ASSERT_EQ(solver.forward(*risk, 0, view(mu), {}, state, view(w)), LimitedEnd::ok);
      EXPECT_LT((w - a / a.sum()).norm(), 1e-10 * w.norm());
    }
  }
}

// A signal counts by its proportions.
TEST(Limited, SharpeDoesNotDependOnTheScaleOfTheSignal) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Instance instance(seed);
    instance.limits.costs.clear();
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver({}, instance.limits, instance.n);
    VectorXd w(instance.n), scaled(instance.n);
    LimitedState first, second;
    const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, first, view(w));
    const VectorXd mu = 1024.0 * instance.mu;
    EXPECT_EQ(solver.forward(*risk, 0, view(mu), {}, second, view(scaled)), end) << seed;
    EXPECT_TRUE(end == LimitedEnd::infeasible || w == scaled) << seed;
  }
}

TEST(Limited, ASignalThatIsNotFiniteIsAnOutcome) {
  Instance instance(1);
  const auto risk = risk_of(instance.Sigma);
  LimitedSolver solver({}, {}, instance.n);
  LimitedState state;
  VectorXd w(instance.n), zero(instance.n);
  const VectorXd ones = VectorXd::Ones(instance.n);
  instance.mu(0) = std::nan("");
  EXPECT_EQ(solver.forward(*risk, 0, view(instance.mu), {}, state, view(w)),
            LimitedEnd::invalid_input);
  EXPECT_TRUE(std::isnan(w(0)));
  solver.vjp(*risk, 0, view(instance.mu), {}, state, view(ones), view(zero), {});
  EXPECT_EQ(zero, VectorXd::Zero(instance.n));
}

// The optimum without an asset, from the one with it, is that of bounds of zero.
TEST(Limited, AssetsCanBeForbiddenAndAllowedAgain) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 20);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    const ObjectiveSettings objective = some_objective(instance, static_cast<int>(seed % 3));
    LimitedSolver solver(objective, instance.limits, n);
    LimitedState state;
    VectorXd w(n), expected(n);
    if (solver.forward(*risk, 0, view(instance.mu), {}, state, view(w)) != LimitedEnd::ok) continue;
    const Index name = instance.below(n);
    Limits without = instance.limits;
    without.lower.resize(at(n), -kInf);
    without.upper.resize(at(n), kInf);
    without.lower[at(name)] = without.upper[at(name)] = 0.0;
    LimitedSolver other(objective, without, n);
    LimitedState fresh;
    const LimitedEnd end = other.forward(*risk, 0, view(instance.mu), {}, fresh, view(expected));
    const bool possible = solver.allow(name, false);
    const LimitedEnd got = possible ? solver.again() : LimitedEnd::infeasible;
    ASSERT_EQ(got, end);
    if (end != LimitedEnd::ok) continue;
    const Eigen::Map<const VectorXd> found(solver.weights().data(), n);
    EXPECT_LT((found - expected).norm(), 1e-8 * std::max(1.0, expected.norm()));
    ASSERT_TRUE(solver.allow(name, true));
    ASSERT_EQ(solver.again(), LimitedEnd::ok);
    EXPECT_LT((found - w).norm(), 1e-8 * std::max(1.0, w.norm()));
  }
}

// Central differences, for coordinates along which no asset or row changes sides.
class Differences {
 public:
  Differences(LimitedSolver& solver, const risk::Risk& risk, const VectorXd& g)
      : solver_(solver), risk_(risk), g_(g) {}

  // d (g^T w) along `mu + t dmu, more + t dmore`; none where a side changes within the step.
  std::optional<double> along(const VectorXd& mu, const VectorXd& more, const VectorXd& dmu,
                              const VectorXd& dmore) {
    const auto [up, above] = at_point(mu + dmu, more + dmore);
    const auto [down, below] = at_point(mu - dmu, more - dmore);
    if (!above || !below || above->piece != below->piece || above->side != below->side) return {};
    return (up - down) / 2.0;
  }

 private:
  std::pair<double, std::unique_ptr<ActiveSet>> at_point(const VectorXd& mu, const VectorXd& more) {
    LimitedState state;
    VectorXd w(mu.size());
    const LimitedEnd end = solver_.forward(risk_, 0, view(mu), view(more), state, view(w));
    return {g_.dot(w), end == LimitedEnd::ok ? std::move(state.set) : nullptr};
  }

  LimitedSolver& solver_;
  const risk::Risk& risk_;
  const VectorXd& g_;
};

TEST(Limited, GradientsAreThoseOfFiniteDifferences) {
  Index checked = 0, turned = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 14);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver(some_objective(instance, static_cast<int>(seed % 3)), instance.limits, n);
    VectorXd w(n), g(n), more(n), dL_dmu(n), dL_dmore(n);
    for (Index i = 0; i < n; ++i) {
      g(i) = instance.normal();
      more(i) = instance.Sigma(i, i) * (0.1 + (seed % 2 == 0 ? 0.0 : instance.uniform()));
    }
    LimitedState state;
    if (solver.forward(*risk, 0, view(instance.mu), view(more), state, view(w)) != LimitedEnd::ok)
      continue;
    solver.vjp(*risk, 0, view(instance.mu), view(more), state, view(g), view(dL_dmu),
               view(dL_dmore));
    Differences differences(solver, *risk, g);
    const VectorXd none = VectorXd::Zero(n);
    const double size = g.norm() * w.norm() + 1e-3;
    for (Index i = 0; i < n; ++i) {
      const double h = 1e-5 * std::abs(instance.mu(i)) + 1e-8;
      const auto by_mu = differences.along(instance.mu, more, h * VectorXd::Unit(n, i), none);
      const double d = 1e-5 * more(i);
      const auto by_more = differences.along(instance.mu, more, none, d * VectorXd::Unit(n, i));
      turned += !by_mu + !by_more;
      checked += by_mu.has_value() + by_more.has_value();
      EXPECT_NEAR(by_mu.value_or(h * dL_dmu(i)), h * dL_dmu(i), 3e-10 * size) << "mu " << i;
      EXPECT_NEAR(by_more.value_or(d * dL_dmore(i)), d * dL_dmore(i), 3e-10 * size) << "d " << i;
    }
  }
  EXPECT_GT(checked, 2000);
  EXPECT_LT(turned, checked / 20);
}

}  // namespace
}  // namespace sharpen::layer::limited
