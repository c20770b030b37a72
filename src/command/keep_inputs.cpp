#include "sharpen/command/keep_inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"

namespace sharpen::command {

namespace {

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error &&
         std::filesystem::is_regular_file(a, error);
}

void keep_inputs(const settings::Values& values, std::string_view output,
                 const std::filesystem::path& file) {
  for (const settings::Setting& input : settings::table())
    if (input.is(settings::input_file) && input.kind == settings::Kind::text &&
        input.taken_by(values.command()) && values.has(input.name) &&
        is_same_file(values.text(input.name), file))
      throw InputError(fmt::format("{} would replace what {} reads; give it another name",
                                   values.given_as(output), values.given_as(input.name)));
}

}  // namespace

void keep_inputs(const settings::Values& values, std::initializer_list<std::string_view> outputs) {
  std::vector<std::pair<std::string_view, std::filesystem::path>> written;
  for (const std::string_view output : outputs) {
    if (!values.takes(output) || !values.has(output)) continue;
    keep_inputs(values, output, values.text(output));
    const std::filesystem::path file = link_target(values.text(output));
    for (const auto& [other, name] : written)
      if (name == file)
        throw InputError(fmt::format("{} and {} are the same file; give one of them another name",
                                     values.given_as(other), values.given_as(output)));
    written.emplace_back(output, file);
  }
}

void keep_inputs(const settings::Values& values, std::string_view output, const std::string& folder,
                 std::span<const std::string> names) {
  for (const std::string& name : names)
    keep_inputs(values, output, std::filesystem::path(folder) / name);
}

}  // namespace sharpen::command
