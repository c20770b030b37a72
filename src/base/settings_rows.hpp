// The rows of the table of settings, part by part, in the order that --help and docs/options.md
// show them in. Each part is defined in the folder whose structs its rows fill: base knows none of
// them.
#pragma once

#include <limits>
#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

std::vector<Setting> panel_rows();         // market
std::vector<Setting> simulation_rows();    // market
std::vector<Setting> portfolio_rows();     // backtest
std::vector<Setting> statistics_rows();    // backtest
std::vector<Setting> walk_rows();          // backtest
std::vector<Setting> running_rows();       // command
std::vector<Setting> learning_rows();      // learn
std::vector<Setting> learned_walk_rows();  // backtest
std::vector<Setting> prediction_rows();    // command
std::vector<Setting> study_rows();         // study
std::vector<Setting> report_rows();        // report

inline constexpr Bounds kPositive = {
    .low = 0, .high = std::numeric_limits<double>::infinity(), .above = true};

}  // namespace sharpen::settings
