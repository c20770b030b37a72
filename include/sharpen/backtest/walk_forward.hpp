// Walk-forward: a policy decides, the market moves, costs are paid (docs/backtest.md).
//
// Rows t = 0..R-1 of the panel hold returns r_t; f is the risk-free rate per period. Weights w_t,
// decided at the end of row t - 1, are held over row t; 1 - sum w is cash and earns f:
//   gross_t     = sum_i w_ti r_ti + (1 - sum_i w_ti) f
//   turnover_t  = sum_i |w_ti - v_ti|          v_t: what the weights before have drifted to
//   cost_t      = turnover_t cost_bps / 10^4   charged to the period that the trade is made for
//   return_t    = gross_t - cost_t
//   v_(t+1),i   = w_ti (1 + r_ti) / (1 + gross_t)
// The first purchase is a trade from cash. Between rebalances w_t = v_t and nothing is traded.
//
// Gaps (NaN): an asset with a gap in a decision's window cannot be held by it. An asset held over
// a row where it has no return has ended: it earned nothing in that row, and is sold at its last
// price, at the usual cost, for the next.
// Ruin: the run ends with the first row whose return is -1 or less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/policy.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::backtest {

struct WalkSettings {
  static constexpr Index kAllRows = -1;

  Index lookback = risk::kWindowRows;  // rows in a window; kAllRows: everything up to the decision
  Index min_history =
      risk::kWindowRows;            // rows before the first decision; windows grow to `lookback`
  Index first_row = 0;              // no row before this one is traded: the test part
  std::optional<Index> stats_from;  // first row of the statistics; none: the first traded row
  Index rebalance = 1;              // periods between decisions
  double cost_bps = 0.0;
  double risk_free = 0.0;  // f, per period

  // Throws InputError that names field, value and bound. rows: of the panel.
  void validate(Index rows) const;
  // The first row that is held: the later of first_row and min_history.
  Index first_traded() const;
};

// What became of one period: the status of the decision made for it, or what else happened.
enum class PeriodStatus : std::uint8_t {
  ok,
  neutral_face,
  no_signal,
  not_converged,
  invalid_input,
  held,  // no decision: the weights drifted
  idle,  // before the first decision: all cash
  ruin,  // return of -1 or less: the last period
  infeasible,
};

constexpr int kPeriodStatuses = 9;

std::string_view name(PeriodStatus status);

struct Trade {
  Index asset = 0;
  double from = 0.0;  // drifted weight
  double to = 0.0;
};

// A run, column by column over its P periods: the panel's rows from the first traded one, or from
// stats_from if that is earlier, to the last one or to ruin.
struct Run {
  Index first_row = 0;   // of the panel, that period 0 is
  Index stats_from = 0;  // period, from 0
  std::vector<std::string> dates;
  std::vector<double> returns, gross_returns, costs;
  std::vector<double> turnover;  // NaN in periods without a trade and without a decision
  std::vector<double> net, gross, holdings, effective_names, largest;  // as in Exposure
  std::vector<double> benchmark;                                       // empty: none
  std::vector<PeriodStatus> status;
  std::vector<Position> weights;  // of period p: weights[weights_begin[p]..weights_begin[p + 1])
  std::vector<Index> weights_begin;
  std::vector<Trade> trades;  // likewise
  std::vector<Index> trades_begin;
  double risk_free = 0.0;  // f
  Index n_decisions = 0;
  Index n_jittered = 0;   // decisions whose covariance needed jitter
  Index n_certified = 0;  // decisions that are proved (Decision::certified)
  Index iterations = 0;   // of all decisions

  Index periods() const { return static_cast<Index>(dates.size()); }
  bool ruined() const { return !status.empty() && status.back() == PeriodStatus::ruin; }
  std::span<const Position> weights_of(Index period) const;
  std::span<const Trade> trades_of(Index period) const;
  // Views of the columns, for metrics(); valid as long as the run.
  Track track(double periods_per_year) const;
};

// `returns`: simple returns, NaN for gaps. Equal bits for any number of threads. Throws
// InputError for settings that leave nothing to trade, Interrupted when asked to stop. Progress is
// in decisions.
Run walk_forward(const market::Panel& returns, const Policy& policy, const WalkSettings& settings,
                 const Threads& threads, const Control& control = {});

}  // namespace sharpen::backtest
