#pragma once

#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

// Adds the rows about networks and their training.
void append_learning_rows(std::vector<Setting>& table);

}  // namespace sharpen::settings
