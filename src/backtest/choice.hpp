// From what an optimizer gives for the assets of a day to a decision over the panel.
#pragma once

#include <span>

#include "sharpen/backtest/policies.hpp"

namespace sharpen::backtest {

// Weights that could not be computed, or are out of the range of numbers, are cash. assets (m):
// columns of the panel.
void take(const Choice& choice, std::span<const Index> assets, Decision& out);

}  // namespace sharpen::backtest
