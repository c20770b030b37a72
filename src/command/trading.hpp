// How solve and predict decide from what is held.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/trades.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::command {

// `usual` stands where the values say nothing.
trade::Ruling ruling_of(const settings::Values& values, trade::RuleSettings usual,
                        const solve::OptimizerInfo& optimizer);

// Weights (n) of the tickers. `strangers` are names held that are none of them, but are `known`:
// they are sold. Throws InputError for a name that nobody knows.
std::vector<double> holdings_of(const std::vector<backtest::NamedWeight>& previous,
                                const std::string& file, std::span<const std::string> tickers,
                                std::span<const std::string> known,
                                std::vector<std::string>& strangers);

// Costs as of a date.
void set_costs(const settings::NumberOrFile& bps, std::span<const std::string> tickers,
               std::span<const std::string> known, std::string_view date, Trading& out);

// Replaces the optimizer's own answer to the problem by what is decided from holdings (n).
std::vector<trade::TradeReason> decide_from(ConstVec holdings, const Trading& trading,
                                            const solve::OptimizerInfo& optimizer,
                                            const solve::OptimizerSettings& settings,
                                            double periods_per_year, const solve::Problem& problem,
                                            solve::Choice& choice);

// Trades from what was held to what is wanted, with their reasons. `sizes` may be null.
void list_trades(const std::vector<backtest::NamedWeight>& wanted,
                 std::span<const std::string> tickers,
                 const std::vector<trade::TradeReason>& reasons, const Sizes* sizes, Trading& out);

}  // namespace sharpen::command
