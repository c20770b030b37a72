#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

using settings::Setting;

std::string help_text(const Setting& setting, settings::Command command) {
  const std::string_view preset = setting.preset_for(command);
  std::string text(setting.text);
  for (std::size_t i = 0; i < setting.choices.size(); ++i)
    text.append(i == 0 ? ": " : ", ").append(setting.choices[i]);
  const bool worth_saying = setting.kind != settings::Kind::flag && !preset.empty();
  if (worth_saying) text.append(" [").append(preset).append("]");
  if (!setting.preset_words.empty()) text.append(" [").append(setting.preset_words).append("]");
  return text;
}

void add_flag(CLI::App& command, const Setting& setting, settings::Command which, bool positional) {
  std::string names = "--" + std::string(setting.name);
  if (setting.short_flag != '\0') names = fmt::format("-{},{}", setting.short_flag, names);
  if (positional) names.append(",").append(setting.name);
  if (setting.kind == settings::Kind::flag) {
    command.add_flag(names)->description(help_text(setting, which));
  } else {
    command.add_option(names)
        ->type_name(std::string(setting.placeholder))
        ->description(help_text(setting, which));
  }
}

void add_command(CLI::App& program, const settings::CommandInfo& info) {
  CLI::App* command = program.add_subcommand(std::string(info.name), std::string(info.text));
  command->allow_extras();
  for (const Setting& setting : settings::table())
    if ((setting.commands & info.command) != 0)
      add_flag(*command, setting, info.command,
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
  }
  const std::string word = extra.substr(0, extra.find('='));
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view what = extra.starts_with('-') ? "unknown option"
                                : top_level            ? "unknown command"
                                                       : "unexpected argument";
  const std::string guess = did_you_mean(word, views);
  throw InputError(fmt::format("{} {}{}", what, printable(word), guess.empty() ? see : guess));
}

// Flags are applied after the configuration file, so that they win.
settings::Values resolve(const CLI::App& given) {
  const auto known = settings::commands();
  const auto info = std::find_if(known.begin(), known.end(), [&](const auto& command) {
    return command.name == given.get_name();
  });
  settings::Values values(info->command);
  const auto text = [&](const Setting& setting) {
    const CLI::Option* option = given.get_option("--" + std::string(setting.name));
    return option->count() == 0 ? std::nullopt : std::optional(option->results().back());
  };
  if (const auto file = text(settings::find("config"))) {
    values.set_flag("config", *file);
    values.read_toml_file(*file);
  }
  for (const Setting& setting : settings::table())
    if (values.takes(setting.name))
      if (const auto flag = text(setting)) values.set_flag(setting.name, *flag);
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

// CLI11 parses from the back.
void parse(CLI::App& program, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  program.parse(std::move(arguments));
}

}  // namespace

Request read_command_line(const std::vector<std::string>& arguments) {
  CLI::App program("Sparse maximum-Sharpe portfolios", "sharpen");
  program.get_formatter()->column_width(34);
  program.allow_extras();
  program.require_subcommand(0, 1);
  bool version = false, json = false, options_page = false;
  program.add_flag("--version", version, "print version, compiler and BLAS");
  program.add_flag("--json", json, "with --version: in JSON");
  program.add_flag("--print-options-md", options_page)->group("");
  for (const settings::CommandInfo& info : settings::commands()) add_command(program, info);

  try {
    parse(program, arguments);
  } catch (const CLI::CallForHelp&) {
    return {.kind = Request::Kind::print, .text = program.help()};
  } catch (const CLI::ParseError& error) {
    throw InputError(in_our_words(error.what()));
  }
  const auto chosen = program.get_subcommands();
  const auto extras = program.remaining();
  if (!extras.empty()) refuse_extra(extras.front(), program, true);
  if (!chosen.empty() && !chosen.front()->remaining().empty())
    refuse_extra(chosen.front()->remaining().front(), *chosen.front(), false);
  if (version) return {.kind = Request::Kind::version, .json = json};
  if (options_page) return {.kind = Request::Kind::print, .text = settings::options_markdown()};
  if (chosen.empty()) throw InputError("no command given; see sharpen --help");
  if (json)
    throw InputError(fmt::format("--json goes after the command: sharpen {} --json",
                                 chosen.front()->get_name()));
  return {.kind = Request::Kind::command, .values = resolve(*chosen.front())};
}

}  // namespace sharpen::app
