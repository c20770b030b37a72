// docs/options.md, from the table.
#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

namespace {

// A pipe would end the cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string flag_cell(const Setting& setting) {
  std::string flag = setting.short_flag != '\0' ? fmt::format("-{}", setting.short_flag) : "";
  if (setting.name.size() > 1) flag.append(flag.empty() ? "--" : ", --").append(setting.name);
  if (!setting.placeholder.empty()) flag.append(" ").append(setting.placeholder);
  return "`" + cell(flag) + "`";
}

std::string_view text_cell(std::string_view placeholder) {
  if (placeholder == "FILE") return "file";
  if (placeholder == "DIR") return "folder";
  if (placeholder == "PATH") return "file or folder";
  if (placeholder == "DATE") return "date";
  if (placeholder == "P%|DATE") return "share in (0%, 100%), or date";
  if (placeholder == "ROW|DATE") return "row from 1, or date";
  return "text";
}

std::string values_cell(const Setting& setting) {
  switch (setting.kind) {
    case Kind::flag: return "on or off";
    case Kind::integer: return "whole number in " + setting.bounds.words();
    case Kind::real: return "number in " + setting.bounds.words();
    case Kind::text: return std::string(text_cell(setting.placeholder));
    case Kind::list: return "names, separated by commas";
    case Kind::count_or_share: return "whole number in [1, n], or share in (0%, 100%]";
    case Kind::count_or_all: return "whole number in " + setting.bounds.words() + ", or `all`";
    case Kind::number_or_file: return "number in " + setting.bounds.words() + ", or file";
    case Kind::of_field:
    case Kind::choice: break;
  }
  std::string known;
  for (const std::string_view choice : setting.all_choices())
    known += fmt::format("{}`{}`", known.empty() ? "" : ", ", choice);
  return known;
}

std::string preset_cell(const Setting& setting, Command command) {
  const std::string_view preset = setting.preset_for(command);
  const std::string_view words = setting.words_for(command);
  if (!words.empty()) return plain(words);
  if (preset.empty()) return "–";
  if (setting.kind == Kind::flag) return preset == "true" ? "on" : "off";
  return fmt::format("`{}`", preset);
}

}  // namespace

std::string options_markdown() {
  std::string out =
      "# Options\n\n"
      "Written by `sharpen --print-options-md` from the table of settings, `src/*/rows.cpp`; a\n"
      "test fails when this page is out of date.\n\n"
      "A value comes from the first of: the flag, the file given by `--config`, the default. The\n"
      "file is TOML with one key per setting, named like the flag without its dashes:\n\n"
      "```toml\n"
      "prices = \"prices.csv\"  # relative to the folder the program runs in\n"
      "k = \"10%\"              # or a count: k = 20\n"
      "lookback = 250         # or \"all\"\n"
      "tickers = [\"A\", \"B\"]\n"
      "json = true            # `--json=false` on the command line wins over it\n"
      "```\n\n"
      "`--print-config` prints every setting in this form. An unknown key, a wrong type or a "
      "value\n"
      "out of bounds is an error that names the file, the line and the key.\n\n"
      "What `sharpen solve` computes, and what its optimizers, statuses and sizings mean:\n"
      "[solve.md](solve.md).\n";
  for (const CommandInfo& info : commands()) {
    out += fmt::format("\n## sharpen {}\n\n{}\n\n", info.name, info.text);
    out += "| flag | values | default | meaning |\n|---|---|---|---|\n";
    for (const Setting& setting : table())
      if ((setting.commands & info.command) != 0)
        out += fmt::format("| {} | {} | {} | {} |\n", flag_cell(setting), values_cell(setting),
                           preset_cell(setting, info.command), cell(plain(setting.text)));
  }
  return out;
}

}  // namespace sharpen::settings
