// Names that cannot be traded on some dates.
#pragma once

#include <string>
#include <vector>

#include "sharpen/market/panel.hpp"

namespace sharpen::backtest {

// WalkSettings::frozen from a panel of 0 and 1, matched to the returns by ticker and date, for
// trades at the end of row `first` or later. Throws InputError for a ticker or a date that it
// lacks, and for other values. `file` is what messages call it.
std::vector<char> frozen_names(const market::Panel& tradable, const std::string& file,
                               const market::Panel& returns, Index first);

}  // namespace sharpen::backtest
