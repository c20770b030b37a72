#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "baseline/sdr_bracket.hpp"

namespace sharpen::baseline {

namespace {

constexpr double kBelow = 1.0 - 16.0 * kEps;  // for the last few operations in double

}  // namespace

// Terms cancel, so every rounding error counts against the point: that of the sums over at most
// n^2 terms in long double, and of l1, trace and diagonals in double.
struct Bracket::Sums {
  Index count = 0;  // assets
  Real value = 0.0L, value_size = 0.0L, risk = 0.0L, risk_size = 0.0L;
  double trace = 0.0, off = 0.0;  // off: sum of |Y_ij| off the diagonal
  double value_diagonal = 0.0, risk_diagonal = 0.0;

  double terms() const { return static_cast<double>(count * count) + 16.0; }
  double value_below() const {
    return static_cast<double>(value - terms() * kRealUnit * value_size) * (1.0 - kEps);
  }
  double risk_above() const {
    return static_cast<double>(risk + terms() * kRealUnit * risk_size) * (1.0 + kEps);
  }
};

struct Bracket::Repair {
  double value = 0.0;
  Index count = 0;      // the assets that stay: the first in order_
  double factor = 1.0;  // of Y on the diagonal
  double keep = 1.0;    // of the entries off it, besides
  double share = 0.0;   // of the greedy portfolio
};

// Both remedies are mixtures with a point inside the l1 cone, so PSD; and convexity of the l1 norm
// makes them feasible.
Bracket::Repair Bracket::repair(const Sums& sums) const {
  const ScaledProblem& p = *problem_;
  const double value = sums.value_below(), risk = sums.risk_above();
  if (!(risk > 0.0) || !std::isfinite(value) || !std::isfinite(risk)) return {};
  const double rounding = sums.terms() * kEps;
  const double room = (p.kappa - 1.0) * sums.trace * (1.0 - rounding);

  const double keep = sums.off > room ? room / sums.off : 1.0;
  // No difference of the two: near singularity the diagonal is far larger than the risk.
  const double shrunk_risk = keep * risk + (1.0 - keep) * sums.risk_diagonal * (1.0 + rounding);
  const double shrunk_value = keep * value + (1.0 - keep) * sums.value_diagonal * (1.0 - rounding);
  const Repair shrunk{.value = shrunk_value / shrunk_risk * kBelow,
                      .count = sums.count,
                      .factor = 1.0 / shrunk_risk,
                      .keep = keep};

  const double l1 = p.greedy.lpNorm<1>();
  const double excess = (sums.off - room) / risk;
  const double greedy_excess = l1 * l1 - (p.kappa - rounding) * p.greedy.squaredNorm();
  double share = 0.0;
  if (excess > 0.0) share = greedy_excess < 0.0 ? excess / (excess - greedy_excess) : 1.0;
  const Repair mixed{.value = ((1.0 - share) * value / risk + share * p.greedy_value) * kBelow,
                     .count = sums.count,
                     .factor = (1.0 - share) / risk,
                     .share = share};
  return shrunk.value >= mixed.value ? shrunk : mixed;
}

void Bracket::offer_primal(const Matrix& Y) {
  const ScaledProblem& p = *problem_;
  order_.resize(at(p.n()));
  std::iota(order_.begin(), order_.end(), Index{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index i, Index j) { return Y(i, i) > Y(j, j); });
  Sums sums;
  Repair best;
  for (const Index j : order_) {
    const auto add = [&](Index i, Real times) {
      const Real y = times * Y(i, j), value = y * p.mu[i] * p.mu[j], risk = y * p.Sigma(i, j);
      sums.value += value;
      sums.value_size += std::abs(value);
      sums.risk += risk;
      sums.risk_size += std::abs(risk);
    };
    for (Index s = 0; s < sums.count; ++s) {
      const Index i = order_[at(s)];
      add(i, 2.0L);
      sums.off += 2.0 * std::abs(Y(i, j));
    }
    add(j, 1.0L);
    sums.trace += Y(j, j);
    sums.value_diagonal += Y(j, j) * p.mu[j] * p.mu[j];
    sums.risk_diagonal += Y(j, j) * p.Sigma(j, j);
    ++sums.count;
    const Repair candidate = repair(sums);
    if (candidate.value > best.value) best = candidate;
  }
  if (best.value > primal_) keep_primal(Y, best);
}

void Bracket::keep_primal(const Matrix& Y, const Repair& repair) {
  const ScaledProblem& p = *problem_;
  Y_.setZero();
  for (Index s = 0; s < repair.count; ++s) {
    const Index j = order_[at(s)];
    for (Index t = 0; t < repair.count; ++t) {
      const Index i = order_[at(t)];
      Y_(i, j) = (i == j ? repair.factor : repair.factor * repair.keep) * Y(i, j);
    }
  }
  if (repair.share > 0.0) {
    Y_.noalias() += repair.share * p.greedy * p.greedy.transpose();
    mirror_lower(Y_);
  }
  primal_ = repair.value;
}

}  // namespace sharpen::baseline
