// From the weights held to the weights wanted: one row per name that changes, in weights and, for
// an account of a given size, in shares.
//   shares = round(weight * capital / price / lot) * lot,  half away from zero.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/solve/solve.hpp"
#include "sharpen/trade/settings.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::command {

// What turns weights into shares.
struct Sizes {
  double capital = 0.0;
  double lot = 1.0;
  std::unordered_map<std::string, double> prices = {};

  std::optional<double> price(const std::string& asset) const;  // the last, if there is one
  std::optional<double> shares(const std::string& asset, double weight) const;  // with a price
};

struct TradeRow {
  struct Shares {
    double price = 0.0, from = 0.0, to = 0.0;

    double trade() const { return to - from; }
  };

  std::string asset;
  double from = 0.0, to = 0.0;        // weights
  std::optional<Shares> shares = {};  // with sizes and a price
  // Shares of wealth (trade/trader.hpp); no gain of a name that is none of the problem's and is
  // sold, nor a cost if the costs do not say; and no gain where there is no signal.
  std::optional<double> gain = {}, cost = {};

  // Of a trade that was left undone: whether it would cost more than it gains. If not, there is no
  // room for it among k names, or under the limits.
  bool pays() const { return gain.value_or(0.0) > cost.value_or(0.0); }

  double trade() const { return to - from; }
};

// Wanted names first, in their order, then names that are only held. `sizes` may be null.
std::vector<TradeRow> trade_list(const std::vector<backtest::NamedWeight>& held,
                                 const std::vector<backtest::NamedWeight>& wanted,
                                 const Sizes* sizes);

// asset,from,to,trade; with sizes also price,shares.
std::string trade_csv(const std::vector<TradeRow>& trades, bool with_shares);

// Sum of |trade|.
double turnover(const std::vector<TradeRow>& trades);

// A share count in full: 100000, not 1e+05.
std::string share_text(double shares);

// A decision that sees what is held, and why it trades what it does.
struct Trading {
  trade::Ruling ruling = {};
  std::vector<backtest::NamedWeight> previous = {};
  std::vector<double> costs = {};         // (n) per unit traded
  std::vector<char> fixed = {};           // (n) not 0: cannot be traded; empty: all can
  trade::Standing::Outside outside = {};  // of names beside the problem's that cannot be traded
  double cost_bps = 0.0;                  // mean of the costs, in basis points
  // Likewise of names held that are none of the problem's, where their cost is known.
  std::unordered_map<std::string, double> other_costs = {};
  std::vector<TradeRow> trades = {};
  std::vector<TradeRow> left_undone = {};  // `to`: what would be held if trading were free
  double cost = 0.0;                       // of the trades together, a share of wealth
};

}  // namespace sharpen::command
