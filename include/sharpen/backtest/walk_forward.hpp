// Walk-forward: a policy decides, the market moves, costs are paid (docs/backtest.md).
//
// Rows t = 0..R-1 of the panel hold returns r_t; f is the risk-free rate per period. Weights w_t,
// decided at the end of row t - 1 - delay and traded at the end of row t - 1, are held over row t;
// 1 - sum w is cash and earns f. What that earns, costs and drifts to: trade/account.hpp. The first
// purchase is a trade from cash. Between rebalances the drifted weights are held, and nothing is
// traded; before the first trade everything is cash (idle).
//
// Decisions are made in the order of time. One that looks at the account (Policy::sees_account)
// sees what will be held once the orders under way are filled: the weights that the last order aims
// at, or, if none is under way, the drifted ones.
//
// Members: a decision holds names only that are members at the end of its row; what they returned
// before counts in its window, and a name that has left is sold by the next decision.
// Gaps (NaN): an asset with a gap in a decision's window cannot be held by it. An asset held over
// a row where it has no return has ended: it earned nothing in that row, and is sold at its last
// price, at the usual cost, for the next. Frozen names can be neither bought nor sold, whatever was
// decided and even if they have ended.
// Ruin: the run ends with the first row whose return is -1 or less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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
#include "sharpen/trade/costs.hpp"
#include "sharpen/trade/lots.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::backtest {

// An account that is counted in shares (trade/lots.hpp).
struct ShareSettings {
  trade::LotSettings lots;
  double wealth = 1.0;              // before the first row, in money
  double elsewhere = 0.0;           // of it neither cash nor in a name of the panel
  double owed = 0.0;                // of the cash, by trades in such names before the first row
  std::vector<double> shares = {};  // (n) held before the first row; empty: none
  std::vector<double> prices = {};  // (rows + 1, n): row t at the beginning of row t; NaN for none
};

struct WalkSettings {
  static constexpr Index kAllRows = -1;

  Index lookback = risk::kWindowRows;  // rows in a window; kAllRows: everything up to the decision
  Index min_history =
      risk::kWindowRows;            // rows before the first decision; windows grow to `lookback`
  Index first_row = 0;              // no row before this one is traded: the test part
  std::optional<Index> stats_from;  // first row of the statistics; none: the first traded row
  Index rebalance = 1;              // periods between decisions
  double risk_free = 0.0;           // f, per period
  std::shared_ptr<const trade::CostBook> costs;           // of trading; null: it is free
  std::shared_ptr<const trade::CostBook> decision_costs;  // that decisions believe in; null: costs
  double short_fee = 0.0, financing = 0.0;                // per period, as trade::Rates has them
  Index delay = 0;                                        // periods from a decision to its trades
  // (rows, n) not 0: cannot be traded at the end of the row; empty: everything can.
  std::vector<char> frozen;
  // (rows + 1, n) 0: no decision may hold it, before the first row and at the end of each
  // (market::MemberBook); empty: they may hold everything.
  std::vector<char> members;
  Index begin = 0;                      // rows before this one are not walked
  std::vector<double> weights;          // (n) held before the first row that is; empty: all cash
  std::optional<ShareSettings> shares;  // none: weights only
  trade::Standing::Outside outside;     // held fast in names that the panel does not have

  // Throws InputError that names field, value and bound. rows: of the panel.
  void validate(Index rows) const;
  // The first row that is held: the later of first_row and min_history.
  Index first_traded() const;
  // The first row that a decision is made for.
  Index first_decided() const { return std::max(first_traded(), begin); }
  // At the end of a row of a panel of n assets; of row -1 before the first.
  bool is_member(Index row, Index asset, Index n) const {
    return members.empty() || members[at((row + 1) * n + asset)] != 0;
  }
  // The rows, before `rows`, that decisions are made for: from begin on, every rebalance-th since
  // the first that is held.
  std::vector<Index> decided_rows(Index rows) const;
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
  std::vector<double> returns, gross_returns, costs;         // costs: all kinds together
  std::vector<double> trading_costs, short_fees, financing;  // by kind
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
  // Where shares are counted: of `weights` the shares, of `trades` the shares and their price.
  std::vector<double> shares, traded_shares, traded_prices;
  std::vector<trade::TradeReason> reasons;  // of the last decision, where they are asked for
  std::vector<trade::Curb> curbs;           // (n) of the last period, where shares are counted
  // After the last period: weights (n) as they have drifted, wealth with 1 or the capital at the
  // start, and where they are counted shares (n) and the cash beside them.
  std::vector<double> last_weights, last_shares;
  double last_wealth = 1.0, last_cash = 0.0;

  Index periods() const { return static_cast<Index>(dates.size()); }
  bool ruined() const { return !status.empty() && status.back() == PeriodStatus::ruin; }
  std::span<const Position> weights_of(Index period) const;
  std::span<const Trade> trades_of(Index period) const;
  // Views of the columns, for metrics(); valid as long as the run.
  Track track(double periods_per_year) const;
};

// Returns after costs, over the periods of a run; 0 after ruin.
struct Companions {
  std::vector<double> delayed;  // of the same policy with trades one period later
  std::vector<double> equal;    // of equal weights of the assets that each decision may hold
};

// A date before any panel's: of a decision that is made before the first return.
constexpr std::string_view kBeforeAllDates = "0000-01-01";

// `returns`: simple returns, NaN for gaps. Equal bits for any number of threads. Throws
// InputError for settings that leave nothing to trade, Interrupted when asked to stop. Progress is
// in decisions. beside: accounts that are walked in the same pass; null: none.
Run walk_forward(const market::Panel& returns, const Policy& policy, const WalkSettings& settings,
                 const Threads& threads, const Control& control = {}, Companions* beside = nullptr);

}  // namespace sharpen::backtest
