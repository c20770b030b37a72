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
std::vector<Setting> trading_rows();       // trade
std::vector<Setting> running_rows();       // command
std::vector<Setting> learning_rows();      // learn
std::vector<Setting> learned_walk_rows();  // backtest
std::vector<Setting> prediction_rows();    // command
std::vector<Setting> study_rows();         // study
std::vector<Setting> merge_rows();         // merge
std::vector<Setting> report_rows();        // report

// A row: what every setting has, then what only some have. One without a field is read by a command
// itself.
Setting row(std::string_view name, std::vector<Field> fields, std::string_view text,
            Setting more = {});
Setting row(std::string_view name, Field field, std::string_view text, Setting more = {});
Setting row(std::string_view name, Kind kind, std::string_view text, Setting more = {});

// The rows with these commands and this group, where they name none themselves.
std::vector<Setting> rows_of(unsigned commands, Group group, std::vector<Setting> rows);

inline constexpr Bounds kPositive = {
    .low = 0, .high = std::numeric_limits<double>::infinity(), .above = true};

}  // namespace sharpen::settings
