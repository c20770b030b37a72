// From settings to the parts of a layer that every command reads in the same way.
#pragma once

#include <string_view>

#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sizing.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

// sizing, offset and target-volatility, which is given per year and applied per period.
// `setting`: the name of the one that holds the kind.
SizingSettings yearly_sizing(const settings::Values& values, std::string_view setting = "sizing");
// The same with a number of periods that the settings may leave open.
SizingSettings sizing_per_period(const settings::Values& values, double periods_per_year,
                                 std::string_view setting = "sizing");

// form: how a covariance is stored.
risk::Form form_of(const settings::Values& values);

}  // namespace sharpen::layer
