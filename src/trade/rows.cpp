// Rows of the table of settings about what trading costs and how decisions take it into account.
#include "base/settings_rows.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::settings {

using trade::AccountSettings;
using trade::RuleSettings;

namespace {

constexpr unsigned kTrading = Command::backtest | study;
constexpr std::string_view kRuleOfModel = "the model's; without one as in a backtest";

}  // namespace

std::vector<Setting> trading_rows() {
  std::vector<Setting> rows = {
      row("cost-bps", field(&AccountSettings::cost_bps),
          "cost of trading, in basis points of what is traded; or a CSV of asset,bps (and date, "
          "from which on it counts)",
          {.bounds = {.low = 0},
           .commands = Command::backtest | train | predict | solve,
           .other_commands = predict,
           .other_words = kRuleOfModel,
           .roles = of_decisions}),
      row("short-fee", field(&AccountSettings::short_fee),
          "fee a year for what is sold short: 0.005 for 0.5 %",
          {.bounds = {.low = 0}, .commands = kTrading | predict, .roles = after_training}),
      row("financing", field(&AccountSettings::financing),
          "rate a year, above the risk-free one, for what is borrowed",
          {.bounds = {.low = 0}, .commands = kTrading | predict, .roles = after_training}),
      row("delay", field(&AccountSettings::delay), "periods from a decision to its trades",
          {.bounds = {.low = 0, .high = 1000}, .roles = after_training}),
      row("tradable", field(&AccountSettings::tradable),
          "CSV of 0 and 1, one row per date: names that can be traded at the end of it",
          {.placeholder = "FILE",
           .preset_words = "every name with a price",
           .commands = kTrading | predict,
           .roles = of_panel | names_file | after_training}),
      row("capital", field(&AccountSettings::capital),
          "money in the account at the start: shares are counted by the prices",
          {.bounds = kPositive,
           .commands = Command::backtest | predict,
           .roles = of_one_run | after_training}),
      row("lot", field(&AccountSettings::lot),
          "shares are held in multiples of this, so that cash suffices",
          {.preset_words = "1 with ‹--capital›, else fractions of a share",
           .bounds = {.low = 1, .high = 1e9},
           .commands = Command::backtest | predict,
           .roles = of_one_run | after_training}),
      row("min-order", field(&AccountSettings::min_order),
          "orders of less value, in money, are left out",
          {.bounds = {.low = 0},
           .commands = Command::backtest | predict,
           .roles = of_one_run | after_training}),
      row("rule", field(&RuleSettings::rule),
          "what decisions make of what is held: weigh costs against gains, move in a band, nothing",
          {.preset_words = "cost; none for oscar, mssrm, mssrm-long, sdr and equal",
           .commands = kTrading | train | predict | solve,
           .other_commands = predict,
           .other_words = kRuleOfModel,
           .paper = "none",
           .roles = of_decisions}),
      row("memory", field(&RuleSettings::memory),
          "periods that the signal is averaged over, with weights that fall by 1/e in so many",
          {.preset_words = "5 with a rule, 1 without",
           .bounds = {.low = 1, .high = 10000},
           .commands = kTrading | train | predict,
           .other_commands = predict,
           .other_words = kRuleOfModel,
           .paper = "1",
           .roles = of_decisions}),
      row("expected-sharpe", field(&RuleSettings::expected_sharpe),
          "Sharpe ratio a year that the signal is believed to have, for ‹--rule cost›",
          {.bounds = kPositive,
           .commands = kTrading | train | predict | solve,
           .other_commands = predict,
           .other_words = kRuleOfModel,
           .roles = of_decisions}),
      row("holding-horizon", field(&RuleSettings::holding_horizon),
          "periods that a position is expected to last, for ‹--rule cost›",
          {.bounds = kPositive,
           .commands = kTrading | train | predict | solve,
           .other_commands = predict,
           .other_words = kRuleOfModel,
           .roles = of_decisions}),
  };
  return rows_of(kTrading, Group::trading, std::move(rows));
}

}  // namespace sharpen::settings
