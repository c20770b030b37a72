// Whether the volatility that was aimed at is the one that came out.
#pragma once

#include "sharpen/backtest/backtest.hpp"

namespace sharpen::backtest {

// Of a run with its metrics; none where nothing is sized to a volatility.
std::optional<VolatilityAim> volatility_aim(const BacktestSettings& settings,
                                            const BacktestResult& result);

// For people, where they are far apart; "": they are not.
std::string warning_of(const VolatilityAim& aim);

}  // namespace sharpen::backtest
