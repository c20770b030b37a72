// What a choice of names is held to besides the limits of one solve: names per group, and that a
// name is held by so much at least, or not at all.
#include <algorithm>
#include <cmath>

#include "select/limited_search.hpp"

namespace sharpen::select {

namespace {

constexpr double kShort = 1e-9;  // relative: less is rounding
constexpr std::size_t kOneByOne = 8;

}  // namespace

void LimitedSearch::put(Index i, Place place) {
  const bool was_in = place_[at(i)] != Place::out, is_in = place != Place::out;
  place_[at(i)] = place;
  if (groups_.empty() || was_in == is_in) return;
  for (const Index g : groups_of_[at(i)]) in_group_[at(g)] += is_in ? 1 : -1;
}

void LimitedSearch::put_all(const std::vector<Place>& places) {
  place_ = places;
  count_groups();
}

void LimitedSearch::count_groups() {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    in_group_[g] = std::ranges::count_if(groups_[g].members,
                                         [&](Index i) { return place_[at(i)] != Place::out; });
}

// Whether the groups allow it that one name leaves and another one comes; -1: nobody.
bool LimitedSearch::may_trade(Index out, Index in) const {
  if (groups_.empty()) return true;
  const auto member = [&](Index i, Index g) {
    return i >= 0 && std::ranges::binary_search(groups_of_[at(i)], g);
  };
  if (out >= 0)
    for (const Index g : groups_of_[at(out)])
      if (!member(in, g) && in_group_[at(g)] <= groups_[at(g)].least) return false;
  if (in >= 0)
    for (const Index g : groups_of_[at(in)])
      if (!member(out, g) && in_group_[at(g)] >= groups_[at(g)].most) return false;
  return true;
}

bool LimitedSearch::crowded(Index i) const {
  return !groups_.empty() && std::ranges::any_of(groups_of_[at(i)], [&](Index g) {
    return in_group_[at(g)] > groups_[at(g)].most;
  });
}

bool LimitedSearch::crowded() const {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (in_group_[g] > groups_[g].most) return true;
  return false;
}

double LimitedSearch::least(Index i) const { return least_.empty() ? 0.0 : least_[at(i)]; }

// What name i must have to be held, on a side with this bound.
double LimitedSearch::enough(Index i, double bound) const {
  return std::max(least(i), std::min(kToken, bound));
}

// Where name i goes to be held by enough, by the sign it has, or would rather have.
LimitedSearch::Place LimitedSearch::raised(Index i) const {
  const double most = solver_.upper(i), most_short = -solver_.lower(i);
  const bool above = most > 0.0 && most >= enough(i, most);
  const bool below = most_short > 0.0 && most_short >= enough(i, most_short);
  if (!above) return below ? Place::below : Place::out;
  if (!below) return Place::above;
  const double w = solver_.weights()[at(i)];
  const bool rather_below = w != 0.0 ? w < 0.0 : solver_.gain_below(i) > solver_.gain_above(i);
  return rather_below ? Place::below : Place::above;
}

bool LimitedSearch::is_short_of_least(Index i) const {
  const double size = std::abs(solver_.weights()[at(i)]);
  return size != 0.0 && size < least(i) * (1.0 - kShort);
}

bool LimitedSearch::raise_all(bool& changed) {
  if (least_.empty()) return true;
  for (Index i = 0; i < n_; ++i) {
    if (place_[at(i)] == Place::out || !is_short_of_least(i)) continue;
    const Place place = raised(i);
    if (place == Place::out || place_[at(i)] == place || !set(i, place)) return false;
    changed = true;
  }
  return true;
}

// Members without a weight get one where a group has too few.
bool LimitedSearch::raise_for_groups(bool& changed) {
  for (const layer::NamesLimit& group : groups_) {
    const auto holds = [&](Index i) { return solver_.weights()[at(i)] != 0.0; };
    for (Index missing = group.least - std::ranges::count_if(group.members, holds); missing > 0;
         --missing) {
      Index best = -1;
      double gain = 0.0;
      for (const Index i : group.members) {
        if (place_[at(i)] != Place::in || holds(i) || raised(i) == Place::out) continue;
        const double mine = std::max(solver_.may_exceed_zero(i) ? solver_.gain_above(i) : -1e300,
                                     solver_.may_undercut_zero(i) ? solver_.gain_below(i) : -1e300);
        if (best >= 0 && mine <= gain) continue;
        best = i;
        gain = mine;
      }
      if (best < 0 || !set(best, raised(best))) return false;
      changed = true;
    }
  }
  return true;
}

// Name i goes, or is raised to the least that it may be held by: what is worth more.
bool LimitedSearch::raise_or_drop(Index i) {
  const std::size_t mark = undo_.size();
  const Place up = raised(i);
  std::optional<Worth> without, with;
  const bool may_go = !solver_.must_be_held(i) && may_trade(i, -1);
  if (may_go && set(i, Place::out) && solve()) without = worth();
  if (!roll_back(mark)) return false;
  if (up != Place::out && set(i, up) && solve()) with = worth();
  if (with && (!without || !without->better_than(*with))) return true;
  if (!roll_back(mark) || !without) return false;
  return set(i, Place::out) && solve();
}

// Until every name is held by enough. Many that are far from it go at once.
bool LimitedSearch::repair(const Stop& stop) {
  while (!least_.empty()) {
    ask(stop);
    order_.clear();
    for (Index i = 0; i < n_; ++i)
      if (place_[at(i)] != Place::out && is_short_of_least(i)) order_.push_back(i);
    if (order_.empty()) break;
    const auto share = [&](Index i) { return std::abs(solver_.weights()[at(i)]) / least(i); };
    std::ranges::sort(order_, [&](Index i, Index j) {
      return share(i) != share(j) ? share(i) < share(j) : i < j;
    });
    if (order_.size() > kOneByOne) {
      const std::size_t mark = undo_.size();
      bool fine = true;
      order_.resize(order_.size() / 4);
      for (const Index i : order_)
        if (!solver_.must_be_held(i) && may_trade(i, -1)) fine = fine && set(i, Place::out);
      if (undo_.size() > mark && fine && solve()) continue;
      if (!roll_back(mark)) return false;
    }
    if (!raise_or_drop(order_.front())) return false;
  }
  return solve_and_settle() && forbid_idle();
}

// The optimum of the present places, with names raised that are held by too little.
bool LimitedSearch::solve_and_settle() {
  for (Index tries = 0; tries <= n_; ++tries) {
    if (!solve()) return false;
    bool changed = false;
    if (!raise_all(changed) || !raise_for_groups(changed)) return false;
    if (!changed) return true;
  }
  return false;
}

}  // namespace sharpen::select
