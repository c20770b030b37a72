#include "command_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/json_page.hpp"

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

// A study takes several of everything, in one list or flag by flag; a merge takes several parts.
bool may_repeat(const Setting& setting) {
  return setting.kind == settings::Kind::list &&
         (setting.commands == settings::study || setting.commands == settings::merge);
}

void add_flag(CLI::App& command, const Setting& setting, bool positional) {
  std::string names = "--" + std::string(setting.name);
  if (setting.short_flag != '\0') names = fmt::format("-{},{}", setting.short_flag, names);
  if (positional) names.append(",").append(setting.name);
  if (setting.kind == settings::Kind::flag) {
    command.add_flag(names);
  } else {
    CLI::Option* option = command.add_option(names)->type_name(std::string(setting.placeholder));
    if (may_repeat(setting)) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (may_repeat(setting) && positional)
      option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  }
}

void add_command(CLI::App& program, const settings::CommandInfo& info) {
  CLI::App* command = program.add_subcommand(std::string(info.name));
  command->allow_extras();
  command->add_flag("--version");
  for (const Setting& setting : settings::table())
    if ((setting.commands & info.command) != 0)
      add_flag(*command, setting,
               std::find(info.positional.begin(), info.positional.end(), setting.name) !=
                   info.positional.end());
}

// What CLI11 did not recognise: a wrong flag, a wrong command, or a stray word.
[[noreturn]] void refuse_extra(const std::string& extra, const CLI::App& place, bool top_level) {
  const std::string see =
      top_level ? "; see sharpen --help" : fmt::format("; see sharpen {} --help", place.get_name());
  std::vector<std::string> known;
  if (extra.starts_with('-')) {
    for (const CLI::Option* option : place.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    }
  } else if (top_level) {
    for (const settings::CommandInfo& info : settings::commands()) known.emplace_back(info.name);
    known.emplace_back("help");
  }
  const std::string word = extra.substr(0, extra.find('='));
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view what = extra.starts_with('-') ? "unknown option"
                                : top_level            ? "unknown command"
                                                       : "unexpected argument";
  std::string guess = did_you_mean(word, views);
  // A file without its flag: commands that take several kinds of file take none by position.
  const CLI::Option* prices = place.get_option_no_throw("--prices");
  std::error_code ignored;
  if (!top_level && prices != nullptr && prices->count() == 0 &&
      std::filesystem::is_regular_file(extra, ignored))
    guess = fmt::format("; did you mean --prices {}?", printable(word));
  throw InputError(fmt::format("{} {}{}", what, printable(word), guess.empty() ? see : guess));
}

const settings::CommandInfo* find_command(std::string_view name) {
  for (const settings::CommandInfo& info : settings::commands())
    if (info.name == name) return &info;
  return nullptr;
}

// Flags are applied after the configuration file, so that they win.
settings::Values resolve(const CLI::App& given) {
  settings::Values values(find_command(given.get_name())->command);
  const auto text = [&](const Setting& setting) {
    const CLI::Option* option = given.get_option("--" + std::string(setting.name));
    if (option->count() == 0) return std::optional<std::string>();
    if (!may_repeat(setting)) return std::optional(option->results().back());
    // Parts are paths, each an argument of its own, whatever stands in it.
    if (setting.commands == settings::merge)
      return std::optional(settings::write(setting, option->results()));
    return std::optional(fmt::format("{}", fmt::join(option->results(), ",")));
  };
  if (const auto file = text(settings::find("config"))) {
    values.set_flag("config", *file);
    values.read_toml_file(*file);
  }
  for (const Setting& setting : settings::table())
    if ((setting.commands & values.command()) != 0)
      if (const auto flag = text(setting)) values.set_flag(setting.name, *flag);
  // The preset of a study is not one of its trainings.
  if (values.command() != settings::study && values.takes("preset") &&
      values.text("preset") == "paper")
    values.use_paper_preset();
  return values;
}

// CLI11's words for the two mistakes it finds by itself, in ours.
std::string in_our_words(const std::string& message) {
  const auto colon = message.find(": ");
  const auto missing = message.find(" required ");
  if (colon == std::string::npos || missing == std::string::npos) return message;
  const std::string option = message.substr(0, colon);
  if (message.find(" but received ") != std::string::npos)
    return option + " is given more than once";
  if (!message.ends_with(" missing")) return message;
  const auto first = missing + std::string_view(" required ").size();
  const auto length = message.size() - std::string_view(" missing").size() - first;
  return fmt::format("{} needs a value: {}", option, message.substr(first, length));
}

// -k=4 as --k=4: CLI11 would take "=4" for the value.
void lengthen_short_flags(std::vector<std::string>& arguments) {
  bool in_command = false;
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    in_command = in_command || find_command(argument) != nullptr;
    if (!in_command || argument.size() < 3 || argument[0] != '-' || argument[2] != '=') continue;
    for (const Setting& setting : settings::table())
      if (setting.short_flag == argument[1])
        argument = fmt::format("--{}{}", setting.name, argument.substr(2));
  }
}

// CLI11 parses from the back.
void parse(CLI::App& program, std::vector<std::string> arguments) {
  lengthen_short_flags(arguments);
  std::reverse(arguments.begin(), arguments.end());
  program.parse(std::move(arguments));
}

// Whether a flag of CLI11 is given, and not as --flag=false.
bool is_on(const CLI::App& place, const std::string& flag) {
  const CLI::Option* option = place.get_option(flag);
  return option->count() > 0 && option->results().back() == "true";
}

// sharpen help [COMMAND]
std::string requested_help(const CLI::App& program, const std::vector<std::string>& arguments) {
  const auto is_help = [](const std::string& word) {
    return word == "help" || word == "--help" || word == "-h";
  };
  const bool whole = arguments.size() < 2 || is_help(arguments[1]);
  const settings::CommandInfo* info = whole ? nullptr : find_command(arguments[1]);
  const std::size_t known = arguments.size() < 2 ? 1 : whole || info != nullptr ? 2 : 1;
  if (arguments.size() == known) return whole ? program_help() : command_help(*info);
  if (known == 1 && !arguments[1].starts_with('-')) refuse_extra(arguments[1], program, true);
  throw InputError(
      fmt::format("unexpected argument {}; write sharpen help, or sharpen help COMMAND",
                  printable(arguments[known])));
}

}  // namespace

Request read_command_line(const std::vector<std::string>& arguments) {
  CLI::App program("", "sharpen");
  program.allow_extras();
  program.require_subcommand(0, 1);
  bool version = false, json = false, options_page = false, json_page = false;
  program.add_flag("--version", version);
  program.add_flag("--json", json);
  program.add_flag("--print-options-md", options_page);
  program.add_flag("--print-json-md", json_page);
  for (const settings::CommandInfo& info : settings::commands()) add_command(program, info);

  if (!arguments.empty() && arguments.front() == "help")
    return {.kind = Request::Kind::print, .text = requested_help(program, arguments)};
  try {
    parse(program, arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    return {.kind = Request::Kind::print,
            .text = chosen.empty() ? program_help()
                                   : command_help(*find_command(chosen.front()->get_name()))};
  } catch (const CLI::ParseError& error) {
    throw InputError(in_our_words(error.what()));
  }
  const auto chosen = program.get_subcommands();
  const auto extras = program.remaining();
  if (!extras.empty()) refuse_extra(extras.front(), program, true);
  if (!chosen.empty() && !chosen.front()->remaining().empty())
    refuse_extra(chosen.front()->remaining().front(), *chosen.front(), false);
  if (!chosen.empty() && is_on(*chosen.front(), "--version"))
    return {.kind = Request::Kind::version, .json = json || is_on(*chosen.front(), "--json")};
  if (version) return {.kind = Request::Kind::version, .json = json};
  if (options_page) return {.kind = Request::Kind::print, .text = settings::options_markdown()};
  if (json_page) return {.kind = Request::Kind::print, .text = command::json_page()};
  if (chosen.empty()) throw InputError("no command given; see sharpen --help");
  if (json)
    throw InputError(fmt::format("--json goes after the command: sharpen {} --json",
                                 chosen.front()->get_name()));
  return {.kind = Request::Kind::command, .values = resolve(*chosen.front())};
}

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
