// From settings to the parts of a layer that every command reads in the same way.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::layer {

// sizing, offset and target-volatility, which is given per year and applied per period.
SizingSettings yearly_sizing(const settings::Values& values);

}  // namespace sharpen::layer
