// From flags to a training.
#pragma once

#include "sharpen/base/settings.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

// Of a command that takes the settings of a training. framework = pfl is a training with alpha 0.
TrainSettings training_settings(const settings::Values& values);

}  // namespace sharpen::learn
