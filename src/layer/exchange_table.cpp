#include "layer/exchange_table.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/active_path.hpp"

namespace sharpen::layer {

namespace {

// A residual variance below this share of the variance is rounding.
constexpr double kNoVariance = 1e-12;

double worth_of(const ExchangeTable& table, double c0, double m0, double r1) {
  switch (table.end) {
    case LimitedEnd::nothing_earns:
    case LimitedEnd::above_risk: return -c0;
    case LimitedEnd::neutral: return r1;
    case LimitedEnd::below_risk: return m0;
    default: break;
  }
  switch (table.objective.kind) {
    case Objective::sharpe:
      return m0 > 0.0 && c0 > 0.0 ? std::sqrt(std::max(0.0, m0 * m0 / c0 + r1)) : -kInfinity;
    case Objective::expected_return: {
      const double missing = table.objective.volatility * table.objective.volatility - c0;
      return missing >= 0.0 ? m0 + std::sqrt(missing * std::max(r1, 0.0)) : -kInfinity;
    }
    case Objective::utility:
      return table.objective.risk_aversion *
             (-0.5 * c0 + table.theta * (m0 + 0.5 * table.theta * r1));
  }
  return -kInfinity;
}

}  // namespace

ExchangeTable::Change ExchangeTable::of_leaving(const Leaver& out) const {
  if (!out.free) return {.by1 = out.by1, .by_theta = out.by_theta};
  return {.by1 = -0.5 * out.w0 * out.w0 / out.own,
          .by_theta = out.by_theta - out.w0 * out.w1 / out.own,
          .by_theta2 = -0.5 * out.w1 * out.w1 / out.own};
}

ExchangeTable::Change ExchangeTable::of_exchange(const Leaver& out, const Entrant& in,
                                                 double u) const {
  const double v = in.variance, p = out.free ? out.own : 1.0;
  const double g0 = in.gain0 + (out.free ? 0.0 : out.rests_at * u), g1 = in.gain1;
  if (!out.free) u = 0.0;
  const double w0 = out.w0, w1 = out.w1, scale = p * v + u * u;
  const double w = (p * (g0 + theta * g1) + (w0 + theta * w1) * u) / scale;
  if (!(in.direction * w > 0.0)) return {.possible = false};
  Change change{.by1 = out.by1, .by_theta = out.by_theta};
  if (std::abs(w) <= in.most) {
    change.by1 += (p * g0 * g0 + 2.0 * g0 * w0 * u - w0 * w0 * v) / (2.0 * scale);
    change.by_theta += (p * g0 * g1 + (g0 * w1 + g1 * w0) * u - w0 * w1 * v) / scale;
    change.by_theta2 += (p * g1 * g1 + 2.0 * g1 * w1 * u - w1 * w1 * v) / (2.0 * scale);
  } else {
    const double b = in.direction * in.most, left = w0 - u * b;
    change.by1 += g0 * b - 0.5 * (v * b * b + left * left / p);
    change.by_theta += g1 * b - left * w1 / p;
    change.by_theta2 -= 0.5 * w1 * w1 / p;
  }
  return change;
}

// The same at the present theta, as a number: theta does not move for utility.
double ExchangeTable::utility_change(const Leaver& out, const Entrant& in, double u) const {
  const double base = out.by1 + theta * out.by_theta;
  const double g = out.free ? in.gain : in.gain + out.rests_at * u;
  const double v = in.variance, p = out.free ? out.own : 1.0, w = out.w;
  if (!out.free) u = 0.0;
  const double scale = p * v + u * u, size = in.direction * (p * g + w * u);
  if (!(size > 0.0)) return -kInfinity;
  if (size <= in.most * scale) return base + 0.5 * (g * (p * g + 2.0 * w * u) - w * w * v) / scale;
  const double b = in.direction * in.most, left = w - u * b;
  return base + g * b - 0.5 * (v * b * b + left * left / p);
}

double ExchangeTable::worth(Index l, Index e) const {
  const Leaver out = l < 0 ? Leaver{} : leavers[at(l)];
  const double u = l < 0 || e < 0 ? 0.0 : cross[at(l) * entrants.size() + at(e)];
  if (e >= 0 && end == LimitedEnd::ok && objective.kind == Objective::utility)
    return worth_of(*this, c0, m0, r1) +
           objective.risk_aversion * utility_change(out, entrants[at(e)], u);
  const Change change = e < 0 ? of_leaving(out) : of_exchange(out, entrants[at(e)], u);
  if (!change.possible) return -kInfinity;
  return worth_of(*this, c0 - 2.0 * change.by1, m0 + change.by_theta, r1 + 2.0 * change.by_theta2);
}

// The coefficient that asset i has in row r once it leaves 0 in `direction`.
double ActivePath::coefficient_towards(Index r, Index i, int direction) const {
  if (r < limits_.plain()) return limits_.A[at(r * n_ + i)];
  if (r == limits_.gross()) return direction;
  const double h = limits_.holdings[at(i)];
  return upwards(direction > 0 ? h <= 0.0 : h < 0.0);
}

// What e lacks of the slope of phi at 0 in `direction`, of the part of the optimum in `state`; the
// costs count once in the part that theta multiplies.
double ActivePath::pull_towards(const State& state, Index i, int direction, double cost) const {
  double pull = state.e[at(i)];
  if (limits_.zero_is_knot) pull -= direction * state.lambda[at(limits_.gross())];
  if (limits_.holding_is_knot(i))
    pull -= coefficient_towards(limits_.turnover(), i, direction) *
            (state.lambda[at(limits_.turnover())] + cost * limits_.costs[at(i)]);
  return pull;
}

// What a free asset pays on its way to 0 beyond what it would at the present slope: buying more of
// what is held ends at the holding, and selling begins.
double ActivePath::cost_past_holding(Index i) const {
  const double h = limits_.holdings[at(i)], w = w_[at(i)];
  if (!limits_.holding_is_knot(i) || h * w <= 0.0 || std::abs(w) <= std::abs(h)) return 0.0;
  return 2.0 * limits_.costs[at(i)] * std::abs(h);
}

void ActivePath::exchanges(ExchangeTable& table) {
  const Segment present = segment();
  table.c0 = present.curved0;
  table.m0 = present.return0;
  table.r1 = present.risk1;
  table.theta = theta_;
  const std::span<const Index> assets = factor_.assets(), active = factor_.active();
  const std::size_t f = assets.size(), q = active.size();
  const std::size_t entrants = table.entrants.size(), leavers = table.leavers.size();
  // Right-hand sides: H_Fj of those that come and of those at rest that leave, e_i of the others.
  const std::size_t all = entrants + leavers;
  table.right.assign(f * all, 0.0);
  table.rows.assign(q * all, 0.0);
  const auto set_right = [&](std::size_t column, Index i, int direction) {
    for (std::size_t a = 0; a < f; ++a)
      table.right[a * all + column] = factor_.column(static_cast<Index>(a))[at(i)];
    for (std::size_t b = 0; b < q; ++b)
      table.rows[b * all + column] = coefficient_towards(active[b], i, direction);
  };
  for (std::size_t e = 0; e < entrants; ++e)
    set_right(e, table.entrants[e].asset, table.entrants[e].direction);
  for (std::size_t l = 0; l < leavers; ++l) {
    const Index i = table.leavers[l].asset;
    if (factor_.is_free(i))
      table.right[at(factor_.position(i)) * all + entrants + l] = 1.0;
    else
      set_right(entrants + l, i, w_[at(i)] > 0.0 ? 1 : -1);
  }
  table.given_right = table.right;
  table.given_rows = table.rows;
  factor_.solve_many(table.right, table.rows, static_cast<Index>(all));
  // Of each column, what its solution explains of itself.
  table.explained.assign(all, 0.0);
  const auto explain = [&](const std::vector<double>& given, const std::vector<double>& solved) {
    for (std::size_t a = 0; a < given.size(); a += all)
      for (std::size_t c = 0; c < all; ++c) table.explained[c] += given[a + c] * solved[a + c];
  };
  explain(table.given_right, table.right);
  explain(table.given_rows, table.rows);
  const auto own_variance = [&](Index i, std::size_t column) {
    const double own = variance(i) + (H_.more.empty() ? 0.0 : H_.more[at(i)]);
    return std::max(own - table.explained[column], kNoVariance * own);
  };
  for (std::size_t e = 0; e < entrants; ++e) {
    ExchangeTable::Entrant& in = table.entrants[e];
    in.gain0 = pull_towards(to_, in.asset, in.direction, 0.0);
    in.gain1 = pull_towards(along_, in.asset, in.direction, 1.0);
    in.variance = own_variance(in.asset, e);
    in.gain = in.gain0 + theta_ * in.gain1;
  }
  table.cross.resize(leavers * entrants);
  for (std::size_t l = 0; l < leavers; ++l) {
    ExchangeTable::Leaver& out = table.leavers[l];
    double* cross = table.cross.data() + l * entrants;
    const std::size_t i = at(out.asset);
    if (factor_.is_free(out.asset)) {
      const double* mine = table.right.data() + at(factor_.position(out.asset)) * all;
      out = {.asset = out.asset,
             .w0 = to_.w[i],
             .w1 = along_.w[i],
             .own = std::max(mine[entrants + l], kNoVariance / variance(out.asset)),
             .by_theta = -cost_past_holding(out.asset),
             .free = true};
      out.w = out.w0 + theta_ * out.w1;
      std::copy_n(mine, entrants, cross);
      continue;
    }
    const int direction = w_[i] > 0.0 ? 1 : -1;
    const double b = w_[i];
    out = {.asset = out.asset,
           .rests_at = b,
           .by1 = -b * pull_towards(to_, out.asset, direction, 0.0) -
                  0.5 * b * b * own_variance(out.asset, entrants + l),
           .by_theta = -b * pull_towards(along_, out.asset, direction, 1.0)};
    table.column.resize(at(n_));
    H_.column(out.asset, table.column, scratch_);
    for (std::size_t e = 0; e < entrants; ++e) cross[e] = table.column[at(table.entrants[e].asset)];
    const auto take = [&](const std::vector<double>& given, const std::vector<double>& solved) {
      for (std::size_t a = 0; a < given.size(); a += all)
        for (std::size_t e = 0; e < entrants; ++e)
          cross[e] -= given[a + entrants + l] * solved[a + e];
    };
    take(table.given_right, table.right);
    take(table.given_rows, table.rows);
  }
}

}  // namespace sharpen::layer
