// From flags to a backtest: the settings of a command that takes those of a backtest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::backtest {

// What no flag can hold (a signal, a stop for the bootstrap) is left to the caller.
BacktestSettings backtest_settings(const settings::Values& values);

// What to say of numbers that are allowed and more likely a mistake: percents given as shares,
// basis points as something else, a year given as a row. `dates`: of the returns.
std::vector<std::string> likely_mistakes(const settings::Values& values,
                                         std::span<const std::string> dates);

}  // namespace sharpen::backtest
