// sharpen inspect: what a model file holds.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/learn/model.hpp"

namespace sharpen::command {

// A model trained on predictions alone is prediction-focused.
std::string_view framework_of(const learn::Model& model);
std::string checksum_text(const learn::ModelFile& file);
std::size_t parameters_of(const learn::Model& model);
// Names and values of the settings it was trained with, as text.
std::vector<std::pair<std::string, std::string>> settings_of(const learn::Model& model);

// What is known of a model without its file, as JSON.
std::string model_json(const learn::Model& model);
std::string inspection_json(const learn::ModelFile& file, const std::string& path);

}  // namespace sharpen::command
