// How solve and predict decide from what is held.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/trades.hpp"
#include "sharpen/layer/limit_rules.hpp"
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

// Holdings that are not those of the limits' own cannot both be what is held.
void refuse_other_holdings(const std::vector<backtest::NamedWeight>& previous,
                           const layer::LimitRules* rules);

// A weight of 30 is a leverage that hardly anyone has, or 30 %.
void warn_of_percent(const std::vector<backtest::NamedWeight>& previous,
                     std::vector<std::string>& warnings);

// Settings that the rule or the optimizer does not listen to. tells_gains: what trades gain is
// part of the answer, and they are said by what only the rule cost decides by.
void warn_of_idle_rule(const settings::Values& values, const trade::Ruling& ruling,
                       const solve::OptimizerInfo& optimizer, bool tells_gains,
                       std::vector<std::string>& warnings);

// Costs as of a date, also of names in out.previous that are only `known`, where they are given.
void set_costs(const settings::NumberOrFile& bps, std::span<const std::string> tickers,
               std::span<const std::string> known, const std::string& date, Trading& out);

// What mu is in units of q, the signal that it stands for (trade/memory.hpp): mu = unit q. 1 where
// there is no direction.
double unit_of(ConstVec mu, ConstVec q);

// Replaces the optimizer's own answer to the problem by what is decided from holdings (n). The
// reasons are those of the signal mu / unit.
std::vector<trade::TradeReason> decide_from(ConstVec holdings, const Trading& trading,
                                            const solve::OptimizerInfo& optimizer,
                                            const solve::OptimizerSettings& settings,
                                            double periods_per_year, const solve::Problem& problem,
                                            double unit, solve::Choice& choice);

// Trades from what was held to what is wanted, with their reasons. `sizes` may be null.
void list_trades(const std::vector<backtest::NamedWeight>& wanted,
                 std::span<const std::string> tickers,
                 const std::vector<trade::TradeReason>& reasons, const Sizes* sizes, Trading& out);

}  // namespace sharpen::command
