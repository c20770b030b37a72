#include "sharpen/backtest/after_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backtest/resample.hpp"
#include "backtest/sample.hpp"
#include "base/vec.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::backtest {

namespace {

// Two series less their means, and sums over a resample of them: enough for every Sharpe ratio of a
// combination x - c u, and for the regression of one on the other.
struct Centred {
  std::vector<double> x, y;
  double mean_x = 0.0, mean_y = 0.0;

  Centred(ConstVec first, ConstVec second)
      : x(first.begin(), first.end()),
        y(second.begin(), second.end()),
        mean_x(sample(first).mean),
        mean_y(sample(second).mean) {
    for (double& value : x) value -= mean_x;
    for (double& value : y) value -= mean_y;
  }
};

struct Moments {
  double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;

  void add(double first, double second) {
    x += first;
    y += second;
    xx += first * first;
    xy += first * second;
    yy += second * second;
  }
};

Moments resampled(const Centred& pair, double block, Random random) {
  Moments out{.n = static_cast<double>(pair.x.size())};
  for_each_stationary(pair.x.size(), block, random,
                      [&](std::size_t t) { out.add(pair.x[t], pair.y[t]); });
  return out;
}

// Of a sum of squares, what is only the rounding of its terms: variances below are differences.
constexpr double kRounding = 1e-13;

// Sharpe ratio of x - c y. A resample that does not vary lies beyond every other on its side.
double sharpe_of(const Moments& m, const Centred& pair, double c) {
  const double offset = (m.x - c * m.y) / m.n;
  const double mean = pair.mean_x - c * pair.mean_y + offset;
  const double all = m.xx + c * c * m.yy;
  const double squares = m.xx - 2.0 * c * m.xy + c * c * m.yy - m.n * offset * offset;
  if (squares > kRounding * all) return mean / std::sqrt(squares / (m.n - 1.0));
  return mean == 0.0 ? 0.0 : std::copysign(kInfinity, mean);
}

struct Line {
  double alpha = kNaN, beta = kNaN;
};

// x on y; NaN where y does not vary.
Line line_of(const Moments& m, const Centred& pair) {
  const double squares = m.yy - m.y * m.y / m.n;
  if (!(squares > kRounding * m.yy)) return {};
  const double beta = (m.xy - m.x * m.y / m.n) / squares;
  return {pair.mean_x + m.x / m.n - beta * (pair.mean_y + m.y / m.n), beta};
}

Moments as_they_are(const Centred& pair) {
  Moments out{.n = static_cast<double>(pair.x.size())};
  for (std::size_t t = 0; t < pair.x.size(); ++t) out.add(pair.x[t], pair.y[t]);
  return out;
}

// What each period adds to beta, (y_t - mean y) residual_t / var y, and to alpha,
// residual_t - mean y times that: the longer of the blocks they ask for.
double regression_block(const Centred& pair, const Line& line, double variance) {
  std::vector<double> of_alpha(pair.x.size()), of_beta(pair.x.size());
  for (std::size_t t = 0; t < pair.x.size(); ++t) {
    const double residual = pair.x[t] - line.beta * pair.y[t];
    of_beta[t] = pair.y[t] * residual / variance;
    of_alpha[t] = residual - pair.mean_y * of_beta[t];
  }
  return std::max(stationary_block_length(of_alpha), stationary_block_length(of_beta));
}

void check_pair(std::size_t a, std::size_t b) {
  if (a != b)
    throw InputError(
        fmt::format("the two series have {} and {} periods; give the same ones", a, b));
}

}  // namespace

Regression regression(ConstVec e, ConstVec b, const BootstrapSettings& settings,
                      const Threads& threads) {
  check_pair(e.size(), b.size());
  settings.validate(static_cast<Index>(e.size()));
  if (e.size() < 3 || !all_finite(e) || !all_finite(b)) return {};
  if (!(deviation(sample(b), b, 1) > 0.0)) return {};
  const Centred pair(e, b);
  const Moments all = as_they_are(pair);
  const Line line = line_of(all, pair);
  Regression out;
  out.alpha = line.alpha;
  out.beta = line.beta;
  out.block = settings.block > 0.0 ? settings.block : regression_block(pair, line, all.yy / all.n);
  std::vector<double> alphas(at(settings.replications)), betas(at(settings.replications));
  threads.for_each(settings.replications, [&](Index i, int) {
    const Line drawn = line_of(resampled(pair, out.block, replication(settings, i)), pair);
    alphas[at(i)] = drawn.alpha;
    betas[at(i)] = drawn.beta;
  });
  out.alpha_interval = percentile_interval(alphas, settings.level);
  out.beta_interval = percentile_interval(betas, settings.level);
  return out;
}

std::vector<CostPoint> cost_curve(const BeforeTrading& run, ConstVec levels, double block,
                                  const BootstrapSettings& settings, const Threads& threads) {
  check_pair(run.excess.size(), run.turnover.size());
  settings.validate(static_cast<Index>(run.excess.size()));
  std::vector<CostPoint> out;
  if (run.excess.empty()) return out;
  std::vector<double> paid(run.excess.size());
  for (const double bps : levels) {
    for (std::size_t t = 0; t < paid.size(); ++t)
      paid[t] = run.excess[t] - 1e-4 * bps * run.turnover[t];
    out.push_back({.bps = bps, .sharpe = sharpe_ratio(paid), .interval = {}});
  }
  if (settings.block > 0.0) block = settings.block;
  if (!(block >= 1.0) || !all_finite(run.excess) || !all_finite(run.turnover)) return out;
  const Centred pair(run.excess, run.turnover);
  std::vector<std::vector<double>> sharpes(out.size(),
                                           std::vector<double>(at(settings.replications)));
  threads.for_each(settings.replications, [&](Index i, int) {
    const Moments drawn = resampled(pair, block, replication(settings, i));
    for (std::size_t c = 0; c < out.size(); ++c)
      sharpes[c][at(i)] = sharpe_of(drawn, pair, 1e-4 * out[c].bps);
  });
  for (std::size_t c = 0; c < out.size(); ++c)
    if (std::isfinite(out[c].sharpe))
      out[c].interval = percentile_interval(sharpes[c], settings.level);
  return out;
}

AfterCosts after_costs(const Track& track, const BootstrapSettings& settings,
                       const Threads& threads) {
  AfterCosts out;
  const std::vector<double> e = excess_returns(track);
  if (!track.equal.empty() && e.size() >= 2) {
    const std::vector<double> b = excess_returns(track, track.equal);
    // A paired test takes two blocks at least; one run may have been asked for longer ones.
    BootstrapSettings paired = settings;
    paired.block = std::min(settings.block, static_cast<double>(e.size() / 2));
    out.difference = sharpe_difference(e, b, paired, threads);
    out.regression = regression(e, b, settings, threads);
  }
  std::vector<double> influence(e.size());
  sharpe_influence(e, influence);
  out.cost_curve = cost_curve(before_trading(track), kCostLevels,
                              stationary_block_length(influence), settings, threads);
  return out;
}

}  // namespace sharpen::backtest
