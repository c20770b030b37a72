#include "sharpen/backtest/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"

namespace sharpen::backtest {
namespace {

const Threads kOne(1);

std::vector<double> normals(Index n, double mean, std::uint64_t seed, std::uint64_t stream = 0) {
  Random random(seed, stream);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = mean + random.normal();
  return x;
}

// x_t = rho x_(t-1) + e_t
std::vector<double> autoregressive(Index n, double rho, std::uint64_t seed) {
  std::vector<double> x = normals(n, 0.0, seed);
  for (std::size_t t = 1; t < x.size(); ++t) x[t] += rho * x[t - 1];
  return x;
}

// Deviations -3, -2, -1, 0, 6: central moments 10, 36 and 278.8.
TEST(SharpeMoments, AreTheOnesComputedByHand) {
  const std::vector<double> x = {1, 2, 3, 4, 10};
  const SharpeMoments m = sharpe_moments(x);
  EXPECT_EQ(m.n, 5);
  EXPECT_NEAR(m.sharpe, 4 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(m.skewness, 36 / std::pow(10, 1.5), 1e-14);
  EXPECT_NEAR(m.kurtosis, 2.788, 1e-14);
  const double shape = 1 - m.skewness * m.sharpe + (2.788 - 1) / 4 * 16 / 12.5;
  EXPECT_NEAR(m.sharpe_variance(), shape / 4, 1e-15);
  EXPECT_NEAR(probabilistic_sharpe(m, 0.5), normal_cdf((m.sharpe - 0.5) / std::sqrt(shape / 4)),
              1e-15);
}

// The worked example of "The deflated Sharpe ratio" (2014): five years of 250 days, a Sharpe ratio
// of 2.5 a year, variance 1/2 a year across trials.
TEST(DeflatedSharpe, GivesTheFiguresOfThePaper) {
  const SharpeMoments m{
      .n = 1250, .sharpe = 2.5 / std::sqrt(250.0), .skewness = -3, .kurtosis = 10};
  EXPECT_NEAR(expected_max_sharpe(100, 0.5 / 250), 0.1132, 5e-5);
  EXPECT_NEAR(deflated_sharpe(m, 100, 0.5 / 250), 0.9004, 5e-5);
  EXPECT_NEAR(deflated_sharpe(m, 46, 0.5 / 250), 0.9505, 5e-5);
}

TEST(DeflatedSharpe, OneTrialIsTheProbabilisticSharpeRatioAndMoreAreWorse) {
  const SharpeMoments m = sharpe_moments(normals(500, 0.1, 3));
  EXPECT_EQ(deflated_sharpe(m, 1), probabilistic_sharpe(m));
  double before = deflated_sharpe(m, 1);
  for (const std::int64_t trials : {2, 5, 10, 100, 10000, 1000000000}) {
    const double now = deflated_sharpe(m, trials);
    EXPECT_LT(now, before) << trials;
    EXPECT_GT(now, 0.0);
    before = now;
  }
  EXPECT_EQ(deflated_sharpe(m, 7), deflated_sharpe(m, 7, m.sharpe_variance()));
  EXPECT_THROW(deflated_sharpe(m, 0), InputError);
  EXPECT_THROW(deflated_sharpe(m, 10, -1.0), InputError);
}

// The largest of N draws, averaged: the closed form is good to 4 % from ten on.
TEST(DeflatedSharpe, ThresholdIsTheMeanOfTheLargestOfManyNormals) {
  Random random(12);
  for (const int trials : {10, 100}) {
    double sum = 0;
    constexpr int rounds = 4000;
    for (int i = 0; i < rounds; ++i) {
      double most = -1e9;
      for (int j = 0; j < trials; ++j) most = std::max(most, random.normal());
      sum += most;
    }
    EXPECT_NEAR(expected_max_sharpe(trials, 4.0), 2 * sum / rounds, 0.08 * sum / rounds);
  }
}

// Under normality 2 % of samples without skill are above 98 %: p-values are uniform.
TEST(ProbabilisticSharpe, IsUniformWithoutSkill) {
  int high = 0, low = 0;
  constexpr int samples = 2000;
  for (int i = 0; i < samples; ++i) {
    const double p =
        probabilistic_sharpe(sharpe_moments(normals(100, 0.0, 77, static_cast<std::uint64_t>(i))));
    high += p > 0.9;
    low += p < 0.1;
  }
  const double tolerance = 4 * std::sqrt(0.09 / samples);
  EXPECT_NEAR(high / double(samples), 0.1, tolerance);
  EXPECT_NEAR(low / double(samples), 0.1, tolerance);
}

TEST(Statistics, WhatDoesNotExistIsNaN) {
  const std::vector<double> flat(50, 0.01), one = {0.01}, none;
  const std::vector<double> hole = {0.1, std::nan(""), 0.2, 0.3};
  for (const std::vector<double>& x : {flat, one, none, hole}) {
    const SharpeStatistics s = sharpe_statistics(x, 5, {.replications = 50}, kOne);
    for (const double figure : {s.moments.sharpe, s.probabilistic, s.deflated, s.interval.low,
                                s.interval.high, s.interval.standard_error, s.interval.block})
      EXPECT_TRUE(std::isnan(figure)) << x.size();
    const std::vector<double> other = normals(static_cast<Index>(x.size()), 0, 1);
    const SharpeDifference d = sharpe_difference(x, other, {.replications = 50}, kOne);
    EXPECT_TRUE(std::isnan(d.difference)) << x.size();
    EXPECT_TRUE(std::isnan(d.p_value)) << x.size();
  }
}

// For an AR(1), G/g(0) = 2 rho/(1 - rho^2), so b = (2/D (2 rho/(1 - rho^2))^2 n)^(1/3).
TEST(BlockLength, ApproachesTheOptimumOfAnAutoregression) {
  constexpr Index n = 20000;
  const std::vector<double> x = autoregressive(n, 0.5, 5);
  const double base = std::pow(2 * 0.5 / 0.75, 2) * n;
  EXPECT_NEAR(stationary_block_length(x), std::cbrt(base), 0.2 * std::cbrt(base));
  EXPECT_NEAR(circular_block_length(x) / stationary_block_length(x), std::cbrt(1.5), 1e-12);
}

// n = 16, x = 1 -1 1 -1 ...: R(k) = (-1)^k (16 - k)/16. log10(16) = 1.204, band 0.549, and lags
// 1..7 lie above it: m = 7, so M = min(14, 9) = 9.
TEST(BlockLength, IsTheOneComputedByHand) {
  std::vector<double> x;
  for (int t = 0; t < 16; ++t) x.push_back(t % 2 == 0 ? 1.0 : -1.0);
  double g = 1.0, G = 0.0;
  for (int k = 1; k <= 9; ++k) {
    const double R = (k % 2 == 0 ? 1.0 : -1.0) * (16 - k) / 16.0;
    const double lambda = k <= 4 ? 1.0 : 2.0 * (1 - k / 9.0);
    g += 2 * lambda * R;
    G += 2 * lambda * k * R;
  }
  const double most = std::ceil(std::min(3 * 4.0, 16 / 3.0));
  EXPECT_NEAR(stationary_block_length(x), std::min(std::cbrt(G * G / (g * g) * 16), most), 1e-12);
  EXPECT_EQ(stationary_block_length(std::vector<double>(100, 2.0)), 1.0);
  EXPECT_EQ(stationary_block_length(std::vector<double>{1, 2}), 1.0);
  const double white = stationary_block_length(normals(1000, 0, 9));
  EXPECT_GE(white, 1.0);
  EXPECT_LT(white, 6.0);
}

// All 27 resamples of three periods with their probabilities: after i comes i + 1 with
// probability 1 - p + p/3 and each other period with p/3.
TEST(SharpeInterval, EndsAreQuantilesOfTheExactResamplingDistribution) {
  const std::vector<double> x = {-1.0, 0.5, 2.0};
  for (const double block : {1.0, 2.5}) {
    const double p = 1 / block;
    std::map<double, double> probability;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k) {
          const auto step = [&](int from, int to) {
            return p / 3 + (to == (from + 1) % 3 ? 1 - p : 0.0);
          };
          const std::vector<double> drawn = {x[std::size_t(i)], x[std::size_t(j)],
                                             x[std::size_t(k)]};
          double sharpe = sharpe_ratio(drawn);
          if (std::isnan(sharpe)) sharpe = drawn[0] > 0 ? INFINITY : -INFINITY;
          probability[sharpe] += step(i, j) * step(j, k) / 3;
        }
    for (const double level : {0.5, 0.8}) {
      const SharpeInterval interval = sharpe_interval(
          x, {.replications = 20000, .block = block, .level = level, .seed = 4}, kOne);
      // The share at or below an end, and strictly below it, must hold the tail between them.
      double below_low = 0, to_low = 0, below_high = 0, to_high = 0;
      for (const auto& [sharpe, weight] : probability) {
        below_low += sharpe < interval.low - 1e-12 ? weight : 0;
        to_low += sharpe <= interval.low + 1e-12 ? weight : 0;
        below_high += sharpe < interval.high - 1e-12 ? weight : 0;
        to_high += sharpe <= interval.high + 1e-12 ? weight : 0;
      }
      const double tail = (1 - level) / 2, noise = 4 * std::sqrt(tail * (1 - tail) / 20000);
      EXPECT_LE(below_low, tail + noise);
      EXPECT_GE(to_low, tail - noise);
      EXPECT_LE(below_high, 1 - tail + noise);
      EXPECT_GE(to_high, 1 - tail - noise);
    }
  }
}

TEST(SharpeInterval, AgreesWithNormalTheoryOnALargeSample) {
  const std::vector<double> x = normals(4000, 0.1, 8);
  const SharpeInterval interval = sharpe_interval(x, {.replications = 4000, .seed = 1}, kOne);
  const SharpeMoments m = sharpe_moments(x);
  const double se = std::sqrt(m.sharpe_variance());
  EXPECT_NEAR(interval.standard_error, se, 0.08 * se);
  EXPECT_NEAR(interval.low, m.sharpe - 1.96 * se, 0.25 * se);
  EXPECT_NEAR(interval.high, m.sharpe + 1.96 * se, 0.25 * se);
}

// Positive autocorrelation: the mean of an AR(1) with rho = 1/2 has three times the variance.
TEST(SharpeInterval, IsWiderWhereReturnsAreAutocorrelated) {
  const std::vector<double> x = autoregressive(4000, 0.5, 21);
  const SharpeInterval blocks = sharpe_interval(x, {.replications = 2000}, kOne);
  const SharpeInterval single = sharpe_interval(x, {.replications = 2000, .block = 1}, kOne);
  EXPECT_GT(blocks.block, 8.0);
  EXPECT_NEAR(blocks.standard_error / single.standard_error, std::sqrt(3.0), 0.25);
}

TEST(SharpeInterval, CoversTheTruthAboutAsOftenAsItSays) {
  constexpr int samples = 400;
  int covered = 0;
  for (int i = 0; i < samples; ++i) {
    const std::vector<double> x = normals(150, 0.15, 31, static_cast<std::uint64_t>(i));
    const SharpeInterval interval =
        sharpe_interval(x, {.replications = 299, .seed = static_cast<std::uint64_t>(i)}, kOne);
    covered += interval.low <= 0.15 && 0.15 <= interval.high;
  }
  EXPECT_GT(covered, 0.90 * samples);
  EXPECT_LT(covered, 0.985 * samples);
}

TEST(Bootstrap, StopsWhenItIsAsked) {
  const std::vector<double> x = normals(50, 0.1, 1), y = normals(50, 0.1, 2);
  std::atomic<int> asked = 0;
  BootstrapSettings settings{.replications = 1000, .stop = [&] { return ++asked > 20; }};
  for (const int threads : {1, 2}) {
    asked = 0;
    EXPECT_THROW(sharpe_interval(x, settings, Threads(threads)), Interrupted);
    asked = 0;
    EXPECT_THROW(sharpe_difference(x, y, settings, Threads(threads)), Interrupted);
    EXPECT_LT(asked, 1000);
  }
  settings.stop = [] { return false; };
  EXPECT_EQ(sharpe_interval(x, settings, kOne).low,
            sharpe_interval(x, {.replications = 1000}, kOne).low);
}

TEST(Bootstrap, HasEqualBitsForAnyNumberOfThreadsAndOtherBitsForAnotherSeed) {
  const std::vector<double> x = normals(300, 0.05, 2), y = normals(300, 0.0, 6);
  const BootstrapSettings settings = {.replications = 500, .seed = 11};
  const SharpeInterval one = sharpe_interval(x, settings, kOne);
  const SharpeDifference pair = sharpe_difference(x, y, settings, kOne);
  for (const int count : {2, 3}) {
    const Threads threads(count);
    const SharpeInterval more = sharpe_interval(x, settings, threads);
    EXPECT_EQ(one.low, more.low);
    EXPECT_EQ(one.high, more.high);
    EXPECT_EQ(one.standard_error, more.standard_error);
    const SharpeDifference other = sharpe_difference(x, y, settings, threads);
    EXPECT_EQ(pair.p_value, other.p_value);
    EXPECT_EQ(pair.low, other.low);
  }
  EXPECT_NE(sharpe_interval(x, {.replications = 500, .seed = 12}, kOne).low, one.low);
}

// Ledoit and Wolf's section 3 as they write it: uncentred moments v = (mean a, mean b, mean a^2,
// mean b^2), the gradient of the difference, and 4 x 4 matrices Psi* from the sums of blocks.
struct Literal {
  double difference;
  std::array<double, 4> gradient;
  std::array<double, 4> v;
};

Literal literal(const std::vector<double>& a, const std::vector<double>& b) {
  std::array<double, 4> v{};
  const double n = static_cast<double>(a.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    v[0] += a[t] / n;
    v[1] += b[t] / n;
    v[2] += a[t] * a[t] / n;
    v[3] += b[t] * b[t] / n;
  }
  const double var_a = v[2] - v[0] * v[0], var_b = v[3] - v[1] * v[1];
  return {v[0] / std::sqrt(var_a) - v[1] / std::sqrt(var_b),
          {v[2] / std::pow(var_a, 1.5), -v[3] / std::pow(var_b, 1.5),
           -0.5 * v[0] / std::pow(var_a, 1.5), 0.5 * v[1] / std::pow(var_b, 1.5)},
          v};
}

double literal_block_error(const std::vector<double>& a, const std::vector<double>& b,
                           std::size_t block) {
  const Literal at = literal(a, b);
  const std::size_t l = a.size() / block;
  double Psi[4][4] = {};
  for (std::size_t j = 0; j < l; ++j) {
    double zeta[4] = {};
    for (std::size_t t = j * block; t < (j + 1) * block; ++t) {
      const double y[4] = {a[t] - at.v[0], b[t] - at.v[1], a[t] * a[t] - at.v[2],
                           b[t] * b[t] - at.v[3]};
      for (int i = 0; i < 4; ++i) zeta[i] += y[i] / std::sqrt(static_cast<double>(block));
    }
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 4; ++k) Psi[i][k] += zeta[i] * zeta[k] / static_cast<double>(l);
  }
  double quadratic = 0;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 4; ++k) quadratic += at.gradient[i] * Psi[i][k] * at.gradient[k];
  return std::sqrt(quadratic / static_cast<double>(l * block));
}

TEST(SharpeDifference, IsThePublishedProcedure) {
  constexpr std::size_t n = 103, block = 5;
  constexpr int M = 400;
  const std::vector<double> a = normals(n, 0.25, 41);
  std::vector<double> b = autoregressive(n, 0.3, 42);
  for (std::size_t t = 0; t < n; ++t) b[t] = 0.6 * a[t] + 0.5 * b[t] - 0.1;
  const SharpeDifference ours =
      sharpe_difference(a, b, {.replications = M, .block = block, .seed = 9}, kOne);
  const double to_theirs = std::sqrt(n / (n - 1.0));
  const double difference = literal(a, b).difference;
  EXPECT_NEAR(ours.difference * to_theirs, difference, 1e-12);
  EXPECT_EQ(ours.block, 5);

  const double d = std::abs(difference) / (ours.standard_error * to_theirs);
  std::vector<double> stars;
  int extreme = 0;
  for (int m = 0; m < M; ++m) {
    Random random(9, static_cast<std::uint64_t>(m));
    std::vector<double> a_star, b_star;
    for (std::size_t j = 0; j < n / block; ++j) {
      const std::size_t start = random.below(n);
      for (std::size_t t = start; t < start + block; ++t) {
        a_star.push_back(a[t % n]);
        b_star.push_back(b[t % n]);
      }
    }
    const double d_star = std::abs(literal(a_star, b_star).difference - difference) /
                          literal_block_error(a_star, b_star, block);
    stars.push_back(d_star);
    extreme += d_star >= d;
  }
  EXPECT_GT(extreme, 0);
  EXPECT_DOUBLE_EQ(ours.p_value, (extreme + 1.0) / (M + 1.0));
  std::sort(stars.begin(), stars.end());
  const double q = stars[380];  // ceil(0.95 * 401) = 381st
  EXPECT_NEAR(ours.high - ours.difference, q * ours.standard_error, 1e-10);
  EXPECT_NEAR(ours.difference - ours.low, q * ours.standard_error, 1e-10);
}

// Memmel 2003: for independent normal pairs with correlation rho,
//   T var = 2 - 2 rho + (SRa^2 + SRb^2)/2 - SRa SRb rho^2.
TEST(SharpeDifference, StandardErrorAgreesWithNormalTheory) {
  constexpr Index n = 20000;
  constexpr double rho = 0.7;
  std::vector<double> a = normals(n, 0.0, 51), b = normals(n, 0.0, 52);
  for (std::size_t t = 0; t < a.size(); ++t) {
    b[t] = 0.3 + rho * a[t] + std::sqrt(1 - rho * rho) * b[t];
    a[t] += 0.5;
  }
  const SharpeDifference d = sharpe_difference(a, b, {.replications = 99}, kOne);
  const double theory = 2 - 2 * rho + 0.5 * (0.25 + 0.09) - 0.5 * 0.3 * rho * rho;
  EXPECT_NEAR(d.standard_error, std::sqrt(theory / n), 0.04 * std::sqrt(theory / n));
  EXPECT_NEAR(d.correlation, rho, 0.02);
  EXPECT_EQ(d.p_value, 0.01);  // a difference of 0.2 is 40 standard errors
}

// AR(1) with rho = 1/2 against white noise: long-run variances 3 + 1 of unit variance.
TEST(SharpeDifference, StandardErrorCountsAutocorrelation) {
  constexpr Index n = 20000;
  const SharpeDifference d = sharpe_difference(autoregressive(n, 0.5, 61), normals(n, 0.0, 62),
                                               {.replications = 99}, kOne);
  EXPECT_NEAR(d.standard_error, std::sqrt(4.0 / n), 0.07 * std::sqrt(4.0 / n));
  EXPECT_GT(d.block, 10);
}

TEST(SharpeDifference, OfEqualSeriesIsZeroWithCertainty) {
  const std::vector<double> x = normals(200, 0.1, 71);
  std::vector<double> scaled = x;
  for (double& value : scaled) value *= 0.37;
  for (const std::vector<double>& y : {x, scaled}) {
    const SharpeDifference d = sharpe_difference(x, y, {.replications = 100}, kOne);
    EXPECT_TRUE(d.same);
    EXPECT_EQ(d.difference, 0.0);
    EXPECT_EQ(d.p_value, 1.0);
    EXPECT_EQ(d.low, 0.0);
    EXPECT_EQ(d.high, 0.0);
  }
}

TEST(SharpeDifference, ChangesOnlyItsSignWhenTheSeriesChangePlaces) {
  const std::vector<double> x = normals(200, 0.1, 81), y = normals(200, 0.0, 82);
  const SharpeDifference d = sharpe_difference(x, y, {.replications = 300}, kOne);
  const SharpeDifference e = sharpe_difference(y, x, {.replications = 300}, kOne);
  EXPECT_DOUBLE_EQ(d.difference, -e.difference);
  EXPECT_DOUBLE_EQ(d.p_value, e.p_value);
  EXPECT_NEAR(d.low, -e.high, 1e-12);
  EXPECT_FALSE(d.same);
}

// Equal Sharpe ratios: 5 % of tests reject at 5 %; and interval and p-value say the same.
TEST(SharpeDifference, RejectsAboutAsOftenAsItSays) {
  constexpr int samples = 400;
  int rejected = 0;
  for (int i = 0; i < samples; ++i) {
    const auto stream = static_cast<std::uint64_t>(i);
    std::vector<double> a = normals(120, 0.1, 91, stream), b = normals(120, 0.1, 92, stream);
    for (std::size_t t = 0; t < a.size(); ++t) b[t] = 0.5 * (a[t] + b[t]) * std::sqrt(2.0);
    for (double& value : b) value -= 0.1 * (std::sqrt(2.0) - 1);
    const SharpeDifference d = sharpe_difference(a, b, {.replications = 199, .seed = stream}, kOne);
    rejected += d.p_value <= 0.05;
    if (std::abs(d.p_value - 0.05) > 0.006) {
      EXPECT_EQ(d.p_value<0.05, d.low> 0 || d.high < 0) << d.p_value;
    }
  }
  EXPECT_GT(rejected, 0.02 * samples);
  EXPECT_LT(rejected, 0.085 * samples);
}

TEST(SharpeDifference, TooFewPeriodsHaveNoPValue) {
  const SharpeDifference d =
      sharpe_difference(normals(9, 0.1, 1), normals(9, 0.1, 2), {.replications = 100}, kOne);
  EXPECT_FALSE(std::isnan(d.difference));
  EXPECT_TRUE(std::isnan(d.p_value));
  EXPECT_TRUE(std::isnan(d.low));
}

void expect_message(const std::function<void()>& call, const std::string& message) {
  try {
    call();
    ADD_FAILURE() << "accepted: " << message;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Bootstrap, RefusesSettingsOutOfBounds) {
  const std::vector<double> x = normals(100, 0, 1), y = normals(100, 0, 2);
  const auto interval = [&](const BootstrapSettings& settings) {
    return [&x, settings] { sharpe_interval(x, settings, kOne); };
  };
  expect_message(interval({.replications = 0}), "replications = 0 is outside [1, 10000000]");
  expect_message(interval({.block = 0.5}),
                 "block = 0.5 is outside [1, 100], the number of periods");
  expect_message(interval({.block = 101}),
                 "block = 101 is outside [1, 100], the number of periods");
  expect_message(interval({.block = std::nan("")}),
                 "block = nan is outside [1, 100], the number of periods");
  expect_message(interval({.level = 1.0}), "level = 1 is outside (0, 1)");
  expect_message([&] { sharpe_difference(x, y, {.block = 51}, kOne); },
                 "block = 51 leaves fewer than two blocks of 100 periods; give 50 or less");
  expect_message([&] { sharpe_difference(x, std::vector<double>(99), {}, kOne); },
                 "the two runs have 100 and 99 periods; a paired test needs the same ones");
}

}  // namespace
}  // namespace sharpen::backtest
