// From settings and panels to the answer of `sharpen backtest`: no printing, no signals, no files
// but those that the settings name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command/backtest_job.hpp"
#include "command/model_settings.hpp"
#include "command/trading.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::command {

namespace {

using backtest::BacktestSettings;

using settings::Origin;
using settings::Values;

// Settings that only another framework listens to. Those with a default count only as flags:
// --print-config writes them into every file.
void refuse_foreign_settings(const Values& values, const BacktestSettings& settings) {
  const auto refuse = [&](std::string_view name, std::string_view needs) {
    throw InputError(
        fmt::format("{} has no meaning here; it goes with {}", values.given_as(name), needs));
  };
  const learn::FrameworkInfo& framework = learn::info(settings.framework);
  if (!framework.needs_file && values.has("signal")) refuse("signal", "‹--framework signal›");
  if (!framework.training_mean && values.origin("historic-risk") == Origin::flag)
    refuse("historic-risk", "‹--framework historic›");
  if (!framework.learns) {
    for (const settings::Setting& setting : settings::table())
      if (setting.group == settings::Group::learning && values.takes(setting.name) &&
          values.origin(setting.name) == Origin::flag &&
          !(settings.decision == backtest::DecisionKind::soft && setting.is(settings::of_layer)))
        refuse(setting.name, "‹--framework pfl› or dfl");
    if (values.has("model")) refuse("model", "‹--framework pfl› or dfl");
  }
}

// Some optimizers listen to nothing about selection or sizing.
void warn_of_ignored(const Values& values, std::vector<std::string>& warnings) {
  const solve::OptimizerInfo& optimizer = solve::optimizer_named(values.text("optimizer"));
  for (const settings::Setting& setting : settings::table()) {
    const std::string owners = solve::owners_of(setting);
    if (owners.empty() || !setting.taken_by(settings::backtest)) continue;
    const auto& [other, value] = setting.only_with;
    const bool used = setting.is(optimizer.own) && (other.empty() || values.text(other) == value);
    if (values.origin(setting.name) == Origin::flag && !used)
      warnings.push_back(fmt::format("‹--{}› has no effect here; it goes with ‹--optimizer {}›{}",
                                     setting.name, owners,
                                     other.empty() ? "" : fmt::format(" ‹--{} {}›", other, value)));
  }
  std::string ignored;
  const unsigned unheard = optimizer.needs.risk ? 0u : settings::of_risk;
  for (const unsigned roles : {optimizer.ignores, unheard})
    for (const settings::Setting& setting : settings::table())
      if (setting.taken_by(settings::backtest) && setting.is(roles) &&
          values.origin(setting.name) == Origin::flag)
        ignored.append(ignored.empty() ? "" : ", ").append(values.given_as(setting.name));
  const std::string& since = optimizer.ignores_since_in_walks.empty()
                                 ? optimizer.ignores_since
                                 : optimizer.ignores_since_in_walks;
  if (!ignored.empty())
    warnings.push_back(
        fmt::format("optimizer = {} {}: {} has no effect", optimizer.name, since, ignored));
}

// A benchmark that cleaning left out is not one that the file does not have.
void refuse_dropped_benchmark(const BacktestSettings& settings, const market::Cleaned& cleaned) {
  for (const market::Dropped& asset : cleaned.dropped)
    if (asset.ticker == settings.benchmark)
      throw InputError(
          fmt::format("benchmark = {} is left out by cleaning ({}); choose dates where it is "
                      "complete, another ‹--max-gap› or ‹--on-suspect›, or another benchmark",
                      printable(settings.benchmark), asset.reason));
}

// What contradicts itself whatever the files hold; what is only missing is left to the run.
void check_settings(const Values& values, const BacktestSettings& settings) {
  market::check_panel_settings(values);
  refuse_foreign_settings(values, settings);
  if (!settings.split.empty()) backtest::check_split(settings.split);
  if (!settings.stats_from.empty()) backtest::check_stats_from(settings.stats_from);
  if (settings.net == layer::Net::any && settings.sizing.kind == layer::Sizing::budget &&
      !solve::optimizer_named(settings.optimizer).ignores_setting("sizing"))
    throw InputError(
        "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
        "gross or volatility");
}

// Predictions are numbers of any size and sign, with gaps: what a raw panel of prices may hold.
std::optional<market::Panel> signal_of(const Values& values, BacktestInputs& inputs) {
  if (inputs.signal) return std::move(inputs.signal);
  if (!values.has("signal")) return std::nullopt;
  return market::read_panel(values.text("signal"), market::PanelKind::prices, market::Cells::raw);
}

// What is held after the last row, which moved it (trade/account.hpp); nothing after ruin.
std::vector<backtest::Position> held_after(const BacktestAnswer& answer) {
  const backtest::Run& run = answer.result.run;
  const market::Panel& panel = answer.input.returns;
  const double growth = 1.0 + run.returns.back();
  const auto last = std::ranges::find(panel.dates, run.dates.back());
  std::vector<backtest::Position> out;
  if (run.ruined() || last == panel.dates.end()) return out;
  const ConstVec returns = panel.matrix().row(last - panel.dates.begin());
  const auto begin = panel.tickers.begin(), end = panel.tickers.end();
  auto column = begin;  // names are in the order of the panel: the next one is not far
  for (const backtest::Position& position : run.weights_of(run.periods() - 1)) {
    const std::string& ticker = answer.result.tickers[at(position.asset)];
    column = std::find(column, end, ticker);
    if (column == end) column = std::find(begin, end, ticker);
    const double earned = returns[at(column - begin)];
    const double factor = 1.0 + (std::isfinite(earned) ? earned : 0.0);
    if (const double weight = position.weight * factor / growth; weight != 0.0)
      out.push_back({position.asset, weight});
  }
  return out;
}

std::string label_of(const BacktestAnswer& answer) {
  if (answer.values.has("label")) return answer.values.text("label");
  const bool soft = answer.settings.decision == backtest::DecisionKind::soft;
  return fmt::format("{} {}", learn::name(answer.settings.framework),
                     soft ? "soft" : answer.settings.optimizer);
}

}  // namespace

void check_backtest_settings(const Values& values) {
  check_settings(values, backtest::backtest_settings(values));
}

BacktestJob read_backtest(const Values& given, BacktestInputs inputs, const Log& log) {
  std::optional<learn::Model> model = std::move(inputs.model);
  if (given.has("model")) {
    check_backtest_settings(given);
    if (!model) model = learn::read_model(given.text("model"));
  }
  const Values values = model ? follow_model(given, *model) : given;
  // Not within the braces, as for a training: what throws there destroys the values twice.
  auto settings = backtest::backtest_settings(values);
  BacktestAnswer answer{.values = values, .settings = std::move(settings)};
  check_settings(values, answer.settings);
  if (model && !learn::learns(answer.settings.framework))
    throw InputError("model has no meaning here; it goes with ‹--framework pfl› or dfl");
  const bool takes_signal = learn::info(answer.settings.framework).needs_file;
  if (takes_signal && !values.has("signal") && !inputs.signal)
    throw InputError("framework = signal needs predictions; give ‹--signal FILE›");
  if (!takes_signal && inputs.signal)
    throw InputError("signal has no meaning here; it goes with ‹--framework signal›");
  answer.input = market::panel_input(values, std::move(inputs.panel), log);
  refuse_dropped_benchmark(answer.settings, answer.input.cleaning);
  answer.settings.standstills = market::standstills(answer.input.halts, answer.input.returns);
  std::optional<market::Panel> signal = signal_of(values, inputs);
  return {std::move(answer), std::move(signal), std::move(model)};
}

namespace {

// With a capital, by the prices that the returns are made of.
void count_shares(BacktestAnswer& answer) {
  const Values& values = answer.values;
  for (const char* name : {"lot", "min-order"})
    if (values.origin(name) == Origin::flag && !values.has("capital"))
      throw InputError(
          fmt::format("{} has no meaning here; it goes with ‹--capital›", values.given_as(name)));
  if (!values.has("capital")) return;
  if (answer.input.settings.kind != market::PanelKind::prices)
    throw InputError(fmt::format("{} needs prices to count shares by; give ‹--prices FILE›",
                                 values.given_as("capital")));
  answer.settings.prices = std::make_shared<const market::Panel>(answer.input.cleaning.panel);
}

BacktestAnswer run(BacktestJob job, const Control& control) {
  BacktestAnswer answer = std::move(job.answer);
  const Threads threads(static_cast<int>(answer.values.integer("threads")));
  answer.settings.bootstrap.stop = control.stop;
  answer.result = backtest::backtest(answer.input.returns, answer.settings, threads,
                                     job.signal ? &*job.signal : nullptr, control,
                                     job.model ? &*job.model : nullptr);
  answer.settings.bootstrap.stop = {};
  control.ask();
  answer.label = label_of(answer);
  answer.warnings = answer.input.warnings;
  warn_of_ignored(answer.values, answer.warnings);
  warn_of_idle_rule(answer.values, backtest::ruling_of(answer.settings),
                    solve::optimizer_named(answer.settings.optimizer), false, answer.warnings);
  for (std::string& mistake : backtest::likely_mistakes(answer.values, answer.input.returns.dates))
    answer.warnings.push_back(std::move(mistake));
  const auto& found = answer.result.warnings;
  answer.warnings.insert(answer.warnings.end(), found.begin(), found.end());
  return answer;
}

}  // namespace

BacktestAnswer backtest_answer(const Values& values, BacktestInputs inputs, const Log& log,
                               const Control& control) {
  control.begin("reading the panel");
  BacktestJob job = read_backtest(values, std::move(inputs), log);
  count_shares(job.answer);
  return run(std::move(job), control);
}

std::string BacktestAnswer::date(Index period) const {
  const bool known = period >= 0 && period < result.run.periods();
  return known ? result.run.dates[at(period)] : std::string();
}

std::string BacktestAnswer::first_traded() const {
  for (Index p = 0; p < result.run.periods(); ++p)
    if (result.run.status[at(p)] != backtest::PeriodStatus::idle) return date(p);
  return {};
}

std::string BacktestAnswer::split_date() const {
  const Index rows = result.training_rows;
  return rows > 0 && rows < input.returns.rows() ? input.returns.dates[at(rows)] : std::string();
}

OutputFolder backtest_folder(const settings::Values& values, const std::string& folder,
                             bool force) {
  // Every name that any backtest may write.
  std::vector<std::string> names = {"returns.csv",      "weights.csv",   "trades.csv",
                                    "weights_last.csv", "positions.csv", "benchmark.csv",
                                    "metrics.json"};
  keep_inputs(values, "out", folder, names);
  return OutputFolder(folder, force, "backtest", std::move(names));
}

std::vector<std::pair<std::string, std::string>> backtest_files(const BacktestAnswer& answer,
                                                                const Stop& stop) {
  const backtest::Run& run = answer.result.run;
  const std::vector<std::string>& tickers = answer.result.tickers;
  // One by one: a list in braces would be copied, and these are the largest texts there are.
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("returns.csv", backtest::returns_csv(run, answer.result.delayed_returns,
                                                          answer.result.equal_returns));
  files.emplace_back("weights.csv", backtest::weights_csv(run, tickers, stop));
  files.emplace_back("trades.csv", backtest::trades_csv(run, tickers, stop));
  files.emplace_back("weights_last.csv", backtest::portfolio_csv(held_after(answer), tickers));
  files.emplace_back("positions.csv", backtest::last_positions_csv(run, tickers));
  if (!run.benchmark.empty()) files.emplace_back("benchmark.csv", backtest::benchmark_csv(run));
  files.emplace_back("metrics.json", backtest_json(answer));
  return files;
}

}  // namespace sharpen::command
