// Which names of a model can be held and traded at the end of its window, and what the portfolio is
// compared with.
#pragma once

#include "sharpen/command/predict.hpp"

namespace sharpen::command {

// Whether names without a complete window are left out instead of refused: where somebody said that
// names come and go, of a network that knows any number of them.
bool names_may_lack(const settings::Values& values, const learn::Model& model);

// The columns of the model, NaN for those that a panel lacks.
market::Panel with_columns(const market::Panel& panel, const std::vector<std::string>& tickers);

// Fills members, assets and today of the input, whose window is known. Throws InputError for names
// without a return in the window, and if none is left.
void choose_names(const settings::Values& values, PredictInput& input);

// Adds the names that --tradable says cannot be traded.
void read_frozen(const settings::Values& values, PredictInput& input);

// The returns of --benchmark; raw: the whole panel.
void read_benchmark(const settings::Values& values, const market::RawPanel& raw,
                    PredictInput& input);

}  // namespace sharpen::command
