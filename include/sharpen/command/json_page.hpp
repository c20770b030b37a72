// docs/json.md: every key of every --json answer, and what it means.
#pragma once

#include <string>

namespace sharpen::command {

std::string json_page();

}  // namespace sharpen::command
