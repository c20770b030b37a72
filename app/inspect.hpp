// sharpen inspect: what a model file holds.
#pragma once

#include <string>

#include "sharpen/base/settings.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::app {

void inspect(const settings::Values& values);

std::string inspection_json(const learn::ModelFile& file, const std::string& path);
std::string inspection_text(const learn::ModelFile& file, const std::string& path);

}  // namespace sharpen::app
