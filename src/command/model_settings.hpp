// The settings a model was trained with, and what its members came to.
#pragma once

#include "command/json_keys.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::command {

// Under the names that flags have, with values as flags take them.
Json model_settings(const learn::Model& model);

// A value of JSON as it would be written on the command line.
std::string flag_text(const Json& value);

// One of the networks of a model.
struct ModelMember {
  const learn::Member* member;
  double periods_per_year;
};
std::vector<ModelMember> members_of(const learn::Model& model);
// Epochs and validation; what they mean depends on the command.
Keys<ModelMember> member_keys(std::string_view epochs, std::string_view loss,
                              std::string_view sharpe);

// `values` with the model's settings for what neither flag nor file has given. A setting of the
// training that was given is an InputError: the model has been trained.
settings::Values follow_model(const settings::Values& values, const learn::Model& model);

}  // namespace sharpen::command
