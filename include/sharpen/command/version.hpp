// sharpen --version --json
#pragma once

#include <string>

namespace sharpen::command {

std::string version_json();

}  // namespace sharpen::command
