// From settings to the parts of a layer that every command reads in the same way.
#pragma once

#include <string_view>

#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::layer {

// sizing, offset and target-volatility, which is given per year and applied per period.
// `setting`: the name of the one that holds the kind.
SizingSettings yearly_sizing(const settings::Values& values, std::string_view setting = "sizing");

}  // namespace sharpen::layer
