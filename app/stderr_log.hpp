// The program's Log: messages on standard error.
#pragma once

#include <string_view>

#include "sharpen/base/log.hpp"

namespace sharpen::app {

// `least` is a choice of the setting log-level.
Log stderr_log(std::string_view least);

}  // namespace sharpen::app
