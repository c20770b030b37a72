#include "select/pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "select/pool_risk.hpp"

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

constexpr int kRounds = 6;
constexpr int kRoundsOfAll = 40;
constexpr Index kMostOfAll = 400;
constexpr double kNoGain = 1e-9;  // relative: of a value, or of what a residual is made of

// Whether gains of names outside can be told from such a solution: a direction has no scale.
bool can_go_on(LimitedEnd end) { return is_solved(end) && end != LimitedEnd::neutral; }

}  // namespace

double gain_of_entry(const layer::Limits& limits, Index i, double e, ConstVec multipliers,
                     double theta) {
  const double gross = multipliers[multipliers.size() - 2];
  double best = -kInfinity;
  for (const int direction : {1, -1}) {
    const std::vector<double>& bound = direction > 0 ? limits.upper : limits.lower;
    if (!bound.empty() && !(direction * bound[at(i)] > 0.0)) continue;
    const double cost = limits.costs.empty() ? 0.0 : limits.costs[at(i)];
    best = std::max(best, direction * e - gross - multipliers.back() - theta * cost);
  }
  return best;
}

void take_limits(const layer::Limits& limits, std::span<const Index> names, layer::Limits& out) {
  const auto pick = [&](const std::vector<double>& from, std::vector<double>& to) {
    to.clear();
    if (from.empty()) return;
    for (const Index i : names) to.push_back(from[at(i)]);
  };
  out.gross = limits.gross;
  out.turnover = limits.turnover;
  pick(limits.lower, out.lower);
  pick(limits.upper, out.upper);
  pick(limits.holdings, out.holdings);
  pick(limits.costs, out.costs);
  pick(limits.least_if_held, out.least_if_held);
  out.rows.resize(limits.rows.size());
  for (std::size_t r = 0; r < limits.rows.size(); ++r) {
    const layer::LimitRow& row = limits.rows[r];
    out.rows[r].name = row.name;
    out.rows[r].lower = row.lower;
    out.rows[r].upper = row.upper;
    pick(row.coefficients, out.rows[r].coefficients);
  }
  out.names = limits.names;
  for (layer::NamesLimit& group : out.names) {
    std::vector<Index> members;
    for (std::size_t a = 0; a < names.size(); ++a)
      if (std::ranges::binary_search(group.members, names[a]))
        members.push_back(static_cast<Index>(a));
    group.members = std::move(members);
  }
}

Pool::Pool(const layer::ObjectiveSettings& objective, const layer::Limits& limits, Index n, Index k)
    : objective_(objective),
      limits_(limits),
      n_(n),
      k_(k),
      most_(std::min(n, k < n ? 4 * k + 100 : kMostOfAll)),
      must_(at(n)),
      score_(at(n)),
      Sw_(at(n)),
      risk_(std::make_unique<PoolRisk>()) {
  for (std::size_t i = 0; i < at(n); ++i)
    must_[i] = (!limits.lower.empty() && limits.lower[i] > 0.0) ||
               (!limits.upper.empty() && limits.upper[i] < 0.0) ||
               (!limits.holdings.empty() && limits.holdings[i] != 0.0);
}
Pool::~Pool() = default;

bool Pool::pays(Index n, Index k) { return n > 2 * (k < n ? 4 * k + 100 : kMostOfAll); }

// By the ratio of signal to risk, on the side that the bounds leave open.
void Pool::rank_alone(const risk::Risk& risk, Index sample, ConstVec mu) {
  const ConstVec variance = risk.diagonal(sample);
  for (std::size_t i = 0; i < at(n_); ++i) {
    const bool above = limits_.upper.empty() || limits_.upper[i] > 0.0;
    const bool below = limits_.lower.empty() || limits_.lower[i] < 0.0;
    const double signal = above && below ? std::abs(mu[i]) : above ? mu[i] : below ? -mu[i] : 0.0;
    score_[i] = signal / std::sqrt(variance[i]);
  }
}

// By what they would add to the last answer of the pool, which is w (n). False if none outside
// would add anything.
bool Pool::rank_by_gain(const risk::Risk& risk, Index sample, ConstVec mu, ConstVec w) {
  const layer::LimitedSolver& solver = search_->solver();
  const ConstVec multipliers = solver.multipliers();
  const ConstVec variance = risk.diagonal(sample);
  const double theta = solver.theta();
  risk.apply(sample, w, Sw_, scratch_);
  bool any = false;
  const double net =
      objective_.kind == layer::Objective::sharpe ? multipliers[limits_.rows.size()] : 0.0;
  for (Index i = 0; i < n_; ++i) {
    double e = theta * mu[at(i)] - Sw_[at(i)] - net;
    for (std::size_t r = 0; r < limits_.rows.size(); ++r)
      if (multipliers[r] != 0.0) e -= multipliers[r] * limits_.rows[r].coefficients[at(i)];
    const double more = gain_of_entry(limits_, i, e, multipliers, theta);
    score_[at(i)] = w[at(i)] != 0.0 ? kInfinity : more * std::abs(more) / variance[at(i)];
    const double size = theta * std::abs(mu[at(i)]) + std::abs(Sw_[at(i)]) + std::abs(net);
    any = any || (more > kNoGain * size && !std::ranges::binary_search(names_, i));
  }
  return any;
}

// The pool: the best by score_, those that must be in it, and enough of every group.
void Pool::fill(const risk::Risk& risk, Index sample, ConstVec mu, ConstVec w) {
  const auto better = [&](Index i, Index j) {
    return score_[at(i)] != score_[at(j)] ? score_[at(i)] > score_[at(j)] : i < j;
  };
  order_.resize(at(n_));
  std::iota(order_.begin(), order_.end(), Index{0});
  std::partial_sort(order_.begin(), order_.begin() + most_, order_.end(), better);
  order_.resize(at(most_));
  for (Index i = 0; i < n_; ++i)
    if (must_[at(i)] || (!w.empty() && w[at(i)] != 0.0)) order_.push_back(i);
  for (const layer::NamesLimit& group : limits_.names) {
    std::vector<Index> members = group.members;
    std::ranges::sort(members, better);
    const Index some = std::min(2 * group.least, static_cast<Index>(members.size()));
    order_.insert(order_.end(), members.begin(), members.begin() + some);
  }
  std::ranges::sort(order_);
  order_.erase(std::unique(order_.begin(), order_.end()), order_.end());
  names_ = order_;
  risk_->set(risk, sample, names_, scratch_);
  take_limits(limits_, names_, inside_);
  const auto size = static_cast<Index>(names_.size());
  search_.emplace(objective_, inside_, size, k_);
  mu_.resize(names_.size());
  for (std::size_t a = 0; a < names_.size(); ++a) mu_[a] = mu[at(names_[a])];
}

// From the names held in w (n), or anew, into w.
LimitedEnd Pool::search(bool exchange, bool anew, Vec w, const Stop& stop) {
  w_.resize(names_.size());
  std::vector<Index> K;
  for (std::size_t a = 0; a < names_.size(); ++a)
    if (w[at(names_[a])] != 0.0) K.push_back(static_cast<Index>(a));
  const LimitedEnd end = anew ? search_->run(*risk_, 0, mu_, exchange, w_, stop)
                              : search_->improve_on(*risk_, 0, mu_, K, exchange, w_, stop);
  if (!is_solved(end)) return end;
  std::ranges::fill(w, 0.0);
  for (std::size_t a = 0; a < names_.size(); ++a) w[at(names_[a])] = w_[a];
  return end;
}

// False if the signal or the risk cannot be used.
bool Pool::begin(const risk::Risk& risk, Index sample, ConstVec mu, Vec w) {
  if (risk.status(sample) != Status::ok) return false;
  if (!std::ranges::all_of(mu, [](double x) { return std::isfinite(x); })) return false;
  scratch_.resize(at(risk.scratch_size()));
  rank_alone(risk, sample, mu);
  std::ranges::fill(w, 0.0);
  return true;
}

std::optional<LimitedEnd> Pool::run(const risk::Risk& risk, Index sample, ConstVec mu,
                                    bool exchange, Vec w, const Stop& stop) {
  if (!begin(risk, sample, mu, w)) return std::nullopt;
  LimitedEnd end = LimitedEnd::ok;
  double value = -kInfinity;
  for (int round = 0; round < kRounds; ++round) {
    fill(risk, sample, mu, w);
    const bool full = n_ - std::ranges::count(w, 0.0) >= k_;
    end = search(exchange, round == 0 || !full, w, stop);
    if (!can_go_on(end)) return std::nullopt;
    const double now = search_->solver().value();
    const bool grew = now > value + kNoGain * std::abs(value) || round == 0;
    value = now;
    if (!grew || !rank_by_gain(risk, sample, mu, w)) break;
  }
  return end;
}

std::optional<LimitedEnd> Pool::run_on_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w,
                                           const Stop& stop) {
  if (!begin(risk, sample, mu, w)) return std::nullopt;
  for (int round = 0; round < kRoundsOfAll; ++round) {
    ask(stop);
    fill(risk, sample, mu, w);
    w_.resize(names_.size());
    const LimitedEnd end = search_->run_on_all(*risk_, 0, mu_, w_);
    if (!can_go_on(end)) return std::nullopt;
    std::ranges::fill(w, 0.0);
    for (std::size_t a = 0; a < names_.size(); ++a) w[at(names_[a])] = w_[a];
    if (!rank_by_gain(risk, sample, mu, w)) return end;
    if (2 * (n_ - std::ranges::count(w, 0.0)) > n_) break;  // nearly all of them
  }
  return std::nullopt;
}

}  // namespace sharpen::select
