#include "sharpen/baseline/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "baseline/perspective.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::baseline {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kMostForSdp = 600;          // a step of the relaxation costs some 10 n^3
constexpr Index kMostForSpectrum = 2000;    // finding d costs some 2 n^3
constexpr double kBelowDelta = 1.0 - 1e-9;  // for the rounding of the window's products

std::vector<double> dense_covariance(const risk::Risk& risk, Index sample) {
  const Index n = risk.n();
  std::vector<double> Sigma(static_cast<std::size_t>(n * n));
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  std::vector<Index> everything(static_cast<std::size_t>(n));
  std::iota(everything.begin(), everything.end(), Index{0});
  risk.submatrix(sample, everything, {Sigma.data(), n, n}, scratch);
  return Sigma;
}

// The largest |mu_i| / sigma_i, as a power of two: mu is divided by it, exactly, so that squares
// neither over- nor underflow.
double unit_of(const risk::Risk& risk, Index sample, ConstVec mu) {
  const ConstVec variance = risk.diagonal(sample);
  double largest = 0.0;
  for (std::size_t i = 0; i < mu.size(); ++i)
    largest = std::max(largest, std::abs(mu[i]) / std::sqrt(variance[i]));
  return largest > 0.0 && std::isfinite(largest) ? std::ldexp(1.0, std::ilogb(largest)) : 1.0;
}

SharpeBound sdp_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                      const BoundSettings& settings) {
  const Index n = risk.n();
  const std::vector<double> Sigma = dense_covariance(risk, sample);
  Sdr sdr(settings.sdr, n);
  Relaxation relaxation;
  sdr.solve({Sigma.data(), n, n}, mu, static_cast<double>(settings.k), relaxation, settings.stop);
  return {.status = relaxation.status,
          .sharpe = relaxation.sharpe,
          .from = Bound::sdp,
          .gap = relaxation.gap};
}

// delta of the low-rank form where it is known; otherwise multiples of the identity and of the
// variances, each as large as can be proved.
std::vector<Vector> diagonals(const risk::Risk& risk, Index sample, const BoundSettings& settings) {
  const Index n = risk.n();
  const ConstVec variance = risk.diagonal(sample);
  const Vector variances = Eigen::Map<const Vector>(variance.data(), n);
  std::vector<Vector> result;
  if (n > kMostForSpectrum && settings.shrinkage > 0.0 && risk.form() == risk::Form::low_rank) {
    result.push_back(Vector::Constant(n, settings.shrinkage * variances.mean() * kBelowDelta));
    return result;
  }
  const std::vector<double> entries = dense_covariance(risk, sample);
  const Matrix Sigma = Eigen::Map<const Matrix>(entries.data(), n, n);
  for (const Vector& weights : {Vector(Vector::Constant(n, variances.mean())), variances}) {
    Vector d = proved_diagonal(Sigma, weights, settings.stop);
    if (d.size() > 0) result.push_back(std::move(d));
  }
  return result;
}

SharpeBound perspective_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                              const BoundSettings& settings) {
  const double unit = unit_of(risk, sample, mu);
  std::vector<double> scaled(mu.begin(), mu.end());
  for (double& m : scaled) m /= unit;
  Perspective perspective(risk, sample, scaled, settings.k, settings.stop);
  PerspectiveBound best{.value = kInfinity, .gap = 1.0};
  for (const Vector& d : diagonals(risk, sample, settings)) {
    const PerspectiveBound bound = perspective.bound(d);
    if (bound.value < best.value) best = bound;
  }
  return {.status = std::isfinite(best.value) ? Status::ok : Status::not_converged,
          .sharpe = root_above(best.value) * unit,
          .from = Bound::perspective,
          .gap = best.gap};
}

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

double root_above(double value) {
  return std::sqrt(value) * (1.0 + 2.0 * std::numeric_limits<double>::epsilon());
}

void BoundSettings::validate(Index n) const {
  if (k < 1 || k > n) throw InputError(fmt::format("k = {} is outside [1, {}]", k, n));
  if (name(bound) == "unknown")
    throw InputError(
        fmt::format("bound = {} is none of best, sdp, perspective", static_cast<int>(bound)));
  if (!(shrinkage >= 0.0 && shrinkage <= 1.0))
    throw InputError(fmt::format("shrinkage = {} is outside [0, 1]", shrinkage));
  sdr.validate();
}

SharpeBound sharpe_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                               const BoundSettings& settings) {
  const Index n = risk.n();
  settings.validate(n);
  if (sample < 0 || sample >= risk.samples())
    throw InputError(
        fmt::format("sample = {} is outside [0, {}) of the risk model", sample, risk.samples()));
  if (static_cast<Index>(mu.size()) != n)
    throw InputError(fmt::format("mu has {} entries for {} assets", mu.size(), n));

  const Threads one_thread(1);  // BLAS calls stay on one thread
  const bool finite = std::all_of(mu.begin(), mu.end(), [](double m) { return std::isfinite(m); });
  if (risk.status(sample) != Status::ok || !finite)
    return {.status = Status::invalid_input, .sharpe = kNan, .from = Bound::sdp, .gap = kNan};
  if (std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0.0; }))
    return {.status = Status::no_signal,
            .sharpe = 0.0,
            .from = settings.bound == Bound::perspective ? Bound::perspective : Bound::sdp,
            .gap = 0.0};

  if (settings.bound == Bound::sdp) return sdp_bound(risk, sample, mu, settings);
  const SharpeBound perspective = perspective_bound(risk, sample, mu, settings);
  if (settings.bound == Bound::perspective || n > kMostForSdp) return perspective;
  const SharpeBound sdp = sdp_bound(risk, sample, mu, settings);
  return sdp.sharpe <= perspective.sharpe ? sdp : perspective;
}

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
