#include "sharpen/backtest/statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "backtest/sample.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

// g(0) = sum lambda(k/M) R(k) and G = sum lambda(k/M) |k| R(k) over k = -M..M, R the sample
// autocovariance and lambda the flat-top lag window; both zero if x does not vary.
struct Spectrum {
  double g = 0.0;
  double G = 0.0;
};

std::vector<double> autocovariances(ConstVec x, std::size_t lags) {
  const Sample s = sample(x);
  std::vector<double> R(lags + 1);
  for (std::size_t k = 0; k <= lags; ++k) {
    double sum = 0.0;
    for (std::size_t t = k; t < x.size(); ++t) sum += (x[t] - s.mean) * (x[t - k] - s.mean);
    R[k] = sum / static_cast<double>(x.size());
  }
  return R;
}

// The smallest m after which K autocorrelations in a row are insignificant; failing that, the
// last significant lag up to most.
std::size_t significant_lags(ConstVec R, std::size_t most, std::size_t K, double band) {
  const auto significant = [&](std::size_t k) { return std::abs(R[k]) >= band * R[0]; };
  std::size_t last = 0;
  for (std::size_t k = 1; k <= most; ++k) {
    if (significant(k)) last = k;
    if (k - last == K) return last;
  }
  return last;
}

// Politis and White 2004, section 3.2, with their constants: c = 2, K = max(5, sqrt(log10 n)),
// and M = 2m.
Spectrum spectrum_at_zero(ConstVec x) {
  const double n = static_cast<double>(x.size());
  const double log_n = std::log10(n);
  const auto K = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(log_n))));
  const std::size_t most =
      std::min(static_cast<std::size_t>(std::ceil(std::sqrt(n))) + K, x.size() - 1);
  const std::vector<double> R = autocovariances(x, most);
  if (!(R[0] > 0.0)) return {};
  const std::size_t m = significant_lags(R, most, K, 2.0 * std::sqrt(log_n / n));
  const std::size_t M = std::min(2 * std::max<std::size_t>(m, 1), most);
  Spectrum out{.g = R[0]};
  for (std::size_t k = 1; k <= M; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(M);
    const double lambda = share <= 0.5 ? 1.0 : 2.0 * (1.0 - share);
    out.g += 2.0 * lambda * R[k];
    out.G += 2.0 * lambda * static_cast<double>(k) * R[k];
  }
  return out;
}

// b = (2 G^2 / D)^(1/3) n^(1/3) with D = factor g(0)^2, kept within [1, min(3 sqrt n, n/3)].
double block_length(ConstVec x, double factor) {
  for (const double value : x)
    if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  if (x.size() < 4) return 1.0;
  const double n = static_cast<double>(x.size());
  const Spectrum s = spectrum_at_zero(x);
  const double most = std::ceil(std::min(3.0 * std::sqrt(n), n / 3.0));
  if (s.G == 0.0) return 1.0;
  const double b = std::cbrt(2.0 * s.G * s.G / (factor * s.g * s.g) * n);
  return b < most ? std::max(b, 1.0) : most;  // g(0) near zero asks for the longest
}

}  // namespace

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

SharpeMoments sharpe_moments(ConstVec x) {
  SharpeMoments out{.n = static_cast<Index>(x.size())};
  const Sample s = sample(x);
  out.sharpe = ratio(s.mean, deviation(s, x, 1));
  const double sd = deviation(s, x, 0);
  if (!(out.n >= 2 && sd > 0.0)) return out;
  out.skewness = out.kurtosis = 0.0;
  for (const double value : x) {
    const double z = (value - s.mean) / sd;
    out.skewness += z * z * z;
    out.kurtosis += z * z * z * z;
  }
  out.skewness /= static_cast<double>(out.n);
  out.kurtosis /= static_cast<double>(out.n);
  return out;
}

double SharpeMoments::sharpe_variance() const {
  // Never negative in a sample: skewness^2 <= kurtosis - 1.
  const double shape = 1.0 - skewness * sharpe + 0.25 * (kurtosis - 1.0) * sharpe * sharpe;
  return std::max(shape, 0.0) / static_cast<double>(n - 1);
}

double probabilistic_sharpe(const SharpeMoments& moments, double threshold) {
  const double distance = moments.sharpe - threshold;
  if (std::isnan(distance)) return distance;
  const double sd = std::sqrt(moments.sharpe_variance());
  if (sd == 0.0) return distance == 0.0 ? 0.5 : distance > 0.0 ? 1.0 : 0.0;
  return normal_cdf(distance / sd);
}

double expected_max_sharpe(std::int64_t trials, double trial_variance) {
  if (trials < 1) throw InputError(fmt::format("trials = {} is outside [1, inf)", trials));
  if (trial_variance < 0.0)
    throw InputError(
        fmt::format("trial_variance = {} is outside [0, inf)", shortest(trial_variance)));
  if (trials == 1) return 0.0;
  // Phi^-1(1 - p) = -Phi^-1(p), which keeps its digits for many trials.
  const double p = 1.0 / static_cast<double>(trials);
  const double deviates = -(1.0 - std::numbers::egamma) * normal_quantile(p) -
                          std::numbers::egamma * normal_quantile(p / std::numbers::e);
  return std::sqrt(trial_variance) * deviates;
}

double deflated_sharpe(const SharpeMoments& moments, std::int64_t trials) {
  return deflated_sharpe(moments, trials, moments.sharpe_variance());
}

double deflated_sharpe(const SharpeMoments& moments, std::int64_t trials, double trial_variance) {
  return probabilistic_sharpe(moments, expected_max_sharpe(trials, trial_variance));
}

double stationary_block_length(ConstVec x) { return block_length(x, 2.0); }
double circular_block_length(ConstVec x) { return block_length(x, 4.0 / 3.0); }

void sharpe_influence(ConstVec x, Vec influence) {
  const Sample s = sample(x);
  const double sd = deviation(s, x, 0);
  const double sharpe = ratio(s.mean, sd);
  for (std::size_t t = 0; t < x.size(); ++t) {
    const double z = (x[t] - s.mean) / sd;
    influence[t] = z - 0.5 * sharpe * (z * z - 1.0);
  }
}

SharpeStatistics sharpe_statistics(ConstVec x, std::int64_t trials,
                                   const BootstrapSettings& settings, const Threads& threads) {
  SharpeStatistics out;
  out.moments = sharpe_moments(x);
  out.probabilistic = probabilistic_sharpe(out.moments);
  out.deflated = deflated_sharpe(out.moments, trials);
  out.trials = trials;
  out.interval = sharpe_interval(x, settings, threads);
  return out;
}

}  // namespace sharpen::backtest
