// Files of a market: its members, what can be traded, a benchmark; and of a method: costs and limits.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/study/plan.hpp"

namespace sharpen::study {

// What files of costs and limits of a method say, and not where they are.
settings::Values with_method_files(settings::Values values);

// Throws InputError for what does not fit the market, before any cell is computed, and adds what is
// odd about the members to its warnings.
void check_files(Plan& plan, std::size_t market);

}  // namespace sharpen::study
