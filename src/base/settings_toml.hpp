// Configuration files as TOML nodes, for what reads more of them than one key per setting.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

// The text of a configuration file. Throws InputError for one that cannot be read or is absurd.
std::string read_configuration(const std::filesystem::path& file);

inline constexpr std::size_t kLargestFile = std::size_t{1} << 20;

// Throws InputError with file, line and column.
toml::table parse_toml(std::string_view text, std::string_view file_name,
                       std::size_t largest = kLargestFile);

// The keys of a table in the order of the file, so that its first mistake is reported first.
struct TomlLine {
  toml::source_index number = 0;
  std::string_view key;
  const toml::node* node = nullptr;
};
std::vector<TomlLine> toml_lines(const toml::table& table);

// A node as the value of a setting. Throws InputError for a wrong type, and what parse() throws.
Value toml_value(const Setting& setting, const toml::node& node);

// TOML text: of a node, for messages; of a value; of a string in its quotes, `name` being what it
// belongs to.
std::string toml_shown(const toml::node& node);
std::string toml_text(const Setting& setting, const Value& value);
std::string toml_string(std::string_view name, std::string_view text);

}  // namespace sharpen::settings
