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
  const auto in_word = [&](std::size_t i) {
    return i < message.size() &&
           (std::isalnum(static_cast<unsigned char>(message[i])) != 0 || message[i] == '-');
  };
  for (const settings::Setting& setting : settings::table()) {
    // "--max-gap", then "max-gap" (and "-k"); a name without hyphens is the same word in both.
    for (const std::string& name : {"--" + std::string(setting.name), std::string(setting.name),
                                    "-" + std::string(1, setting.short_flag)}) {
      if (name == std::string("-\0", 2)) continue;
      if (name.find('-') == std::string::npos) continue;
      const std::string ours = with_underscores(setting.name);
      for (auto at = message.find(name); at != std::string::npos; at = message.find(name, at + 1))
        if ((at == 0 || !in_word(at - 1)) && !in_word(at + name.size()))
          message.replace(at, name.size(), ours);
    }
  }
  // "give --returns FILE"
  constexpr std::string_view file = " FILE";
  for (auto at = message.find(file); at != std::string::npos; at = message.find(file, at))
    message.erase(at, file.size());
  return message;
}

void add_settings(nb::module_& module) {
  module.def("setting_names", &names_of, nb::arg("command"),
             "Names of the settings that a command takes, with underscores.");
  module.def(
      "takes_list",
      [](const std::string& name) { return settings::find(name).kind == settings::Kind::list; },
      nb::arg("name"), "Whether the setting of this name, with hyphens, is a list.");
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
