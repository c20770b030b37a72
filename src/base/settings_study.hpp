#pragma once

#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

// Adds the rows of `sharpen study`: its lists where other commands take one value, and its own.
void append_study_rows(std::vector<Setting>& table);

}  // namespace sharpen::settings
