// Rows of the table of settings about panels and simulated markets.
#include "base/settings_rows.hpp"
#include "sharpen/market/cleaning.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::settings {

using market::CleaningSettings;
using market::PanelSettings;
using market::SimulationSettings;

namespace {

// Commands that read one panel, and those that clean panels: a study reads several.
constexpr unsigned kPanel = solve | doctor | backtest | train | predict;
constexpr unsigned kCleaning = kPanel | study;

}  // namespace

std::vector<Setting> panel_rows() {
  std::vector<Setting> rows = {
      row("prices", field(&PanelSettings::prices),
          "panel of prices: CSV, one column per ticker, or date,ticker,close; may end in .gz",
          {.commands = kPanel, .roles = of_panel | input_file}),
      row("returns", field(&PanelSettings::returns), "panel of returns r, in the same layout",
          {.commands = kPanel, .roles = of_panel | input_file}),
      row("gross", field(&PanelSettings::gross), "the returns file holds gross returns 1 + r",
          {.roles = of_panel | of_reading, .shell_only = every_command}),
      row("moments", Kind::text, "means and covariance in one file, laid out as ‹--format› says",
          {.commands = solve, .roles = input_file}),
      row("format", Kind::choice, "layout of the moments file",
          {.preset = "orlib",
           .choices = {"orlib"},
           .commands = solve,
           .shell_only = every_command}),
      row("mean", Kind::text,
          "expected returns: CSV with one row asset,mean per asset (with ‹--cov›)",
          {.commands = solve, .roles = input_file}),
      row("cov", Kind::text,
          "covariance matrix: CSV with tickers in the first row and column (with ‹--mean›)",
          {.commands = solve, .roles = input_file}),
      row("demo", Kind::flag,
          "solve a built-in example of simulated returns, with k = 4 unless given",
          {.commands = solve, .shell_only = every_command}),
      row("from", field(&PanelSettings::from), "first date of the panel to use",
          {.placeholder = "DATE",
           .preset_words = "the first date",
           .group = Group::window,
           .roles = of_panel | of_reading | needs_panel}),
      row("to", field(&PanelSettings::to),
          "last date of the panel to use; 2024-06 means the end of June",
          {.placeholder = "DATE",
           .preset_words = "the last date",
           .group = Group::window,
           .roles = of_panel | of_reading | needs_panel}),
      row("tickers", field(&PanelSettings::tickers),
          "the assets to use, in this order; names with commas in double quotes",
          {.placeholder = "A,B,C",
           .preset_words = "all of them",
           .group = Group::window,
           .roles = of_panel}),
      row("exclude", field(&PanelSettings::exclude),
          "assets to leave out before anything is looked at; names with commas in double quotes",
          {.placeholder = "A,B,C",
           .preset_words = "none",
           .group = Group::window,
           .roles = of_panel | needs_panel}),
      row("universe", field(&CleaningSettings::universe),
          "assets with values throughout, or those that come and go, each while it has values",
          {.other_commands = predict,
           .other_words = "available with a model of network shared, else complete",
           .roles = of_panel | of_reading | needs_panel}),
      row("max-gap", field(&CleaningSettings::max_gap),
          "longest gap, in rows, over which the last price is carried, also at the ends of the "
          "panel; a longer one drops the asset, or it leaves and returns with ‹--universe "
          "available›",
          {.bounds = {.low = 0, .high = 10000}, .roles = of_panel | of_reading | needs_panel}),
      row("on-suspect", field(&CleaningSettings::on_suspect),
          "what is done about suspect prices without a decision, by kind, "
          "split=adjust,jump=report; one word means all kinds: report, adjust, missing, halt, "
          "drop-asset, drop-day, error; careful: nonpositive=missing, print=adjust, split=adjust "
          "unless it may be a real move, jump=report, frozen=halt, holiday=drop-day; a split or "
          "jump "
          "that fewer than 5 rows follow is halted",
          {.placeholder = "KIND=NAME,...",
           .misfit = "write one word for all kinds, or kinds as in split=adjust,jump=report",
           .roles = of_panel | of_reading | needs_panel}),
      row("decisions", field(&CleaningSettings::decisions),
          "TOML of decisions about single suspects, as doctor ‹--decide› proposes it "
          "(docs/cleaning.md)",
          {.roles = of_panel | of_reading | needs_panel | names_file}),
      row("allow-loss", field(&CleaningSettings::allow_loss),
          "most rows, and most names that the universe keeps, that cleaning may take out",
          {.placeholder = "P%",
           .misfit = "write a share, such as 10%",
           .roles = of_panel | needs_panel}),
  };
  return rows_of(kCleaning, Group::input, std::move(rows));
}

std::vector<Setting> simulation_rows() {
  std::vector<Setting> rows = {
      row("assets", field(&SimulationSettings::assets), "assets to simulate",
          {.bounds = {.low = 1, .high = 100000}}),
      row("days", field(&SimulationSettings::days), "days to simulate: rows of prices",
          {.bounds = {.low = 2, .high = 25000}}),
      row("predictability", field(&SimulationSettings::predictability),
          "size of expected returns against the own volatility of the quietest asset; 0 is a null "
          "market",
          {.bounds = {.low = 0, .high = 1}}),
      row("signal-life", field(&SimulationSettings::signal_life),
          "days in which the autocorrelation of expected returns halves",
          {.preset_words = "that of the model's own, a few days",
           .bounds = {.low = 0, .high = 1000, .above = true}}),
      row("factors", field(&SimulationSettings::factors),
          "factors that move all assets; the first is the market",
          {.bounds = {.low = 1, .high = 64}}),
      row("start-date", field(&SimulationSettings::start_date),
          "the first row is the first weekday from here on", {.placeholder = "DATE"}),
  };
  return rows_of(simulate, Group::market, std::move(rows));
}

}  // namespace sharpen::settings
