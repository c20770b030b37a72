// What a run of portfolio returns amounts to (docs/statistics.md).
//
// r_t are raw returns net of costs, t = 1..T, f_t the risk-free rate, e_t = r_t - f_t. Statistics
// cover the periods from `stats_from` on; wealth covers all of them.
//   Sharpe = mean(e) / sd(e), sd with divisor T - 1       annualised: x sqrt(periods per year)
//   wealth W_t = W_(t-1) (1 + r_t), W_0 = 1               drawdown = 1 - W_t / max_(s <= t) W_s
// Per-period and annualised figures have names of their own and are never mixed.
// Figures are net of all costs unless they are called gross: g_t is the return before costs,
//   r_t = g_t - trading_t - short_fee_t - financing_t,
// and with u_t the turnover (0 where nothing was traded) x_t = e_t + trading_t is what the trades
// as they are earned before they were paid for:
//   break-even = 10^4 mean(x) / mean(u)        mean holding period = 2 mean(gross exposure) /
//   mean(u)
//
// Ruin: from the first period with 1 + r_t <= 0 on, wealth is 0 for good. It is flagged, final
// wealth is 0, the maximum drawdown 1, the annualised return -1. Averages (Sharpe, volatility,
// Sortino, hit rate) still describe every period's return, as if the same stake were put up anew
// each time: read them only beside the flag.
//
// A figure that does not exist is NaN: means need one period, deviations two; ratios need a
// denominator above rounding; whatever depends on a NaN is NaN.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

constexpr double kNotComputed = std::numeric_limits<double>::quiet_NaN();

// One period's weights in figures. All cash: zeros throughout.
struct WeightSummary {
  double gross = 0.0;            // sum |w|
  double net = 0.0;              // sum w
  double holdings = 0.0;         // number of non-zero weights
  double effective_names = 0.0;  // 1 / sum (w / gross)^2
  double largest = 0.0;          // max |w|
};

WeightSummary summarize(ConstVec weights);

// A run, period by period. An empty column was not recorded: its figures are NaN. Every other
// column has T entries.
struct Track {
  std::span<const std::string> dates = {};
  ConstVec returns = {};    // (T) raw, net of costs
  ConstVec risk_free = {};  // (T) per period; one entry stands for all, none for zero
  ConstVec turnover = {};   // (T) sum |w_target - w_drifted|, NaN in periods without a rebalance
  ConstVec gross = {};      // (T) as WeightSummary has them
  ConstVec net = {};
  ConstVec holdings = {};
  ConstVec effective_names = {};
  ConstVec largest = {};
  ConstVec benchmark = {};      // (T) raw returns of what it is compared with
  ConstVec gross_returns = {};  // (T) raw, before costs
  ConstVec trading_costs = {};  // (T) by kind, as shares of the wealth before the period
  ConstVec short_fees = {};
  ConstVec financing = {};
  ConstVec delayed = {};  // (T) raw, net of costs, with the trades one period later
  ConstVec equal = {};    // (T) raw, net of costs, of equal weights of the same universe
  Index stats_from = 0;   // first period of the statistics, from 0; T: no statistics
  double periods_per_year = 252.0;
};

// The deepest fall of wealth from an earlier high; the first of equally deep ones. Periods count
// from 0 in the whole track. kStart as peak is the wealth held before the first period.
struct Drawdown {
  static constexpr Index kStart = -1, kNever = -2;
  double depth = kNotComputed;  // 0: wealth never fell below an earlier high
  Index peak = kNever;          // period that ended at the high; kNever without a drawdown
  Index trough = kNever;
  Index recovery = kNever;  // first later period at or above the high; kNever: not yet
};

struct Metrics {
  Index n_periods = 0;  // periods in the statistics
  double periods_per_year = 252.0;

  double mean_return = kNotComputed;         // mean r per period
  double mean_excess_return = kNotComputed;  // mean e per period
  double volatility = kNotComputed;          // sd of r per period
  double volatility_annualized = kNotComputed;
  double sharpe = kNotComputed;  // per period
  double sharpe_annualized = kNotComputed;
  double sharpe_gross = kNotComputed;  // before all costs
  double sharpe_gross_annualized = kNotComputed;
  double sharpe_delayed = kNotComputed;  // with the trades one period later
  double sharpe_delayed_annualized = kNotComputed;
  double equal_sharpe = kNotComputed;  // of equal weights
  double equal_sharpe_annualized = kNotComputed;
  double sortino = kNotComputed;  // mean(e) / sqrt(mean(min(e, 0)^2)), per period
  double sortino_annualized = kNotComputed;
  double return_annualized = kNotComputed;  // compound growth a year over the statistics' periods
  double final_wealth = kNotComputed;       // of 1 at the start, over all periods
  Drawdown max_drawdown;                    // of wealth, over the statistics' periods
  double calmar = kNotComputed;             // return_annualized / max_drawdown.depth
  double hit_rate = kNotComputed;           // share of periods with r > 0
  double best_return = kNotComputed;
  double worst_return = kNotComputed;

  bool ruin = false;  // in any period of the track
  Index ruin_period = Drawdown::kNever;

  Index n_rebalances = 0;          // periods of the statistics with a recorded turnover
  double turnover = kNotComputed;  // mean per rebalance; 0 if there was none
  double turnover_annualized = kNotComputed;
  double mean_holding_period = kNotComputed;  // in periods
  double break_even_bps = kNotComputed;
  // Sums over the statistics' periods, of shares of the wealth at the time.
  double trading_cost = kNotComputed;
  double short_fee = kNotComputed;
  double financing = kNotComputed;
  double total_cost = kNotComputed;
  double cost_annualized = kNotComputed;  // total_cost a year
  double mean_gross = kNotComputed;       // means over the statistics' periods, cash counting as 0
  double mean_net = kNotComputed;
  double mean_cardinality = kNotComputed;
  double max_cardinality = kNotComputed;
  double mean_effective_names = kNotComputed;
  double mean_largest_weight = kNotComputed;
  double max_largest_weight = kNotComputed;

  // Against the benchmark, d_t = r_t - benchmark_t.
  double beta = kNotComputed;  // cov(e, e_benchmark) / var(e_benchmark)
  double correlation = kNotComputed;
  double tracking_error = kNotComputed;  // sd(d) per period
  double tracking_error_annualized = kNotComputed;
  double information_ratio = kNotComputed;  // mean(d) / sd(d) per period
  double information_ratio_annualized = kNotComputed;
  double benchmark_sharpe = kNotComputed;  // per period
  double benchmark_sharpe_annualized = kNotComputed;
};

// Throws InputError for columns of unequal length, stats_from outside [0, T] and
// periods_per_year that is not positive.
Metrics metrics(const Track& track);

// e_t of the statistics' periods: what the functions of statistics.hpp take.
std::vector<double> excess_returns(const Track& track);
// The same of another column of raw returns; empty if it was not recorded.
std::vector<double> excess_returns(const Track& track, ConstVec column);

// x_t and u_t of the statistics' periods: what the cost curve takes (after_costs.hpp). Empty where
// the track does not have the columns.
struct BeforeTrading {
  std::vector<double> excess, turnover;
};
BeforeTrading before_trading(const Track& track);

// 10^4 mean(x) / mean(u): what a unit of turnover may cost until nothing is left, with the trades
// as they are. NaN without trades.
double break_even_bps(const BeforeTrading& run);

// mean / sd (divisor n - 1); NaN for n < 2 and for a deviation that is only rounding.
double sharpe_ratio(ConstVec excess);

// W_1..W_T; 0 from ruin on.
std::vector<double> wealth(ConstVec returns);

// Of the wealth that `returns` compound to; periods count from 0 in `returns`.
Drawdown max_drawdown(ConstVec returns);

}  // namespace sharpen::backtest
