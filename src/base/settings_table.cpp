#include <array>
#include <stdexcept>

#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bounds kPositive = {.low = 0, .high = kInfinity, .above = true};
// Every seed is an exact double, so that any language can write it.
constexpr Bounds kSeeds = {.low = 0, .high = 9007199254740992.0};
// Commands that read a panel, and those that choose a portfolio.
constexpr unsigned kPanel = solve | doctor | backtest;
constexpr unsigned kPortfolio = solve | backtest;

std::vector<Setting> rows() {
  return {
      // Where the numbers come from.
      {.name = "prices",
       .kind = Kind::text,
       .text = "panel of prices: CSV, one row per date, one column per ticker",
       .placeholder = "FILE",
       .commands = kPanel},
      {.name = "returns",
       .kind = Kind::text,
       .text = "panel of returns r, in the same layout",
       .placeholder = "FILE",
       .commands = kPanel},
      {.name = "gross",
       .kind = Kind::flag,
       .text = "the returns file holds gross returns 1 + r",
       .preset = "false",
       .commands = kPanel},
      {.name = "moments",
       .kind = Kind::text,
       .text = "means and covariance in one file, laid out as --format says",
       .placeholder = "FILE",
       .commands = solve},
      {.name = "format",
       .kind = Kind::choice,
       .text = "layout of the moments file",
       .placeholder = "NAME",
       .preset = "orlib",
       .choices = {"orlib"},
       .commands = solve},
      {.name = "mean",
       .kind = Kind::text,
       .text = "expected returns: CSV with one row asset,mean per asset (with --cov)",
       .placeholder = "FILE",
       .commands = solve},
      {.name = "cov",
       .kind = Kind::text,
       .text = "covariance matrix: CSV with tickers in the first row and column (with --mean)",
       .placeholder = "FILE",
       .commands = solve},
      {.name = "demo",
       .kind = Kind::flag,
       .text = "solve a built-in example of simulated returns, with k = 4 unless given",
       .preset = "false",
       .commands = solve},
      {.name = "from",
       .kind = Kind::text,
       .text = "first date of the panel to use",
       .placeholder = "DATE",
       .preset_words = "the first date",
       .commands = kPanel},
      {.name = "to",
       .kind = Kind::text,
       .text = "last date of the panel to use",
       .placeholder = "DATE",
       .preset_words = "the last date",
       .commands = kPanel},
      {.name = "tickers",
       .kind = Kind::list,
       .text = "the assets to use, in this order",
       .placeholder = "A,B,C",
       .preset_words = "all of them",
       .commands = kPanel},
      // What is computed.
      {.name = "k",
       .kind = Kind::count_or_share,
       .text = "most names to hold: a count, or a share of the assets such as 10%",
       .placeholder = "N|P%",
       .preset = "10%",
       .bounds = {.low = 1},
       .commands = kPortfolio,
       .short_flag = 'k'},
      {.name = "optimizer",
       .kind = Kind::choice,
       .text = "how the names are chosen",
       .placeholder = "NAME",
       .preset = "swap",
       .choices = {"oscar", "symmetric", "greedy", "swap"},
       .commands = kPortfolio},
      {.name = "lookback",
       .kind = Kind::count_or_all,
       .text = "returns in the window, counted back from the last date, or all of them",
       .placeholder = "N|all",
       .preset = "100",
       .bounds = {.low = 2},
       .commands = kPortfolio},
      {.name = "shrinkage",
       .kind = Kind::real,
       .text = "weight of the scaled identity in the covariance",
       .placeholder = "X",
       .preset_words = "0.10 from windows, 0 from given moments",
       .bounds = {.low = 0, .high = 1},
       .commands = kPortfolio},
      {.name = "form",
       .kind = Kind::choice,
       .text = "how the covariance is stored; auto takes the cheaper one",
       .placeholder = "NAME",
       .preset = "auto",
       .choices = {"auto", "dense", "low-rank"},
       .commands = kPortfolio},
      {.name = "sizing",
       .kind = Kind::choice,
       .text = "scale of the weights: a budget of 1, a target volatility, or gross exposure 1",
       .placeholder = "NAME",
       .preset = "gross",
       .choices = {"budget", "volatility", "gross"},
       .commands = kPortfolio},
      {.name = "offset",
       .kind = Kind::real,
       .text = "small constant c in budget sizing y/(t + c)",
       .placeholder = "X",
       .preset = "0.01",
       .bounds = kPositive,
       .commands = kPortfolio},
      {.name = "target-volatility",
       .kind = Kind::real,
       .text = "volatility a year that volatility sizing aims at",
       .placeholder = "X",
       .preset = "0.1",
       .bounds = kPositive,
       .commands = kPortfolio},
      {.name = "net",
       .kind = Kind::choice,
       .text =
           "whether the net position must not be negative; any needs volatility or gross sizing",
       .placeholder = "NAME",
       .preset = "positive",
       .choices = {"positive", "any"},
       .commands = kPortfolio},
      {.name = "periods-per-year",
       .kind = Kind::real,
       .text = "periods a year, to annualise: 252 for days, 52 for weeks, 12 for months",
       .placeholder = "X",
       .preset = "252",
       .bounds = kPositive,
       .commands = kPortfolio},
      // How the answer is given, and how the program runs.
      {.name = "explain",
       .kind = Kind::flag,
       .text = "give a reason for each name, and the best name left out",
       .preset = "false",
       .commands = solve},
      {.name = "json",
       .kind = Kind::flag,
       .text = "answer in JSON on standard output",
       .preset = "false"},
      {.name = "threads",
       .kind = Kind::integer,
       .text = "threads to use; 0 means one per core",
       .placeholder = "N",
       .preset = "0",
       .bounds = {.low = 0, .high = 1024}},
      {.name = "seed",
       .kind = Kind::integer,
       .text = "seed of every random number",
       .placeholder = "N",
       .preset = "0",
       .bounds = kSeeds},
      {.name = "log-level",
       .kind = Kind::choice,
       .text = "least important message to print on standard error",
       .placeholder = "NAME",
       .preset = "warning",
       .choices = {"debug", "info", "warning", "error"}},
      {.name = "config",
       .kind = Kind::text,
       .text = "TOML file of settings; flags win over it",
       .placeholder = "FILE",
       .in_file = false},
      {.name = "print-config",
       .kind = Kind::flag,
       .text = "print the settings as TOML that --config reads back, and stop",
       .preset = "false",
       .in_file = false},
  };
}

}  // namespace

std::span<const Setting> table() {
  static const std::vector<Setting> all = rows();
  return all;
}

std::span<const CommandInfo> commands() {
  static constexpr std::array<CommandInfo, 1> all = {{
      {solve, "solve", "the sparse maximum-Sharpe portfolio of one signal and one covariance"},
  }};
  return all;
}

const Setting& find(std::string_view name) {
  for (const Setting& setting : table())
    if (setting.name == name) return setting;
  throw std::logic_error("there is no setting called " + std::string(name));
}

}  // namespace sharpen::settings
