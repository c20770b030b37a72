#include "select/trade_pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "select/pool.hpp"

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

constexpr int kFills = 4;
constexpr double kSame = 1e-13;  // relative to the largest holding: less is no trade

// Names beside those that are held or wanted; of these, the ones that no fill may miss.
constexpr Index kMore = 20;
constexpr Index kBest = 8;
// Where the pool is no smaller part of all assets, columns of them cost less than the pool's block,
// as few are needed.
constexpr Index kLazily = 8;

}  // namespace

TradePool::TradePool(Index n, Index k)
    : n_(n),
      k_(k),
      size_(std::min(n, 2 * k + kMore)),
      in_(at(n)),
      inside_(at(n)),
      score_(at(n)),
      Sw_(at(n)),
      w_(at(size_)),
      wanted_(at(n)) {}

// Who is in whatever else is. False if they are too many.
bool TradePool::gather(const layer::Limits& limits, std::span<const Index> names) {
  std::ranges::fill(in_, char{0});
  Index bound = 0;
  for (std::size_t i = 0; i < at(n_); ++i) {
    const bool must = (!limits.lower.empty() && limits.lower[i] > 0.0) ||
                      (!limits.upper.empty() && limits.upper[i] < 0.0);
    bound += must;
    in_[i] = must || (!limits.holdings.empty() && limits.holdings[i] != 0.0);
  }
  for (const Index i : names) in_[at(i)] = 1;
  return bound <= k_ && std::ranges::count(in_, char{1}) <= size_;
}

// score_: what a name would add to w (n), of which it has nothing, by its own risk.
void TradePool::rank(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
                     double theta, ConstVec multipliers, ConstVec w) {
  const ConstVec variance = risk.diagonal(sample);
  risk.apply(sample, w, Sw_, scratch_);
  for (Index i = 0; i < n_; ++i) {
    double e = theta * mu[at(i)] - Sw_[at(i)];
    for (std::size_t r = 0; r < limits.rows.size(); ++r)
      if (multipliers[r] != 0.0) e -= multipliers[r] * limits.rows[r].coefficients[at(i)];
    const double gain = gain_of_entry(limits, i, e, multipliers, theta);
    score_[at(i)] = in_[at(i)] ? kInfinity : gain * std::abs(gain) / variance[at(i)];
  }
  order_.resize(at(n_));
  std::iota(order_.begin(), order_.end(), Index{0});
  std::partial_sort(order_.begin(), order_.begin() + size_, order_.end(), [&](Index i, Index j) {
    return score_[at(i)] != score_[at(j)] ? score_[at(i)] > score_[at(j)] : i < j;
  });
}

// After rank(): whether the best of those that would gain are in the pool.
bool TradePool::covers_best() {
  Index best = 0;
  for (const Index i : order_) {
    if (in_[at(i)]) continue;
    if (!(score_[at(i)] > 0.0) || ++best > kBest) return true;
    if (!inside_[at(i)]) return false;
  }
  return true;
}

// The pool: the first of order_.
void TradePool::fill(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
                     double risk_aversion) {
  names_.assign(order_.begin(), order_.begin() + size_);
  std::ranges::sort(names_);
  std::ranges::fill(inside_, char{0});
  for (const Index i : names_) inside_[at(i)] = 1;
  if (n_ <= kLazily * size_)
    risk_.set_lazily(risk, sample, names_, scratch_);
  else
    risk_.set(risk, sample, names_, scratch_);
  mu_.clear();
  for (const Index i : names_) mu_.push_back(mu[at(i)]);
  take_limits(limits, names_, limits_);
  const layer::ObjectiveSettings objective{.kind = layer::Objective::utility,
                                           .risk_aversion = risk_aversion};
  const layer::PreparedLimits prepared(objective, limits_, size_);
  const auto rows = static_cast<Index>(limits.rows.size());
  if (!search_ || rows != rows_) search_.emplace(objective, limits_, size_, k_);
  rows_ = rows;
  search_->use(prepared, risk_aversion);
}

// The names of the pool of which there is something in `held` (n).
void TradePool::start_from(ConstVec held, std::vector<Index>& out) const {
  out.clear();
  for (std::size_t a = 0; a < names_.size(); ++a)
    if (held[at(names_[a])] != 0.0) out.push_back(static_cast<Index>(a));
}

std::optional<LimitedEnd> TradePool::run(const risk::Risk& risk, Index sample, ConstVec mu,
                                         const layer::Limits& limits, double risk_aversion,
                                         std::span<const Index> names, Vec w, const Stop& stop) {
  if (!limits.least_if_held.empty() || !limits.names.empty()) return std::nullopt;
  if (risk.status(sample) != Status::ok || !gather(limits, names)) return std::nullopt;
  if (!all_finite(mu)) return std::nullopt;
  scratch_.resize(std::max(scratch_.size(), at(risk.scratch_size() + n_)));
  const double theta = 1.0 / risk_aversion;
  const std::vector<double> nothing(limits.rows.size() + 2, 0.0);
  std::ranges::fill(w, 0.0);
  if (!limits.holdings.empty()) std::ranges::copy(limits.holdings, w.begin());
  rank(risk, sample, mu, limits, theta, nothing, w);
  LimitedEnd end = LimitedEnd::infeasible;
  for (int round = 0; round < kFills; ++round) {
    fill(risk, sample, mu, limits, risk_aversion);
    starts_.resize(1);
    start_from(w, starts_[0]);
    if (round == 0) {
      std::ranges::copy(w, wanted_.begin());
      for (const Index i : names) wanted_[at(i)] = 1.0;
      start_from(wanted_, starts_.emplace_back());
    }
    end = search_->decide(risk_, 0, mu_, starts_, w_, stop);
    if (end != LimitedEnd::ok) return std::nullopt;
    std::ranges::fill(w, 0.0);
    for (std::size_t a = 0; a < names_.size(); ++a) w[at(names_[a])] = w_[a];
    if (size_ == n_) break;
    for (std::size_t i = 0; i < at(n_); ++i) in_[i] = in_[i] || w[i] != 0.0;
    rank(risk, sample, mu, limits, theta, search_->solver().multipliers(), w);
    if (covers_best()) break;
  }
  double largest = 0.0;
  for (const double v : limits.holdings) largest = std::max(largest, std::abs(v));
  Index room = k_ - (n_ - std::ranges::count(w, 0.0));  // for dust that was held
  for (std::size_t i = 0; i < limits.holdings.size(); ++i) {
    const double held = limits.holdings[i];
    if (w[i] == held || std::abs(w[i] - held) > kSame * largest) continue;
    if (w[i] == 0.0 && --room < 0) continue;
    w[i] = held;
  }
  return end;
}

}  // namespace sharpen::select
