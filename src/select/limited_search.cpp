#include "select/limited_search.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

constexpr Index kTried = 4;        // names left out that are tried for each one held
constexpr double kBetter = 1e-12;  // relative: less is rounding
constexpr std::size_t kKicked = 3;
constexpr Index kMostKicked = 25000;  // n k: beyond that it takes too long
constexpr Index kRankedExactly = 64;  // more names than these are ranked by their own risk

bool solved(LimitedEnd end) {
  return end != LimitedEnd::infeasible && end != LimitedEnd::not_converged &&
         end != LimitedEnd::invalid_input;
}

bool better(double value, double than) { return value > than + kBetter * std::abs(than); }

}  // namespace

LimitedSearch::LimitedSearch(const layer::ObjectiveSettings& objective, const layer::Limits& limits,
                             Index n, Index k)
    : solver_(objective, limits, n), n_(n), k_(k), allowed_(at(n)), by_loss_(at(n)) {}

Index LimitedSearch::held() const {
  const ConstVec w = solver_.weights();
  return n_ - std::count(w.begin(), w.end(), 0.0);
}

// Names without a weight give up their place, so that none comes in unasked.
bool LimitedSearch::forbid_idle() {
  for (Index i = 0; i < n_; ++i) {
    if (!allowed_[at(i)] || solver_.weights()[at(i)] != 0.0) continue;
    allowed_[at(i)] = false;
    if (!solver_.allow(i, false)) return false;
  }
  return true;
}

// Names go until k are left: many at once while there are many more.
LimitedEnd LimitedSearch::reduce(const Stop& stop) {
  LimitedEnd end = LimitedEnd::ok;
  for (Index count = held(); count > k_; count = held()) {
    ask(stop);
    order_.clear();
    for (Index i = 0; i < n_; ++i) {
      const double w = solver_.weights()[at(i)];
      if (w == 0.0) continue;
      order_.push_back(i);
      by_loss_[at(i)] =
          count <= kRankedExactly ? solver_.loss_without(i) : w * w * variance_[at(i)];
    }
    const Index go = std::max<Index>(1, (count - k_) / 4);
    std::partial_sort(order_.begin(), order_.begin() + go, order_.end(), [&](Index i, Index j) {
      return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] < by_loss_[at(j)] : i < j;
    });
    for (Index a = 0; a < go; ++a) {
      allowed_[at(order_[at(a)])] = false;
      if (!solver_.allow(order_[at(a)], false)) return LimitedEnd::infeasible;
    }
    end = solver_.again();
    if (!solved(end) || !forbid_idle()) return solved(end) ? LimitedEnd::infeasible : end;
  }
  return end;
}

// The most promising names left out, by what they gain to first order over their own risk.
void LimitedSearch::candidates(Index most) {
  best_.clear();
  for (Index i = 0; i < n_; ++i) {
    if (allowed_[at(i)] || i == banned_) continue;
    const double gain = std::max(solver_.gain_above(i), solver_.gain_below(i));
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

// Whether the value with name i as well is larger than `least`; if not, it is out again.
bool LimitedSearch::try_with(Index i, double least) {
  if (solver_.allow(i, true) && solved(solver_.again()) && better(solver_.value(), least)) {
    allowed_[at(i)] = true;
    return true;
  }
  solver_.allow(i, false);
  solver_.again();
  return false;
}

void LimitedSearch::fill() {
  for (bool grows = true; grows && held() < k_;) {
    grows = false;
    candidates(kTried);
    for (const Index i : std::vector<Index>(best_)) {
      if (!try_with(i, solver_.value())) continue;
      forbid_idle();
      grows = true;
      break;
    }
  }
}

void LimitedSearch::rank_by_loss() {
  order_.clear();
  for (Index i = 0; i < n_; ++i) {
    if (solver_.weights()[at(i)] == 0.0) continue;
    order_.push_back(i);
    by_loss_[at(i)] = solver_.loss_without(i);
  }
  std::sort(order_.begin(), order_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] < by_loss_[at(j)] : i < j;
  });
}

// One name out, then the one that makes up most for it in.
bool LimitedSearch::exchange_out_in(double value) {
  rank_by_loss();
  for (const Index i : std::vector<Index>(order_)) {
    allowed_[at(i)] = false;
    if (solver_.allow(i, false) && solved(solver_.again())) {
      candidates(kTried + 1);
      for (const Index j : std::vector<Index>(best_))
        if (j != i && try_with(j, value)) return true;
    }
    allowed_[at(i)] = true;
    solver_.allow(i, true);
    solver_.again();
  }
  return false;
}

// One name in, then the one that is missed least out: where none can be spared before.
bool LimitedSearch::exchange_in_out(double value) {
  candidates(2 * kTried);
  for (const Index j : std::vector<Index>(best_)) {
    if (!try_with(j, value)) continue;
    rank_by_loss();
    const auto spared = std::min<Index>(kTried, static_cast<Index>(order_.size()));
    for (const Index i : std::vector<Index>(order_.begin(), order_.begin() + spared)) {
      if (i == j) continue;
      allowed_[at(i)] = false;
      if (solver_.allow(i, false) && solved(solver_.again()) && better(solver_.value(), value))
        return true;
      allowed_[at(i)] = true;
      solver_.allow(i, true);
      solver_.again();
    }
    allowed_[at(j)] = false;
    solver_.allow(j, false);
    solver_.again();
  }
  return false;
}

bool LimitedSearch::exchange_one() {
  const double value = solver_.value();
  return exchange_out_in(value) || exchange_in_out(value);
}

void LimitedSearch::improve(const Stop& stop) {
  fill();
  while (exchange_one()) {
    ask(stop);
    forbid_idle();
    fill();
  }
}

// The k names whose own ratio of signal to risk is largest, on the side that the limits leave open.
void LimitedSearch::best_alone(ConstVec mu) {
  order_.resize(at(n_));
  for (Index i = 0; i < n_; ++i) {
    const double gain = solver_.may_exceed_zero(i) ? mu[at(i)] : 0.0;
    const double loss = solver_.may_undercut_zero(i) ? -mu[at(i)] : 0.0;
    by_loss_[at(i)] = std::max(gain, loss) / std::sqrt(variance_[at(i)]);
    order_[at(i)] = i;
  }
  std::partial_sort(order_.begin(), order_.begin() + k_, order_.end(), [&](Index i, Index j) {
    return by_loss_[at(i)] != by_loss_[at(j)] ? by_loss_[at(i)] > by_loss_[at(j)] : i < j;
  });
  order_.resize(at(k_));
}

// The best portfolio of the names in order_ alone. False if there is none.
bool LimitedSearch::restart(const risk::Risk& risk, Index sample, ConstVec mu, Vec w) {
  std::fill(allowed_.begin(), allowed_.end(), false);
  for (const Index i : order_) allowed_[at(i)] = true;
  if (!solved(solver_.forward(risk, sample, mu, {}, all_, w))) return false;
  for (Index i = 0; i < n_; ++i)
    if (!allowed_[at(i)] && !solver_.allow(i, false)) return false;
  return solved(solver_.again()) && forbid_idle();
}

bool LimitedSearch::keep_if_better() {
  if (best_value_ && !better(solver_.value(), *best_value_)) return false;
  best_value_ = solver_.value();
  best_w_.assign(solver_.weights().begin(), solver_.weights().end());
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
      if (best_w_[at(i)] != 0.0) names.push_back(i);
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
  std::fill(allowed_.begin(), allowed_.end(), true);
  LimitedEnd end = solver_.forward(risk, sample, mu, {}, all_, w);
  if (!solved(end) || held() <= k_) return end;
  best_value_.reset();
  end = forbid_idle() ? reduce(stop) : LimitedEnd::infeasible;
  if (solved(end)) {
    if (exchange) improve(stop);
    keep_if_better();
  }
  if (exchange) {
    best_alone(mu);
    if (restart(risk, sample, mu, w)) {
      improve(stop);
      if (keep_if_better()) end = LimitedEnd::ok;
    }
    if (solved(end) && n_ * k_ <= kMostKicked) kick_all(risk, sample, mu, w, stop);
  }
  if (solved(end)) std::copy(best_w_.begin(), best_w_.end(), w.begin());
  return end;
}

}  // namespace sharpen::select
