#include "select/proof_linear.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/vec.hpp"
#include "sharpen/layer/limited.hpp"

namespace sharpen::select {

namespace {

// Of the risk, against the return: next to nothing.
constexpr double kNearlyNoRisk = 1e-9;

// The bound by these multipliers, with every rounding against it.
double bound_by(const layer::Limits& limits, ConstVec mu, Index k, ConstVec lambda, ConstVec most) {
  const std::size_t n = mu.size();
  std::vector<double> r(mu.begin(), mu.end()), size(n), gains;
  double sum = 0.0, total = 0.0;
  for (std::size_t i = 0; i < n; ++i) size[i] = std::abs(mu[i]);
  for (std::size_t j = 0; j < limits.rows.size(); ++j) {
    const layer::LimitRow& row = limits.rows[j];
    const double limit = lambda[j] > 0.0 ? row.upper : row.lower;
    if (lambda[j] == 0.0 || !std::isfinite(limit)) continue;
    sum += lambda[j] * limit;
    total += std::abs(lambda[j] * limit);
    for (std::size_t i = 0; i < n; ++i) {
      r[i] -= lambda[j] * row.coefficients[i];
      size[i] += std::abs(lambda[j] * row.coefficients[i]);
    }
  }
  const double terms = 4.0 * kEps * static_cast<double>(limits.rows.size() + n + 4);
  for (std::size_t i = 0; i < n; ++i) {
    const double lower = limits.lower.empty() ? -kInfinity : limits.lower[i];
    const double error = terms * size[i];
    const double above = most[i] == 0.0 ? 0.0 : (r[i] + (most[i] > 0.0 ? error : -error)) * most[i];
    const double below = lower == 0.0 ? 0.0 : (r[i] + (lower > 0.0 ? error : -error)) * lower;
    const double gain = std::max(above, below);
    if (lower > 0.0 || most[i] < 0.0) {  // held in any case
      sum += gain;
      total += std::abs(gain);
      --k;
    } else {
      gains.push_back(std::max(gain, 0.0));
    }
  }
  const Index count = std::clamp<Index>(k, 0, static_cast<Index>(gains.size()));
  std::partial_sort(gains.begin(), gains.begin() + count, gains.end(), std::greater<>());
  for (Index i = 0; i < count; ++i) sum += gains[at(i)], total += gains[at(i)];
  sum += terms * total;
  return std::isnan(sum) ? kInfinity : sum;
}

// One multiplier after the other, to where another name stops to count: a vertex may have many, of
// which the kernel knows one.
double lowered(const layer::Limits& limits, ConstVec mu, Index k, ConstVec most,
               std::vector<double>& lambda, double best) {
  constexpr int kPasses = 3;
  constexpr std::size_t kMostLooks = 4000;
  if (limits.rows.size() * mu.size() > kMostLooks) return best;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t r = 0; r < limits.rows.size(); ++r) {
      const double before = lambda[r];
      double chosen = before;
      for (std::size_t i = 0; i < mu.size(); ++i) {
        if (limits.rows[r].coefficients[i] == 0.0) continue;
        double left = mu[i];
        for (std::size_t j = 0; j < limits.rows.size(); ++j)
          if (j != r) left -= lambda[j] * limits.rows[j].coefficients[i];
        lambda[r] = left / limits.rows[r].coefficients[i];
        const double bound = bound_by(limits, mu, k, lambda, most);
        if (bound < best) best = bound, chosen = lambda[r];
        lambda[r] = before;
      }
      lambda[r] = chosen;
    }
  }
  return best;
}

}  // namespace

std::vector<double> most_of_each(const layer::Limits& limits, Index n) {
  std::vector<double> most = limits.upper;
  most.resize(at(n), layer::kUnlimited);
  for (const layer::LimitRow& row : limits.rows) {
    bool sums_up = std::isfinite(row.upper);
    for (Index i = 0; sums_up && i < n; ++i) {
      const double a = row.coefficients[at(i)];
      sums_up = a == 0.0 || (a > 0.0 && !limits.lower.empty() && limits.lower[at(i)] >= 0.0);
    }
    for (Index i = 0; sums_up && i < n; ++i)
      if (const double a = row.coefficients[at(i)]; a > 0.0)
        most[at(i)] = std::min(most[at(i)], row.upper / a * (1.0 + 2.0 * kEps));
  }
  return most;
}

double largest_return(const layer::Limits& limits, const risk::Risk& risk, Index sample,
                      ConstVec mu, Index k) {
  const Index n = risk.n();
  layer::Limits kept;
  kept.lower = limits.lower;
  kept.upper = limits.upper;
  kept.rows = limits.rows;
  double largest = 0.0, variance = 0.0;
  for (const double m : mu) largest = std::max(largest, std::abs(m));
  for (const double v : risk.diagonal(sample)) variance = std::max(variance, v);
  const double aversion = kNearlyNoRisk * largest / variance;
  if (!(aversion > 0.0 && std::isfinite(aversion))) return kInfinity;
  const std::vector<double> most = most_of_each(kept, n);
  std::vector<double> lambda(kept.rows.size()), scaled(kept.rows.size());
  double best = bound_by(kept, mu, k, lambda, most);
  layer::LimitedSolver solver({.kind = layer::Objective::utility, .risk_aversion = aversion}, kept,
                              n);
  std::vector<double> w(at(n));
  layer::LimitedState state;
  const bool solved = is_solved(solver.forward(risk, sample, mu, {}, state, w));
  for (const double sign : {1.0, -1.0}) {
    if (!solved) break;
    for (std::size_t r = 0; r < scaled.size(); ++r)
      scaled[r] = sign * solver.multipliers()[r] / solver.theta();
    const double bound = bound_by(kept, mu, k, scaled, most);
    if (!(bound < best)) continue;
    best = bound;
    lambda = scaled;
  }
  return lowered(kept, mu, k, most, lambda, best);
}

}  // namespace sharpen::select
