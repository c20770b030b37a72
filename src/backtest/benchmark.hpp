// A ticker that a backtest is compared with, and does not hold.
#pragma once

#include <string>
#include <vector>

#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::backtest {

// The column of the benchmark, taken out of the panel. Throws InputError if it is not there, or
// alone.
std::vector<double> take_column(market::Panel& returns, const std::string& ticker);

// Its returns over the periods of a run, of all of them. Throws InputError for one that is missing.
std::vector<double> benchmark_over(const Run& run, const std::vector<double>& all,
                                   const std::string& ticker);

}  // namespace sharpen::backtest
