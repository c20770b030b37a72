#pragma once

#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

// Adds the rows of `sharpen report`.
void append_report_rows(std::vector<Setting>& table);

}  // namespace sharpen::settings
