#include "study/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/decisions.hpp"
#include "sharpen/study/checksum.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

// Names of the settings that change how the numbers of a panel look.
std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const settings::Setting& setting : settings::table())
    if (setting.taken_by(settings::backtest) &&
        setting.is(settings::of_reading | settings::names_file))
      out.push_back(setting.name);
  return out;
}

// What is meant where it is not given.
std::string default_of(const Values& defaults, std::string_view name) {
  return defaults.has(name) ? defaults.written(name) : "not given";
}

std::string value_of(const Values& values, std::string_view name) {
  const std::string written = values.written(name);
  if (!settings::find_for(name, settings::backtest)->is(settings::names_file)) return written;
  if (name == "decisions") return checksum_of_text(market::decisions_text(written));
  std::error_code ignored;
  const bool file = !market::is_text(written) && std::filesystem::is_regular_file(written, ignored);
  return checksum_of_text(file ? market::contents(written, name) : written);
}

}  // namespace

Reading reading_of(const Values& values) {
  Reading out;
  for (const std::string_view name : names())
    if (values.has(name)) out.emplace_back(name, value_of(values, name));
  return out;
}

std::string reading_difference(const Reading& now, const Reading& then) {
  const Values defaults(settings::backtest);
  for (const std::string_view name : names()) {
    const auto value = [&](const Reading& reading) {
      const auto found = std::ranges::find(reading, name, &Reading::value_type::first);
      return found == reading.end() ? default_of(defaults, name) : found->second;
    };
    if (value(now) != value(then))
      return fmt::format("{} = {}, was {}", reference(name), printable(value(now)),
                         printable(value(then)));
  }
  return "";
}

std::string reading_words(const Reading& reading) {
  const Values defaults(settings::backtest);
  std::string out;
  for (const auto& [name, value] : reading)
    if (settings::find_for(name, settings::backtest) == nullptr ||
        value != default_of(defaults, name))
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  return out;
}

}  // namespace sharpen::study
