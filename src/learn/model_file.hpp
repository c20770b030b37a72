#pragma once

#include <string>

#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

// The settings as model files hold them: equal bytes for equal settings.
std::string settings_bytes(const TrainSettings& settings);

}  // namespace sharpen::learn
