// From flags to a backtest: the settings of a command that takes those of a backtest.
#pragma once

#include <string>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::backtest {

// Throws InputError for a name that is none.
Framework framework_of(const std::string& text);

// Whether networks are trained for it.
bool learns(Framework framework);

// What no flag can hold (a signal, a stop for the bootstrap) is left to the caller.
BacktestSettings backtest_settings(const settings::Values& values);

}  // namespace sharpen::backtest
