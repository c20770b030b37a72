// From flags to a training.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/layer/configure.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

// Of a command that takes the settings of a training. framework = pfl is a training with alpha 0.
TrainSettings training_settings(const settings::Values& values);

// The parts that backtest and train read in the same way.
using layer::form_of;
using layer::yearly_sizing;
double window_shrinkage(const settings::Values& values);

}  // namespace sharpen::learn
