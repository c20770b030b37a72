// The account that orders are made for, at the end of the panel.
#pragma once

#include <string>
#include <vector>

#include "sharpen/backtest/next_period.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/trade/positions.hpp"

namespace sharpen::command {

// Why a name stays as it is held.
inline constexpr std::string_view kHalted = "halted", kNoPrice = "no price",
                                  kBelowMinimum = "below the minimum",
                                  kNoDecision = "no decision today";

// A name that is held and cannot be decided on. It is sold, by the rules that hold for the others.
struct Stranger {
  std::string asset;
  double amount = 0.0;  // shares, or a share of the wealth
  double price = 0.0;   // the last there is; 0: none
  bool today = false;   // whether that is today's
  double value = 0.0;
  double cost = 0.0;           // of selling it, as value is
  std::string_view kept = {};  // why it is not sold; "": it is
  // At the end of each row of NextPeriod::returns() the last price, and what the row earned; NaN
  // for none.
  std::vector<double> prices = {}, moves = {};
};

struct AccountToday {
  bool in_shares = false;  // else in shares of the wealth
  double lot = 0.0;        // 0: shares may be fractional
  // By column of NextPeriod::returns().
  std::vector<double> amounts, values;
  std::vector<double> prices;   // the last there are; NaN: none
  std::vector<char> fixed;      // cannot be traded today
  std::vector<char> priceless;  // among those: without a price today
  std::vector<Stranger> strangers;
  double cash = 0.0, wealth = 0.0;

  double weight(std::size_t j) const { return values[j] / wealth; }
  backtest::AccountNow now() const;
};

// Of a panel as its file has it, the columns that are held.
market::RawPanel columns_held(const market::RawPanel& raw, const trade::Positions& positions);

// Drifted from the day of the positions to the last of the panel. held: what columns_held() gives.
// Throws InputError for names that nobody knows, shares that lots have no room for, positions from
// after the panel's end or before its beginning, and an account that is worth nothing.
AccountToday account_today(const trade::Positions& positions, const market::PanelInput& input,
                           const market::RawPanel& held, const backtest::NextPeriod& next,
                           const trade::AccountSettings& settings);

// Names that are held and whose prices were corrected after the day of the list: "S001 (split on
// 2025-06-02)".
std::vector<std::string> corrected_since(const trade::Positions& positions,
                                         const market::PanelInput& input);

}  // namespace sharpen::command
