#include "select/pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/vec.hpp"

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

// Sigma on the names of the pool, for the kernel: its columns and its diagonal.
class PoolRisk final : public risk::Risk {
 public:
  void set(const risk::Risk& all, Index sample, std::span<const Index> names, Vec scratch) {
    n_ = static_cast<Index>(names.size());
    Sigma_.resize(at(n_ * n_));
    diagonal_.resize(at(n_));
    all.submatrix(sample, names, {Sigma_.data(), n_, n_}, scratch);
    for (Index i = 0; i < n_; ++i) diagonal_[at(i)] = Sigma_[at(i * n_ + i)];
  }

  risk::Form form() const override { return risk::Form::dense; }
  Index n() const override { return n_; }
  Index samples() const override { return 1; }
  Index scratch_size() const override { return 0; }
  risk::Parts parts() const override { return {.lower = false, .root = false}; }
  std::size_t bytes() const override { return Sigma_.size() * sizeof(double); }
  Status status(Index) const override { return Status::ok; }
  double jitter(Index) const override { return 0.0; }
  ConstVec diagonal(Index) const override { return diagonal_; }
  void column(Index, Index j, Vec out, Vec) const override {
    std::copy_n(Sigma_.begin() + j * n_, n_, out.begin());
  }

  ConstVec ones_solution(Index) const override { return none(); }
  double ones_norm2(Index) const override { return none(), 0.0; }
  double solve(Index, ConstVec, Vec, Vec) const override { return none(), 0.0; }
  void lower_solve(Index, ConstVec, Vec, Vec) const override { none(); }
  void lower_solve_t(Index, ConstVec, Vec, Vec) const override { none(); }
  void root_solve(Index, ConstVec, Vec, Vec) const override { none(); }
  void apply(Index, ConstVec, Vec, Vec) const override { none(); }
  void submatrix(Index, std::span<const Index>, Mat, Vec) const override { none(); }
  Index restriction_size() const override { return none(), 0; }
  bool restrict_to(Index, ConstVec, Vec, Vec) const override { return none(), false; }
  void restricted_solve(Index, ConstVec, ConstVec, ConstVec, Vec, Vec) const override { none(); }

 private:
  static ConstVec none() { throw std::logic_error("a pool of assets has no factor"); }

  Index n_ = 0;
  std::vector<double> Sigma_, diagonal_;
};

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

// What asset i, which holds nothing, would gain per unit of weight to first order.
double Pool::gain(Index i, double e, ConstVec multipliers, double theta) const {
  const double gross = multipliers[multipliers.size() - 2];
  double best = -kInfinity;
  for (const int direction : {1, -1}) {
    const std::vector<double>& bound = direction > 0 ? limits_.upper : limits_.lower;
    if (!bound.empty() && !(direction * bound[at(i)] > 0.0)) continue;
    // Names that are traded without being held are in the pool: nothing is held of the others.
    const double cost = limits_.costs.empty() ? 0.0 : limits_.costs[at(i)];
    best = std::max(best, direction * e - gross - multipliers.back() - theta * cost);
  }
  return best;
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
    const double more = gain(i, e, multipliers, theta);
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

  const auto pick = [&](const std::vector<double>& from, std::vector<double>& to) {
    to.clear();
    if (from.empty()) return;
    for (const Index i : names_) to.push_back(from[at(i)]);
  };
  inside_.gross = limits_.gross;
  inside_.turnover = limits_.turnover;
  pick(limits_.lower, inside_.lower);
  pick(limits_.upper, inside_.upper);
  pick(limits_.holdings, inside_.holdings);
  pick(limits_.costs, inside_.costs);
  pick(limits_.least_if_held, inside_.least_if_held);
  inside_.rows.resize(limits_.rows.size());
  for (std::size_t r = 0; r < limits_.rows.size(); ++r) {
    const layer::LimitRow& row = limits_.rows[r];
    inside_.rows[r] = {row.name, {}, row.lower, row.upper};
    pick(row.coefficients, inside_.rows[r].coefficients);
  }
  inside_.names = limits_.names;
  for (layer::NamesLimit& group : inside_.names) {
    std::vector<Index> members;
    for (std::size_t a = 0; a < names_.size(); ++a)
      if (std::ranges::binary_search(group.members, names_[a]))
        members.push_back(static_cast<Index>(a));
    group.members = std::move(members);
  }
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
