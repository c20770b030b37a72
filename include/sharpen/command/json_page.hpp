// What the program says of itself.
#pragma once

#include <string>

namespace sharpen::command {

// docs/json.md: every key of every --json answer, and what it means.
std::string json_page();

// sharpen --version --json
std::string version_json();

}  // namespace sharpen::command
