#include "study/reading.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/decisions.hpp"
#include "sharpen/study/store.hpp"

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

// By name; those of a file from elsewhere may be any.
std::map<std::string_view, std::string_view> words_of(std::string_view checksum) {
  std::map<std::string_view, std::string_view> found;
  for (auto space = checksum.find(' '); space != std::string_view::npos;) {
    checksum.remove_prefix(space + 1);
    space = checksum.find(' ');
    const std::string_view word = checksum.substr(0, space);
    const auto sign = word.find('=');
    if (!word.empty())
      found.emplace(word.substr(0, sign),
                    sign == std::string_view::npos ? "" : word.substr(sign + 1));
  }
  return found;
}

// What is meant where there is no word. Studies of former versions have none for their default.
std::string default_of(const Values& defaults, std::string_view name) {
  if (name == "on-suspect") return "report";
  return defaults.has(name) ? defaults.written(name) : "not given";
}

// One word: of a text that names a file or is what it says, its checksum, for the file may be
// another one tomorrow.
std::string word_of(const Values& values, std::string_view name) {
  const std::string written = values.written(name);
  if (!settings::find_for(name, settings::backtest)->is(settings::names_file)) return written;
  if (name == "decisions") return checksum_of_text(market::decisions_text(written));
  std::error_code ignored;
  const bool file = !market::is_text(written) && std::filesystem::is_regular_file(written, ignored);
  return checksum_of_text(file ? market::contents(written, name) : written);
}

}  // namespace

std::string reading_words(const Values& values) {
  const Values defaults(settings::backtest);
  std::string out;
  for (const std::string_view name : names())
    if (values.has(name) && word_of(values, name) != default_of(defaults, name))
      out += fmt::format(" {}={}", name, word_of(values, name));
  return out;
}

std::string_view data_of(std::string_view checksum) {
  return checksum.substr(0, checksum.find(' '));
}

std::string reading_difference(std::string_view now, std::string_view then) {
  const Values defaults(settings::backtest);
  const auto a = words_of(now), b = words_of(then);
  for (const std::string_view name : names()) {
    const auto value = [&](const auto& words) {
      const auto found = words.find(name);
      return found == words.end() ? default_of(defaults, name) : std::string(found->second);
    };
    if (value(a) != value(b))
      return fmt::format("{} = {}, was {}", reference(name), printable(value(a)),
                         printable(value(b)));
  }
  return "";
}

}  // namespace sharpen::study
