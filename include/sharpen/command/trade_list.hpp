// From the weights held to the weights wanted: one row per name that changes, in weights and, for
// an account of a given size, in shares.
//   shares = round(weight * capital / price / lot) * lot,  half away from zero.
#pragma once

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "sharpen/backtest/run_files.hpp"

namespace sharpen::command {

// What turns weights into shares.
struct Sizes {
  double capital = 0.0;
  double lot = 1.0;
  std::unordered_map<std::string, double> prices = {};

  double price(const std::string& asset) const;                  // NaN if there is none
  double shares(const std::string& asset, double weight) const;  // NaN without a price
};

struct TradeRow {
  std::string asset;
  double from = 0.0, to = 0.0;  // weights
  // NaN without sizes, or without a price.
  double price = std::numeric_limits<double>::quiet_NaN();
  double shares_from = price, shares_to = price;

  double trade() const { return to - from; }
  double shares() const { return shares_to - shares_from; }
};

// Wanted names first, in their order, then names that are only held. `sizes` may be null.
std::vector<TradeRow> trade_list(const std::vector<backtest::NamedWeight>& held,
                                 const std::vector<backtest::NamedWeight>& wanted,
                                 const Sizes* sizes);

// asset,from,to,trade; with sizes also price,shares.
std::string trade_csv(const std::vector<TradeRow>& trades, bool with_shares);

// Sum of |trade|.
double turnover(const std::vector<TradeRow>& trades);

// A share count in full: 100000, not 1e+05; "" for NaN.
std::string share_text(double shares);

}  // namespace sharpen::command
