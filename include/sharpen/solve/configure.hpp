// From flags to what an optimizer is told.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/solve/optimizer.hpp"

namespace sharpen::solve {

// Of any command that chooses portfolios; what it does not take stays at its default. The target
// volatility of its sizing is per period.
OptimizerSettings optimizer_settings(const settings::Values& values);

}  // namespace sharpen::solve
