#include "select/limited_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

constexpr double kBetter = 1e-12;  // relative: less is rounding
constexpr std::size_t kKicked = 3;
constexpr Index kAlone = 200;         // names that are tried where one is held
constexpr Index kMostAsked = 2000;    // names of which each is asked whether it can be spared
constexpr Index kStarts = 32;         // where no portfolio is known
constexpr Index kMostKicked = 5000;   // n k: beyond that it takes too long
constexpr Index kRankedExactly = 64;  // more names than these are ranked by their own risk

constexpr int kEarns = 3;

// Better ends first; of portfolios that only keep their risk low, the one with the least.
int rank_of(LimitedEnd end) {
  switch (end) {
    case LimitedEnd::ok:
    case LimitedEnd::below_risk: return kEarns;
    case LimitedEnd::neutral: return 2;
    case LimitedEnd::nothing_earns: return 1;
    default: return 0;
  }
}

}  // namespace

LimitedSearch::LimitedSearch(const layer::ObjectiveSettings& objective, const layer::Limits& limits,
                             Index n, Index k)
    : solver_(objective, limits, n),
      n_(n),
      k_(k),
      least_(limits.least_if_held),
      groups_(limits.names),
      place_(at(n)),
      by_loss_(at(n)),
      lower_(at(n)),
      upper_(at(n)),
      effort_{.entrants = 2 * k + 50,
              .tried = 10,
              .hopeless = 0.02,
              .both_sides = true,
              .many = false} {
  if (groups_.empty()) return;
  groups_of_.resize(at(n));
  in_group_.resize(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const Index i : groups_[g].members) groups_of_[at(i)].push_back(static_cast<Index>(g));
}

LimitedSearch::Worth LimitedSearch::worth() const {
  const bool by_risk = end_ == LimitedEnd::nothing_earns || end_ == LimitedEnd::above_risk;
  return {rank_of(end_), by_risk ? -solver_.risk() : solver_.value()};
}

bool LimitedSearch::Worth::better_than(const Worth& other) const {
  if (rank != other.rank) return rank > other.rank;
  return value > other.value + kBetter * std::abs(other.value);
}

// The optimum of the present places. False if there is none.
bool LimitedSearch::solve() {
  // From the far end of a path, and there, what is forbidden since may not be felt.
  if (by_itself_ || end_ == LimitedEnd::neutral) return solve_anew();
  end_ = solver_.again();
  if (end_ == LimitedEnd::neutral) return solve_anew();
  return is_solved(end_) && std::isfinite(solver_.value());
}

void LimitedSearch::apply(Index i, Place place, double& lower, double& upper) const {
  lower = place == Place::out ? 0.0 : solver_.lower(i);
  upper = place == Place::out ? 0.0 : solver_.upper(i);
  if (place == Place::above) lower = std::max(lower, enough(i, upper));
  if (place == Place::below) upper = std::min(upper, -enough(i, -lower));
}

bool LimitedSearch::set(Index i, Place place) {
  undo_.emplace_back(i, place_[at(i)]);
  put(i, place);
  double lower = 0.0, upper = 0.0;
  apply(i, place, lower, upper);
  if (by_itself_ || end_ == LimitedEnd::neutral) return true;  // solve() starts anew
  return solver_.bound(i, lower, upper);
}

// To the places of before, and their optimum.
bool LimitedSearch::roll_back(std::size_t mark) {
  bool fine = true;
  while (undo_.size() > mark) {
    const auto [i, place] = undo_.back();
    fine = set(i, place) && fine;
    undo_.resize(undo_.size() - 2);
  }
  return (fine && solve()) || solve_anew();  // limits that could not hold leave no way back
}

Index LimitedSearch::held() const { return n_ - std::ranges::count(place_, Place::out); }

// Names without a weight give up their place, so that none comes in unasked; unless the limits need
// one of them, as a direction may that is itself without.
bool LimitedSearch::forbid_idle() {
  const std::size_t mark = undo_.size();
  bool any = false, fine = true;
  for (Index i = 0; i < n_; ++i) {
    if (place_[at(i)] == Place::out || solver_.must_be_held(i) || solver_.weights()[at(i)] != 0.0 ||
        !may_trade(i, -1))
      continue;
    any = true;
    fine = set(i, Place::out) && fine;
  }
  if (!any || (fine && solve())) return true;
  return roll_back(mark);
}

// order_: the names that could go, those of crowded groups only while there are any.
void LimitedSearch::rank_for_reduction(Index count) {
  order_.clear();
  const bool crowds = crowded();
  for (Index i = 0; i < n_; ++i) {
    if (place_[at(i)] == Place::out || needed_[at(i)] || solver_.must_be_held(i)) continue;
    if (!may_trade(i, -1) || (crowds && !crowded(i))) continue;
    order_.push_back(i);
    const double w = solver_.weights()[at(i)];
    by_loss_[at(i)] = count <= kRankedExactly ? solver_.loss_without(i) : w * w * variance_[at(i)];
  }
}

// Names go until k are left: many at once while there are many more, one by one where the limits
// need some of them.
bool LimitedSearch::reduce(const Stop& stop) {
  needed_.assign(at(n_), false);
  bool cautious = !groups_.empty();
  for (Index count = held(); count > k_ || crowded(); count = held()) {
    ask(stop);
    rank_for_reduction(count);
    if (order_.empty()) return false;
    const Index most = std::min(count - k_, static_cast<Index>(order_.size()));
    const Index go = cautious ? 1 : std::max<Index>(1, most / 4);
    std::partial_sort(order_.begin(), order_.begin() + go, order_.end(), [&](Index i, Index j) {
      return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] < by_loss_[at(j)] : i < j;
    });
    order_.resize(at(go));
    const std::size_t mark = undo_.size();
    bool fine = true;
    for (const Index i : order_) fine = set(i, Place::out) && fine;
    if (fine && solve() && forbid_idle()) continue;
    if (!roll_back(mark)) return false;
    if (go == 1) needed_[at(order_.front())] = true;
    cautious = true;
  }
  return true;
}

// The most promising names left out, by what they gain to first order over their own risk.
void LimitedSearch::offer_entrants(Index most) {
  order_.clear();
  for (Index i = 0; i < n_; ++i) {
    if (place_[at(i)] != Place::out || i == banned_) continue;
    const double above = solver_.may_exceed_zero(i) ? solver_.gain_above(i) : -1e300;
    const double below = solver_.may_undercut_zero(i) ? solver_.gain_below(i) : -1e300;
    const double gain = std::max(above, below);
    by_loss_[at(i)] = gain * std::abs(gain) / variance_[at(i)];
    order_.push_back(i);
  }
  const auto count = std::min<Index>(most, static_cast<Index>(order_.size()));
  std::partial_sort(order_.begin(), order_.begin() + count, order_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] > by_loss_[at(j)] : i < j;
  });
  order_.resize(at(count));
  table_.entrants.clear();
  for (const Index i : order_) {
    const bool above = solver_.may_exceed_zero(i), below = solver_.may_undercut_zero(i);
    const bool both = effort_.both_sides || !above || !below;
    const bool rather_above = both || solver_.gain_above(i) >= solver_.gain_below(i);
    if (above && rather_above) table_.entrants.push_back({.asset = i, .direction = 1});
    if (below && (both || !rather_above)) table_.entrants.push_back({.asset = i, .direction = -1});
  }
}

void LimitedSearch::offer_leavers() {
  table_.leavers.clear();
  for (Index i = 0; i < n_; ++i)
    if (place_[at(i)] != Place::out && !solver_.must_be_held(i))
      table_.leavers.push_back({.asset = i});
}

// The best single move that is confirmed: a name more while there is room, one less where it is
// held only because it must not be less, or (`exchange`) one for another.
bool LimitedSearch::trade(bool exchange) {
  offer_entrants(effort_.entrants);
  offer_leavers();
  solver_.exchanges(table_);
  const bool room = held() < k_;
  const auto entrants = static_cast<Index>(table_.entrants.size());
  const auto leavers = static_cast<Index>(table_.leavers.size());
  const double now = table_.worth(-1, -1);
  moves_.clear();
  const auto offer = [&](Index l, Index e) {
    const double then = table_.worth(l, e);
    if (!(then > now - effort_.hopeless * std::abs(now))) return;
    const Move move{then, l < 0 ? -1 : table_.leavers[at(l)].asset,
                    e < 0 ? -1 : table_.entrants[at(e)].asset};
    if (moves_.size() == effort_.tried && then <= moves_.back().worth) return;
    if (!may_trade(move.out, move.in)) return;
    if (moves_.size() == effort_.tried) moves_.pop_back();
    moves_.insert(std::upper_bound(moves_.begin(), moves_.end(), move,
                                   [](const Move& a, const Move& b) { return a.worth > b.worth; }),
                  move);
  };
  if (room)
    for (Index e = 0; e < entrants; ++e) offer(-1, e);
  for (Index l = 0; l < leavers; ++l) {
    const Place place = place_[at(table_.leavers[at(l)].asset)];
    if (place == Place::above || place == Place::below) offer(l, -1);
    if (exchange)
      for (Index e = 0; e < entrants; ++e) offer(l, e);
  }
  return make_moves();
}

// The first of moves_ that is confirmed, and (effort_.many) those after it that still are.
bool LimitedSearch::make_moves() {
  Worth least_worth = worth();
  bool any = false;
  for (const Move& move : moves_) {
    const bool stale = (move.in >= 0 && place_[at(move.in)] != Place::out) ||
                       (move.out >= 0 && place_[at(move.out)] == Place::out) ||
                       (move.out < 0 && held() >= k_) || (any && !may_trade(move.out, move.in));
    if (stale) continue;
    const std::size_t mark = undo_.size();
    const bool fine =
        (move.in < 0 || set(move.in, Place::in)) && (move.out < 0 || set(move.out, Place::out));
    if (fine && solve_and_settle() && worth().better_than(least_worth)) {
      if (!effort_.many) return true;
      any = true;
      least_worth = worth();
      continue;
    }
    if (!roll_back(mark)) return false;
  }
  return any;
}

void LimitedSearch::improve(bool exchange, const Stop& stop) {
  const auto go_on = [&] {
    for (Index rounds = 10 * k_ + 100; rounds > 0 && trade(exchange) && forbid_idle(); --rounds)
      ask(stop);
  };
  go_on();
  if (is_solved(end_) || !best_ever_) return;
  // Limits that could not hold on the way were mistaken: once more, each solution by itself.
  by_itself_ = true;
  put_all(best_place_);
  if (solve_anew()) go_on();
  by_itself_ = false;
}

// needed_: the names that the limits cannot do without, whichever others there are.
void LimitedSearch::find_needed(const risk::Risk& risk, Index sample, ConstVec mu,
                                const Stop& stop) {
  for (Index i = 0; i < n_; ++i) {
    ask(stop);
    std::ranges::fill(place_, Place::in);
    count_groups();
    put(i, Place::out);
    restart(risk, sample, mu);
    needed_[at(i)] = end_ == LimitedEnd::infeasible;
  }
}

// The k names whose own ratio of signal to risk is largest, on the side that the limits leave open,
// as far as their groups have room, and first those that a group needs; before all of these, the
// `first` of that order.
void LimitedSearch::best_alone(ConstVec mu, std::optional<Index> first) {
  std::vector<Index> ranked(at(n_));
  for (Index i = 0; i < n_; ++i) {
    const double gain = solver_.may_exceed_zero(i) ? mu[at(i)] : 0.0;
    const double loss = solver_.may_undercut_zero(i) ? -mu[at(i)] : 0.0;
    by_loss_[at(i)] = solver_.must_be_held(i) || needed_[at(i)]
                          ? std::numeric_limits<double>::infinity()
                          : std::max(gain, loss) / std::sqrt(variance_[at(i)]);
    ranked[at(i)] = i;
  }
  std::ranges::sort(ranked, [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] > by_loss_[at(j)] : i < j;
  });
  order_.clear();
  std::ranges::fill(place_, Place::out);
  count_groups();
  const auto take = [&](Index i) {
    if (place_[at(i)] != Place::out) return;
    const bool room = static_cast<Index>(order_.size()) < k_ && may_trade(-1, i);
    if (!room && !solver_.must_be_held(i)) return;
    put(i, Place::in);
    order_.push_back(i);
  };
  for (const Index i : ranked)
    if (solver_.must_be_held(i) || needed_[at(i)]) take(i);
  if (first) take(ranked[at(*first)]);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const Index i : ranked)
      if (in_group_[g] < groups_[g].least && std::ranges::binary_search(groups_[g].members, i))
        take(i);
  for (const Index i : ranked) take(i);
}

// The best portfolio of the present places, from nothing. False if there is none.
bool LimitedSearch::restart(const risk::Risk& risk, Index sample, ConstVec mu) {
  undo_.clear();
  risk_ = &risk;
  sample_ = sample;
  mu_ = mu;
  return solve_anew();
}

bool LimitedSearch::solve_anew() {
  for (Index i = 0; i < n_; ++i) apply(i, place_[at(i)], lower_[at(i)], upper_[at(i)]);
  end_ = solver_.forward_within(*risk_, sample_, mu_, lower_, upper_);
  return is_solved(end_) && std::isfinite(solver_.value());
}

bool LimitedSearch::restart_on(std::span<const Index> names, const risk::Risk& risk, Index sample,
                               ConstVec mu) {
  for (Index i = 0; i < n_; ++i) place_[at(i)] = solver_.must_be_held(i) ? Place::in : Place::out;
  for (const Index i : names) place_[at(i)] = Place::in;
  count_groups();
  return restart(risk, sample, mu);
}

bool LimitedSearch::keep_if_better() {
  const auto is_better = [&] {
    const Worth now = worth();
    return std::isfinite(now.value) && (!best_ever_ || now.better_than(*best_ever_));
  };
  if (held() > k_ || crowded() || !is_better()) return false;
  // What was found along the way may not be so: a value that fell would be found again for ever.
  if (!solve_anew() || !is_better()) return false;
  best_ever_ = worth();
  best_place_ = place_;
  return true;
}

// The best so far without its name i, improved without it, then with it.
bool LimitedSearch::kick(Index i, const risk::Risk& risk, Index sample, ConstVec mu,
                         const Stop& stop) {
  put_all(best_place_);
  if (!may_trade(i, -1)) return false;
  put(i, Place::out);
  if (!restart(risk, sample, mu) || !repair(stop)) return false;
  banned_ = i;
  improve(true, stop);
  banned_ = -1;
  improve(true, stop);
  return keep_if_better();
}

// Away from where single exchanges end: without one of the largest names, as long as that helps.
void LimitedSearch::kick_all(const risk::Risk& risk, Index sample, ConstVec mu, const Stop& stop) {
  for (bool grows = true; grows;) {
    grows = false;
    put_all(best_place_);
    if (!restart(risk, sample, mu)) return;
    std::vector<Index> names;
    for (Index i = 0; i < n_; ++i)
      if (place_[at(i)] != Place::out && !solver_.must_be_held(i)) names.push_back(i);
    std::vector<double> size(solver_.weights().begin(), solver_.weights().end());
    std::ranges::sort(names, [&](Index i, Index j) {
      const double wi = std::abs(size[at(i)]), wj = std::abs(size[at(j)]);
      return wi != wj ? wi > wj : i < j;
    });
    names.resize(std::min(names.size(), kKicked));
    for (const Index i : names) {
      grows = kick(i, risk, sample, mu, stop);
      if (grows) break;
    }
  }
}

// The weights of the last solution.
LimitedEnd LimitedSearch::give(Vec w) {
  if (is_solved(end_))
    solver_.solution(w);
  else
    std::fill(w.begin(), w.end(), std::numeric_limits<double>::quiet_NaN());
  return end_;
}

LimitedEnd LimitedSearch::run_on(const risk::Risk& risk, Index sample, ConstVec mu,
                                 std::span<const Index> K, Vec w) {
  variance_ = risk.diagonal(sample);
  if (restart_on(K, risk, sample, mu) && !(least_.empty() && groups_.empty())) {
    const bool fits = !crowded() || (forbid_idle() && reduce({}));
    if (!fits || !repair({})) end_ = LimitedEnd::infeasible;
    if (is_solved(end_)) restart(risk, sample, mu);
  }
  return give(w);
}

LimitedEnd LimitedSearch::run_on_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w) {
  order_.resize(at(n_));
  std::iota(order_.begin(), order_.end(), Index{0});
  restart_on(order_, risk, sample, mu);
  return give(w);
}

// From the present places, if they lead anywhere.
void LimitedSearch::try_from_here(const risk::Risk& risk, Index sample, ConstVec mu, bool exchange,
                                  const Stop& stop) {
  if (!restart(risk, sample, mu) || !repair(stop)) return;
  keep_if_better();
  improve(exchange, stop);
  keep_if_better();
}

LimitedEnd LimitedSearch::run(const risk::Risk& risk, Index sample, ConstVec mu, bool exchange,
                              Vec w, const Stop& stop) {
  variance_ = risk.diagonal(sample);
  banned_ = -1;
  best_ever_.reset();
  if (!is_solved(run_on_all(risk, sample, mu, w))) return end_;
  const bool plain = least_.empty() && groups_.empty();
  if (plain && n_ - std::ranges::count(w, 0.0) <= k_) return end_;
  if (forbid_idle() && reduce(stop) && repair(stop)) {
    keep_if_better();
    improve(exchange, stop);
    keep_if_better();
  }
  // What one start does not lead to, another one may. One name alone is tried by itself.
  const auto poor = [&] {
    return k_ == 1 || !best_ever_ || best_ever_->rank < kEarns || !(best_ever_->value > 0.0);
  };
  needed_.assign(at(n_), false);
  if (!best_ever_ && n_ <= kMostAsked) find_needed(risk, sample, mu, stop);
  if (exchange || poor()) {
    best_alone(mu);
    try_from_here(risk, sample, mu, exchange, stop);
    for (Index i = 0; i < std::min(n_, k_ == 1 ? kAlone : kStarts) && poor(); ++i) {
      best_alone(mu, i);
      try_from_here(risk, sample, mu, exchange, stop);
    }
    if (exchange && best_ever_ && n_ * k_ <= kMostKicked) kick_all(risk, sample, mu, stop);
  }
  return give_best(risk, sample, mu, w);
}

// The best there was, without what was summed up along the way.
LimitedEnd LimitedSearch::give_best(const risk::Risk& risk, Index sample, ConstVec mu, Vec w) {
  end_ = LimitedEnd::infeasible;
  if (!best_ever_) return give(w);
  put_all(best_place_);
  restart(risk, sample, mu);
  return give(w);
}

LimitedEnd LimitedSearch::improve_on(const risk::Risk& risk, Index sample, ConstVec mu,
                                     std::span<const Index> K, bool exchange, Vec w,
                                     const Stop& stop) {
  variance_ = risk.diagonal(sample);
  banned_ = -1;
  best_ever_.reset();
  if (restart_on(K, risk, sample, mu) && repair(stop)) {
    keep_if_better();
    improve(exchange, stop);
    keep_if_better();
  }
  return give_best(risk, sample, mu, w);
}

}  // namespace sharpen::select
