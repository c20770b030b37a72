#include "help.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "sharpen/base/reference.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

using settings::CommandInfo;
using settings::Group;
using settings::Setting;

constexpr std::size_t kWidest = 100;
constexpr std::size_t kNarrowest = 60;
// Columns of the names, gap included.
constexpr std::size_t kSettingNames = 32;
constexpr std::size_t kCommandNames = 18;

// Of the terminal, within reason; files and pipes get the widest.
std::size_t page_width() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return kWidest;
  return size.ws_col == 0 ? kWidest : std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
}

// "  name        text", the text in lines that start below each other. A long name has a line of
// its own.
std::string entry(std::string_view names, std::string_view text, std::size_t start,
                  std::size_t width) {
  std::string out = fmt::format("  {}", names);
  std::size_t column = display_width(out);
  const auto new_line = [&] {
    out += "\n" + std::string(start, ' ');
    column = start;
  };
  if (column + 2 > start) {
    new_line();
  } else {
    out.append(start - column, ' ');
    column = start;
  }
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t length = display_width(word);
    if (column > start && column + 1 + length > width) {
      new_line();
    } else if (column > start) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
  }
  return out + "\n";
}

std::string names_of(const Setting& setting) {
  std::string names = "--" + std::string(setting.name);
  if (setting.short_flag != '\0') names = fmt::format("-{},{}", setting.short_flag, names);
  if (!setting.placeholder.empty()) names.append(" ").append(setting.placeholder);
  return names;
}

std::string text_of(const Setting& setting, settings::Command command) {
  const std::string_view preset = setting.preset_for(command);
  std::string text = plain(setting.text);
  std::string_view before = ": ";
  for (const std::string_view choice : setting.all_choices()) {
    text.append(before).append(choice);
    before = ", ";
  }
  const bool worth_saying = setting.kind != settings::Kind::flag && !preset.empty();
  if (worth_saying) text.append(" [").append(preset).append("]");
  const std::string_view words = setting.words_for(command);
  if (!words.empty()) text.append(" [").append(plain(words)).append("]");
  return text;
}

std::string usage(const CommandInfo& info) {
  std::string line = fmt::format("Usage: sharpen {} [OPTIONS]", info.name);
  for (const std::string_view name : info.positional)
    if (!name.empty()) line += fmt::format(" [{}]", settings::find(name).placeholder);
  return line + "\n";
}

}  // namespace

std::string program_help() {
  const std::size_t width = page_width();
  std::string out =
      "Sparse maximum-Sharpe portfolios\n\n"
      "Usage: sharpen COMMAND [OPTIONS]\n"
      "Example: sharpen solve --demo --explain\n\n"
      "Commands:\n";
  for (const CommandInfo& info : settings::commands())
    out += entry(info.name, info.text, kCommandNames, width);
  out += entry("help [COMMAND]", "this page, or what a command takes", kCommandNames, width);
  out += "\nOptions:\n";
  out +=
      entry("-h,--help", "print this page, or after a command what it takes", kCommandNames, width);
  out += entry("--version", "print version, compiler and BLAS", kCommandNames, width);
  out += entry("--json", "with --version: in JSON", kCommandNames, width);
  return out;
}

std::string command_help(const CommandInfo& info) {
  const std::size_t width = page_width();
  std::string out = fmt::format("{}\n\n", info.text) + usage(info);
  if (!info.example.empty()) out += fmt::format("Example: {}\n", info.example);
  for (const Group group : {Group::input, Group::window, Group::portfolio, Group::learning,
                            Group::market, Group::trading, Group::statistics, Group::running}) {
    std::string entries;
    for (const Setting& setting : settings::table())
      if ((setting.commands & info.command) != 0 && setting.group == group)
        entries += entry(names_of(setting), text_of(setting, info.command), kSettingNames, width);
    if (group == Group::running) {
      entries +=
          entry("--version", "print version, compiler and BLAS, and stop", kSettingNames, width);
      entries += entry("-h,--help", "print this page and stop", kSettingNames, width);
    }
    if (!entries.empty()) out += fmt::format("\n{}:\n{}", settings::name(group), entries);
  }
  return out;
}

}  // namespace sharpen::app
