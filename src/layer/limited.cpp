#include "sharpen/layer/limited.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/vec.hpp"
#include "layer/active_path.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer {

namespace {

using End = ActivePath::End;
using Segment = ActivePath::Segment;

constexpr double kMet = 1e-6;       // relative: theta is where it is wanted
constexpr double kNothing = 1e-12;  // relative: rounding of a return of zero

// theta R = V for R = R0 + theta R1 and V = V0 + theta^2 R1.
std::optional<double> best_sharpe(const Segment& segment, double) {
  if (!(segment.return0 > kNothing * segment.return0_size)) return std::nullopt;
  return segment.curved0 / segment.return0;
}

// The larger root of risk1 theta^2 + 2 risk01 theta + risk0 = variance.
std::optional<double> at_risk(const Segment& segment, double variance) {
  const double missing = variance - segment.risk0;
  const double discriminant = segment.risk01 * segment.risk01 + segment.risk1 * missing;
  if (!(segment.risk1 > 0.0) || !(discriminant >= 0.0)) return std::nullopt;
  const double root = std::sqrt(discriminant);
  const double theta = segment.risk01 > 0.0 ? missing / (segment.risk01 + root)
                                            : (root - segment.risk01) / segment.risk1;
  if (!(theta >= 0.0) || !std::isfinite(theta)) return std::nullopt;
  return theta;
}

Limits with_net_one(Limits limits, Index n) {
  limits.rows.push_back({"net", std::vector<double>(at(n), 1.0), 1.0, 1.0});
  return limits;
}

}  // namespace

LimitedState::LimitedState() = default;
LimitedState::~LimitedState() = default;
LimitedState::LimitedState(LimitedState&&) noexcept = default;
LimitedState& LimitedState::operator=(LimitedState&&) noexcept = default;

struct LimitedSolver::Work {
  Work(const ObjectiveSettings& objective_, const Limits& limits, Index n)
      : objective(objective_),
        table(objective.kind == Objective::sharpe ? with_net_one(limits, n) : limits, n),
        path(table),
        g(at(n)),
        Sw(at(n)) {}

  double first_theta(const risk::Risk& risk, Index s, ConstVec mu) const;
  double start_of(LimitedEnd from) const;
  LimitedEnd reach(double theta, bool finish);
  LimitedEnd maximize_sharpe(bool finish);
  LimitedEnd spend_risk(bool finish);

  double value_at(const Segment& segment, double theta);

  ObjectiveSettings objective;
  LimitTable table;
  ActivePath path;
  LimitedEnd last = LimitedEnd::infeasible;  // of the last solution
  double value = 0.0, risk_taken = 0.0;
  double alone = 0.0;  // theta of the first name alone
  std::vector<double> g, Sw;
};

// As if the name of the largest mu / sigma were alone.
double LimitedSolver::Work::first_theta(const risk::Risk& risk, Index s, ConstVec mu) const {
  if (objective.kind == Objective::utility) return 1.0 / objective.risk_aversion;
  const ConstVec variance = risk.diagonal(s);
  double best = 0.0;
  std::size_t name = 0;
  for (std::size_t i = 0; i < mu.size(); ++i) {
    const double ratio = std::abs(mu[i]) / std::sqrt(variance[i]);
    if (ratio > best) {
      best = ratio;
      name = i;
    }
  }
  if (best == 0.0) return 1.0;
  if (objective.kind == Objective::sharpe) return std::sqrt(variance[name]) / best;
  return objective.volatility / best;
}

double LimitedSolver::Work::value_at(const Segment& segment, double theta) {
  const double earned = segment.return0 + theta * segment.return1;
  const double variance = segment.risk0 + theta * (2.0 * segment.risk01 + theta * segment.risk1);
  risk_taken = std::sqrt(variance);
  if (objective.kind == Objective::sharpe) return earned / risk_taken;
  if (objective.kind == Objective::expected_return) return earned;
  return earned - 0.5 * objective.risk_aversion * variance;
}

LimitedEnd LimitedSolver::Work::maximize_sharpe(bool finish) {
  Segment segment = path.segment();
  for (int tries = 0; tries < 3; ++tries) {
    const int direction = path.theta() * segment.return0 < segment.curved0 ? 1 : -1;
    if (path.follow(best_sharpe, 0.0, direction) != End::reached) return LimitedEnd::not_converged;
    segment = path.segment();
    const std::optional<double> root = best_sharpe(segment, 0.0);
    if (!root || std::abs(*root - path.theta()) <= kMet * path.theta()) break;
  }
  value = value_at(segment, path.theta());
  if (best_sharpe(segment, 0.0)) {
    const End end = finish ? path.finish(best_sharpe, 0.0) : End::reached;
    return end == End::reached ? LimitedEnd::ok : LimitedEnd::not_converged;
  }
  const bool unbounded = path.theta() * path.theta() * segment.risk1 > segment.risk0;
  const double theta = unbounded ? path.theta() : 0.0;
  if (path.follow(theta) != End::reached || path.finish(theta) != End::reached)
    return LimitedEnd::not_converged;
  segment = path.segment();
  value = value_at(segment, theta);
  return unbounded ? LimitedEnd::neutral : LimitedEnd::nothing_earns;
}

LimitedEnd LimitedSolver::Work::spend_risk(bool finish) {
  const double variance = objective.volatility * objective.volatility;
  Segment segment = path.segment();
  const auto risk = [&](double theta) {
    return segment.risk0 + theta * (2.0 * segment.risk01 + theta * segment.risk1);
  };
  // Under a mask the risk may fall before it grows.
  const bool falls = segment.risk01 + path.theta() * segment.risk1 < 0.0;
  const int direction = risk(path.theta()) < variance || falls ? 1 : -1;
  if (path.follow(at_risk, variance, direction) != End::reached) return LimitedEnd::not_converged;
  segment = path.segment();
  value = value_at(segment, path.theta());
  const std::optional<double> root = at_risk(segment, variance);
  const bool met = root && std::abs(*root - path.theta()) <= kMet * path.theta();
  // Where the largest return has less risk than allowed, theta says nothing any more.
  const bool flat = direction > 0 && segment.risk1 == 0.0 && path.entered() > 0.0;
  const double theta = flat ? 2.0 * path.entered() : path.theta();
  const End end = met && !finish ? End::reached
                  : met          ? path.finish(at_risk, variance)
                                 : path.finish(theta);
  if (end != End::reached) return LimitedEnd::not_converged;
  if (met) return LimitedEnd::ok;
  return direction > 0 ? LimitedEnd::below_risk : LimitedEnd::above_risk;
}

void ObjectiveSettings::validate() const {
  const auto check = [](std::string_view what, double value) {
    if (!(value > 0.0) || !std::isfinite(value))
      throw InputError(fmt::format("{} = {} must be positive and finite", what, value));
  };
  if (kind == Objective::expected_return) check("volatility", volatility);
  if (kind == Objective::utility) check("risk aversion", risk_aversion);
}

LimitedSolver::LimitedSolver(const ObjectiveSettings& objective, const Limits& limits, Index n) {
  objective.validate();
  limits.validate(n);
  work_ = std::make_unique<Work>(objective, limits, n);
}
LimitedSolver::~LimitedSolver() = default;
LimitedSolver::LimitedSolver(LimitedSolver&&) noexcept = default;

// The theta that a way from a solution of that kind begins at: its own, unless that says nothing.
double LimitedSolver::Work::start_of(LimitedEnd from) const {
  const bool tells = from == LimitedEnd::ok && path.theta() > 0.0;
  return objective.kind != Objective::utility && tells ? path.theta() : alone;
}

// From the present state to the optimum; the way begins at theta.
LimitedEnd LimitedSolver::Work::reach(double theta, bool finish) {
  const End end = path.follow(theta);
  if (end == End::infeasible) return LimitedEnd::infeasible;
  if (end == End::stuck) return LimitedEnd::not_converged;
  if (objective.kind == Objective::sharpe) return maximize_sharpe(finish);
  if (objective.kind == Objective::expected_return) return spend_risk(finish);
  value = value_at(path.segment(), theta);
  if (!finish) return LimitedEnd::ok;
  return path.finish(theta) == End::reached ? LimitedEnd::ok : LimitedEnd::not_converged;
}

LimitedEnd LimitedSolver::forward(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                                  LimitedState& state, Vec w) {
  Work& work = *work_;
  ActivePath& path = work.path;
  const Curvature H{&risk, s, more};
  const auto finite = [](double x) { return std::isfinite(x); };
  const bool usable =
      risk.status(s) == Status::ok && std::ranges::all_of(mu, finite) &&
      std::ranges::all_of(more, [](double d) { return d >= 0.0 && d < kUnlimited; });
  if (usable) {
    work.alone = work.first_theta(risk, s, mu);
    path.reset(work.table);
    if (state.set)
      path.resume(H, mu, *state.set);
    else
      path.begin(H, mu, work.alone);
    state.end = work.reach(work.start_of(state.end), true);
  } else {
    state.end = LimitedEnd::invalid_input;
  }
  work.last = state.end;
  if (!is_solved(state.end)) {
    state.set.reset();
    std::fill(w.begin(), w.end(), kNaN);
    return state.end;
  }
  solution(w);
  if (!state.set) state.set = std::make_unique<ActiveSet>();
  path.keep(*state.set);
  return state.end;
}

void LimitedSolver::solution(Vec w) const {
  const ConstVec weights = work_->path.weights(), direction = work_->path.signal_part();
  if (work_->last == LimitedEnd::neutral) {
    const double gross = abs_sum(direction);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = direction[i] / gross;
  } else {
    std::copy(weights.begin(), weights.end(), w.begin());
  }
}

void LimitedSolver::vjp(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                        const LimitedState& state, ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore) {
  std::fill(dL_dmu.begin(), dL_dmu.end(), 0.0);
  std::fill(dL_dmore.begin(), dL_dmore.end(), 0.0);
  if (state.end != LimitedEnd::ok) return;
  Work& work = *work_;
  ActivePath& path = work.path;
  path.reset(work.table);
  path.resume({&risk, s, more}, mu, *state.set);
  const double theta = path.theta();
  const ConstVec w = path.weights();
  Vec g = work.g;
  std::copy(dL_dw.begin(), dL_dw.end(), g.begin());

  double by_w0 = 0.0;  // what dL_dmu has of w0
  if (work.objective.kind != Objective::utility) {
    const Segment segment = path.segment();
    const ConstVec w1 = path.signal_part();
    const double along = dot(dL_dw, w1);
    if (work.objective.kind == Objective::sharpe) {
      by_w0 = along / segment.return0;
    } else {
      const ConstVec H0 = path.curved_fixed_part(), H1 = path.curved_signal_part();
      for (std::size_t i = 0; i < g.size(); ++i)
        work.Sw[i] = H0[i] + theta * H1[i] - (more.empty() ? 0.0 : more[i] * w[i]);
      const double share = along / dot(w1, work.Sw);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] -= share * work.Sw[i];
    }
  }
  path.project(g);
  if (by_w0 != 0.0)
    for (std::size_t i = 0; i < g.size(); ++i) g[i] -= by_w0 * path.fixed_part()[i];
  for (std::size_t i = 0; i < g.size(); ++i) dL_dmu[i] = theta * g[i];
  for (std::size_t i = 0; i < dL_dmore.size(); ++i) dL_dmore[i] = -g[i] * w[i];
}

bool LimitedSolver::allow(Index i, bool allowed) {
  Work& work = *work_;
  return work.path.set_bounds(i, allowed ? work.table.lower[at(i)] : 0.0,
                              allowed ? work.table.upper[at(i)] : 0.0);
}

LimitedEnd LimitedSolver::again() {
  Work& work = *work_;
  work.last = work.reach(work.start_of(work.last), false);
  return work.last;
}

bool LimitedSolver::may_exceed_zero(Index i) const { return work_->table.upper[at(i)] > 0.0; }
bool LimitedSolver::may_undercut_zero(Index i) const { return work_->table.lower[at(i)] < 0.0; }

bool LimitedSolver::must_be_held(Index i) const {
  return work_->table.lower[at(i)] > 0.0 || work_->table.upper[at(i)] < 0.0;
}

double LimitedSolver::risk() const { return work_->risk_taken; }
double LimitedSolver::value() const { return work_->value; }
ConstVec LimitedSolver::weights() const { return work_->path.weights(); }
double LimitedSolver::gain_above(Index i) const { return work_->path.gain_above(i); }
double LimitedSolver::gain_below(Index i) const { return work_->path.gain_below(i); }

// Of a free asset to second order; of one at a bound, what it gains there besides.
double LimitedSolver::loss_without(Index i) {
  Work& work = *work_;
  const double w = work.path.weights()[at(i)];
  if (!work.path.is_free(i))
    return std::abs(work.path.residual()[at(i)] * w) + 0.5 * w * w * work.path.variance(i);
  std::fill(work.g.begin(), work.g.end(), 0.0);
  work.g[at(i)] = 1.0;
  work.path.project(work.g);
  return 0.5 * w * w / std::max(work.g[at(i)], std::numeric_limits<double>::min());
}

Index LimitedSolver::steps() const { return work_->path.steps(); }
double LimitedSolver::theta() const { return work_->path.theta(); }
ConstVec LimitedSolver::multipliers() const { return work_->path.multipliers(); }
ConstVec LimitedSolver::proof() const { return work_->path.proof(); }

}  // namespace sharpen::layer
