// The settings a model was trained with, and what its members came to.
#pragma once

#include "command/json_text.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::command {

// Under the names that flags have, with values as flags take them.
Json model_settings(const learn::Model& model);

// One member: epochs and validation.
Json member_json(const learn::Model& model, const learn::Member& member);

// `values` with the model's settings for what neither flag nor file has given. A setting of the
// training that was given is an InputError: the model has been trained.
settings::Values follow_model(const settings::Values& values, const learn::Model& model);

}  // namespace sharpen::command
