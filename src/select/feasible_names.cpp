#include "select/feasible_names.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/feasibility.hpp"
#include "select/proof_linear.hpp"

namespace sharpen::select {

using layer::Feasibility;
using layer::kUnlimited;

namespace {

// Nodes, by what one costs.
Index nodes_for(Index n) { return std::clamp<Index>(200000 / n, 50, 4000); }

double lower_of(const layer::Limits& limits, Index i) {
  return limits.lower.empty() ? -kUnlimited : limits.lower[at(i)];
}

double upper_of(const layer::Limits& limits, Index i) {
  return limits.upper.empty() ? kUnlimited : limits.upper[at(i)];
}

}  // namespace

FeasibleNames::FeasibleNames(const layer::Limits& limits, layer::Objective objective, Index n,
                             Index k)
    : given_(limits),
      n_(n),
      k_(k),
      limits_(layer::with_net_row(limits, n, objective)),
      most_(most_of_each(limits_, n)),
      fate_(at(n), Fate::open),
      nodes_left_(nodes_for(n)) {
  limits_.names.clear();
  limits_.least_if_held.clear();
  limits_.lower.resize(at(n), -kUnlimited);
  limits_.upper.resize(at(n), kUnlimited);
  limits_.rows.push_back({"names", std::vector<double>(at(n)), -kUnlimited, kUnlimited});
}

// What follows from what is decided. False if it cannot be.
bool FeasibleNames::settle(std::vector<Fate>& fate) const {
  for (Index i = 0; i < n_; ++i) {
    const double lower = lower_of(given_, i), upper = upper_of(given_, i);
    if (lower == 0.0 && upper == 0.0 && fate[at(i)] == Fate::open) fate[at(i)] = Fate::out;
    if (lower > 0.0 || upper < 0.0) {
      if (fate[at(i)] == Fate::out) return false;
      fate[at(i)] = Fate::held;
    }
  }
  const auto count = [&](const auto& members, Fate of) {
    return std::ranges::count_if(members, [&](Index i) { return fate[at(i)] == of; });
  };
  for (const layer::NamesLimit& group : given_.names) {
    const Index held = count(group.members, Fate::held);
    if (held > group.most || held + count(group.members, Fate::open) < group.least) return false;
    for (const Index i : group.members)
      if (held == group.most && fate[at(i)] == Fate::open) fate[at(i)] = Fate::out;
  }
  const Index held = std::ranges::count(fate, Fate::held);
  if (held == k_) std::ranges::replace(fate, Fate::open, Fate::out);
  return held <= k_;
}

// The bounds and the row of these fates, in limits_.
void FeasibleNames::apply(const std::vector<Fate>& fate) {
  layer::LimitRow& row = limits_.rows.back();
  bool any = false;
  for (Index i = 0; i < n_; ++i) {
    double &lower = limits_.lower[at(i)], &upper = limits_.upper[at(i)];
    lower = lower_of(given_, i);
    upper = upper_of(given_, i);
    const double least = given_.least_if_held.empty() ? 0.0 : given_.least_if_held[at(i)];
    if (fate[at(i)] == Fate::out) lower = upper = 0.0;
    if (fate[at(i)] == Fate::held && lower >= 0.0) lower = std::max(lower, least);
    if (fate[at(i)] == Fate::held && upper <= 0.0) upper = std::min(upper, -least);
    const bool counts =
        fate[at(i)] == Fate::open && std::isfinite(most_[at(i)]) && most_[at(i)] > 0.0;
    row.coefficients[at(i)] = counts ? 1.0 / most_[at(i)] : 0.0;
    any |= counts;
  }
  // A hair more, so that rounding takes nothing away.
  row.upper =
      any ? static_cast<double>(k_ - std::ranges::count(fate, Fate::held)) + 1e-9 : kUnlimited;
}

// The names with a weight and those that are decided; where a group needs more, of those open.
bool FeasibleNames::offer(const std::vector<Fate>& fate, ConstVec w, const Accept& accept) {
  K_.clear();
  for (Index i = 0; i < n_; ++i)
    if (fate[at(i)] == Fate::held || (fate[at(i)] == Fate::open && w[at(i)] != 0.0))
      K_.push_back(i);
  for (const layer::NamesLimit& group : given_.names) {
    const auto taken = [&](Index i) { return std::ranges::find(K_, i) != K_.end(); };
    Index missing = group.least - std::ranges::count_if(group.members, taken);
    for (const Index i : group.members) {
      if (missing <= 0) break;
      if (fate[at(i)] != Fate::open || taken(i)) continue;
      K_.push_back(i);
      --missing;
    }
  }
  return static_cast<Index>(K_.size()) <= k_ && counts_right(w) && accept(K_);
}

// Groups, and least weights of names that have one side only.
bool FeasibleNames::counts_right(ConstVec w) const {
  constexpr double kTooLittle = 1e-9;
  for (const layer::NamesLimit& group : given_.names) {
    const auto taken = [&](Index i) { return std::ranges::find(K_, i) != K_.end(); };
    if (std::ranges::count_if(group.members, taken) > group.most) return false;
  }
  return given_.least_if_held.empty() || std::ranges::all_of(K_, [&](Index i) {
           const bool two_sided = lower_of(given_, i) < 0.0 && upper_of(given_, i) > 0.0;
           return two_sided || std::abs(w[at(i)]) >= given_.least_if_held[at(i)] - kTooLittle;
         });
}

// The open name that is held most; -1 if all is decided.
Index FeasibleNames::next(const std::vector<Fate>& fate, ConstVec w) const {
  Index best = -1;
  double most = -1.0;
  for (Index i = 0; i < n_; ++i) {
    if (fate[at(i)] != Fate::open) continue;
    const double size = std::abs(w[at(i)]);
    const double share =
        std::isfinite(most_[at(i)]) && most_[at(i)] > 0.0 ? size / most_[at(i)] : size;
    if (share > most) {
      most = share;
      best = i;
    }
  }
  return best;
}

bool FeasibleNames::descend(const Accept& accept, const Stop& stop) {
  ask(stop);
  if (nodes_left_-- <= 0) {
    complete_ = false;
    return false;
  }
  std::vector<Fate> fate = fate_;
  if (!settle(fate)) return false;
  apply(fate);
  const Feasibility found = layer::feasibility(limits_, n_);
  if (found.answer == Feasibility::Answer::no) return false;
  const bool known = found.answer == Feasibility::Answer::yes;
  const std::vector<double> nothing(at(known ? 0 : n_));
  const std::vector<double>& w = known ? found.w : nothing;
  if (known && offer(fate, w, accept)) return true;
  const Index name = next(fate, w);
  if (name < 0) complete_ = false;  // the two who were asked disagree
  for (const Fate way : {Fate::held, Fate::out}) {
    if (name < 0 || nodes_left_ <= 0) break;
    fate_ = fate;
    fate_[at(name)] = way;
    if (descend(accept, stop)) return true;
  }
  if (nodes_left_ <= 0) complete_ = false;
  return false;
}

bool FeasibleNames::run(const Accept& accept, const Stop& stop) { return descend(accept, stop); }

}  // namespace sharpen::select
