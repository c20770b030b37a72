#include "sharpen/layer/limited.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/vec.hpp"
#include "layer/active_path.hpp"
#include "layer/exchange_table.hpp"
#include "layer/limited_work.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer {

namespace {

using End = ActivePath::End;
using Segment = ActivePath::Segment;

constexpr double kMet = 1e-6;    // relative: theta is where it is wanted
constexpr double kDust = 1e-15;  // relative to the largest weight
constexpr int kMostTurns = 3;
constexpr double kNothing = 1e-12;  // relative: rounding of a return of zero
constexpr double kFar = 0.01 * ActivePath::kMostTheta;

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

LimitTable table_of(const ObjectiveSettings& objective, Limits limits, Index n, Index rows) {
  if (objective.kind != Objective::sharpe) return {limits, n, rows};
  limits.rows.push_back({"net", std::vector<double>(at(n), 1.0), 1.0, 1.0});
  LimitTable table(limits, n, rows + 1);
  table.net = static_cast<Index>(limits.rows.size()) - 1;
  return table;
}

void check_length(std::string_view what, ConstVec values, Index n) {
  if (static_cast<Index>(values.size()) != n)
    throw InputError(fmt::format("{} has {} entries for {} assets", what, values.size(), n));
}

}  // namespace

Outcome outcome_of(LimitedEnd end) {
  Outcome out{.status = Status::ok};
  switch (end) {
    case LimitedEnd::ok: break;
    case LimitedEnd::neutral: out.status = Status::neutral_face; break;
    case LimitedEnd::nothing_earns: out.note = Note::nothing_earns; break;
    case LimitedEnd::below_risk: out.note = Note::below_risk; break;
    case LimitedEnd::above_risk: out.note = Note::above_risk; break;
    case LimitedEnd::infeasible: out.status = Status::infeasible; break;
    case LimitedEnd::not_converged: out.status = Status::not_converged; break;
    case LimitedEnd::invalid_input: out.status = Status::invalid_input; break;
  }
  return out;
}

LimitedState::LimitedState() = default;
LimitedState::~LimitedState() = default;
LimitedState::LimitedState(LimitedState&&) noexcept = default;
LimitedState& LimitedState::operator=(LimitedState&&) noexcept = default;

void LimitedState::start_from(const LimitedState& other) {
  end = other.end;
  if (!is_solved(end)) return;
  if (!set) set = std::make_unique<ActiveSet>();
  *set = *other.set;
}

PreparedLimits::PreparedLimits(const ObjectiveSettings& objective, const Limits& limits, Index n,
                               Index rows) {
  objective.validate();
  limits.validate(n);
  table_ = std::make_shared<const LimitTable>(table_of(objective, limits, n, rows));
}

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
    const double start = path.theta();
    const End end = path.follow(best_sharpe, 0.0, direction);
    // Far out, e has few digits, and ties are hard to resolve: what earns nothing there never will.
    const bool far = direction > 0 && path.theta() > kFar * start;
    if (end == End::infeasible || (end == End::stuck && !far)) return LimitedEnd::not_converged;
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
  End end = path.follow(theta);
  if (end != End::reached && !unbounded) {
    path.begin_again(alone);
    end = path.follow(alone) == End::reached ? path.follow(theta) : End::stuck;
  }
  if (end != End::reached || path.finish(theta) != End::reached) return LimitedEnd::not_converged;
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
  int direction = risk(path.theta()) < variance || falls ? 1 : -1;
  bool met = false;
  for (int turns = 0;; ++turns) {
    if (path.follow(at_risk, variance, direction) != End::reached) return LimitedEnd::not_converged;
    segment = path.segment();
    value = value_at(segment, path.theta());
    const std::optional<double> root = at_risk(segment, variance);
    met = root && std::abs(*root - path.theta()) <= kMet * path.theta();
    // It fell, but not far enough, or further than it should have: back to where it may be met.
    const bool beyond = direction > 0 ? risk_taken >= (1.0 + kMet) * objective.volatility
                                      : risk_taken <= (1.0 - kMet) * objective.volatility;
    if (met || !beyond || turns == kMostTurns) break;
    direction = -direction;
  }
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

LimitedSolver::LimitedSolver(const ObjectiveSettings& objective, const Limits& limits, Index n)
    : LimitedSolver(objective, PreparedLimits(objective, limits, n)) {}
LimitedSolver::LimitedSolver(const ObjectiveSettings& objective, const PreparedLimits& limits)
    : work_(std::make_unique<Work>(objective, *limits.table_)) {}
LimitedSolver::~LimitedSolver() = default;
LimitedSolver::LimitedSolver(LimitedSolver&&) noexcept = default;

void LimitedSolver::use(const PreparedLimits& limits) {
  Work& work = *work_;
  const LimitTable& table = *limits.table_;
  if (table.n != work.table.n || table.rows != work.table.rows)
    throw InputError(
        fmt::format("limits of {} assets and {} rows are not for a solver of {} and {}", table.n,
                    table.plain(), work.table.n, work.table.plain()));
  work.table = table;
  work.path.reset(table);
  work.given = LimitedEnd::ok;
}

void LimitedSolver::set_risk_aversion(double gamma) {
  work_->objective.risk_aversion = gamma;
  work_->objective.validate();
}

void LimitedSolver::set_bounds(ConstVec lower, ConstVec upper) {
  LimitTable& table = work_->table;
  const auto set = [&](std::string_view what, ConstVec values, std::vector<double>& out) {
    if (values.empty()) return;
    check_length(what, values, table.n);
    std::copy(values.begin(), values.end(), out.begin());
  };
  set("lower", lower, table.lower);
  set("upper", upper, table.upper);
  for (Index i = 0; i < table.n; ++i) {
    const double low = table.lower[at(i)], high = table.upper[at(i)];
    if (low <= high && low < kUnlimited && high > -kUnlimited) continue;
    work_->given =
        std::max(work_->given, low > high ? LimitedEnd::infeasible : LimitedEnd::invalid_input);
  }
}

void LimitedSolver::set_holdings(ConstVec holdings) {
  LimitTable& table = work_->table;
  check_length("holdings", holdings, table.n);
  if (!all_finite(holdings)) work_->given = LimitedEnd::invalid_input;
  std::copy(holdings.begin(), holdings.end(), table.holdings.begin());
}

void LimitedSolver::exempt_first_purchase() {
  LimitTable& table = work_->table;
  if (std::ranges::all_of(table.holdings, [](double h) { return h == 0.0; }))
    table.row_upper[at(table.turnover())] = kUnlimited;
}

ConstVec LimitedSolver::lower() const { return work_->table.lower; }
ConstVec LimitedSolver::upper() const { return work_->table.upper; }

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

bool LimitedSolver::Work::usable(const Curvature& H, ConstVec mu) const {
  return H.risk->status(H.sample) == Status::ok &&
         all_finite(mu) &&
         std::ranges::all_of(H.more, [](double d) { return d >= 0.0 && d < kUnlimited; });
}

LimitedEnd LimitedSolver::forward(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                                  LimitedState& state, Vec w) {
  Work& work = *work_;
  ActivePath& path = work.path;
  check_length("mu", mu, work.table.n);
  if (!more.empty()) check_length("more", more, work.table.n);
  check_length("w", w, work.table.n);
  const Curvature H{&risk, s, more};
  const bool usable = work.usable(H, mu);
  if (usable && work.given == LimitedEnd::ok) {
    work.alone = work.first_theta(risk, s, mu);
    path.reset(work.table);
    if (is_solved(state.end))
      path.resume(H, mu, *state.set);
    else
      path.begin(H, mu, work.alone);
    state.end = work.reach(work.start_of(state.end), true);
  } else {
    state.end = usable ? work.given : LimitedEnd::invalid_input;
  }
  work.last = state.end;
  if (!is_solved(state.end)) {
    std::fill(w.begin(), w.end(), kNaN);
    return state.end;
  }
  solution(w);
  if (!state.set) state.set = std::make_unique<ActiveSet>();
  path.keep(*state.set);
  return state.end;
}

// Whether each row by itself can hold between the bounds. Where weights grow without end, what one
// row lacks is easily lost among them.
bool LimitedSolver::Work::rows_within(ConstVec lower, ConstVec upper) const {
  for (Index r = 0; r < table.plain(); ++r) {
    double least = 0.0, most = 0.0;
    for (Index i = 0; i < table.n; ++i) {
      const double a = table.A[at(r * table.n + i)];
      if (a == 0.0) continue;
      const double low = a * lower[at(i)], high = a * upper[at(i)];
      least += std::min(low, high);
      most += std::max(low, high);
    }
    if (most < table.row_lower[at(r)] - kMet || least > table.row_upper[at(r)] + kMet) return false;
  }
  return true;
}

LimitedEnd LimitedSolver::forward_within(const risk::Risk& risk, Index s, ConstVec mu,
                                         ConstVec lower, ConstVec upper) {
  Work& work = *work_;
  const Curvature H{&risk, s};
  if (!work.usable(H, mu)) return work.last = LimitedEnd::invalid_input;
  if (!work.rows_within(lower, upper)) return work.last = LimitedEnd::infeasible;
  work.alone = work.first_theta(risk, s, mu);
  work.path.reset(lower, upper);
  work.path.begin(H, mu, work.alone);
  return work.last = work.reach(work.alone, true);
}

void LimitedSolver::solution(Vec w) const {
  const ConstVec weights = work_->path.weights(), direction = work_->path.signal_part();
  if (work_->last == LimitedEnd::neutral) {
    const double gross = abs_sum(direction);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = direction[i] / gross;
  } else {
    std::copy(weights.begin(), weights.end(), w.begin());
  }
  double largest = 0.0;
  for (const double x : w) largest = std::max(largest, std::abs(x));
  for (double& x : w)  // what rounding leaves of nothing is no position
    if (std::abs(x) <= kDust * largest) x = 0.0;
}

void LimitedSolver::covariances(Vec Sigma_w) const {
  const ActivePath& path = work_->path;
  const ConstVec weights = path.weights(), direction = path.signal_part();
  const bool neutral = work_->last == LimitedEnd::neutral;
  const ConstVec curved = neutral ? path.curved_signal_part() : path.curved_fixed_part();
  const ConstVec more = path.curvature().more;
  const double scale = neutral ? 1.0 / abs_sum(direction) : 1.0;
  for (std::size_t i = 0; i < Sigma_w.size(); ++i) {
    const double own = more.empty() ? 0.0 : more[i] * (neutral ? direction[i] : weights[i]);
    Sigma_w[i] = scale * (curved[i] - own);
  }
}

bool LimitedSolver::is_unlimited() const {
  const Work& work = *work_;
  const LimitTable& table = work.table;
  const bool paid = table.trades_count &&
                    std::ranges::any_of(table.costs, [](double cost) { return cost > 0.0; });
  if (paid) return false;
  for (Index i = 0; i < table.n; ++i)
    if (!work.path.is_free(i)) return false;
  const ConstVec multipliers = work.path.multipliers();
  for (Index r = 0; r < table.rows; ++r) {
    const bool allowed = r == table.net && (table.equality(r) || multipliers[at(r)] < 0.0);
    if (multipliers[at(r)] != 0.0 && !allowed) return false;
  }
  return true;
}

bool LimitedSolver::is_neutral() const {
  const Work& work = *work_;
  if (work.last != LimitedEnd::ok) return work.last == LimitedEnd::neutral;
  const Index net = work.table.net;
  return net >= 0 && !work.table.equality(net) && work.path.multipliers()[at(net)] < 0.0;
}

bool LimitedSolver::bound(Index i, double lower, double upper) {
  return work_->path.set_bounds(i, lower, upper);
}

bool LimitedSolver::allow(Index i, bool allowed) {
  return bound(i, allowed ? lower(i) : 0.0, allowed ? upper(i) : 0.0);
}

LimitedEnd LimitedSolver::again() {
  Work& work = *work_;
  work.last = work.reach(work.start_of(work.last), false);
  return work.last;
}

double LimitedSolver::lower(Index i) const { return work_->table.lower[at(i)]; }
double LimitedSolver::upper(Index i) const { return work_->table.upper[at(i)]; }
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

void LimitedSolver::exchanges(ExchangeTable& table) {
  Work& work = *work_;
  table.objective = work.objective;
  table.end = work.last;
  for (ExchangeTable::Entrant& in : table.entrants)
    in.most = in.direction > 0 ? upper(in.asset) : -lower(in.asset);
  work.path.exchanges(table);
}

Index LimitedSolver::steps() const { return work_->path.steps(); }
double LimitedSolver::theta() const { return work_->path.theta(); }
ConstVec LimitedSolver::multipliers() const { return work_->path.multipliers(); }
ConstVec LimitedSolver::proof() const { return work_->path.proof(); }

}  // namespace sharpen::layer
