#include "select/proof_leaf.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "select/proof_algebra.hpp"

namespace sharpen::select {

namespace {

constexpr double kLeafRidge = 1e-13;    // columns may depend on each other
constexpr double kNoSlopeLeft = 1e-11;  // of the signal's own length
constexpr int kStepsPerColumn = 3;

}  // namespace

bool ProofLeaf::set_up(std::span<const Index> K) {
  k_ = static_cast<Index>(K.size());
  L_.resize(k_, k_);
  c_.resize(k_);
  for (Index b = 0; b < k_; ++b) {
    c_[b] = problem_.mu[K[at(b)]];
    for (Index a = 0; a < k_; ++a) L_(a, b) = problem_.Sigma(K[at(a)], K[at(b)]);
  }
  least_eigenvalue_ = problem_.least_eigenvalue;
  if (!(least_eigenvalue_ > 0.0)) least_eigenvalue_ = least_eigenvalue(L_);
  if (!(least_eigenvalue_ > 0.0) || !factor_lower(L_, k_)) return false;
  solve_lower(L_, k_, false, c_.data());
  A_.resize(k_, problem_.p() + k_);
  h_.resize(problem_.p() + k_);
  length_.clear();
  column_.clear();
  free_.clear();
  const auto add = [&](Index which, double h, bool free) {
    const auto to = static_cast<Index>(column_.size());
    solve_lower(L_, k_, false, &A_(0, to));
    const double length = A_.col(to).norm();
    if (!(length > 0.0)) return;
    A_.col(to) /= length;
    h_[to] = h / length;
    column_.push_back(which);
    length_.push_back(length);
    free_.push_back(free ? 1 : 0);
  };
  for (Index r = 0; r < problem_.p(); ++r) {
    const auto to = static_cast<Index>(column_.size());
    for (Index a = 0; a < k_; ++a) A_(a, to) = -problem_.G(K[at(a)], r);
    add(r, problem_.g[r], problem_.equality[at(r)] != 0);
  }
  for (Index a = 0; a < k_; ++a) {
    if (!problem_.one_sided[at(K[at(a)])]) continue;
    A_.col(static_cast<Index>(column_.size())) = ProofVector::Unit(k_, a);
    add(problem_.p() + a, 0.0, false);
  }
  m_ = static_cast<Index>(column_.size());
  return true;
}

// The best multipliers of the passive columns alone.
bool ProofLeaf::solve_passive() {
  order_.clear();
  for (Index j = 0; j < m_; ++j)
    if (passive_[at(j)]) order_.push_back(j);
  const auto count = static_cast<Index>(order_.size());
  ProofMatrix N(count, count);
  passive_z_.resize(count);
  for (Index b = 0; b < count; ++b) {
    for (Index a = b; a < count; ++a) N(a, b) = A_.col(order_[at(a)]).dot(A_.col(order_[at(b)]));
    N(b, b) += kLeafRidge;
    passive_z_[b] = -A_.col(order_[at(b)]).dot(c_) - h_[order_[at(b)]];
  }
  if (!factor_lower(N, count)) return false;
  solve_lower(N, count, false, passive_z_.data());
  solve_lower(N, count, true, passive_z_.data());
  return true;
}

// As far towards passive_z_ as signs allow; what stands in the way is passive no longer. True once
// it is reached.
bool ProofLeaf::step_back() {
  const auto count = static_cast<Index>(order_.size());
  const auto share = [&](Index a) {  // of the way, that its sign allows
    const Index j = order_[at(a)];
    if (free_[at(j)] || passive_z_[a] > 0.0) return 2.0;
    return z_[j] > 0.0 ? z_[j] / (z_[j] - passive_z_[a]) : 0.0;
  };
  double length = 2.0;
  for (Index a = 0; a < count; ++a) length = std::min(length, share(a));
  const bool reached = length > 1.0;
  for (Index a = 0; a < count; ++a) {
    const Index j = order_[at(a)];
    if (!reached && share(a) <= length * (1.0 + 4.0 * kEps)) {
      passive_[at(j)] = 0;
      z_[j] = 0.0;
    } else {
      z_[j] += std::min(length, 1.0) * (passive_z_[a] - z_[j]);
    }
  }
  return reached;
}

void ProofLeaf::minimize() {
  z_ = ProofVector::Zero(m_);
  passive_ = free_;
  const double least = kNoSlopeLeft * c_.norm();
  std::vector<char> idle(at(m_));  // came in and went at once: rounding
  const int most = kStepsPerColumn * static_cast<int>(m_) + 10;
  for (int steps = 0; steps < most; ++steps) {
    for (int inner = 0; inner <= static_cast<int>(m_); ++inner)
      if (!solve_passive() || step_back()) break;
    residual_ = c_ + A_.leftCols(m_) * z_;
    Index best = -1;
    double gain = least;
    for (Index j = 0; j < m_; ++j) {
      if (passive_[at(j)] || idle[at(j)]) continue;
      const double slope = -A_.col(j).dot(residual_) - h_[j];
      if (slope > gain) gain = slope, best = j;
    }
    if (best < 0) return;
    passive_[at(best)] = 1;
    idle[at(best)] = 1;
    // What has moved may be asked again.
    if (steps % 4 == 3) std::fill(idle.begin(), idle.end(), 0);
  }
}

// At the multipliers found, with every rounding against them.
double ProofLeaf::certified(std::span<const Index> K) const {
  const Index p = problem_.p();
  ProofVector signal(k_), size(k_);
  for (Index a = 0; a < k_; ++a) {
    signal[a] = problem_.mu[K[at(a)]];
    size[a] = std::abs(signal[a]);
  }
  double linear = 0.0, linear_size = 0.0;
  for (Index j = 0; j < m_; ++j) {
    const double z = z_[j] / length_[at(j)];
    const Index which = column_[at(j)];
    if (which >= p) {
      signal[which - p] += z;
      size[which - p] += std::abs(z);
      continue;
    }
    for (Index a = 0; a < k_; ++a) {
      signal[a] -= problem_.G(K[at(a)], which) * z;
      size[a] += std::abs(problem_.G(K[at(a)], which) * z);
    }
    linear += 2.0 * problem_.g[which] * z;
    linear_size += std::abs(2.0 * problem_.g[which] * z);
  }
  solve_lower(L_, k_, false, signal.data());
  const double quadratic = signal.squaredNorm(), total = quadratic + linear_size;
  const double terms = 8.0 * kEps * (static_cast<double>(problem_.n) + 16.0);
  const double noise =
      4.0 * kEps * static_cast<double>(m_ + 3) * size.norm() / std::sqrt(least_eigenvalue_);
  const double bound =
      quadratic + linear + terms * total + noise * (2.0 * std::sqrt(total) + noise);
  return std::isnan(bound) ? kInfinity : bound;
}

double ProofLeaf::bound(std::span<const Index> K) {
  if (!set_up(K)) return kInfinity;
  minimize();
  return certified(K);
}

}  // namespace sharpen::select
