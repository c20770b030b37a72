// One solver for many limits, bounds that have a derivative, and directions without net position.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "layer/active_path.hpp"
#include "layer/limited_instances.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer::limited {
namespace {

// Limits that are set are those that a solver is made with, of any number of rows.
TEST(LimitedReuse, OneSolverGivesTheBitsOfAnyOther) {
  constexpr Index kRows = 16;
  Index solved = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 20), before(seed + 1000, 20);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    const ObjectiveSettings objective = some_objective(instance, static_cast<int>(seed % 3));
    Limits limits = instance.limits;
    limits.lower.resize(at(n), -0.4);
    limits.upper.resize(at(n), 0.7);
    LimitedSolver fresh(objective, PreparedLimits(objective, limits, n, kRows));
    // Another one's limits first; then these, with bounds and holdings set apart.
    Limits other = limits;
    other.lower.assign(at(n), -3.0);
    other.upper.assign(at(n), 4.0);
    if (!limits.holdings.empty()) other.holdings.assign(at(n), 0.25);
    LimitedSolver used(objective, PreparedLimits(objective, {}, n, kRows));
    VectorXd w(n), again(n), g(n), dL_dmu(n), dL_again(n);
    LimitedState first, second, third;
    used.forward(*risk, 0, view(instance.mu), {}, first, view(w));
    used.use(PreparedLimits(objective, other, n, kRows));
    used.set_bounds(limits.lower, limits.upper);
    if (!limits.holdings.empty()) used.set_holdings(limits.holdings);
    const LimitedEnd end = fresh.forward(*risk, 0, view(instance.mu), {}, second, view(w));
    ASSERT_EQ(used.forward(*risk, 0, view(instance.mu), {}, third, view(again)), end);
    if (end != LimitedEnd::ok) continue;
    ++solved;
    EXPECT_EQ(w, again);
    for (Index i = 0; i < n; ++i) g(i) = instance.normal();
    fresh.vjp(*risk, 0, view(instance.mu), {}, second, view(g), view(dL_dmu), {});
    used.vjp(*risk, 0, view(instance.mu), {}, third, view(g), view(dL_again), {});
    EXPECT_EQ(dL_dmu, dL_again);
    // Rows that say nothing change no more than rounding.
    LimitedSolver exact(objective, limits, n);
    LimitedState fourth;
    ASSERT_EQ(exact.forward(*risk, 0, view(instance.mu), {}, fourth, view(again)), end);
    EXPECT_LE((w - again).norm(), 1e-9 * w.norm());
  }
  EXPECT_GT(solved, 60);
}

TEST(LimitedReuse, BoundsThatAreNotInOrderAreOutcomesAndShapesErrors) {
  const auto risk = risk_of(1e-4 * RowMatrix::Identity(2, 2));
  const VectorXd mu = VectorXd::Constant(2, 0.01);
  VectorXd w(2);
  LimitedSolver solver({}, Limits{}, 2);
  const PreparedLimits none({}, Limits{}, 2);
  const auto end = [&](std::vector<double> lower, std::vector<double> upper) {
    solver.use(none);
    solver.set_bounds(lower, upper);
    LimitedState state;
    return solver.forward(*risk, 0, view(mu), {}, state, view(w));
  };
  EXPECT_EQ(end({0.0, 0.0}, {}), LimitedEnd::ok);
  EXPECT_EQ(end({0.5, 0.6}, {0.4, 0.5}), LimitedEnd::infeasible);
  EXPECT_EQ(end({0.5, 0.0}, {0.4, std::nan("")}), LimitedEnd::invalid_input);
  EXPECT_EQ(end({}, {1.0, 1.0}), LimitedEnd::ok);
  EXPECT_THROW(end({0.0}, {}), InputError);
  EXPECT_THROW(solver.use(PreparedLimits({}, Limits{}, 3)), InputError);
  EXPECT_THROW(solver.use(PreparedLimits({}, Limits{}, 2, 5)), InputError);
  LimitedState state;
  const VectorXd three = VectorXd::Ones(3);
  EXPECT_THROW(solver.forward(*risk, 0, view(three), {}, state, view(w)), InputError);
  EXPECT_THROW(solver.forward(*risk, 0, view(mu), view(three), state, view(w)), InputError);
}

// d (g^T w) by the lower bound of every name, where no name or row changes sides.
TEST(LimitedReuse, BoundsHaveTheGradientsOfFiniteDifferences) {
  Index resting = 0, turned = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 14);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    Limits limits = instance.limits;
    limits.upper.assign(at(n), 0.9);
    limits.lower.clear();
    for (Index i = 0; i < n; ++i) limits.lower.push_back(0.4 * instance.uniform() / double(n));
    LimitedSolver solver(some_objective(instance, static_cast<int>(seed % 3)), limits, n);
    VectorXd w(n), g(n), more(n), dL_dmu(n), dL_dmore(n), dL_dlower(n);
    for (Index i = 0; i < n; ++i) {
      g(i) = instance.normal();
      more(i) = instance.Sigma(i, i) * (seed % 2 == 0 ? 0.0 : instance.uniform());
    }
    LimitedState state;
    if (solver.forward(*risk, 0, view(instance.mu), view(more), state, view(w)) != LimitedEnd::ok)
      continue;
    solver.vjp(*risk, 0, view(instance.mu), view(more), state, view(g), view(dL_dmu),
               view(dL_dmore), view(dL_dlower));
    const double size = g.norm() * (w.norm() + 1.0);
    for (Index i = 0; i < n; ++i) {
      const double h = 1e-6;
      const auto moved = [&](double step, LimitedState& at_step) {
        std::vector<double> lower = limits.lower;
        lower[at(i)] += step;
        solver.set_bounds(lower, {});
        VectorXd out(n);
        solver.forward(*risk, 0, view(instance.mu), view(more), at_step, view(out));
        return g.dot(out);
      };
      LimitedState up, down;
      const double difference = (moved(h, up) - moved(-h, down)) / (2.0 * h);
      const bool turns = up.end != LimitedEnd::ok || down.end != LimitedEnd::ok ||
                         up.set->piece != down.set->piece || up.set->side != down.set->side;
      turned += turns;
      resting += w(i) == limits.lower[at(i)] && !turns;
      if (turns) continue;
      EXPECT_NEAR(difference, dL_dlower(i), 2e-5 * size) << i;
    }
    solver.set_bounds(limits.lower, {});
  }
  EXPECT_GT(resting, 300);
  EXPECT_LT(turned, resting / 5);
}

// Where no portfolio of net position 1 is best, the direction of gross 1 has a derivative too.
TEST(LimitedReuse, DirectionsHaveTheGradientsOfFiniteDifferences) {
  Index directions = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 10);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    Limits limits;
    limits.rows.push_back({"half", std::vector<double>(at(n)), -kInf, 0.5});
    for (Index i = 0; i < n; i += 2) limits.rows[0].coefficients[at(i)] = 1.0;
    LimitedSolver solver({}, limits, n);
    VectorXd w(n), g(n), dL_dmu(n);
    for (Index i = 0; i < n; ++i) g(i) = instance.normal();
    LimitedState state;
    if (solver.forward(*risk, 0, view(instance.mu), {}, state, view(w)) != LimitedEnd::neutral)
      continue;
    ++directions;
    EXPECT_NEAR(w.lpNorm<1>(), 1.0, 1e-9);
    solver.vjp(*risk, 0, view(instance.mu), {}, state, view(g), view(dL_dmu), {});
    for (Index i = 0; i < n; ++i) {
      const double h = 1e-8;
      const auto moved = [&](double step) {
        VectorXd mu = instance.mu, out(n);
        mu(i) += step;
        LimitedState fresh;
        EXPECT_EQ(solver.forward(*risk, 0, view(mu), {}, fresh, view(out)), LimitedEnd::neutral);
        return g.dot(out);
      };
      const double difference = (moved(h) - moved(-h)) / (2.0 * h);
      EXPECT_NEAR(difference, dL_dmu(i), 1e-4 * (dL_dmu.norm() + g.norm() / instance.mu.norm()));
    }
  }
  EXPECT_GT(directions, 10);
}

}  // namespace
}  // namespace sharpen::layer::limited
