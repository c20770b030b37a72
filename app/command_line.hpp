// From the arguments of the program to what it shall do. Flags come from the table of settings
// (sharpen/base/settings.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::app {

struct Request {
  enum class Kind { print, version, command };
  Kind kind = Kind::print;
  std::string text = {};                        // print: help and the like
  bool json = false;                            // version
  std::optional<settings::Values> values = {};  // commands: flags over --config over defaults
};

// Throws InputError for anything it does not understand, with the nearest thing it would.
Request read_command_line(const std::vector<std::string>& arguments);

// The text of --help, from the table of settings.
std::string program_help();
std::string command_help(const settings::CommandInfo& info);

}  // namespace sharpen::app
