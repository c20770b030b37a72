#include "sharpen/trade/trader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/feasibility.hpp"
#include "sharpen/base/error.hpp"
#include "trade/trader_work.hpp"

namespace sharpen::trade {

namespace {

bool all_zero(ConstVec x) {
  return std::ranges::all_of(x, [](double value) { return value == 0.0; });
}

void check_size(std::string_view what, std::size_t size, Index n) {
  if (size != 0 && size != at(n))
    throw InputError(fmt::format("{} of {} assets, where the problem has {}", what, size, n));
}

}  // namespace

Trader::Work::Work(const Ruling& ruling_, const solve::OptimizerInfo& optimizer,
                   const solve::OptimizerSettings& settings_, double periods_per_year)
    : ruling(trade::ruling({.rule = ruling_.rule,
                            .memory = ruling_.memory,
                            .expected_sharpe = ruling_.expected_sharpe,
                            .holding_horizon = ruling_.holding_horizon},
                           optimizer)),
      keeps_limits(optimizer.keeps_limits),
      invests_fully(optimizer.ignores_setting("sizing")),
      which(optimizer.selects.value_or(select::Optimizer::swap)),
      settings(settings_),
      horizon_sharpe(ruling.expected_sharpe / std::sqrt(periods_per_year) *
                     ruling.holding_horizon) {}

void Trader::Work::look_at(const solve::Problem& problem_, const solve::Answer& ideal_,
                           const Standing& standing) {
  problem = &problem_;
  ideal = &ideal_;
  fixed = standing.fixed;
  outside = standing.outside;
  check_size("holdings", standing.holdings.size(), problem->n);
  check_size("costs", standing.costs.size(), problem->n);
  check_size("fixed names", fixed.size(), problem->n);
  const layer::Limits* given = problem->limits;
  held.assign(at(problem->n), 0.0);
  if (!standing.holdings.empty())
    held.assign(standing.holdings.begin(), standing.holdings.end());
  else if (given != nullptr && !given->holdings.empty())
    held = given->holdings;
  kappa.assign(at(problem->n), 0.0);
  for (std::size_t i = 0; i < standing.costs.size(); ++i)
    kappa[i] = standing.costs[i] / horizon_sharpe;
  if (problem->risk == nullptr) return;
  Sw.resize(at(problem->n));
  scratch.resize(std::max(scratch.size(), at(problem->risk->scratch_size())));
}

bool Trader::Work::ideal_keeps_fixed() const {
  if (outside.names > 0) return false;
  for (Index i = 0; i < problem->n; ++i)
    if (is_fixed(i) && !(ideal->portfolio.weights[at(i)] == held[at(i)])) return false;
  return true;
}

bool Trader::Work::any_fixed() const {
  return std::ranges::any_of(fixed, [](char each) { return each != 0; });
}

bool Trader::Work::has_costs() const { return !all_zero(kappa); }

// The ideal is made as if nothing were held.
bool Trader::Work::ideal_keeps_turnover() const {
  if (problem->limits == nullptr || !(problem->limits->turnover < layer::kUnlimited)) return true;
  double turnover = 0.0;
  for (std::size_t i = 0; i < held.size(); ++i)
    turnover += std::abs(ideal->portfolio.weights[i] - held[i]);
  return turnover <= problem->limits->turnover * (1.0 + 1e-9);
}

Index Trader::Work::most_names() const {
  Index count = 0;
  for (Index i = 0; i < problem->n; ++i) count += is_fixed(i) && held[at(i)] != 0.0;
  return std::max(problem->k - outside.names, count);
}

// What follows from the weights.
void Trader::Work::describe(select::Portfolio& out) {
  out.support.clear();
  for (Index i = 0; i < problem->n; ++i)
    if (out.weights[at(i)] != 0.0) out.support.push_back(i);
  out.sharpe = 0.0;
  if (out.support.empty()) return;
  out.sharpe = kNaN;
  const risk::Risk* risk = problem->risk;
  if (risk == nullptr || risk->status(problem->sample) != Status::ok) return;
  risk->apply(problem->sample, out.weights, Sw, scratch);
  out.sharpe = dot(problem->mu, out.weights) / std::sqrt(dot(out.weights, Sw));
}

// No trade.
void Trader::Work::hold(const Outcome& outcome, select::Portfolio& out) {
  out.outcome = outcome;
  out.weights.assign(held.begin(), held.end());
  out.value.reset();
  describe(out);
}

// The ideal but for the names that are fixed, which take the place of its smallest ones where it
// would become more names.
void Trader::Work::patch(select::Portfolio& out) const {
  std::vector<Index> others;
  Index count = 0;
  for (Index i = 0; i < problem->n; ++i) {
    double& w = out.weights[at(i)];
    if (is_fixed(i)) w = held[at(i)];
    if (!std::isfinite(w)) w = 0.0;
    count += w != 0.0;
    if (!is_fixed(i) && w != 0.0) others.push_back(i);
  }
  const Index most = outside.names > 0
                         ? most_names()
                         : std::max(most_names(), std::ssize(ideal->portfolio.support));
  std::ranges::stable_sort(others, {}, [&](Index i) { return std::abs(out.weights[at(i)]); });
  for (Index i = 0; i < std::min(count - most, std::ssize(others)); ++i)
    out.weights[at(others[at(i)])] = 0.0;
  scale_around_fixed(others, out);
}

// To the gross exposure of the ideal: weights that are made as if all of the wealth were theirs
// would borrow, or leave lying what could not be bought. Sizes that have another measure are left.
void Trader::Work::scale_around_fixed(std::span<const Index> others, select::Portfolio& out) const {
  if (!invests_fully && settings.sizing.kind != layer::Sizing::gross) return;
  double whole = 0.0, all = outside.gross, free = 0.0;
  for (const double w : ideal->portfolio.weights) whole += std::isfinite(w) ? std::abs(w) : 0.0;
  for (const double w : out.weights) all += std::abs(w);
  for (const Index i : others) free += std::abs(out.weights[at(i)]);
  if (!(free > 0.0) || (!invests_fully && all <= whole)) return;
  const double factor = std::max(0.0, whole - (all - free)) / free;
  for (const Index i : others) out.weights[at(i)] *= factor;
}

select::LimitedSelector& Trader::Work::selector(const layer::ObjectiveSettings& wanted) {
  const bool same = limited && n == problem->n && k == most_names() &&
                    objective.kind == wanted.kind &&
                    (wanted.kind == layer::Objective::utility || objective == wanted);
  if (same) return *limited;
  n = problem->n;
  k = most_names();
  objective = wanted;
  select::SelectSettings chosen{settings.mandate(k), which};
  chosen.objective = wanted;
  limited.emplace(chosen, n);
  return *limited;
}

// Those of the problem, or a net position that is not negative, around what is fixed.
void Trader::Work::set_limits() {
  if (problem->limits != nullptr)
    limits = *problem->limits;
  else
    set_net_limit();
  limits.holdings = held;
  if (outside.names > 0) leave_room_for_outside();
  for (Index i = 0; i < problem->n; ++i) {
    if (!is_fixed(i)) continue;
    limits.lower.resize(held.size(), -layer::kUnlimited);
    limits.upper.resize(held.size(), layer::kUnlimited);
    limits.lower[at(i)] = limits.upper[at(i)] = held[at(i)];
    if (!limits.least_if_held.empty()) limits.least_if_held[at(i)] = 0.0;
  }
}

void Trader::Work::leave_room_for_outside() {
  if (limits.gross < layer::kUnlimited) limits.gross = std::max(0.0, limits.gross - outside.gross);
  for (layer::LimitRow& row : limits.rows) {
    if (!std::ranges::all_of(row.coefficients, [](double a) { return a == 1.0; })) continue;
    row.lower -= outside.net;
    row.upper -= outside.net;
  }
}

// In the memory of the last decision's.
void Trader::Work::set_net_limit() {
  const std::size_t rows = settings.net == layer::Net::positive ? 1 : 0;
  limits.rows.resize(rows);
  for (layer::LimitRow& row : limits.rows) {
    row.name = "net >= 0";
    row.coefficients.assign(held.size(), 1.0);
    row.lower = 0.0;
    row.upper = layer::kUnlimited;
  }
  for (std::vector<double>* each :
       {&limits.lower, &limits.upper, &limits.costs, &limits.least_if_held})
    each->clear();
  limits.names.clear();
  limits.turnover = layer::kUnlimited;
  limits.gross = settings.sizing.kind == layer::Sizing::gross ? 1.0 : layer::kUnlimited;
}

// The Sharpe ratio is that of weights that add up to 1, or where none of these is best, to 0.
void Trader::Work::limit_net_of_sharpe() {
  if (problem->limits == nullptr) return;
  limits = layer::with_net_row(std::move(limits), problem->n, settings.objective.kind);
  if (settings.objective.kind != layer::Objective::sharpe) return;
  layer::LimitRow& net = limits.rows.back();
  if (ideal->portfolio.outcome.status != Status::neutral_face) return;
  net.name = "net = 0";
  net.lower = net.upper = 0.0;
}

// Made anew around the names that are fixed: by the mandate's own objective, or where it has none,
// with the risk of the ideal.
void Trader::Work::solve_around_fixed(select::Portfolio& out) {
  layer::ObjectiveSettings wanted = settings.objective;
  if (problem->limits == nullptr) {
    wanted.kind = layer::Objective::expected_return;
    wanted.volatility = 0.0;
    if (ideal->portfolio.outcome.status != Status::invalid_input) {
      problem->risk->apply(problem->sample, ideal->portfolio.weights, Sw, scratch);
      wanted.volatility = std::sqrt(dot(ideal->portfolio.weights, Sw));
    }
  }
  const bool to_risk = wanted.kind == layer::Objective::expected_return;
  if (ideal->portfolio.outcome.status == Status::invalid_input ||
      (to_risk && !(wanted.volatility > 0.0))) {
    patch(out);
    return describe(out);
  }
  set_limits();
  selector(wanted).run(*problem->risk, problem->sample, problem->mu, limits, out, problem->stop);
  if (problem->limits != nullptr || out.outcome.solved()) return;
  // What is fixed leaves no room for a net position that is not negative, or for that much risk.
  out = ideal->portfolio;
  patch(out);
  describe(out);
}

// Of a portfolio of the one name that promises most per unit of risk, at the scale of the mandate.
double Trader::Work::risk_aversion_of_best_name() const {
  const ConstVec variance = problem->risk->diagonal(problem->sample);
  const bool to_risk = problem->limits != nullptr
                           ? settings.objective.kind == layer::Objective::expected_return
                           : settings.sizing.kind == layer::Sizing::volatility;
  double best = 0.0, gamma = 0.0;
  for (std::size_t i = 0; i < variance.size(); ++i) {
    const double sharpe = std::abs(problem->mu[i]) / std::sqrt(variance[i]);
    if (!(sharpe > best)) continue;
    best = sharpe;
    gamma = sharpe / std::sqrt(variance[i]);  // w = 1
  }
  if (!to_risk) return gamma;
  return best / (problem->limits != nullptr ? settings.objective.volatility
                                            : settings.sizing.target_volatility);
}

// gamma of which the ideal is best; none where there is no signal.
std::optional<double> Trader::Work::risk_aversion() {
  const select::Portfolio& w0 = ideal->portfolio;
  if (!all_finite(problem->mu) || all_zero(problem->mu)) return std::nullopt;
  if (problem->limits != nullptr && settings.objective.kind == layer::Objective::utility)
    return settings.objective.risk_aversion;
  if (w0.theta && *w0.theta > 0.0 && std::isfinite(*w0.theta)) return 1.0 / *w0.theta;
  if (!w0.theta && all_finite(w0.weights)) {
    problem->risk->apply(problem->sample, w0.weights, Sw, scratch);
    const double gamma = dot(problem->mu, w0.weights) / dot(w0.weights, Sw);
    if (gamma > 0.0 && std::isfinite(gamma)) return gamma;
  }
  const double gamma = risk_aversion_of_best_name();
  return gamma > 0.0 && std::isfinite(gamma) ? std::optional(gamma) : std::nullopt;
}

// Whether no trade of any name pays: then what is held is best, and a net position that has drifted
// below zero is no reason to trade.
bool Trader::Work::would_not_trade(double gamma) {
  if (problem->limits != nullptr) return false;
  if (problem->n - std::ranges::count(held, 0.0) > most_names()) return false;
  problem->risk->apply(problem->sample, held, Sw, scratch);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (!(std::abs(problem->mu[i] - gamma * Sw[i]) <= kappa[i]) && !is_fixed(static_cast<Index>(i)))
      return false;
  return true;
}

// An optimizer that does not exchange names is not given others than it chose: nothing enters but
// its names.
void Trader::Work::keep_to_chosen_names() {
  std::vector<Index> names = ideal->portfolio.support;
  for (Index i = 0; i < problem->n; ++i)
    if (held[at(i)] != 0.0) names.push_back(i);
  allow_only(names);
}

void Trader::Work::weigh_costs(select::Portfolio& out) {
  const bool usable = ideal->portfolio.outcome.status != Status::invalid_input &&
                      problem->risk->status(problem->sample) == Status::ok;
  const std::optional<double> gamma = usable ? risk_aversion() : std::nullopt;
  if (!gamma) return hold(ideal->portfolio.outcome, out);
  if (would_not_trade(*gamma)) {
    hold(ideal->portfolio.outcome, out);
    out.outcome.status = Status::ok;
    return;
  }
  set_limits();
  limits.costs.resize(at(problem->n), 0.0);
  for (std::size_t i = 0; i < kappa.size(); ++i) limits.costs[i] += kappa[i];
  limit_net_of_sharpe();
  if (which != select::Optimizer::swap) keep_to_chosen_names();
  selector({.kind = layer::Objective::utility, .risk_aversion = *gamma})
      .run_from(*problem->risk, problem->sample, problem->mu, limits,
                {.risk_aversion = *gamma, .names = ideal->portfolio.support}, out, problem->stop);
  out.outcome.neutral_first = ideal->portfolio.outcome.neutral_first;
  if (!all_finite(out.weights)) return hold(out.outcome, out);
  // That nothing is held is an answer, too.
  if (out.outcome.status == Status::no_signal) out.outcome.status = Status::ok;
}

// The ideal, or what comes nearest to it with the names that are fixed.
void Trader::Work::make_around_fixed(select::Portfolio& out) {
  if (ideal_keeps_fixed()) return;
  if (keeps_limits) return solve_around_fixed(out);
  patch(out);
  describe(out);
}

void Trader::Work::decide(solve::Answer& out) {
  out = *ideal;
  if (most_names() < 1) {  // what is outside is all that may be held
    std::ranges::fill(out.portfolio.weights, 0.0);
    return describe(out.portfolio);
  }
  switch (ruling.rule) {
    case Rule::none: return make_around_fixed(out.portfolio);
    case Rule::band: return move_in_band(out.portfolio);
    case Rule::cost:
      if (has_costs() || !ideal_keeps_fixed() || !ideal_keeps_turnover())
        weigh_costs(out.portfolio);
  }
}

Trader::Trader(const Ruling& ruling, const solve::OptimizerInfo& optimizer,
               const solve::OptimizerSettings& settings, double periods_per_year)
    : work_(std::make_unique<Work>(ruling, optimizer, settings, periods_per_year)) {}

Trader::~Trader() = default;
Trader::Trader(Trader&&) noexcept = default;

void Trader::decide(const solve::Problem& problem, const solve::Answer& ideal,
                    const Standing& standing, solve::Answer& out) {
  work_->look_at(problem, ideal, standing);
  work_->decide(out);
}

}  // namespace sharpen::trade
