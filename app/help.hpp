// The text of --help, from the table of settings.
#pragma once

#include <string>

#include "sharpen/base/settings.hpp"

namespace sharpen::app {

std::string program_help();
std::string command_help(const settings::CommandInfo& info);

}  // namespace sharpen::app
