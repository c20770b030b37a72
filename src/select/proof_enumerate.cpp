#include "select/proof_enumerate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "select/kernels.hpp"

namespace sharpen::select {

namespace {

constexpr Index kMostFound = 64;
constexpr Index kMostLevels = 12;  // names to choose one by one

}  // namespace

ProofEnumeration::ProofEnumeration(const ProofProblem& problem)
    : problem_(problem), kernels_(kernels()) {
  const auto n = at(problem.n);
  levels_.resize(at(std::min(problem.k, kMostLevels)));
  for (std::vector<Index>* x : {&order_, &taken_}) x->reserve(n);
  found_.reserve(at(kMostFound * kMostLevels));
  s_.resize(n);
  before_.resize(n + 1);
  gain_.resize(n);
}

std::span<const Index> ProofEnumeration::found(Index which) const {
  return std::span(found_).subspan(at(which * choose_), at(choose_));
}

bool ProofEnumeration::run(const ProofBound& bound, double beat, double work) {
  n_ = bound.names();
  choose_ = bound.choose();
  if (problem_.any_one_sided || choose_ < 1 || choose_ > std::min(kMostLevels, problem_.k))
    return false;
  // Most supports end early, but hardly all.
  double supports = 1.0;
  for (Index a = 0; a < choose_; ++a)
    supports *= static_cast<double>(n_ - a) / static_cast<double>(a + 1);
  if (supports > 1e4 * work) return false;

  order_.resize(at(n_));
  std::iota(order_.begin(), order_.end(), Index{0});
  std::sort(order_.begin(), order_.end(), [&](Index a, Index b) {
    const double sa = bound.share(a), sb = bound.share(b);
    return sa != sb ? sa > sb : a < b;
  });
  before_[0] = 0.0;
  Level& first = levels_[0];
  for (Level& level : levels_) {
    if (level.S.rows() > 0) continue;
    level.S.resize(problem_.n, problem_.n);
    level.mu.resize(problem_.n);
    level.variance.resize(problem_.n);
  }
  for (Index a = 0; a < n_; ++a) {
    s_[at(a)] = bound.share(order_[at(a)]);
    before_[at(a + 1)] = before_[at(a)] + s_[at(a)];
    first.mu[a] = bound.residual_mu(order_[at(a)]);
    first.variance[a] = bound.residual(order_[at(a)], order_[at(a)]);
    for (Index b = a + 1; b < n_; ++b) first.S(b, a) = bound.residual(order_[at(b)], order_[at(a)]);
  }
  found_.clear();
  taken_.clear();
  beat_ = best_ = beat;
  work_ = work;
  double linear = 0.0;
  for (Index r = 0; r < problem_.p(); ++r)
    linear += 2.0 * problem_.g[r] * bound.point().lambda[at(r)];
  return descend(0, 0, bound.value_in() + linear, bound.constant());
}

// Values err by rounding that grows with the number of sums, as bounds do.
bool ProofEnumeration::keep(double value, Index a, Index b) {
  if (problem_.p() == 0) found_.clear();
  if (static_cast<Index>(found_.size()) >= kMostFound * choose_) return false;
  for (const Index taken : taken_) found_.push_back(order_[at(taken)]);
  found_.push_back(order_[at(a)]);
  if (b >= 0) found_.push_back(order_[at(b)]);
  best_ = std::max(best_, value);
  if (problem_.p() == 0) beat_ = best_;
  return true;
}

bool ProofEnumeration::singles(const Level& level, Index from, double value) {
  work_ -= static_cast<double>(n_ - from);
  for (Index a = from; a < n_; ++a) {
    const double with = value + level.mu[a] * level.mu[a] / level.variance[a];
    if (with > beat_ && !keep(with, a, -1)) return false;
  }
  return work_ >= 0.0;
}

bool ProofEnumeration::pairs(const Level& level, Index from, double value, double additive) {
  const ProofVector& mu = level.mu;
  for (Index a = from; a + 1 < n_; ++a) {
    if (additive + s_[at(a)] + s_[at(a + 1)] <= beat_) break;
    const double inverse = 1.0 / level.variance[a], with_a = value + mu[a] * mu[a] * inverse;
    const Index count = n_ - a - 1;
    work_ -= static_cast<double>(count);
    const double most = kernels_.pairs(&level.S(a + 1, a), &mu[a + 1], &level.variance[a + 1],
                                       inverse, mu[a], count, gain_.data());
    if (with_a + most > beat_)
      for (Index b = 0; b < count; ++b)
        if (with_a + gain_[at(b)] > beat_ && !keep(with_a + gain_[at(b)], a, a + 1 + b))
          return false;
    if (work_ < 0.0) return false;
  }
  return true;
}

bool ProofEnumeration::descend(Index depth, Index from, double value, double additive) {
  const Level& level = levels_[at(depth)];
  const Index left = choose_ - depth;
  if (left == 1) return singles(level, from, value);
  if (left == 2) return pairs(level, from, value, additive);
  Level& next = levels_[at(depth + 1)];
  for (Index a = from; a + left <= n_; ++a) {
    if (additive + before_[at(a + left)] - before_[at(a)] <= beat_) break;
    const double inverse = 1.0 / level.variance[a];
    for (Index b = a + 1; b < n_; ++b) {
      const double slope = level.S(b, a) * inverse;
      next.mu[b] = level.mu[b] - slope * level.mu[a];
      double* to = &next.S(0, b);
      const double *of = &level.S(0, b), *with = &level.S(0, a);
      next.variance[b] = level.variance[b] - slope * with[b];
      if (!(next.variance[b] > 0.0)) return false;
      for (Index c = b + 1; c < n_; ++c) to[c] = of[c] - slope * with[c];
    }
    work_ -= 0.25 * static_cast<double>((n_ - a) * (n_ - a));
    if (work_ < 0.0) return false;
    taken_.push_back(a);
    const bool done = descend(depth + 1, a + 1, value + level.mu[a] * level.mu[a] * inverse,
                              additive + s_[at(a)]);
    taken_.pop_back();
    if (!done) return false;
  }
  return true;
}

}  // namespace sharpen::select
