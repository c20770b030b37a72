// From settings to the parts of a layer that every command reads in the same way.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::layer {

// A target volatility per year as one per period: variance grows with the number of periods.
SizingSettings per_period(SizingSettings yearly, double periods_per_year);

// sizing, offset and target-volatility, which is given per year and applied per period.
SizingSettings sizing_settings(const settings::Values& values);
// The same with a number of periods that the settings may leave open.
SizingSettings sizing_settings(const settings::Values& values, double periods_per_year);

}  // namespace sharpen::layer
