// The table of settings, seen from Python: names with underscores, values as text.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/layer/limit_rules.hpp"

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

// "--lookback 119" is lookback=119, "--lookback all" is lookback="all", "--max-age DAYS" max_age,
// "max-gap" max_gap, "sharpen backtest" sharpen.backtest, "sharpen backtest --out"
// sharpen.backtest(out=...).
std::string in_python(std::string_view reference) {
  constexpr std::string_view kProgram = "sharpen ";
  const bool command = reference.starts_with(kProgram);
  if (command) reference.remove_prefix(kProgram.size());
  reference.remove_prefix(std::min(reference.find_first_not_of('-'), reference.size()));
  const std::size_t space = std::min(reference.find(' '), reference.size());
  const std::string name = with_underscores(reference.substr(0, space));
  std::string_view value = reference.substr(std::min(space + 1, reference.size()));
  if (command) {
    if (value.empty()) return "sharpen." + name;
    value.remove_prefix(std::min(value.find_first_not_of('-'), value.size()));
    return "sharpen." + name + '(' + with_underscores(value) + "=...)";
  }
  const bool placeholder = value.empty() || (value[0] >= 'A' && value[0] <= 'Z');
  if (placeholder) return name;
  const bool number = value.find_first_not_of("0123456789.") == std::string_view::npos;
  return name + (number ? '=' + std::string(value) : "=\"" + std::string(value) + '"');
}

std::string_view kind_name(settings::Kind kind) {
  using enum settings::Kind;
  switch (kind) {
    case of_field: break;
    case flag: return "flag";
    case integer: return "integer";
    case real: return "real";
    case choice: return "choice";
    case text: return "text";
    case list: return "list";
    case count_or_share: return "count_or_share";
    case count_or_all: return "count_or_all";
    case number_or_file: return "number_or_file";
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
    // Numbers in a list may be written in several ways; labels are as they are.
    const bool labels = setting.kind == settings::Kind::list && !setting.numbers;
    row["kind"] = std::string(labels ? "labels" : kind_name(setting.kind));
    row["text"] = in_python_words(setting.text);
    row["default"] = in_python_words(setting.words_for(wanted).empty() ? setting.preset_for(wanted)
                                                                       : setting.words_for(wanted));
    const std::vector<std::string_view> choices = setting.all_choices();
    row["choices"] = std::vector<std::string>(choices.begin(), choices.end());
    row["keyword"] = (setting.shell_only & wanted) == 0;
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

std::string in_python_words(std::string_view message) { return spelled(message, in_python); }

std::vector<std::string> in_python_words(std::vector<std::string> messages) {
  for (std::string& message : messages) message = in_python_words(message);
  return messages;
}

void add_settings(nb::module_& module) {
  module.def("settings_of", &settings_of, nb::arg("command"),
             "Name, kind, text, default and choices of every setting that a command takes.");
  module.def(
      "in_python_words", [](const std::string& message) { return in_python_words(message); },
      nb::arg("message"), "The message with its references to settings as Python has them.");
  module.def(
      "check_settings",
      [](const std::string& command, const SettingTexts& given) {
        values_of(command_of(command), given);
      },
      nb::arg("command"), nb::arg("settings"), "Raises InputError for a value out of range.");
  module.def(
      "limits_text",
      [](const std::string& text) {
        return layer::read_limits(text, std::filesystem::path("limits")).to_toml();
      },
      nb::arg("text"), "Limits in TOML, as they are kept. Raises InputError for what is wrong.");
  module.def(
      "limits_of_file",
      [](const std::string& file) {
        if (file.empty()) throw InputError("limits: no file is named; give its path");
        layer::LimitSettings given;
        given.limits = file;
        return layer::limit_rules(given)->to_toml();
      },
      nb::arg("file"), "The same of a file.");
  module.def("did_you_mean", &hint, nb::arg("word"), nb::arg("names"),
             "'; did you mean X?' for the nearest name, or ''.");
}

}  // namespace sharpen::python
