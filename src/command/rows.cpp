// Rows of the table of settings about how the program runs and answers, and about portfolios for
// the next period.
#include "base/settings_rows.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::settings {

namespace {

// Every seed is an exact double, so that any language can write it.
constexpr Bounds kSeeds = {.low = 0, .high = 9007199254740992.0};

}  // namespace

std::vector<Setting> running_rows() {
  std::vector<Setting> rows = {
      row("out", Kind::text,
          "what to write: doctor, the cleaned panel; simulate, the prices; backtest and study, a "
          "folder; train, the model; predict, the weights",
          {.placeholder = "PATH",
           .commands = doctor | simulate | Command::backtest | study | train | predict,
           .roles = of_run,
           .shell_only = every_command}),
      row("force", Kind::flag, "write into a folder that holds other files, which stay",
          {.commands = backtest | predict, .roles = of_run, .shell_only = every_command}),
      row("explain", Kind::flag, "give a reason for each name, and the best name left out",
          {.commands = solve | predict, .shell_only = solve}),
      row("details", Kind::flag, "list what was found, not only how much of it",
          {.commands = doctor, .roles = of_run, .shell_only = every_command}),
      row("decide", Kind::text,
          "where to propose a decision about each suspect, for ‹--decisions›; a file of decisions "
          "that is given is added to",
          {.commands = doctor, .roles = of_run}),
      row("json", Kind::flag, "answer in JSON on standard output",
          {.roles = of_run, .shell_only = every_command}),
      row("threads", Kind::integer, "threads to use; 0 means one per core",
          {.preset = "0", .bounds = {.low = 0, .high = 1024}, .roles = of_run}),
      row("seed",
          {field(&backtest::BootstrapSettings::seed), field(&learn::TrainSettings::seed),
           field(&market::SimulationSettings::seed)},
          "seed of every random number",
          {.bounds = kSeeds, .roles = of_cell | of_signal, .shell_only = solve}),
      row("log-level", Kind::choice, "least important message to print on standard error",
          {.preset = "warning",
           .choices = {"debug", "info", "warning", "error"},
           .roles = of_run,
           .shell_only = every_command}),
      row("config", Kind::text, "TOML file of settings; flags win over it",
          {.in_file = false, .roles = of_run | input_file}),
      row("print-config", Kind::flag,
          "print the settings as TOML that ‹--config› reads back, and stop",
          {.in_file = false, .roles = of_run, .shell_only = every_command}),
  };
  return rows_of(every_command, Group::running, std::move(rows));
}

std::vector<Setting> prediction_rows() {
  std::vector<Setting> rows = {
      row("asof", Kind::text,
          "the day of the decision: no later row is used, and the portfolio is for the period "
          "after it",
          {.placeholder = "DATE",
           .preset_words = "the last day of the file",
           .group = Group::window}),
      row("max-age", Kind::integer,
          "most days from the last row to today, or to ‹--asof›; an older file is refused",
          {.placeholder = "DAYS",
           .preset_words = "any, with a warning",
           .bounds = {.low = 0, .high = 1e6},
           .group = Group::window}),
      row("previous", Kind::text,
          "weights held now, from which trades are counted: CSV asset,weight",
          {.preset_words = "all cash",
           .commands = predict | Command::solve,
           .other_commands = Command::solve,
           .other_words = "unknown: the portfolio is made anew",
           .roles = input_file}),
      row("positions", Kind::text,
          "what the account holds: CSV asset,shares or asset,weight, with a row cash",
          {.preset_words = "all cash", .roles = input_file}),
      row("continue", Kind::text,
          "the account and the settings of a backtest: a folder that ‹sharpen backtest --out› "
          "wrote",
          {.placeholder = "DIR", .shell_only = every_command}),
      row("max-model-age", Kind::integer,
          "most days from the end of the training to today, or to ‹--asof›; an older model is "
          "refused",
          {.placeholder = "DAYS",
           .preset_words = "any, with a warning after a year",
           .bounds = {.low = 0, .high = 1e6},
           .group = Group::window}),
      row("trades", Kind::text, "file to write the trades to: CSV asset,from,to,trade",
          {.group = Group::running, .roles = of_run, .shell_only = every_command}),
      row("out-dir", Kind::text,
          "folder to write the orders and the positions after them to: orders.csv, positions.csv",
          {.placeholder = "DIR", .group = Group::running, .roles = of_run}),
      row("require-ok", Kind::flag, "exit with 1, and write no file, unless the status is ok",
          {.group = Group::running, .shell_only = every_command}),
  };
  return rows_of(predict, Group::trading, std::move(rows));
}

}  // namespace sharpen::settings
