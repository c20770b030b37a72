// Rows of the table of settings about portfolios, how they are walked through a panel, and what is
// said of the result.
#include "base/settings_rows.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/layer/limit_rules.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/select/proof.hpp"
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
constexpr std::string_view kOfModel = "the model's; without one as in a backtest";

// They hold in training, decisions and everything between.
constexpr unsigned kLimits = of_limits | of_scale | of_decisions | of_layer;

}  // namespace

std::vector<Setting> portfolio_rows() {
  std::vector<Setting> rows = {
      row("k", field(&layer::MandateSettings::k),
          "most names to hold: a count, or a share of the assets such as 10%",
          {.placeholder = "N|P%",
           .bounds = {.low = 1},
           .commands = kProblem | predict,
           .short_flag = 'k',
           .other_commands = predict,
           .other_words = kOfModel,
           .roles = of_names | of_cell | of_decisions}),
      row("optimizer", field(&BacktestSettings::optimizer),
          "how the names are chosen (docs/solve.md); equal, 1/n of each asset, is for backtest",
          {.kind = Kind::choice,
           .registry = &solve::optimizer_names,
           .commands = kPortfolio | predict,
           .paper = "oscar",
           .roles = after_training}),
      row("lookback", {field(&BacktestSettings::lookback), field(&learn::TrainSettings::lookback)},
          "returns in the window before the last date, or each decision; or all of them",
          {.placeholder = "N|all",
           .bounds = {.low = 2},
           .commands = kProblem | study | predict,
           .other_commands = predict,
           .other_words = "the model's; 100 without one",
           .group = Group::window,
           .roles = needs_panel}),
      row("shrinkage",
          {field(&OptimizerSettings::shrinkage), field(&learn::TrainSettings::shrinkage),
           field(&risk::RiskSettings::shrinkage)},
          "weight of the scaled identity in the covariance (1 - X) S + X (tr S / n) I",
          {.preset_words = "0.10 from windows, 0 from given moments",
           .bounds = {.low = 0, .high = 1},
           .other_commands = predict,
           .other_words = kOfModel,
           .roles = of_risk}),
      row("form",
          {field(&OptimizerSettings::form), field(&learn::TrainSettings::form),
           field(&risk::RiskSettings::form)},
          "how the covariance is stored; auto takes the cheaper one, low-rank needs shrinkage of "
          "1e-5 or more",
          {.roles = of_risk}),
      row("sizing", field(&layer::SizingSettings::kind),
          "scale of the weights: a budget, y/(t + c), so that they add up to t/(t + c); a target "
          "volatility; or gross exposure 1",
          {.commands = kProblem | study,
           .other_commands = kWalk | train,
           .other_preset = "volatility",
           .paper = "budget",
           .roles = of_scale | of_decisions}),
      row("sizing", field(&layer::SizingSettings::kind),
          "scale of the weights: a budget, a target volatility, or gross exposure 1",
          {.preset_words = kOfModel, .commands = predict, .roles = of_scale | of_decisions}),
      row("held-sizing", Kind::choice,
          "scale of the weights that are held, where networks are trained with another one",
          {.preset_words = "what ‹--sizing› is",
           .choices = {"budget", "volatility", "gross"},
           .commands = kWalk,
           .roles = after_training}),
      row("offset", {field(&layer::SizingSettings::offset), field(&layer::ScoreSettings::offset)},
          "small constant c in budget sizing y/(t + c), with t the net position of the direction y",
          {.bounds = kPositive,
           .other_commands = predict,
           .other_words = kOfModel,
           .roles = of_scale | of_decisions}),
      row("target-volatility", field(&layer::SizingSettings::target_volatility),
          "volatility a year that volatility sizing aims at",
          {.bounds = kPositive,
           .other_commands = predict,
           .other_words = kOfModel,
           .roles = of_scale | of_decisions}),
      row("net", field(&layer::MandateSettings::net),
          "whether the net position must not be negative; any needs volatility or gross sizing",
          {.other_commands = predict, .other_words = kOfModel, .roles = of_scale | of_decisions}),
      row("long-only", field(&layer::LimitSettings::long_only),
          "no weight below zero; with ‹--objective return› or utility none of the capital borrowed",
          {.other_commands = predict, .other_words = kOfModel, .roles = kLimits}),
      row("min-weight", field(&layer::LimitSettings::min_weight),
          "least weight of every asset, below zero for a short position",
          {.preset_words = "none", .roles = kLimits}),
      row("max-weight", field(&layer::LimitSettings::max_weight), "largest weight of every asset",
          {.preset_words = "none", .roles = kLimits}),
      row("max-gross", field(&layer::LimitSettings::max_gross),
          "largest sum of the absolute weights",
          {.preset_words = "none", .bounds = {.low = 0}, .roles = kLimits}),
      row("groups", field(&layer::LimitSettings::groups),
          "CSV of asset,group (and date, from which on it counts) for the rows of ‹--limits›",
          {.placeholder = "FILE", .roles = kLimits}),
      row("limits", field(&layer::LimitSettings::limits),
          "TOML of all other limits: rows, net, turnover, names per group (docs/limits.md)",
          {.placeholder = "FILE", .roles = kLimits}),
      row("objective", field(&layer::LimitSettings::objective),
          "what is best under limits: the Sharpe ratio of weights that add up to 1, the return at "
          "the target volatility, or the utility",
          {.preset_words = "with limits: return; without: what ‹--sizing› is",
           .other_commands = solve,
           .other_words = "with limits: sharpe; without: what ‹--sizing› is",
           .roles = kLimits}),
      row("risk-aversion", field(&layer::LimitSettings::risk_aversion),
          "gamma of ‹--objective utility›: return - gamma / 2 variance",
          {.bounds = kPositive, .roles = kLimits, .only_with = {"objective", "utility"}}),
      row("sdr-recovery", field(&OptimizerSettings::sdr_recovery),
          "how ‹--optimizer sdr› gets from the relaxation to names: its k largest entries, or a "
          "relaxation with just k of them",
          {.commands = kPortfolio | study, .roles = after_training | of_relaxation}),
      row("sdr-match", field(&OptimizerSettings::sdr_monthly, "always", "monthly"),
          "when ‹--sdr-recovery match› looks for its relaxation: at every decision, or for the "
          "first period of each month, and then keeps kappa",
          {.commands = kWalk,
           .roles = after_training | of_relaxation,
           .only_with = {"sdr-recovery", "match"}}),
      row("sdr-gap", field(&OptimizerSettings::sdr_gap),
          "relative gap, on the squared Sharpe ratio, to which the semidefinite relaxation is "
          "solved",
          {.preset_words = "1e-6 up to 50 assets, 1e-3 up to 120, else 1e-2",
           .bounds = {.low = 0, .high = 0.5, .above = true},
           .commands = kPortfolio | study,
           .roles = after_training | of_relaxation | of_certificate}),
      row("time-limit", field(&select::ProofSettings::seconds),
          "seconds after which ‹--optimizer exact› answers with what it has proved by then",
          {.placeholder = "SECONDS",
           .bounds = {.low = 0, .high = 1e9, .above = true},
           .commands = solve | predict,
           .roles = after_training | of_proof | of_certificate}),
      row("proof-gap", field(&select::ProofSettings::gap),
          "gap, bound / reached - 1, at which ‹--optimizer exact› is content; 0: to 1e-7",
          {.bounds = {.low = 0, .high = 0.99},
           .commands = kPortfolio | predict | study,
           .roles = after_training | of_proof | of_certificate}),
      row("node-limit", field(&select::ProofSettings::nodes),
          "nodes of its tree after which ‹--optimizer exact› answers",
          {.preset_words = "none",
           .bounds = {.low = 1, .high = 1e12},
           .commands = solve | predict,
           .roles = after_training | of_proof | of_certificate}),
      row("node-limit", field(&select::ProofSettings::nodes),
          "nodes of its tree after which ‹--optimizer exact› answers, at every decision",
          {.preset = "100",
           .bounds = {.low = 1, .high = 1e12},
           .commands = kWalk,
           .roles = after_training | of_proof}),
      row("certify", Kind::flag,
          "prove an upper bound on the Sharpe ratio of every portfolio of at most k names",
          {.commands = solve}),
      row("bound", Kind::choice,
          "which bound ‹--certify› proves: of the semidefinite relaxation, the perspective bound, "
          "that of branch and bound, or the smallest",
          {.preset = "best",
           .choices = {"best", "sdp", "perspective", "branch"},
           .commands = solve,
           .roles = of_certificate}),
      row("periods-per-year", field(&BacktestSettings::periods_per_year),
          "periods a year, to annualise: 252 for days, 52 for weeks, 12 for months",
          {.bounds = kPositive,
           .other_commands = predict,
           .other_words = kOfModel,
           .roles = of_market}),
  };
  return rows_of(kProblem | predict | study, Group::portfolio, std::move(rows));
}

std::vector<Setting> statistics_rows() {
  std::vector<Setting> rows = {
      row("first", Kind::text, "first run: a folder that ‹sharpen backtest --out› wrote",
          {.placeholder = "DIR",
           .commands = compare,
           .group = Group::input,
           .shell_only = every_command}),
      row("second", Kind::text, "second run, with which the first is compared",
          {.placeholder = "DIR",
           .commands = compare,
           .group = Group::input,
           .shell_only = every_command}),
      row("replications", field(&BootstrapSettings::replications),
          "bootstrap replications behind intervals and tests",
          {.bounds = {.low = 1, .high = 10000000}, .roles = of_answer}),
      row("block", field(&BootstrapSettings::block),
          "(mean) length of the bootstrap's blocks, in periods",
          {.preset_words = "chosen from the data", .bounds = {.low = 1}, .roles = of_answer}),
  };
  return rows_of(backtest | compare, Group::statistics, std::move(rows));
}

std::vector<Setting> walk_rows() {
  std::vector<Setting> rows = {
      row("framework", field(&BacktestSettings::framework),
          "where the expected returns come from; pfl and dfl train a network",
          {.registry = &learn::framework_names,
           .commands = backtest | train,
           .other_commands = train,
           .other_preset = "dfl",
           .roles = after_training | of_signal}),
      row("framework", field(&BacktestSettings::framework),
          "where the expected returns come from; without a model one that needs no training",
          {.preset_words = "the model's",
           .registry = &learn::framework_names,
           .commands = predict,
           .roles = after_training | of_signal}),
      row("model", Kind::text, "trained model, as ‹sharpen train› wrote it",
          {.commands = backtest | predict | inspect,
           .group = Group::input,
           .roles = of_one_run | input_file}),
      row("signal", Kind::text,
          "predictions for ‹--framework signal›: CSV, one row per date; a row is for the period "
          "after its date",
          {.commands = backtest | predict,
           .group = Group::input,
           .roles = of_expectations | of_one_run | input_file}),
      row("historic-risk", field(&BacktestSettings::historic_risk),
          "covariance for ‹--framework historic›: of the window, or of the training part",
          {.commands = kWalk | predict, .roles = after_training | of_signal}),
      row("min-history", field(&BacktestSettings::min_history),
          "returns before the first decision, from which windows grow; 0 only for equal",
          {.preset_words = "the lookback; 100 if that is all",
           .bounds = {.low = 0, .high = 1e9},
           .commands = kWalk | predict,
           .group = Group::window}),
      row("split", field(&BacktestSettings::split),
          "training part: a share of the returns such as 80%, or the first date after it",
          {.placeholder = "P%|DATE",
           .preset_words = "80% for historic, pfl and dfl, else none",
           .commands = kWalk | predict,
           .group = Group::window,
           .roles = of_market}),
      row("stats-from", field(&BacktestSettings::stats_from),
          "first row (counted from 1) or date of the returns that the statistics cover",
          {.placeholder = "ROW|DATE",
           .preset_words = "the first traded period",
           .group = Group::statistics,
           .roles = of_market | of_reading | after_training}),
      row("rebalance", field(&BacktestSettings::rebalance), "periods from one decision to the next",
          {.bounds = {.low = 1, .high = 1e9},
           .commands = kWalk | predict,
           .group = Group::trading}),
      row("risk-free", field(&BacktestSettings::risk_free),
          "risk-free rate a year, which cash earns: 0.02 for 2 %",
          {.bounds = {.low = -1, .above = true},
           .commands = kWalk | predict,
           .group = Group::trading,
           .roles = of_market | after_training}),
      row("members", field(&BacktestSettings::members),
          "CSV of who belongs to the universe when: date,ticker,in|out, or one row of 0 and 1 per "
          "date; only members are held, and their returns before count",
          {.placeholder = "FILE",
           .preset_words = "every asset, always",
           .commands = kWalk | train | predict,
           .group = Group::input,
           .roles = of_panel | names_file}),
      row("benchmark", field(&BacktestSettings::benchmark),
          "what to compare with: an asset, which leaves the universe, or a CSV of date,price",
          {.placeholder = "TICKER|FILE",
           .preset_words = "none",
           .commands = kWalk | predict,
           .group = Group::statistics,
           .roles = of_panel | names_file}),
      row("trials", field(&BacktestSettings::trials),
          "strategies tried before this one, itself included: deflates the Sharpe ratio",
          {.bounds = {.low = 1, .high = 1e12},
           .commands = backtest,
           .group = Group::statistics,
           .roles = of_answer}),
      row("label", Kind::text, "name of the result",
          {.placeholder = "TEXT",
           .preset_words = "framework and optimizer",
           .commands = backtest,
           .group = Group::running,
           .roles = of_answer}),
  };
  return rows_of(kWalk, Group::portfolio, std::move(rows));
}

std::vector<Setting> learned_walk_rows() {
  std::vector<Setting> rows = {
      row("retrain", field(&BacktestSettings::retrain),
          "periods after which the network is trained anew, on all that is past by then",
          {.preset_words = "never", .bounds = {.low = 1, .high = 1e9}, .roles = needs_training}),
      row("decision", field(&BacktestSettings::decision),
          "hold at most k names, or the layer's own weights, which are dense",
          {.roles = after_training | of_layer}),
  };
  return rows_of(kWalk, Group::learning, std::move(rows));
}

}  // namespace sharpen::settings
