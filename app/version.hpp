// sharpen --version
#pragma once

#include <string>

namespace sharpen::app {

std::string version_text(bool json);

}  // namespace sharpen::app
