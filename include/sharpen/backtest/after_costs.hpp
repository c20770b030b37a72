// What is left of a run after its costs, and how far that can be trusted (docs/statistics.md).
//
// e_t are excess returns net of costs, b_t those of equal weights of the same universe, x_t the
// excess returns after fees and before the costs of trading, and u_t the turnover (metrics.hpp),
// over the same n periods. Every figure is per period.
//   e_t = alpha + beta b_t + residual_t         least squares
//   SR(c) = Sharpe ratio of x_t - c u_t         trades as they are, one rate c for all
// Intervals are of the stationary bootstrap, as sharpe_interval's. A replication draws its periods
// once for every figure, so that alpha and beta, and the points of the curve, belong together.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

// Alpha and beta of one run's excess returns against another's.
struct Regression {
  double alpha = std::numeric_limits<double>::quiet_NaN();
  double beta = std::numeric_limits<double>::quiet_NaN();
  Interval alpha_interval, beta_interval;
  double block = std::numeric_limits<double>::quiet_NaN();  // mean block length used
};

// Without a given block it is the longer of the stationary_block_lengths of what each period adds
// to alpha and to beta. Throws InputError for unequal lengths. All NaN where b does not vary.
Regression regression(ConstVec e, ConstVec b, const BootstrapSettings& settings,
                      const Threads& threads);

// Basis points of the curve.
constexpr std::array<double, 11> kCostLevels = {0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50};

struct CostPoint {
  double bps = 0.0;
  double sharpe = std::numeric_limits<double>::quiet_NaN();
  Interval interval;
};

// SR(c) at each of `levels`. Without a given block it is `block`, that of the run as it was: its
// own cost then has the interval that sharpe_interval gives it. Empty for an empty run.
std::vector<CostPoint> cost_curve(const BeforeTrading& run, ConstVec levels, double block,
                                  const BootstrapSettings& settings, const Threads& threads);

// Everything a backtest or a report says of a track. Parts whose columns it does not have are NaN
// or empty.
struct AfterCosts {
  SharpeDifference difference;  // SR(e) - SR(b)
  Regression regression;        // on b
  std::vector<CostPoint> cost_curve;
};

AfterCosts after_costs(const Track& track, const BootstrapSettings& settings,
                       const Threads& threads);

}  // namespace sharpen::backtest
