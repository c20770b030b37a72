#include "sharpen/baseline/net_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sharpen::baseline {

namespace {

constexpr Index kMost = 600;  // the trace of Sigma^-1 takes n solves
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// s = -B/A if that is positive, else 0.
double shift_of(const risk::Risk& risk, Index sample, ConstVec mu) {
  double B = 0.0;
  const ConstVec b = risk.ones_solution(sample);
  for (std::size_t i = 0; i < mu.size(); ++i) B += b[i] * mu[i];
  const double s = -B / risk.ones_norm2(sample);
  return s > 0.0 && std::isfinite(s) ? s : 0.0;
}

// What the rounding of mu + s 1 can add to a Sharpe ratio: errors e with |e_i| <= eps max|mu + s 1|
// have e^T y <= |e| / sqrt(lambda_min(Sigma)) <= max|e_i| sqrt(n tr(Sigma^-1)) for unit-risk y.
double rounding_of(const risk::Risk& risk, Index sample, const std::vector<double>& shifted) {
  double largest = 0.0, trace = 0.0;
  for (const double m : shifted) largest = std::max(largest, std::abs(m));
  std::vector<double> unit(shifted.size()), out(shifted.size());
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  for (double& entry : unit) {
    entry = 1.0;
    trace += risk.solve(sample, unit, out, scratch);
    entry = 0.0;
  }
  return 2.0 * kEpsilon * largest * std::sqrt(static_cast<double>(shifted.size()) * trace);
}

}  // namespace

SharpeBound net_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                            const BoundSettings& settings) {
  const SharpeBound plain = sharpe_upper_bound(risk, sample, mu, settings);
  if (net == layer::Net::any || plain.status == Status::invalid_input || risk.n() > kMost)
    return plain;
  const double s = shift_of(risk, sample, mu);
  if (s == 0.0) return plain;
  std::vector<double> shifted(mu.begin(), mu.end());
  for (double& m : shifted) m += s;
  SharpeBound moved = sharpe_upper_bound(risk, sample, shifted, settings);
  moved.sharpe = (moved.sharpe + rounding_of(risk, sample, shifted)) * (1.0 + 2.0 * kEpsilon);
  if (moved.status == Status::no_signal) moved.status = Status::ok;
  return moved.sharpe < plain.sharpe ? moved : plain;
}

}  // namespace sharpen::baseline
