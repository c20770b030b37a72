#include "select/limited_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

constexpr Index kTried = 4;        // names left out that are tried for each one held
constexpr double kBetter = 1e-12;  // relative: less is rounding
constexpr std::size_t kKicked = 3;
constexpr Index kMostKicked = 25000;  // n k: beyond that it takes too long
constexpr Index kRankedExactly = 64;  // more names than these are ranked by their own risk

// Better ends first; of portfolios that only keep their risk low, the one with the least.
int rank_of(LimitedEnd end) {
  switch (end) {
    case LimitedEnd::ok:
    case LimitedEnd::below_risk: return 3;
    case LimitedEnd::neutral: return 2;
    case LimitedEnd::nothing_earns: return 1;
    default: return 0;
  }
}

}  // namespace

LimitedSearch::LimitedSearch(const layer::ObjectiveSettings& objective, const layer::Limits& limits,
                             Index n, Index k)
    : solver_(objective, limits, n), n_(n), k_(k), allowed_(at(n)), by_loss_(at(n)) {}

LimitedSearch::Worth LimitedSearch::worth() const {
  const bool by_risk = end_ == LimitedEnd::nothing_earns || end_ == LimitedEnd::above_risk;
  return {rank_of(end_), by_risk ? -solver_.risk() : solver_.value()};
}

bool LimitedSearch::Worth::better_than(const Worth& other) const {
  if (rank != other.rank) return rank > other.rank;
  return value > other.value + kBetter * std::abs(other.value);
}

// The optimum with the names that are allowed now. False if there is none.
bool LimitedSearch::solve_again() {
  end_ = solver_.again();
  return is_solved(end_) && std::isfinite(solver_.value());
}

bool LimitedSearch::allow(Index i, bool yes) {
  allowed_[at(i)] = yes;
  return solver_.allow(i, yes);
}

Index LimitedSearch::held() const {
  const ConstVec w = solver_.weights();
  return n_ - std::count(w.begin(), w.end(), 0.0);
}

// Names without a weight give up their place, so that none comes in unasked.
bool LimitedSearch::forbid_idle() {
  for (Index i = 0; i < n_; ++i)
    if (allowed_[at(i)] && !solver_.must_be_held(i) && solver_.weights()[at(i)] == 0.0 &&
        !allow(i, false))
      return false;
  return true;
}

// Names go until k are left: many at once while there are many more, one by one where the limits
// need some of them.
bool LimitedSearch::reduce(const Stop& stop) {
  needed_.assign(at(n_), false);
  bool cautious = false;
  for (Index count = held(); count > k_; count = held()) {
    ask(stop);
    order_.clear();
    for (Index i = 0; i < n_; ++i) {
      const double w = solver_.weights()[at(i)];
      if (w == 0.0 || needed_[at(i)] || solver_.must_be_held(i)) continue;
      order_.push_back(i);
      by_loss_[at(i)] =
          count <= kRankedExactly ? solver_.loss_without(i) : w * w * variance_[at(i)];
    }
    if (order_.empty()) return false;
    const Index most = std::min(count - k_, static_cast<Index>(order_.size()));
    const Index go = cautious ? 1 : std::max<Index>(1, most / 4);
    std::partial_sort(order_.begin(), order_.begin() + go, order_.end(), [&](Index i, Index j) {
      return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] < by_loss_[at(j)] : i < j;
    });
    order_.resize(at(go));
    bool fine = true;
    for (const Index i : order_) fine = allow(i, false) && fine;
    if (fine && solve_again() && forbid_idle()) continue;
    for (const Index i : order_) allow(i, true);
    if (go == 1) needed_[at(order_.front())] = true;
    cautious = true;
    if (!solve_again()) return false;
  }
  return true;
}

// The most promising names left out, by what they gain to first order over their own risk.
void LimitedSearch::candidates(Index most) {
  best_.clear();
  for (Index i = 0; i < n_; ++i) {
    if (allowed_[at(i)] || i == banned_) continue;
    const double above = solver_.may_exceed_zero(i) ? solver_.gain_above(i) : 0.0;
    const double below = solver_.may_undercut_zero(i) ? solver_.gain_below(i) : 0.0;
    const double gain = std::max(above, below);
    if (!(gain > 0.0)) continue;
    by_loss_[at(i)] = gain * gain / variance_[at(i)];
    best_.push_back(i);
  }
  const auto count = std::min<Index>(most, static_cast<Index>(best_.size()));
  std::partial_sort(best_.begin(), best_.begin() + count, best_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] > by_loss_[at(j)] : i < j;
  });
  best_.resize(at(count));
}

// Whether name i makes it better than `least`; if not, it is out again.
bool LimitedSearch::try_with(Index i, const Worth& least) {
  if (allow(i, true) && solve_again() && worth().better_than(least)) return true;
  allow(i, false);
  solve_again();
  return false;
}

void LimitedSearch::fill() {
  for (bool grows = true; grows && held() < k_;) {
    grows = false;
    candidates(kTried);
    const Worth least = worth();
    for (const Index i : std::vector<Index>(best_)) {
      if (!try_with(i, least)) continue;
      grows = forbid_idle();
      break;
    }
  }
}

void LimitedSearch::rank_by_loss() {
  order_.clear();
  for (Index i = 0; i < n_; ++i) {
    if (solver_.weights()[at(i)] == 0.0 || solver_.must_be_held(i)) continue;
    order_.push_back(i);
    by_loss_[at(i)] = solver_.loss_without(i);
  }
  std::sort(order_.begin(), order_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] < by_loss_[at(j)] : i < j;
  });
}

// One name out, then the one that makes up most for it in.
bool LimitedSearch::exchange_out_in(const Worth& least) {
  rank_by_loss();
  for (const Index i : std::vector<Index>(order_)) {
    if (allow(i, false) && solve_again()) {
      candidates(kTried + 1);
      for (const Index j : std::vector<Index>(best_))
        if (j != i && try_with(j, least)) return true;
    }
    allow(i, true);
    solve_again();
  }
  return false;
}

// One name in, then the one that is missed least out: where none can be spared before.
bool LimitedSearch::exchange_in_out(const Worth& least) {
  candidates(2 * kTried);
  for (const Index j : std::vector<Index>(best_)) {
    if (!try_with(j, least)) continue;
    if (held() <= k_) return true;
    rank_by_loss();
    const auto spared = std::min<Index>(kTried, static_cast<Index>(order_.size()));
    for (const Index i : std::vector<Index>(order_.begin(), order_.begin() + spared)) {
      if (i == j) continue;
      if (allow(i, false) && solve_again() && worth().better_than(least)) return true;
      allow(i, true);
      solve_again();
    }
    allow(j, false);
    solve_again();
  }
  return false;
}

bool LimitedSearch::exchange_one() {
  const Worth least = worth();
  return exchange_out_in(least) || exchange_in_out(least);
}

void LimitedSearch::improve(const Stop& stop) {
  fill();
  for (Index rounds = 10 * k_ + 100; rounds > 0 && exchange_one() && forbid_idle(); --rounds) {
    ask(stop);
    fill();
  }
}

// The k names whose own ratio of signal to risk is largest, on the side that the limits leave open.
void LimitedSearch::best_alone(ConstVec mu) {
  order_.resize(at(n_));
  for (Index i = 0; i < n_; ++i) {
    const double gain = solver_.may_exceed_zero(i) ? mu[at(i)] : 0.0;
    const double loss = solver_.may_undercut_zero(i) ? -mu[at(i)] : 0.0;
    by_loss_[at(i)] = solver_.must_be_held(i) ? std::numeric_limits<double>::infinity()
                                              : std::max(gain, loss) / std::sqrt(variance_[at(i)]);
    order_[at(i)] = i;
  }
  std::partial_sort(order_.begin(), order_.begin() + k_, order_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] > by_loss_[at(j)] : i < j;
  });
  order_.resize(at(k_));
}

// The best portfolio of the names in order_ alone. False if there is none.
bool LimitedSearch::restart(const risk::Risk& risk, Index sample, ConstVec mu, Vec w) {
  if (!is_solved(solver_.forward(risk, sample, mu, {}, all_, w))) return false;
  for (Index i = 0; i < n_; ++i) allowed_[at(i)] = solver_.must_be_held(i);
  for (const Index i : order_) allowed_[at(i)] = true;
  for (Index i = 0; i < n_; ++i)
    if (!allowed_[at(i)] && !solver_.allow(i, false)) return false;
  return solve_again() && forbid_idle();
}

bool LimitedSearch::keep_if_better() {
  const Worth now = worth();
  if (!std::isfinite(now.value) || held() > k_) return false;
  if (best_ever_ && !now.better_than(*best_ever_)) return false;
  best_ever_ = now;
  best_end_ = end_;
  best_w_.resize(at(n_));
  solver_.solution(best_w_);
  return true;
}

// The best so far without its name i, improved without it, then with it.
bool LimitedSearch::kick(Index i, const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                         const Stop& stop) {
  order_.clear();
  for (Index j = 0; j < n_; ++j)
    if (j != i && best_w_[at(j)] != 0.0) order_.push_back(j);
  if (!restart(risk, sample, mu, w)) return false;
  banned_ = i;
  improve(stop);
  banned_ = -1;
  improve(stop);
  return keep_if_better();
}

// Away from where single exchanges end: without one of the largest names, as long as that helps.
void LimitedSearch::kick_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                             const Stop& stop) {
  for (bool grows = true; grows;) {
    grows = false;
    std::vector<Index> names;
    for (Index i = 0; i < n_; ++i)
      if (best_w_[at(i)] != 0.0 && !solver_.must_be_held(i)) names.push_back(i);
    std::sort(names.begin(), names.end(), [&](Index i, Index j) {
      const double wi = std::abs(best_w_[at(i)]), wj = std::abs(best_w_[at(j)]);
      return wi != wj ? wi > wj : i < j;
    });
    names.resize(std::min<std::size_t>(names.size(), kKicked));
    for (const Index i : names) {
      grows = kick(i, risk, sample, mu, w, stop);
      if (grows) break;
    }
  }
}

LimitedEnd LimitedSearch::run(const risk::Risk& risk, Index sample, ConstVec mu, bool exchange,
                              Vec w, const Stop& stop) {
  variance_ = risk.diagonal(sample);
  all_ = {};
  banned_ = -1;
  best_ever_.reset();
  std::fill(allowed_.begin(), allowed_.end(), true);
  end_ = solver_.forward(risk, sample, mu, {}, all_, w);
  if (!is_solved(end_) || held() <= k_) return end_;
  if (forbid_idle() && reduce(stop)) {
    if (exchange) improve(stop);
    keep_if_better();
  }
  if (exchange) {
    best_alone(mu);
    if (restart(risk, sample, mu, w)) {
      improve(stop);
      keep_if_better();
    }
    if (best_ever_ && n_ * k_ <= kMostKicked) kick_all(risk, sample, mu, w, stop);
  }
  if (!best_ever_) {
    std::fill(w.begin(), w.end(), std::numeric_limits<double>::quiet_NaN());
    return LimitedEnd::infeasible;
  }
  std::copy(best_w_.begin(), best_w_.end(), w.begin());
  return best_end_;
}

}  // namespace sharpen::select
