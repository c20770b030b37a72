#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/vec.hpp"
#include "select/feasible_names.hpp"
#include "select/input.hpp"
#include "select/limited_search.hpp"
#include "select/pool.hpp"
#include "select/ties.hpp"
#include "select/trade_pool.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/least_violation.hpp"
#include "sharpen/select/limited.hpp"

namespace sharpen::select {

using layer::LimitedEnd;
using layer::Objective;

namespace {

constexpr double kRounding = 1e-9;      // of values, relative
constexpr double kRowRounding = 1e-12;  // of the sum of a row, relative to what it is made of

bool within(double value, double lower, double upper, double size) {
  const double rounding = kRowRounding * size;
  return value >= lower - rounding && value <= upper + rounding;
}

// Whether w (n) keeps all limits, rows to rounding.
bool keeps(const layer::Limits& limits, ConstVec w) {
  double gross = 0.0, traded = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double size = std::abs(w[i]);
    if (!limits.lower.empty() && !(w[i] >= limits.lower[i])) return false;
    if (!limits.upper.empty() && !(w[i] <= limits.upper[i])) return false;
    if (!limits.least_if_held.empty() && w[i] != 0.0 && !(size >= limits.least_if_held[i]))
      return false;
    gross += size;
    traded += limits.holdings.empty() ? 0.0 : std::abs(w[i] - limits.holdings[i]);
  }
  if (!(gross <= limits.gross) || !(traded <= limits.turnover)) return false;
  for (const layer::LimitRow& row : limits.rows) {
    double value = 0.0, size = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      value += row.coefficients[i] * w[i];
      size += std::abs(row.coefficients[i] * w[i]);
    }
    if (!within(value, row.lower, row.upper, size)) return false;
  }
  for (const layer::NamesLimit& group : limits.names) {
    const auto count = std::ranges::count_if(group.members, [&](Index i) { return w[at(i)] != 0; });
    if (count < group.least || count > group.most) return false;
  }
  return true;
}

// net >= 0, which the closed form keeps as well.
bool is_net(const layer::LimitRow& row) {
  return row.lower == 0.0 && std::ranges::all_of(row.coefficients, [](double a) { return a == 1; });
}

bool is_free(const layer::Limits& limits) {
  return limits.lower.empty() && limits.upper.empty() && limits.rows.empty() &&
         limits.gross == layer::kUnlimited && limits.turnover == layer::kUnlimited &&
         limits.least_if_held.empty() && limits.names.empty();
}

// As if the limits were not there.
SelectSettings without_limits(SelectSettings settings) {
  const bool to_risk = settings.objective.kind == Objective::expected_return;
  if (settings.objective.kind == Objective::sharpe) settings.net = layer::Net::positive;
  settings.sizing = {.kind = layer::Sizing::volatility,
                     .target_volatility = to_risk ? settings.objective.volatility : 1.0};
  settings.limits.reset();
  return settings;
}

}  // namespace

struct LimitedSelector::Work {
  Work(const SelectSettings& s, Index n_)
      : settings(s), n(n_), scores(at(n_)), order(at(n_)), Sw(at(n_)) {}

  void use(const layer::Limits& now);
  LimitedEnd choose(const risk::Risk& risk, Index sample, ConstVec mu, Vec w, const Stop& stop);
  LimitedEnd best_of_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                         const Stop& stop);
  LimitedEnd by_score(const risk::Risk& risk, Index sample, ConstVec mu, Vec w, const Stop& stop);
  void take_best_scores();
  double theta_of(LimitedEnd end, ConstVec mu, ConstVec w) const;
  void describe(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& of,
                LimitedEnd end, Portfolio& out);
  double value_of(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& of,
                  ConstVec w);
  bool unhindered(ConstVec w) const;
  void resize(Portfolio& of_unit_risk) const;
  void prefer_closed_form(const risk::Risk& risk, Index sample, ConstVec mu, Portfolio& out,
                          const Stop& stop);
  bool found_under(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& wider,
                   double s, Portfolio& out, const Stop& stop);
  LimitedEnd look_further(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                          const Stop& stop);
  void give_way(const risk::Risk& risk, Index sample, ConstVec mu, layer::Limits given,
                Portfolio& out, const Stop& stop);

  SelectSettings settings;
  const Index n;
  layer::Limits limits;                 // of `search`
  std::optional<LimitedSearch> search;  // none before the first run
  std::optional<Pool> pool;             // of many names
  std::optional<TradePool> trades;      // none before run_from
  const LimitedSearch* answered = nullptr;
  std::optional<Selector> closed_form;  // none before it was needed
  Portfolio unlimited;
  std::vector<double> scores, order, Sw, scratch;
  std::vector<Index> others, K;
};

void LimitedSelector::Work::use(const layer::Limits& now) {
  if (search && now == limits) return;
  search.reset();
  pool.reset();
  search.emplace(settings.objective, now, n, settings.k);
  limits = now;
  if (Pool::pays(n, settings.k)) pool.emplace(settings.objective, limits, n, settings.k);
}

// K: the names whose bounds exclude zero, and the best of the others.
void LimitedSelector::Work::take_best_scores() {
  const layer::LimitedSolver& solver = search->solver();
  others.clear();
  for (Index i = 0; i < n; ++i)
    if (!solver.must_be_held(i)) others.push_back(i);
  const Index left = settings.k - (n - static_cast<Index>(others.size()));
  K.clear();
  if (left <= 0) return;
  scores.resize(others.size());
  order.resize(others.size());
  for (std::size_t a = 0; a < others.size(); ++a) scores[a] = Sw[at(others[a])];
  take_largest(scores, std::min(left, static_cast<Index>(others.size())), order, K);
  for (Index& a : K) a = others[at(a)];
}

// Of any number of names.
LimitedEnd LimitedSelector::Work::best_of_all(const risk::Risk& risk, Index sample, ConstVec mu,
                                              Vec w, const Stop& stop) {
  if (pool) {
    const std::optional<LimitedEnd> end = pool->run_on_all(risk, sample, mu, w, stop);
    if (end) {
      answered = &pool->search();
      return *end;
    }
  }
  return search->run_on_all(risk, sample, mu, w);
}

LimitedEnd LimitedSelector::Work::by_score(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                                           const Stop& stop) {
  const LimitedEnd end = best_of_all(risk, sample, mu, w, stop);
  if (!is_solved(end)) return end;
  scores.resize(at(n));
  risk.apply(sample, w, scores, scratch);
  if (settings.optimizer == Optimizer::oscar)
    risk.lower_solve(sample, scores, Sw, scratch);
  else
    risk.root_solve(sample, scores, Sw, scratch);
  take_best_scores();
  answered = &*search;
  const LimitedEnd chosen = search->run_on(risk, sample, mu, K, w);
  const auto count = n - std::count(w.begin(), w.end(), 0.0);
  if (is_solved(chosen) && count <= settings.k) return chosen;
  return search->run(risk, sample, mu, false, w, stop);
}

LimitedEnd LimitedSelector::Work::choose(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                                         const Stop& stop) {
  answered = &*search;
  const bool rules = !limits.least_if_held.empty() || !limits.names.empty();
  if (settings.k == n && !rules) return best_of_all(risk, sample, mu, w, stop);
  const bool by_rank =
      settings.optimizer == Optimizer::oscar || settings.optimizer == Optimizer::symmetric;
  if (by_rank && settings.k < n) return by_score(risk, sample, mu, w, stop);
  const bool exchange = settings.optimizer == Optimizer::swap;
  if (pool && settings.k < n) {
    const std::optional<LimitedEnd> end = pool->run(risk, sample, mu, exchange, w, stop);
    if (end) {
      answered = &pool->search();
      return *end;
    }
  }
  return search->run(risk, sample, mu, exchange, w, stop);
}

double LimitedSelector::Work::value_of(const risk::Risk& risk, Index sample, ConstVec mu,
                                       const layer::Limits& of, ConstVec w) {
  double earned = dot(mu, w);
  for (std::size_t i = 0; i < of.costs.size(); ++i)
    earned -= of.costs[i] * std::abs(w[i] - of.holdings[i]);
  risk.apply(sample, w, Sw, scratch);
  const double variance = dot(w, Sw);
  switch (settings.objective.kind) {
    case Objective::sharpe: return earned / std::sqrt(variance);
    case Objective::expected_return: return earned;
    case Objective::utility: return earned - 0.5 * settings.objective.risk_aversion * variance;
  }
  return kNaN;
}

// A direction is the optimum of its own scale. After value_of(w).
double LimitedSelector::Work::theta_of(LimitedEnd end, ConstVec mu, ConstVec w) const {
  if (settings.objective.kind == Objective::utility) return 1.0 / settings.objective.risk_aversion;
  if (end != LimitedEnd::neutral) return answered->solver().theta();
  return dot(w, Sw) / dot(mu, w);
}

// Everything but the weights, from them.
void LimitedSelector::Work::describe(const risk::Risk& risk, Index sample, ConstVec mu,
                                     const layer::Limits& of, LimitedEnd end, Portfolio& out) {
  out.outcome = layer::outcome_of(end);
  out.support.clear();
  out.value.reset();
  out.theta.reset();
  out.sharpe = kNaN;
  if (end != LimitedEnd::invalid_input) out.outcome.jitter = risk.jitter(sample);
  if (!is_solved(end)) return;
  const ConstVec w = out.weights;
  for (Index i = 0; i < n; ++i)
    if (w[at(i)] != 0.0) out.support.push_back(i);
  out.value = value_of(risk, sample, mu, of, w);
  out.theta = theta_of(end, mu, w);
  out.sharpe = out.support.empty() ? 0.0 : dot(mu, w) / std::sqrt(dot(w, Sw));
  if (out.support.empty()) out.outcome.status = Status::no_signal;
}

// Whether no limit but that of the net position is felt on the names that are held.
bool LimitedSelector::Work::unhindered(ConstVec w) const {
  for (std::size_t i = 0; i < w.size(); ++i)
    if (w[i] != 0.0 && ((!limits.lower.empty() && w[i] == limits.lower[i]) ||
                        (!limits.upper.empty() && w[i] == limits.upper[i])))
      return false;
  const ConstVec multipliers = answered->solver().multipliers();
  for (std::size_t r = 0; r < limits.rows.size(); ++r)
    if (multipliers[r] != 0.0 && !is_net(limits.rows[r])) return false;
  return multipliers.back() == 0.0 && multipliers[multipliers.size() - 2] == 0.0;
}

// From a direction of unit risk to the scale of the objective; `return` has it already.
void LimitedSelector::Work::resize(Portfolio& of_unit_risk) const {
  Vec y = of_unit_risk.weights;
  double scale = 1.0;
  if (settings.objective.kind == Objective::sharpe)
    scale = 1.0 / (of_unit_risk.outcome.status == Status::ok ? sum(y) : abs_sum(y));
  else if (settings.objective.kind == Objective::utility)
    scale = std::sqrt(*of_unit_risk.value) / settings.objective.risk_aversion;
  else
    return;
  for (double& x : y) x *= scale;
}

// Limits that are not felt give the portfolio that there is without them, to the bit.
void LimitedSelector::Work::prefer_closed_form(const risk::Risk& risk, Index sample, ConstVec mu,
                                               Portfolio& out, const Stop& stop) {
  if (!out.outcome.solved() || out.outcome.note != Note::none || !unhindered(out.weights)) return;
  // A direction is held back by limits that its weights at gross 1 do not feel.
  const bool direction =
      settings.objective.kind == Objective::sharpe && out.outcome.status == Status::neutral_face;
  if (direction && !is_free(limits)) return;
  if (!closed_form) closed_form.emplace(without_limits(settings), risk);
  closed_form->run(risk, sample, mu, unlimited, stop);
  const bool same_face = unlimited.outcome.status == out.outcome.status;
  if (settings.objective.kind == Objective::sharpe ? !same_face : !unlimited.outcome.solved())
    return;
  resize(unlimited);
  if (!keeps(limits, unlimited.weights)) return;
  const double value = value_of(risk, sample, mu, limits, unlimited.weights);
  if (!(value >= *out.value - kRounding * std::abs(*out.value))) return;
  unlimited.value = value;
  unlimited.theta = dot(unlimited.weights, Sw) / dot(mu, unlimited.weights);
  std::swap(out, unlimited);
}

// Whether there is a portfolio of k names under limits that give way by s; if so, it is in `out`.
bool LimitedSelector::Work::found_under(const risk::Risk& risk, Index sample, ConstVec mu,
                                        const layer::Limits& wider, double s, Portfolio& out,
                                        const Stop& stop) {
  use(wider);
  out.weights.assign(at(n), kNaN);
  const LimitedEnd end = choose(risk, sample, mu, out.weights, stop);
  describe(risk, sample, mu, limits, end, out);
  out.outcome.status = Status::infeasible;
  out.outcome.violation = s;
  return is_solved(end);
}

// Where the search ends without a portfolio: names on which the limits hold, whatever they earn,
// and the best from there.
LimitedEnd LimitedSelector::Work::look_further(const risk::Risk& risk, Index sample, ConstVec mu,
                                               Vec w, const Stop& stop) {
  answered = &*search;
  FeasibleNames names(limits, settings.objective.kind, n, settings.k);
  const auto holds_on = [&](std::span<const Index> choice) {
    K.assign(choice.begin(), choice.end());
    return is_solved(search->run_on(risk, sample, mu, K, w)) &&
           n - std::count(w.begin(), w.end(), 0.0) <= settings.k;
  };
  if (!names.run(holds_on, stop)) return LimitedEnd::infeasible;
  const bool exchange = settings.optimizer == Optimizer::swap;
  const LimitedEnd end = search->improve_on(risk, sample, mu, K, exchange, w, stop);
  return is_solved(end) ? end : search->run_on(risk, sample, mu, K, w);
}

// What breaks the limits least. Names per group and least weights are no matter of size, and give
// way as a whole. How much the others must where only the number of names is in the way is found by
// doubling and halving.
void LimitedSelector::Work::give_way(const risk::Risk& risk, Index sample, ConstVec mu,
                                     layer::Limits given, Portfolio& out, const Stop& stop) {
  constexpr double kFirst = 1e-3, kMost = 10.0;
  constexpr int kHalvings = 12;
  layer::Limits relaxed;
  const double least = layer::least_violation(given, n, settings.objective, relaxed);
  const auto found = [&](const layer::Limits& wider, double s, Portfolio& to) {
    return found_under(risk, sample, mu, wider, s, to, stop);
  };
  const auto wider_by = [&](double s) {
    return layer::widened(given, n, settings.objective, layer::GivesWay::everything, s);
  };
  if (least > 0.0 && std::isfinite(least) && found(relaxed, least, out)) return;
  if (!given.names.empty() || !given.least_if_held.empty()) {
    for (layer::Limits* each : {&given, &relaxed}) {
      each->names.clear();
      each->least_if_held.clear();
    }
    if (std::isfinite(least) && found(relaxed, least, out)) return;
  }
  double low = std::isfinite(least) ? least : kMost, high = low;
  bool any = false;
  for (double step = kFirst; !any && high < kMost; step *= 2.0) {
    low = high;
    high = low + step;
    any = found(wider_by(high), high, out);
  }
  Portfolio closer;
  for (int i = 0; any && i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    const bool enough = found(wider_by(middle), middle, closer);
    (enough ? high : low) = middle;
    if (enough) std::swap(out, closer);
  }
  if (any) return;
  out.outcome = {.status = Status::infeasible};
  out.support.clear();
  out.weights.assign(at(n), kNaN);
}

LimitedSelector::LimitedSelector(const SelectSettings& settings, Index n) {
  settings.validate(n);
  settings.objective.validate();
  work_ = std::make_unique<Work>(settings, n);
}

LimitedSelector::~LimitedSelector() = default;
LimitedSelector::LimitedSelector(LimitedSelector&&) noexcept = default;

void LimitedSelector::run(const risk::Risk& risk, Index sample, ConstVec mu,
                          const layer::Limits& limits, Portfolio& out, const Stop& stop) {
  Work& work = *work_;
  check_input(work.settings.optimizer, work.n, risk, sample, mu);
  work.scratch.resize(std::max(work.scratch.size(), at(risk.scratch_size())));
  work.use(limits);
  out.weights.assign(at(work.n), kNaN);
  LimitedEnd end = work.choose(risk, sample, mu, out.weights, stop);
  if (end == LimitedEnd::infeasible) end = work.look_further(risk, sample, mu, out.weights, stop);
  if (end == LimitedEnd::infeasible) return work.give_way(risk, sample, mu, limits, out, stop);
  work.describe(risk, sample, mu, limits, end, out);
  work.prefer_closed_form(risk, sample, mu, out, stop);
}

void LimitedSelector::run_on(const risk::Risk& risk, Index sample, ConstVec mu,
                             const layer::Limits& limits, std::span<const Index> K,
                             Portfolio& out) {
  Work& work = *work_;
  check_input(work.settings.optimizer, work.n, risk, sample, mu);
  work.scratch.resize(std::max(work.scratch.size(), at(risk.scratch_size())));
  work.use(limits);
  work.answered = &*work.search;
  out.weights.assign(at(work.n), kNaN);
  LimitedEnd end = work.search->run_on(risk, sample, mu, K, out.weights);
  const auto held = work.n - std::count(out.weights.begin(), out.weights.end(), 0.0);
  if (is_solved(end) && held > work.settings.k) end = LimitedEnd::infeasible;
  work.describe(risk, sample, mu, limits, end, out);
}

void LimitedSelector::run_from(const risk::Risk& risk, Index sample, ConstVec mu,
                               const layer::Limits& limits, const TradeStart& start, Portfolio& out,
                               const Stop& stop) {
  Work& work = *work_;
  if (work.settings.objective.kind != Objective::utility)
    throw InputError("decisions that follow each other need the objective utility");
  check_input(work.settings.optimizer, work.n, risk, sample, mu);
  limits.validate(work.n);
  for (const Index i : start.names)
    if (i < 0 || i >= work.n)
      throw InputError(fmt::format("asset {} to start from is outside [0, {})", i, work.n));
  if (work.settings.objective.risk_aversion != start.risk_aversion) work.search.reset();
  work.settings.objective.risk_aversion = start.risk_aversion;
  work.settings.objective.validate();
  work.scratch.resize(std::max(work.scratch.size(), at(risk.scratch_size())));
  if (!work.trades) work.trades.emplace(work.n, work.settings.k);
  out.weights.assign(at(work.n), kNaN);
  const std::optional<LimitedEnd> end = work.trades->run(
      risk, sample, mu, limits, start.risk_aversion, start.names, out.weights, stop);
  if (!end) return run(risk, sample, mu, limits, out, stop);
  work.describe(risk, sample, mu, limits, *end, out);
}

bool shown_infeasible(const layer::Limits& limits, layer::Objective objective, Index n, Index k) {
  FeasibleNames names(limits, objective, n, k);
  return !names.run([](std::span<const Index>) { return true; }, {}) && names.none();
}

double limited_full_sharpe(const layer::ObjectiveSettings& objective, const risk::Risk& risk,
                           Index sample, ConstVec mu, const layer::Limits& limits) {
  SelectSettings settings;
  settings.k = risk.n();
  settings.objective = objective;
  Portfolio portfolio;
  LimitedSelector(settings, risk.n()).run(risk, sample, mu, limits, portfolio);
  return portfolio.sharpe;
}

}  // namespace sharpen::select
