// Resampling: the stationary bootstrap of one Sharpe ratio and the studentised circular block
// bootstrap of the difference of two.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backtest/resample.hpp"
#include "backtest/sample.hpp"
#include "base/vec.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

// The Andrews bandwidth, four moments and blocks to take a variance over need some periods.
constexpr Index kLeastPairs = 10;
// Fewer blocks than this give the studentised bootstrap a useless standard error.
constexpr Index kLeastBlocks = 10;

// mean / sd of a resample. One that does not vary lies beyond every other on its side.
double resampled_sharpe(ConstVec x) {
  const Sample s = sample(x);
  const double sd = deviation(s, x, 1);
  if (sd > 0.0) return s.mean / sd;
  return s.mean == 0.0 ? 0.0 : std::copysign(kInfinity, s.mean);
}

void stationary_resample(ConstVec x, double block, Random& random, Vec out) {
  std::size_t t = 0;
  for_each_stationary(x.size(), block, random, [&](std::size_t drawn) { out[t++] = x[drawn]; });
}

double deviation_of(ConstVec x) {
  return std::sqrt(sample(x).squares / (static_cast<double>(x.size()) - 1.0));
}

std::vector<double> influence_of(ConstVec x) {
  std::vector<double> influence(x.size());
  sharpe_influence(x, influence);
  return influence;
}

// The AR(1) coefficient of a series with mean zero, kept away from a unit root.
double autoregression(ConstVec u) {
  double together = 0.0, squares = 0.0;
  for (std::size_t t = 1; t < u.size(); ++t) {
    together += u[t] * u[t - 1];
    squares += u[t - 1] * u[t - 1];
  }
  return squares > 0.0 ? std::clamp(together / squares, -0.97, 0.97) : 0.0;
}

double parzen(double x) {
  if (x <= 0.5) return 1.0 - 6.0 * x * x + 6.0 * x * x * x;
  return x < 1.0 ? 2.0 * (1.0 - x) * (1.0 - x) * (1.0 - x) : 0.0;
}

// The long-run variance of u: Parzen kernel, Andrews' (1991) bandwidth by AR(1), prewhitened
// (Andrews and Monahan 1992), with the factor T/(T - 4) for the four moments estimated.
double long_run_variance(ConstVec u) {
  const double T = static_cast<double>(u.size());
  const double a = autoregression(u);
  std::vector<double> v(u.size() - 1);
  for (std::size_t t = 0; t < v.size(); ++t) v[t] = u[t + 1] - a * u[t];
  const double rho = autoregression(v);
  const double alpha = 4.0 * rho * rho / std::pow(1.0 - rho, 4);
  const double bandwidth = 2.6614 * std::pow(alpha * T, 0.2);
  double variance = 0.0;
  for (std::size_t j = 0; j < v.size() && (j == 0 || static_cast<double>(j) < bandwidth); ++j) {
    double covariance = 0.0;
    for (std::size_t t = j; t < v.size(); ++t) covariance += v[t] * v[t - j];
    const double weight = j == 0 ? 1.0 : 2.0 * parzen(static_cast<double>(j) / bandwidth);
    variance += weight * covariance / T;
  }
  return variance / ((1.0 - a) * (1.0 - a)) * T / (T - 4.0);
}

// The linearised difference, u_t = influence of a - influence of b.
std::vector<double> difference_influence(ConstVec a, ConstVec b) {
  std::vector<double> u = influence_of(a);
  const std::vector<double> other = influence_of(b);
  for (std::size_t t = 0; t < u.size(); ++t) u[t] -= other[t];
  return u;
}

// Whether the difference is only rounding: one series is the other, scaled.
bool equal_up_to_scale(ConstVec a, ConstVec u) {
  return std::sqrt(sample(u).squares) <= 1e-12 * std::sqrt(sample(influence_of(a)).squares);
}

// Periods of one circular resample and what is computed from them.
struct Pair {
  std::vector<double> a, b;
};

double plain_sharpe(const Sample& s, std::size_t n) {
  return s.mean / std::sqrt(s.squares / static_cast<double>(n));
}

// |difference* - difference| / se* of one resample of `blocks` blocks; infinite where se* is 0.
double studentised(Pair& pair, std::size_t block, double centre) {
  const std::size_t L = pair.a.size();
  const Sample sa = sample(pair.a), sb = sample(pair.b);
  const double scale_a = std::sqrt(static_cast<double>(L) / sa.squares);
  const double scale_b = std::sqrt(static_cast<double>(L) / sb.squares);
  const double sharpe_a = sa.mean * scale_a, sharpe_b = sb.mean * scale_b;
  double squares = 0.0;
  for (std::size_t first = 0; first < L; first += block) {
    double sum = 0.0;
    for (std::size_t t = first; t < first + block; ++t) {
      const double za = (pair.a[t] - sa.mean) * scale_a;
      const double zb = (pair.b[t] - sb.mean) * scale_b;
      sum += za - 0.5 * sharpe_a * (za * za - 1.0) - zb + 0.5 * sharpe_b * (zb * zb - 1.0);
    }
    squares += sum * sum;
  }
  const double se = std::sqrt(squares) / static_cast<double>(L);
  const double d = std::abs(sharpe_a - sharpe_b - centre) / se;
  return std::isnan(d) ? kInfinity : d;
}

void circular_resample(ConstVec a, ConstVec b, std::size_t block, Random& random, Pair& out) {
  for (std::size_t first = 0; first < out.a.size(); first += block) {
    std::size_t at = random.below(a.size());
    for (std::size_t t = first; t < first + block; ++t) {
      out.a[t] = a[at];
      out.b[t] = b[at];
      at = at + 1 == a.size() ? 0 : at + 1;
    }
  }
}

Index chosen_block(ConstVec u, double given) {
  if (given > 0.0) return static_cast<Index>(std::llround(given));
  const Index most = std::max<Index>(1, static_cast<Index>(u.size()) / kLeastBlocks);
  return std::clamp<Index>(static_cast<Index>(std::llround(circular_block_length(u))), 1, most);
}

std::vector<double> studentised_replications(ConstVec a, ConstVec b, double centre, Index block,
                                             const BootstrapSettings& settings,
                                             const Threads& threads) {
  const auto length = static_cast<std::size_t>(block);
  const std::size_t kept = a.size() / length * length;
  std::vector<Pair> scratch(static_cast<std::size_t>(threads.count()),
                            {std::vector<double>(kept), std::vector<double>(kept)});
  std::vector<double> d(static_cast<std::size_t>(settings.replications));
  threads.for_each(settings.replications, [&](Index i, int slot) {
    Random random = replication(settings, i);
    Pair& pair = scratch[at(slot)];
    circular_resample(a, b, length, random, pair);
    d[at(i)] = studentised(pair, length, centre);
  });
  return d;
}

}  // namespace

void BootstrapSettings::validate(Index n) const {
  if (!(level > 0.0 && level < 1.0))
    throw InputError(fmt::format("level = {} is outside (0, 1)", shortest(level)));
  if (block != 0.0 && !(block >= 1.0 && block <= static_cast<double>(n)))
    throw InputError(
        fmt::format("block = {} is outside [1, {}], the number of periods", shortest(block), n));
  settings::check(*this);
}

SharpeInterval sharpe_interval(ConstVec x, const BootstrapSettings& settings,
                               const Threads& threads) {
  settings.validate(static_cast<Index>(x.size()));
  if (x.size() < 2 || !all_finite(x) || !(deviation(sample(x), x, 1) > 0.0)) return {};
  SharpeInterval out;
  out.block = settings.block > 0.0 ? settings.block : stationary_block_length(influence_of(x));
  std::vector<std::vector<double>> scratch(static_cast<std::size_t>(threads.count()),
                                           std::vector<double>(x.size()));
  std::vector<double> sharpes(static_cast<std::size_t>(settings.replications));
  threads.for_each(settings.replications, [&](Index i, int slot) {
    Random random = replication(settings, i);
    std::vector<double>& resample = scratch[at(slot)];
    stationary_resample(x, out.block, random, resample);
    sharpes[at(i)] = resampled_sharpe(resample);
  });
  out.standard_error = deviation_of(sharpes);
  const Interval ends = percentile_interval(sharpes, settings.level);
  out.low = ends.low;
  out.high = ends.high;
  return out;
}

SharpeDifference sharpe_difference(ConstVec a, ConstVec b, const BootstrapSettings& settings,
                                   const Threads& threads) {
  if (a.size() != b.size())
    throw InputError(
        fmt::format("the two runs have {} and {} periods; a paired test needs the same ones",
                    a.size(), b.size()));
  const auto n = static_cast<Index>(a.size());
  settings.validate(n);
  SharpeDifference out{.n = n};
  out.sharpe_a = sharpe_moments(a).sharpe;
  out.sharpe_b = sharpe_moments(b).sharpe;
  out.difference = out.sharpe_a - out.sharpe_b;
  if (!std::isfinite(out.difference)) return out;
  out.correlation = correlation(a, b);
  const std::vector<double> u = difference_influence(a, b);
  if (equal_up_to_scale(a, u)) {
    out.same = true;
    out.difference = out.standard_error = out.low = out.high = 0.0;
    out.p_value = 1.0;
    return out;
  }
  const Index block = chosen_block(u, settings.block);
  if (n / block < 2 && settings.block > 0.0)
    throw InputError(fmt::format(
        "block = {} leaves fewer than two blocks of {} periods; give {} or less", block, n, n / 2));
  if (n < kLeastPairs) return out;
  out.block = block;

  // Ledoit and Wolf divide by T where we divide by T - 1: the ratio is undone at the end.
  const double to_ours = std::sqrt((static_cast<double>(n) - 1.0) / static_cast<double>(n));
  const double difference = plain_sharpe(sample(a), a.size()) - plain_sharpe(sample(b), b.size());
  const double se = std::sqrt(long_run_variance(u) / static_cast<double>(n));
  if (!(se > 0.0)) return out;
  const double d = std::abs(difference) / se;
  std::vector<double> replications =
      studentised_replications(a, b, difference, block, settings, threads);
  const auto M = static_cast<double>(settings.replications);
  const auto extreme = std::count_if(replications.begin(), replications.end(),
                                     [&](double replication) { return replication >= d; });
  std::sort(replications.begin(), replications.end());
  const double rank = std::ceil(settings.level * (M + 1.0) - 1e-9);
  const double q = rank <= M ? replications[static_cast<std::size_t>(rank) - 1] : kInfinity;
  out.standard_error = se * to_ours;
  out.p_value = (static_cast<double>(extreme) + 1.0) / (M + 1.0);
  out.low = out.difference - q * out.standard_error;
  out.high = out.difference + q * out.standard_error;
  return out;
}

}  // namespace sharpen::backtest
