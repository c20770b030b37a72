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

std::vector<std::string> names_of(const std::string& command) {
  const settings::Values values(command_of(command));
  std::vector<std::string> names;
  for (const settings::Setting& setting : settings::table())
    if (values.takes(setting.name)) names.push_back(with_underscores(setting.name));
  return names;
}

// "; did you mean shrinkage?" or "".
std::string hint(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return did_you_mean(word, known);
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
  // "target-volatility = 0 is outside ..."
  for (const settings::Setting& setting : settings::table()) {
    const std::string name = std::string(setting.name) + " = ";
    for (auto at = message.find(name); at != std::string::npos; at = message.find(name, at + 1))
      message.replace(at, name.size(), with_underscores(setting.name) + " = ");
  }
  std::string out;
  out.reserve(message.size());
  const auto word = [&](std::size_t i) {
    return i < message.size() &&
           (std::islower(static_cast<unsigned char>(message[i])) != 0 || message[i] == '-');
  };
  const auto starts_word = [&](std::size_t i) {
    return i == 0 || message[i - 1] == ' ' || message[i - 1] == '(' || message[i - 1] == '"';
  };
  for (std::size_t i = 0; i < message.size();) {
    if (message.compare(i, 2, "--") == 0 && starts_word(i) && word(i + 2) &&
        message[i + 2] != '-') {
      for (i += 2; word(i); ++i) out.push_back(message[i] == '-' ? '_' : message[i]);
    } else {
      out.push_back(message[i++]);
    }
  }
  return out;
}

void add_settings(nb::module_& module) {
  module.def("setting_names", &names_of, nb::arg("command"),
             "Names of the settings that a command takes, with underscores.");
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
