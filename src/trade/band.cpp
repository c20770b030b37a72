// The rule `band`. From the names of the ideal, an exchange that brought one in for one that is
// held is undone unless it gains more than (1 + eta) times what the held one would; then weights
// move to the near edge of a band around their target.
#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/feasibility.hpp"
#include "sharpen/layer/limited.hpp"
#include "trade/trader_work.hpp"

namespace sharpen::trade {

namespace {

constexpr double kPreference = 3.0;  // 1 + eta
constexpr double kBand = 0.3;        // of a target

// The value of names as S(K) has it, a square; the utility is one already.
double gain_scale(layer::Objective kind, double value) {
  return kind == layer::Objective::utility ? value : value * std::abs(value);
}

// Names and what they are worth together, one exchange from the next.
class StickyNames {
 public:
  StickyNames(const layer::ObjectiveSettings& objective, const layer::Limits& limits,
              const solve::Problem& problem, std::span<const Index> names, ConstVec held)
      : kind_(objective.kind),
        problem_(problem),
        solver_(objective, limits, problem.n),
        held_(held),
        in_(at(problem.n)),
        lower_(at(problem.n)),
        upper_(at(problem.n)) {
    for (const Index i : names) in_[at(i)] = true;
  }

  // Undoes exchanges until none is left to undo.
  void settle() {
    while (start() && undo_one()) ask(problem_.stop);
  }
  bool has(Index i) const { return in_[at(i)] != 0; }

 private:
  bool start() {
    for (Index i = 0; i < problem_.n; ++i) {
      const bool in = has(i) || solver_.must_be_held(i);
      lower_[at(i)] = in ? solver_.lower(i) : 0.0;
      upper_[at(i)] = in ? solver_.upper(i) : 0.0;
    }
    return is_solved(
        solver_.forward_within(*problem_.risk, problem_.sample, problem_.mu, lower_, upper_));
  }
  bool allow(Index i, bool allowed) {
    in_[at(i)] = allowed;
    return solver_.allow(i, allowed) && is_solved(solver_.again()) &&
           std::isfinite(solver_.value());
  }
  double worth() const { return gain_scale(kind_, solver_.value()); }

  // New names, those that would be missed least first.
  std::vector<Index> newcomers() {
    std::vector<std::pair<double, Index>> order;
    for (Index i = 0; i < problem_.n; ++i)
      if (has(i) && held_[at(i)] == 0.0 && !solver_.must_be_held(i))
        order.emplace_back(solver_.loss_without(i), i);
    std::ranges::sort(order);
    std::vector<Index> out;
    for (const auto& [loss, i] : order) out.push_back(i);
    return out;
  }

  bool undo_one() {
    std::vector<Index> left;
    for (Index i = 0; i < problem_.n; ++i)
      if (!has(i) && held_[at(i)] != 0.0) left.push_back(i);
    if (left.empty()) return false;
    const std::vector<char> before = in_;
    for (const Index j : newcomers()) {
      if (undo(j, left)) return true;
      in_ = before;
      if (!start()) return false;
    }
    return false;
  }

  // Whether a name of those left out takes the place of j; not where the limits need it.
  bool undo(Index j, const std::vector<Index>& left) {
    const double with = worth();
    if (!allow(j, false)) return false;
    const double without = worth();
    Index best = -1;
    double most = 0.0;
    for (const Index h : left) {
      if (!allow(h, true)) return false;
      const double gain = worth() - without;
      if (gain > most) {
        most = gain;
        best = h;
      }
      if (!allow(h, false)) return false;
    }
    return best >= 0 && !(with - without > kPreference * most) && allow(best, true);
  }

  layer::Objective kind_;
  const solve::Problem& problem_;
  layer::LimitedSolver solver_;
  ConstVec held_;
  std::vector<char> in_;
  std::vector<double> lower_, upper_;
};

}  // namespace

// The objective that names are compared by: the mandate's, or without limits the Sharpe ratio.
layer::ObjectiveSettings Trader::Work::own_objective() const {
  if (problem->limits != nullptr) return settings.objective;
  return {.kind = layer::Objective::expected_return, .volatility = 1.0};
}

// `out`: from the target to the best portfolio of the names that are preferred.
void Trader::Work::prefer_held_names(select::Portfolio& out) {
  set_limits();
  StickyNames names(own_objective(), limits, *problem, out.support, held);
  names.settle();
  if (std::ranges::all_of(out.support, [&](Index i) { return names.has(i); })) return;
  std::vector<Index> K;
  for (Index i = 0; i < problem->n; ++i)
    if (names.has(i)) K.push_back(i);
  if (problem->limits == nullptr && !any_fixed()) {
    select::Selector({settings.mandate(problem->k), which}, *problem->risk)
        .run_on(*problem->risk, problem->sample, problem->mu, K, out, problem->stop);
    return;
  }
  allow_only(K);
  layer::ObjectiveSettings wanted = own_objective();
  if (problem->limits == nullptr) {
    problem->risk->apply(problem->sample, out.weights, Sw, scratch);
    wanted.volatility = std::sqrt(dot(out.weights, Sw));
  }
  selector(wanted).run(*problem->risk, problem->sample, problem->mu, limits, out, problem->stop);
}

// The limits at hand, with nothing beside the names in K and those that must be held.
void Trader::Work::allow_only(std::span<const Index> K) {
  limits.lower.resize(at(problem->n), -layer::kUnlimited);
  limits.upper.resize(at(problem->n), layer::kUnlimited);
  for (Index i = 0; i < problem->n; ++i)
    if (!(limits.lower[at(i)] > 0.0) && !(limits.upper[at(i)] < 0.0) && !is_fixed(i) &&
        std::ranges::find(K, i) == K.end())
      limits.lower[at(i)] = limits.upper[at(i)] = 0.0;
}

// Under the limits at hand, those that count names among them.
bool Trader::Work::keeps_all_limits(ConstVec w) const {
  if (!all_finite(w) || !layer::holds(limits, w)) return false;
  const auto is_held = [&](Index i) { return w[at(i)] != 0.0; };
  for (std::size_t i = 0; i < limits.least_if_held.size(); ++i)
    if (w[i] != 0.0 && std::abs(w[i]) < limits.least_if_held[i] * (1.0 - 1e-9)) return false;
  return std::ranges::all_of(limits.names, [&](const layer::NamesLimit& group) {
    const Index count = std::ranges::count_if(group.members, is_held);
    return group.least <= count && count <= group.most;
  });
}

// The least change, by its risk, that brings weights back under the limits. Where the names at hand
// have none, as those that left must be sold bit by bit, or a name must have more: what would be
// best if trading were free.
void Trader::Work::project(select::Portfolio& out) {
  set_limits();
  limit_net_of_sharpe();
  if (keeps_all_limits(out.weights)) return;
  const std::vector<Index> K = out.support;
  allow_only(K);
  std::vector<double> pull(at(problem->n));
  problem->risk->apply(problem->sample, out.weights, pull, scratch);
  selector({.kind = layer::Objective::utility, .risk_aversion = 1.0})
      .run_from(*problem->risk, problem->sample, pull, limits, {.risk_aversion = 1.0, .names = K},
                out, problem->stop);
  if (out.outcome.solved() && keeps_all_limits(out.weights)) return;
  kappa.assign(kappa.size(), 0.0);
  weigh_costs(out);
}

void Trader::Work::move_in_band(select::Portfolio& out) {
  const Status status = ideal->portfolio.outcome.status;
  if (status == Status::invalid_input || status == Status::no_signal)
    return hold(ideal->portfolio.outcome, out);
  make_around_fixed(out);
  if (!all_finite(out.weights)) return hold(out.outcome, out);
  if (keeps_limits && out.outcome.solved()) prefer_held_names(out);
  for (Index i = 0; i < problem->n; ++i) {
    double& w = out.weights[at(i)];
    const double v = held[at(i)], width = kBand * std::abs(w);
    if (!is_fixed(i)) w = std::abs(v - w) <= width ? v : w + std::copysign(width, v - w);
  }
  const Outcome outcome = out.outcome;
  describe(out);
  if (keeps_limits && outcome.solved()) project(out);
  if (!all_finite(out.weights)) return hold(out.outcome, out);
  out.value.reset();
  describe(out);
}

}  // namespace sharpen::trade
