// The settings of a backtest for a method in a market, from everything that a grid says.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/study/grid.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

// What a market says whatever the method.
settings::Values market_values(const Grid& grid, const MarketGrid& market);

// Without k and seed. `market` null: what the method says whatever the market. What is given for
// the whole study and has no meaning for the method is left out where that is a matter of learning:
// retrain where nothing is trained, a soft decision in place of an optimizer that has none.
settings::Values method_values(const Grid& grid, const MarketGrid* market,
                               const MethodGrid& method);

Method method_of(const Grid& grid, const MethodGrid& method);

// Throws InputError for a setting of the whole study that is left out everywhere.
void check_taken(const Grid& grid);

// Throws InputError for what contradicts itself whatever the panel holds.
void check_values(const settings::Values& values);

}  // namespace sharpen::study
