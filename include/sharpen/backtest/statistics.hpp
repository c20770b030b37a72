// How far a Sharpe ratio can be trusted (docs/statistics.md).
//
// x_1..x_n are excess returns per period (metrics.hpp); every Sharpe ratio in here is per period.
// Figures that do not exist (n < 2, no variation, NaN among the x) are NaN.
//
// Resampling draws replication i from stream i of the seed, so results have equal bits for any
// number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

// The sample's shape: SR = mean / sd (divisor n - 1), skewness m3 / m2^(3/2) and kurtosis
// m4 / m2^2 (3 for a normal) of the central moments with divisor n.
struct SharpeMoments {
  Index n = 0;
  double sharpe = std::numeric_limits<double>::quiet_NaN();
  double skewness = std::numeric_limits<double>::quiet_NaN();
  double kurtosis = std::numeric_limits<double>::quiet_NaN();

  // Of the estimated SR for independent returns (Mertens 2002; Bailey and Lopez de Prado 2012):
  //   (1 - skewness SR + (kurtosis - 1)/4 SR^2) / (n - 1)
  double sharpe_variance() const;
};

SharpeMoments sharpe_moments(ConstVec x);

// The probability that the true Sharpe ratio is above `threshold` (Bailey and Lopez de Prado,
// "The Sharpe ratio efficient frontier", 2012): Phi((SR - threshold) / sqrt(sharpe_variance)).
double probabilistic_sharpe(const SharpeMoments& moments, double threshold = 0.0);

// What the best of `trials` independent strategies without skill is expected to show, if the
// trials' Sharpe ratios have this variance:
//   sqrt(V) ((1 - g) Phi^-1(1 - 1/N) + g Phi^-1(1 - 1/(N e))), g = 0.5772...; 0 for N = 1.
double expected_max_sharpe(std::int64_t trials, double trial_variance);

// The probabilistic Sharpe ratio against that threshold (Bailey and Lopez de Prado, "The deflated
// Sharpe ratio", 2014). Without `trial_variance` it is sharpe_variance(): every trial was as
// noisy as this one. Throws InputError for trials < 1 and a negative variance.
double deflated_sharpe(const SharpeMoments& moments, std::int64_t trials);
double deflated_sharpe(const SharpeMoments& moments, std::int64_t trials, double trial_variance);

struct BootstrapSettings {
  Index replications = 10000;
  double block = 0.0;  // (mean) block length in periods; 0: chosen from the data
  double level = 0.95;
  std::uint64_t seed = 0;
  // Asked before every replication, by any thread; once true, Interrupted is thrown.
  std::function<bool()> stop = {};

  // Throws InputError that names field, value and bound. n: periods.
  void validate(Index n) const;
};

struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

struct SharpeInterval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // sd of the replications
  double block = std::numeric_limits<double>::quiet_NaN();           // mean block length used
};

// Percentile interval from the stationary bootstrap (Politis and Romano 1994): blocks of
// geometric length with mean `block` start anywhere on the circle of periods. Without a given
// block it is stationary_block_length of the SR's influence values.
SharpeInterval sharpe_interval(ConstVec x, const BootstrapSettings& settings,
                               const Threads& threads);

// Two Sharpe ratios on the same periods: SR(a) - SR(b) (Ledoit and Wolf, "Robust performance
// hypothesis testing with the Sharpe ratio", 2008).
struct SharpeDifference {
  Index n = 0;
  double sharpe_a = std::numeric_limits<double>::quiet_NaN();
  double sharpe_b = std::numeric_limits<double>::quiet_NaN();
  double difference = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // HAC, prewhitened Parzen
  double p_value = std::numeric_limits<double>::quiet_NaN();         // of no difference, two-sided
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  Index block = 0;  // length used; 0 if nothing was resampled
  double correlation = std::numeric_limits<double>::quiet_NaN();  // of a and b
  bool same = false;  // equal up to scale: difference 0, p = 1
};

// Studentised circular block bootstrap. With d = |difference| / se and d*_m the same in
// replication m, centred at the difference and with se*_m from the sums of its blocks,
//   p = (#{d*_m >= d} + 1) / (M + 1),   difference -+ q se with q the level-quantile of the d*.
// Without a given block it is circular_block_length of the difference's influence values.
// Throws InputError for unequal lengths.
SharpeDifference sharpe_difference(ConstVec a, ConstVec b, const BootstrapSettings& settings,
                                   const Threads& threads);

// Block lengths for the mean of x (Politis and White 2004, corrected by Patton, Politis and White
// 2009), at least 1: expected length for the stationary bootstrap, length for the circular one.
double stationary_block_length(ConstVec x);
double circular_block_length(ConstVec x);

// Linearised SR: mean of the influence values z_t - (SR/2)(z_t^2 - 1), z_t = (x_t - mean)/sd with
// divisor n. They are what one period adds to the estimate.
void sharpe_influence(ConstVec x, Vec influence);

// What a report says of one run.
struct SharpeStatistics {
  SharpeMoments moments;
  double probabilistic = std::numeric_limits<double>::quiet_NaN();  // against 0
  double deflated = std::numeric_limits<double>::quiet_NaN();
  std::int64_t trials = 1;
  SharpeInterval interval;
};

SharpeStatistics sharpe_statistics(ConstVec x, std::int64_t trials,
                                   const BootstrapSettings& settings, const Threads& threads);

// The standard normal distribution function.
double normal_cdf(double x);

}  // namespace sharpen::backtest
