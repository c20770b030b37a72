// Rows of the table of settings about portfolios, how they are walked through a panel, and what is
// said of the result.
#include "base/settings_rows.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/select/select.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::settings {

using backtest::BacktestSettings;
using backtest::BootstrapSettings;
// The command has the name of the folder.
using OptimizerSettings = sharpen::solve::OptimizerSettings;

template <>
struct Held<learn::Framework> {
  static constexpr Kind kind = Kind::choice;
  static std::optional<Value> show(learn::Framework held) { return std::string(learn::name(held)); }
  static void read(const Value& value, learn::Framework& out) {
    out = learn::framework_named(std::get<std::string>(value)).framework;
  }
};

namespace {

// Commands that choose a portfolio, and those that need the problem it solves, chosen now or
// learned for.
constexpr unsigned kPortfolio = solve | Command::backtest;
constexpr unsigned kProblem = kPortfolio | train;
// Those that walk through panels.
constexpr unsigned kWalk = Command::backtest | study;
// What a model says where the user does not.
constexpr std::string_view kOfModel = "the model's";

}  // namespace

std::vector<Setting> portfolio_rows() {
  return {
      {.name = "k",
       .fields = {field(&OptimizerSettings::k), field(&learn::TrainSettings::k)},
       .text = "most names to hold: a count, or a share of the assets such as 10%",
       .placeholder = "N|P%",
       .bounds = {.low = 1},
       .commands = kProblem | predict,
       .short_flag = 'k',
       .other_commands = predict,
       .other_words = kOfModel,
       .roles = of_names | of_cell | of_decisions},
      {.name = "optimizer",
       .fields = {field(&BacktestSettings::optimizer)},
       .kind = Kind::choice,
       .text =
           "how the names are chosen (docs/solve.md); equal, 1/n of each asset, is for backtest",
       .placeholder = "NAME",
       .registry = &solve::optimizer_names,
       .commands = kPortfolio | predict,
       .paper = "oscar",
       .roles = after_training},
      {.name = "lookback",
       .fields = {field(&BacktestSettings::lookback), field(&learn::TrainSettings::lookback)},
       .text = "returns in the window before the last date, or each decision; or all of them",
       .placeholder = "N|all",
       .bounds = {.low = 2},
       .commands = kProblem | study,
       .group = Group::window,
       .roles = needs_panel},
      {.name = "shrinkage",
       .fields = {field(&OptimizerSettings::shrinkage), field(&learn::TrainSettings::shrinkage),
                  field(&risk::RiskSettings::shrinkage)},
       .text = "weight of the scaled identity in the covariance (1 - X) S + X (tr S / n) I",
       .placeholder = "X",
       .preset_words = "0.10 from windows, 0 from given moments",
       .bounds = {.low = 0, .high = 1},
       .commands = kProblem | predict | study,
       .other_commands = predict,
       .other_words = kOfModel,
       .roles = of_risk},
      {.name = "form",
       .fields = {field(&OptimizerSettings::form), field(&learn::TrainSettings::form),
                  field(&risk::RiskSettings::form)},
       .text =
           "how the covariance is stored; auto takes the cheaper one, low-rank needs shrinkage of "
           "1e-5 or more",
       .placeholder = "NAME",
       .commands = kProblem | predict | study,
       .roles = of_risk},
      {.name = "sizing",
       .fields = {field(&layer::SizingSettings::kind)},
       .text =
           "scale of the weights: a budget, y/(t + c), so that they add up to t/(t + c); a target "
           "volatility; or gross exposure 1",
       .placeholder = "NAME",
       .commands = kProblem | predict | study,
       .other_commands = kWalk | train,
       .other_preset = "volatility",
       .paper = "budget",
       .roles = of_scale | of_decisions},
      {.name = "held-sizing",
       .kind = Kind::choice,
       .text = "scale of the weights that are held, where networks are trained with another one",
       .placeholder = "NAME",
       .preset_words = "what ‹--sizing› is",
       .choices = {"budget", "volatility", "gross"},
       .commands = kWalk,
       .roles = after_training | steers},
      {.name = "offset",
       .fields = {field(&layer::SizingSettings::offset), field(&layer::ScoreSettings::offset)},
       .text = "small constant c in budget sizing y/(t + c), with t the net position of the "
               "direction y",
       .placeholder = "X",
       .bounds = kPositive,
       .commands = kProblem | predict | study,
       .roles = of_scale | of_decisions},
      {.name = "target-volatility",
       .fields = {field(&layer::SizingSettings::target_volatility)},
       .text = "volatility a year that volatility sizing aims at",
       .placeholder = "X",
       .bounds = kPositive,
       .commands = kProblem | predict | study,
       .roles = of_scale | of_decisions},
      {.name = "net",
       .fields = {field(&OptimizerSettings::net), field(&layer::LayerSettings::net),
                  field(&select::SelectSettings::net)},
       .text =
           "whether the net position must not be negative; any needs volatility or gross sizing",
       .placeholder = "NAME",
       .commands = kProblem | predict | study,
       .other_commands = predict,
       .other_words = kOfModel,
       .roles = of_scale | of_decisions},
      {.name = "sdr-recovery",
       .fields = {field(&OptimizerSettings::sdr_recovery)},
       .text =
           "how ‹--optimizer sdr› gets from the relaxation to names: its k largest entries, or a "
           "relaxation with just k of them",
       .placeholder = "NAME",
       .commands = kPortfolio | study,
       .roles = after_training | of_relaxation},
      {.name = "sdr-match",
       .fields = {field(&OptimizerSettings::sdr_monthly, "always", "monthly")},
       .text =
           "when ‹--sdr-recovery match› looks for its relaxation: at every decision, or for the "
           "first period of each month, and then keeps kappa",
       .placeholder = "NAME",
       .commands = kWalk,
       .roles = after_training | of_relaxation,
       .only_with = {"sdr-recovery", "match"}},
      {.name = "sdr-gap",
       .fields = {field(&OptimizerSettings::sdr_gap)},
       .text = "relative gap, on the squared Sharpe ratio, to which the semidefinite relaxation is "
               "solved",
       .placeholder = "X",
       .preset_words = "1e-6 up to 50 assets, 1e-3 up to 120, else 1e-2",
       .bounds = {.low = 0, .high = 0.5, .above = true},
       .commands = kPortfolio | study,
       .roles = after_training | of_relaxation | of_certificate},
      {.name = "certify",
       .kind = Kind::flag,
       .text = "prove an upper bound on the Sharpe ratio of every portfolio of at most k names",
       .preset = "false",
       .commands = solve,
       .roles = steers},
      {.name = "bound",
       .kind = Kind::choice,
       .text = "which bound ‹--certify› proves: of the semidefinite relaxation, the perspective "
               "bound, or the smaller of the two",
       .placeholder = "NAME",
       .preset = "best",
       .choices = {"best", "sdp", "perspective"},
       .commands = solve,
       .roles = of_certificate | steers},
      {.name = "periods-per-year",
       .fields = {field(&BacktestSettings::periods_per_year)},
       .text = "periods a year, to annualise: 252 for days, 52 for weeks, 12 for months",
       .placeholder = "X",
       .bounds = kPositive,
       .commands = kProblem | predict | study,
       .other_commands = predict,
       .other_words = kOfModel,
       .roles = of_market},
  };
}

std::vector<Setting> statistics_rows() {
  return {
      {.name = "first",
       .kind = Kind::text,
       .text = "first run: a folder that ‹sharpen backtest --out› wrote",
       .placeholder = "DIR",
       .commands = compare,
       .group = Group::input,
       .roles = steers,
       .shell_only = every_command},
      {.name = "second",
       .kind = Kind::text,
       .text = "second run, with which the first is compared",
       .placeholder = "DIR",
       .commands = compare,
       .group = Group::input,
       .roles = steers,
       .shell_only = every_command},
      {.name = "replications",
       .fields = {field(&BootstrapSettings::replications)},
       .text = "bootstrap replications behind intervals and tests",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 10000000},
       .commands = backtest | compare,
       .group = Group::statistics,
       .roles = of_answer},
      {.name = "block",
       .fields = {field(&BootstrapSettings::block)},
       .text = "(mean) length of the bootstrap's blocks, in periods",
       .placeholder = "X",
       .preset_words = "chosen from the data",
       .bounds = {.low = 1},
       .commands = backtest | compare,
       .group = Group::statistics,
       .roles = of_answer},
  };
}

std::vector<Setting> walk_rows() {
  return {
      {.name = "framework",
       .fields = {field(&BacktestSettings::framework)},
       .text = "where the expected returns come from; pfl and dfl train a network",
       .placeholder = "NAME",
       .registry = &learn::framework_names,
       .commands = backtest | train,
       .other_commands = train,
       .other_preset = "dfl",
       .roles = after_training | of_signal},
      {.name = "model",
       .kind = Kind::text,
       .text = "trained model, as ‹sharpen train› wrote it",
       .placeholder = "FILE",
       .commands = backtest | predict | inspect,
       .group = Group::input,
       .roles = of_one_run | input_file | steers,
       .shell_only = every_command},
      {.name = "signal",
       .kind = Kind::text,
       .text =
           "predictions for ‹--framework signal›: CSV, one row per date; a row is for the period "
           "after its date",
       .placeholder = "FILE",
       .commands = backtest,
       .group = Group::input,
       .roles = of_expectations | of_one_run | input_file | steers,
       .shell_only = every_command},
      {.name = "historic-risk",
       .fields = {field(&BacktestSettings::historic_risk)},
       .text = "covariance for ‹--framework historic›: of the window, or of the training part",
       .placeholder = "NAME",
       .commands = kWalk,
       .roles = after_training | of_signal},
      {.name = "min-history",
       .fields = {field(&BacktestSettings::min_history)},
       .text = "returns before the first decision, from which windows grow; 0 only for equal",
       .placeholder = "N",
       .preset_words = "the lookback; 100 if that is all",
       .bounds = {.low = 0, .high = 1e9},
       .commands = kWalk,
       .group = Group::window},
      {.name = "split",
       .fields = {field(&BacktestSettings::split)},
       .text = "training part: a share of the returns such as 80%, or the first date after it",
       .placeholder = "P%|DATE",
       .preset_words = "80% for historic, pfl and dfl, else none",
       .commands = kWalk,
       .group = Group::window,
       .roles = of_market},
      {.name = "stats-from",
       .fields = {field(&BacktestSettings::stats_from)},
       .text = "first row (counted from 1) or date of the returns that the statistics cover",
       .placeholder = "ROW|DATE",
       .preset_words = "the first traded period",
       .commands = kWalk,
       .group = Group::statistics,
       .roles = of_market | of_reading | after_training},
      {.name = "rebalance",
       .fields = {field(&BacktestSettings::rebalance)},
       .text = "periods from one decision to the next",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1e9},
       .commands = kWalk,
       .group = Group::trading},
      {.name = "cost-bps",
       .fields = {field(&BacktestSettings::cost_bps)},
       .text = "cost of trading, in basis points of what is traded",
       .placeholder = "X",
       .bounds = {.low = 0},
       .commands = backtest,
       .group = Group::trading,
       .roles = after_training},
      {.name = "risk-free",
       .fields = {field(&BacktestSettings::risk_free)},
       .text = "risk-free rate a year, which cash earns: 0.02 for 2 %",
       .placeholder = "X",
       .bounds = {.low = -1, .above = true},
       .commands = kWalk,
       .group = Group::trading,
       .roles = of_market | after_training},
      {.name = "benchmark",
       .fields = {field(&BacktestSettings::benchmark)},
       .text = "asset to compare with; it leaves the universe",
       .placeholder = "TICKER",
       .commands = backtest,
       .group = Group::statistics,
       .roles = of_one_run},
      {.name = "trials",
       .fields = {field(&BacktestSettings::trials)},
       .text = "strategies tried before this one, itself included: deflates the Sharpe ratio",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1e12},
       .commands = backtest,
       .group = Group::statistics,
       .roles = of_answer},
      {.name = "label",
       .kind = Kind::text,
       .text = "name of the result",
       .placeholder = "TEXT",
       .preset_words = "framework and optimizer",
       .commands = backtest,
       .group = Group::running,
       .roles = of_answer | steers},
  };
}

std::vector<Setting> learned_walk_rows() {
  return {
      {.name = "retrain",
       .fields = {field(&BacktestSettings::retrain)},
       .text = "periods after which the network is trained anew, on all that is past by then",
       .placeholder = "N",
       .preset_words = "never",
       .bounds = {.low = 1, .high = 1e9},
       .commands = kWalk,
       .group = Group::learning,
       .roles = needs_training},
      {.name = "decision",
       .fields = {field(&BacktestSettings::decision)},
       .text = "hold at most k names, or the layer's own weights, which are dense",
       .placeholder = "NAME",
       .commands = kWalk,
       .group = Group::learning,
       .roles = after_training | of_layer},
  };
}

}  // namespace sharpen::settings
