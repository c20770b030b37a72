// The table of settings, seen from Python: names with underscores, values as text.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cctype>

#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::python {

namespace {

std::string with_underscores(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

// "; did you mean shrinkage?" or "".
std::string hint(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return did_you_mean(word, known);
}

bool in_word(std::string_view text, std::size_t i) {
  return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                             text[i] == '-' || text[i] == '_');
}

// The word after the space at `at`, without what ends a sentence.
std::string_view word_after(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != ' ') return {};
  const std::size_t end = std::min(text.find_first_of(" ,;:)`\n", at + 1), text.size());
  std::string_view word = text.substr(at + 1, end - at - 1);
  while (word.ends_with('.')) word.remove_suffix(1);
  return word;
}

// Whether the characters from `at` to `end` are a word, and no part of a path.
bool stands_alone(std::string_view text, std::size_t at, std::size_t end) {
  if (at > 0 && (in_word(text, at - 1) || text[at - 1] == '/')) return false;
  if (end < text.size() && text[end] == '.') return !in_word(text, end + 1);  // max-gap.csv
  return !in_word(text, end) && !text.substr(end).starts_with('/');
}

// Whether it stands for any value of a setting: DATE is a part of "P%|DATE".
bool is_placeholder(std::string_view word, std::string_view placeholder) {
  if (word.empty()) return false;
  while (!placeholder.empty()) {
    const std::size_t end = std::min(placeholder.find('|'), placeholder.size());
    if (placeholder.substr(0, end) == word) return true;
    placeholder.remove_prefix(std::min(end + 1, placeholder.size()));
  }
  return word == "FILE";  // of several files, where the setting is a list of them
}

// "--lookback 119" is lookback=119, "--lookback all" is lookback="all", "--max-age DAYS" max_age.
void name_argument(std::string& message, const std::string& flag,
                   const settings::Setting& setting) {
  const std::string ours = with_underscores(setting.name);
  for (auto at = message.find(flag); at != std::string::npos; at = message.find(flag, at + 1)) {
    const std::size_t end = at + flag.size();
    if (!stands_alone(message, at, end)) continue;
    const std::string_view word = flag[0] == '-' ? word_after(message, end) : std::string_view();
    std::string text = ours;
    std::size_t length = flag.size();
    const bool named = std::ranges::find(setting.choices, word) != setting.choices.end() ||
                       (setting.kind == settings::Kind::count_or_all && word == "all");
    if (!named && is_placeholder(word, setting.placeholder)) {
      length += 1 + word.size();
    } else if (named || word.ends_with('%')) {
      text += "=\"" + std::string(word) + '"';
      length += 1 + word.size();
    } else if (!word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos) {
      text += '=' + std::string(word);
      length += 1 + word.size();
    }
    message.replace(at, length, text);
  }
}

// "sharpen backtest" is sharpen.backtest, "sharpen backtest --out" sharpen.backtest(out=...).
void name_functions(std::string& message) {
  for (const settings::CommandInfo& info : settings::commands()) {
    const std::string command = "sharpen " + std::string(info.name);
    for (auto at = message.find(command); at != std::string::npos;
         at = message.find(command, at + 1)) {
      const std::size_t end = at + command.size();
      if (stands_alone(message, at, end) && message.compare(end, 3, " --") != 0)
        message.replace(at, command.size(), "sharpen." + std::string(info.name));
    }
    const std::string start = command + " --";
    for (auto at = message.find(start); at != std::string::npos; at = message.find(start, at + 1)) {
      std::size_t end = at + start.size();
      while (in_word(message, end)) ++end;
      const std::string name = message.substr(at + start.size(), end - at - start.size());
      message.replace(at, end - at,
                      "sharpen." + std::string(info.name) + '(' + with_underscores(name) + "=...)");
    }
  }
}

std::string_view kind_name(settings::Kind kind) {
  using enum settings::Kind;
  switch (kind) {
    case flag: return "flag";
    case integer: return "integer";
    case real: return "real";
    case choice: return "choice";
    case text: return "text";
    case list: return "list";
    case count_or_share: return "count_or_share";
    case count_or_all: return "count_or_all";
  }
  return "text";
}

// The settings of a command: what Python's signatures and help are made of.
nb::list settings_of(const std::string& command) {
  const settings::Command wanted = command_of(command);
  nb::list out;
  for (const settings::Setting& setting : settings::table()) {
    if ((setting.commands & wanted) == 0) continue;
    nb::dict row;
    row["name"] = with_underscores(setting.name);
    row["kind"] = std::string(kind_name(setting.kind));
    row["text"] = in_python_words(std::string(setting.text));
    row["default"] = std::string(setting.words_for(wanted).empty() ? setting.preset_for(wanted)
                                                                   : setting.words_for(wanted));
    row["choices"] = std::vector<std::string>(setting.choices.begin(), setting.choices.end());
    out.append(row);
  }
  return out;
}

}  // namespace

settings::Command command_of(const std::string& name) {
  for (const settings::CommandInfo& info : settings::commands())
    if (info.name == name) return info.command;
  throw InputError("there is no command " + printable(name));
}

settings::Values values_of(settings::Command command, const SettingTexts& given) {
  settings::Values values(command);
  for (const auto& [name, text] : given) {
    if (!values.takes(name)) throw InputError("there is no setting " + printable(name));
    values.set_flag(name, text);
  }
  return values;
}

std::string in_python_words(std::string message) {
  name_functions(message);
  for (const settings::Setting& setting : settings::table()) {
    // "--max-gap", then "-k", then "max-gap"; a name without hyphens is the same word in both.
    name_argument(message, "--" + std::string(setting.name), setting);
    if (setting.short_flag != '\0')
      name_argument(message, "-" + std::string(1, setting.short_flag), setting);
    if (setting.name.find('-') != std::string_view::npos)
      name_argument(message, std::string(setting.name), setting);
  }
  return message;
}

void add_settings(nb::module_& module) {
  module.def("settings_of", &settings_of, nb::arg("command"),
             "Name, kind, text, default and choices of every setting that a command takes.");
  module.def(
      "in_python_words", [](std::string message) { return in_python_words(std::move(message)); },
      nb::arg("message"), "The message with the names that Python has for settings.");
  module.def(
      "check_settings",
      [](const std::string& command, const SettingTexts& given) {
        values_of(command_of(command), given);
      },
      nb::arg("command"), nb::arg("settings"), "Raises InputError for a value out of range.");
  module.def("did_you_mean", &hint, nb::arg("word"), nb::arg("names"),
             "'; did you mean X?' for the nearest name, or ''.");
}

}  // namespace sharpen::python
