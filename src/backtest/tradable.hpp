// Names that cannot be traded on some dates.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::backtest {

// WalkSettings::frozen from a panel of 0 and 1, matched to the returns by ticker and date, for
// trades at the end of row `first` or later. Throws InputError for a ticker or a date that it
// lacks, and for other values. `file` is what messages call it.
std::vector<char> frozen_names(const market::Panel& tradable, const std::string& file,
                               const market::Panel& returns, Index first);

// (n) at the end of one row, from the file, or its text.
std::vector<char> frozen_at(const std::string& file, const market::Panel& returns, Index row);

// Of assets that the panel is not about: those that the file does not have can be traded.
std::vector<char> frozen_others(const std::string& file, std::span<const std::string> assets,
                                const std::string& date);

// The same of everything that the settings say: their file, and the standstills of the panel.
std::vector<char> frozen_names(const BacktestSettings& settings, const market::Panel& returns,
                               Index first);

}  // namespace sharpen::backtest
