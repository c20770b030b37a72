#pragma once

#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

// Adds the rows about portfolios for the next period and the trades to get there.
void append_prediction_rows(std::vector<Setting>& table);

}  // namespace sharpen::settings
