// sharpen inspect: what a model file holds.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct Inspection {
  std::string path;
  learn::ModelFile file;

  std::string checksum() const;  // as eight hexadecimal digits
};

// Throws InputError for a file that is no model.
Inspection inspect_answer(const settings::Values& values);

// A model trained on predictions alone is prediction-focused.
std::string_view framework_of(const learn::Model& model);
std::size_t parameters_of(const learn::Model& model);  // of one member
// Names and values of the settings it was trained with, as text.
std::vector<std::pair<std::string, std::string>> settings_of(const learn::Model& model);

std::string inspect_json(const Inspection& inspection);
// The keys of it that are about the model and not its file.
std::string model_json(const learn::Model& model);

}  // namespace sharpen::command
