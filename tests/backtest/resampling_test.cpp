// Block lengths, standard errors and percentiles against the papers' formulas written out plainly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/random.hpp"

namespace sharpen::backtest {
namespace {

// x_t = rho x_(t-1) + e_t, e exponential: skewed, so that signs matter.
std::vector<double> skewed(Index n, double rho, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < x.size(); ++t)
    x[t] = -std::log(random.uniform_open()) - 0.7 + (t > 0 ? rho * x[t - 1] : 0.0);
  return x;
}

double mean_of(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

// Politis and White (2004, section 3.2) with the constants of Patton, Politis and White (2009):
// m is the smallest lag after which K autocorrelations are all within the band.
double literal_block_length(const std::vector<double>& x, double factor) {
  const auto n = static_cast<int>(x.size());
  const double mean = mean_of(x), log_n = std::log10(n);
  const int K = std::max(5, static_cast<int>(std::ceil(std::sqrt(log_n))));
  const int most = static_cast<int>(std::ceil(std::sqrt(n))) + K;
  const auto R = [&](int k) {
    double sum = 0.0;
    for (int t = std::abs(k); t < n; ++t)
      sum += (x[static_cast<std::size_t>(t)] - mean) *
             (x[static_cast<std::size_t>(t - std::abs(k))] - mean);
    return sum / n;
  };
  const auto within = [&](int k) { return std::abs(R(k) / R(0)) < 2.0 * std::sqrt(log_n / n); };
  int m = -1;
  for (int lag = 0; lag + K <= most && m < 0; ++lag) {
    bool quiet = true;
    for (int k = 1; k <= K; ++k) quiet = quiet && within(lag + k);
    if (quiet) m = lag;
  }
  for (int k = 1; m < 0 && k <= most; ++k)
    if (!within(most + 1 - k)) m = most + 1 - k;  // no quiet stretch: the last one outside
  const int M = std::min(2 * std::max(m, 1), most);
  double g = 0.0, G = 0.0;
  for (int k = -M; k <= M; ++k) {
    const double share = std::abs(k) / static_cast<double>(M);
    const double lambda = share <= 0.5 ? 1.0 : 2.0 * (1.0 - share);
    g += lambda * R(k);
    G += lambda * std::abs(k) * R(k);
  }
  const double b = std::cbrt(2.0 * G * G / (factor * g * g) * n);
  return std::clamp(b, 1.0, std::ceil(std::min(3.0 * std::sqrt(n), n / 3.0)));
}

TEST(BlockLength, IsThePublishedRule) {
  int inner = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const double rho : {-0.4, 0.0, 0.3, 0.6, 0.9}) {
      const std::vector<double> x = skewed(60 + 20 * static_cast<Index>(seed), rho, seed);
      const double b = stationary_block_length(x), literal = literal_block_length(x, 2.0);
      EXPECT_NEAR(b, literal, 1e-9 * literal) << seed << " " << rho;
      EXPECT_NEAR(circular_block_length(x), literal_block_length(x, 4.0 / 3.0), 1e-9 * literal);
      inner += b != std::floor(b);  // neither bound
    }
  EXPECT_GT(inner, 120) << "most must lie within the bounds, or this test says little";
}

TEST(BlockLength, IsAtMostAThirdOfAShortSeries) {
  std::vector<double> x;
  for (int t = 0; t < 40; ++t) x.push_back(t % 2 == 0 ? 1.0 : -1.0);  // g(0) is nearly zero
  EXPECT_EQ(stationary_block_length(x), 14.0);                        // ceil(40 / 3) < 3 sqrt(40)
}

// The mean square of the influence values is n times the variance of Mertens (2002), here with
// the deviation of divisor n throughout; and they are what a period's weight changes.
TEST(SharpeInfluence, IsTheDerivativeByThePeriodsWeight) {
  const std::vector<double> x = skewed(200, 0.2, 3);
  std::vector<double> influence(x.size());
  sharpe_influence(x, influence);
  const auto n = static_cast<double>(x.size());
  const auto weighted_sharpe = [&](std::size_t period, double more) {
    double weight = 0.0, first = 0.0, second = 0.0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const double w = 1.0 / n + (t == period ? more : 0.0);
      weight += w;
      first += w * x[t];
      second += w * x[t] * x[t];
    }
    const double mean = first / weight;
    return mean / std::sqrt(second / weight - mean * mean);
  };
  for (const std::size_t period : {std::size_t{0}, std::size_t{57}, std::size_t{199}}) {
    const double h = 1e-6;
    EXPECT_NEAR(influence[period],
                (weighted_sharpe(period, h) - weighted_sharpe(period, -h)) / (2 * h), 1e-6);
  }
  const SharpeMoments m = sharpe_moments(x);
  const double S = m.sharpe * std::sqrt(n / (n - 1.0));
  double squares = 0.0;
  for (const double value : influence) squares += value * value / n;
  EXPECT_NEAR(squares, 1.0 - m.skewness * S + 0.25 * (m.kurtosis - 1.0) * S * S, 1e-12);
  EXPECT_GT(std::abs(m.skewness * S), 0.3) << "the sign must matter";
}

// Andrews and Monahan (1992): prewhitened by an AR(1) kept within 0.97, Parzen kernel, Andrews'
// (1991) bandwidth by another AR(1), and Ledoit and Wolf's T/(T - 4).
double slope(const std::vector<double>& y) {
  double xy = 0.0, xx = 0.0;
  for (std::size_t t = 0; t + 1 < y.size(); ++t) {
    xy += y[t] * y[t + 1];
    xx += y[t] * y[t];
  }
  return xy / xx;
}

double literal_long_run_variance(const std::vector<double>& u) {
  const auto T = static_cast<double>(u.size());
  const double a = std::min(0.97, std::max(-0.97, slope(u)));
  std::vector<double> v;
  for (std::size_t t = 1; t < u.size(); ++t) v.push_back(u[t] - a * u[t - 1]);
  const double rho = slope(v);
  const double S = 2.6614 * std::pow(4.0 * rho * rho / std::pow(1.0 - rho, 4) * T, 1.0 / 5.0);
  double sum = 0.0;
  const auto lags = static_cast<int>(v.size()) - 1;
  for (int j = -lags; j <= lags; ++j) {
    const double x = std::abs(j) / S;
    double kernel = 0.0;
    if (x <= 0.5)
      kernel = 1.0 - 6.0 * x * x + 6.0 * std::pow(x, 3);
    else if (x <= 1.0)
      kernel = 2.0 * std::pow(1.0 - x, 3);
    for (auto t = static_cast<std::size_t>(std::abs(j)); t < v.size(); ++t)
      sum += kernel * v[t] * v[t - static_cast<std::size_t>(std::abs(j))] / T;
  }
  return T / (T - 4.0) * sum / std::pow(1.0 - a, 2);
}

TEST(SharpeDifference, StandardErrorIsThePublishedOne) {
  int near_unit_root = 0;
  Index longest = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const double rho = seed <= 6 ? 0.3 : 0.999;
    constexpr double n = 250.0;
    const std::vector<double> a = skewed(250, rho, seed), b = skewed(250, rho, 100 + seed);
    std::vector<double> u(a.size()), other(b.size());
    sharpe_influence(a, u);
    sharpe_influence(b, other);
    for (std::size_t t = 0; t < u.size(); ++t) u[t] -= other[t];
    near_unit_root += slope(u) > 0.97;
    const SharpeDifference d = sharpe_difference(a, b, {.replications = 20}, Threads(1));
    const double literal = std::sqrt(literal_long_run_variance(u) / n * (n - 1.0) / n);
    EXPECT_NEAR(d.standard_error, literal, 1e-10 * literal) << seed;
    EXPECT_LE(d.block, 25) << "ten blocks at least, for a standard error of their sums";
    longest = std::max(longest, d.block);
  }
  EXPECT_GT(near_unit_root, 0);
  EXPECT_LT(near_unit_root, 12);
  EXPECT_EQ(longest, 25);
}

// Blocks of one period are plain draws, which can be drawn here again.
TEST(SharpeInterval, EndsAreOrderStatisticsOfTheReplications) {
  const std::vector<double> x = skewed(30, 0.0, 7);
  constexpr int M = 50;
  std::vector<double> sharpes;
  for (int i = 0; i < M; ++i) {
    Random random(5, static_cast<std::uint64_t>(i));
    std::vector<double> drawn;
    for (std::size_t t = 0; t < x.size(); ++t) drawn.push_back(x[random.below(x.size())]);
    sharpes.push_back(sharpe_ratio(drawn));
  }
  std::sort(sharpes.begin(), sharpes.end());
  const auto interval = [&](double level) {
    return sharpe_interval(x, {.replications = M, .block = 1, .level = level, .seed = 5},
                           Threads(1));
  };
  // 0.05 (M + 1) = 2.55: the second from either end; 0.005 (M + 1) < 1: the outermost.
  EXPECT_DOUBLE_EQ(interval(0.90).low, sharpes[1]);
  EXPECT_DOUBLE_EQ(interval(0.90).high, sharpes[48]);
  EXPECT_DOUBLE_EQ(interval(0.99).low, sharpes.front());
  EXPECT_DOUBLE_EQ(interval(0.99).high, sharpes.back());
  double squares = 0.0;
  for (const double sharpe : sharpes) squares += std::pow(sharpe - mean_of(sharpes), 2);
  EXPECT_NEAR(interval(0.90).standard_error, std::sqrt(squares / (M - 1)), 1e-12);
}

// A run that earned something once: a third of the resamples miss it, and have no Sharpe ratio.
TEST(SharpeDifference, CountsAResampleWithoutVariationAsExtreme) {
  std::vector<double> a(30, 0.0);
  a[11] = 1.0;
  const std::vector<double> b = skewed(30, 0.0, 9);
  const SharpeDifference d =
      sharpe_difference(a, b, {.replications = 500, .block = 1, .seed = 2}, Threads(1));
  EXPECT_GT(d.p_value, 0.28);  // (29/30)^30 = 0.36
  EXPECT_EQ(d.low, -INFINITY);
  EXPECT_EQ(d.high, INFINITY);
}

TEST(SharpeDifference, TooFewReplicationsBoundNothing) {
  const std::vector<double> a = skewed(60, 0.0, 4), b = skewed(60, 0.0, 5);
  const SharpeDifference ten = sharpe_difference(a, b, {.replications = 10}, Threads(1));
  EXPECT_EQ(ten.low, -INFINITY);  // the 0.95 quantile of 10 lies beyond the largest
  EXPECT_EQ(ten.high, INFINITY);
  EXPECT_TRUE(std::isfinite(sharpe_difference(a, b, {.replications = 19}, Threads(1)).low));
}

TEST(ProbabilisticSharpe, IsCertainWhereTheEstimateHasNoVariance) {
  const SharpeMoments m{.n = 10, .sharpe = 2.0, .skewness = 1.0, .kurtosis = 2.0};
  ASSERT_EQ(m.sharpe_variance(), 0.0);
  EXPECT_EQ(probabilistic_sharpe(m, 1.0), 1.0);
  EXPECT_EQ(probabilistic_sharpe(m, 2.0), 0.5);
  EXPECT_EQ(probabilistic_sharpe(m, 3.0), 0.0);
}

}  // namespace
}  // namespace sharpen::backtest
