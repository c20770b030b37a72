// A command never writes over what it reads.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"

namespace sharpen::command {

// Throws InputError if a file that would be written (by these settings) is one that is read, or
// would be written twice; or, of the folder that a setting names, files of these names.
void keep_inputs(const settings::Values& values, std::initializer_list<std::string_view> outputs);
void keep_inputs(const settings::Values& values, std::string_view output, const std::string& folder,
                 std::span<const std::string> names);

}  // namespace sharpen::command
