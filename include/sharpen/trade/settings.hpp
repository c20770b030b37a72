// What trading costs, and how decisions take it into account (docs/trading.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::trade {

// How a decision looks at what is held.
enum class Rule {
  none,  // not at all: the portfolio is made anew
  band,  // held names are preferred, and weights move only by what exceeds a band
  cost,  // what a trade costs is weighed against what it gains
};
constexpr std::array<std::string_view, 3> names(Rule) { return {"none", "band", "cost"}; }
constexpr std::string_view name(Rule value) { return name_of(value); }

// What the account is charged, and when.
struct AccountSettings {
  settings::NumberOrFile cost_bps = {.number = 5.0, .file = {}};  // of what is traded
  double short_fee = 0.0;                                         // a year, of what is sold short
  double financing = 0.0;           // a year above the risk-free rate, of what is borrowed
  std::int64_t delay = 0;           // periods from a decision to its trades
  std::string tradable;             // a file; "": every name can be traded while it has a price
  std::optional<double> capital;    // money at the start; none: weights only
  std::optional<std::int64_t> lot;  // shares are held in multiples of it; none: see lot_size()
  double min_order = 0.0;           // in money: orders of less are left out
};

// Shares of a lot: what is asked for, whole shares with a capital; 0: shares may be fractional.
inline double lot_size(const AccountSettings& account) {
  if (account.lot) return static_cast<double>(*account.lot);
  return account.capital ? 1.0 : 0.0;
}

// As they are asked for.
struct RuleSettings {
  std::optional<Rule> rule;            // none: what the optimizer is used with
  std::optional<std::int64_t> memory;  // N, in periods; none: kMemory with a rule, 1 without
  double expected_sharpe = 1.0;        // a year, that the signal is believed to have
  double holding_horizon = 30.0;       // H, periods that a position is expected to last
};

// As they are in force.
struct Ruling {
  Rule rule = Rule::none;
  Index memory = 1;
  double expected_sharpe = 1.0;
  double holding_horizon = 30.0;

  // Whether the signal is brought to the size that it is believed to have (memory.hpp).
  bool normalizes() const { return rule == Rule::cost || memory > 1; }
  bool operator==(const Ruling&) const = default;
};

constexpr Index kMemory = 5;

// Published opponents are used as published: none, unless asked for. Throws InputError for a rule
// that the optimizer has no ear for.
Ruling ruling(const RuleSettings& settings, const solve::OptimizerInfo& optimizer);

}  // namespace sharpen::trade
