// From flags to the settings of a backtest, and which of them contradict each other or look like a
// mistake.
#include <fmt/format.h>

#include <cmath>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

using settings::Values;
using solve::OptimizerInfo;

void check_learning(const BacktestSettings& settings, const learn::Model* model) {
  if (!learn::learns(settings.framework)) {
    if (model != nullptr)
      throw InputError(
          fmt::format("a model has no meaning for framework = {}; use framework pfl or dfl",
                      name(settings.framework)));
    if (settings.retrain != 0)
      throw InputError(
          fmt::format("retrain has no meaning for framework = {}, which trains no "
                      "network; leave it out, or use framework pfl or dfl",
                      name(settings.framework)));
    return;
  }
  const learn::TrainSettings& training = model != nullptr ? model->settings : settings.training;
  if (!solve::optimizer_named(settings.optimizer).needs.signal)
    throw InputError(fmt::format(
        "framework = {} has no use for optimizer = {}, which asks for no expectations; use "
        "framework rolling",
        name(settings.framework), settings.optimizer));
  if (settings.gaps && training.network == learn::NetworkKind::joint)
    throw InputError(
        "universe = available cannot go with network = joint, which needs every asset throughout; "
        "use network shared, or universe complete");
  if (!settings.members.empty() && training.network == learn::NetworkKind::joint)
    throw InputError(
        "members cannot go with network = joint, which needs every asset throughout; use network "
        "shared, or leave the members out");
  if (settings.lookback.all || settings.lookback.count != training.lookback)
    throw InputError(
        fmt::format("lookback must be {}, the length of the network's windows", training.lookback));
  if (settings.min_history && *settings.min_history < settings.lookback.count)
    throw InputError(fmt::format(
        "‹min-history› = {} is shorter than the network's windows of {} rows; leave it out",
        *settings.min_history, settings.lookback.count));
  if (model == nullptr && settings.net == layer::Net::any && settings.training_sizing &&
      settings.training_sizing->kind == layer::Sizing::budget)
    throw InputError(
        "net = any cannot go with sizing = budget, which the network would be trained with and "
        "which divides by the net position; use sizing gross or volatility");
  if (model != nullptr && settings.retrain != 0)
    throw InputError("retrain has no meaning for a model that is given; leave one of them out");
  if (model != nullptr && (training.alpha > 0.0) != learn::info(settings.framework).decides)
    throw InputError(fmt::format("framework = {}, and the model was trained as {} (alpha = {})",
                                 name(settings.framework), learn::framework_of(training.alpha).name,
                                 training.alpha));
}

// The layer is an optimizer of its own.
void check_soft(const BacktestSettings& settings) {
  if (settings.decision == DecisionKind::exact) return;
  const auto softens = [](const OptimizerInfo& optimizer) { return optimizer.softens; };
  if (!softens(solve::optimizer_named(settings.optimizer)))
    throw InputError(
        fmt::format("decision = soft cannot go with optimizer = {}: the layer chooses its own "
                    "weights; use optimizer {}, or decision exact",
                    settings.optimizer, solve::names_of_optimizers(softens, " or ")));
  if (settings.fixes_covariance())
    throw InputError("decision = soft cannot go with ‹historic-risk› = train; use rolling");
}

// The account says what is held.
void check_limits(const BacktestSettings& settings) {
  if (!settings.limits) return;
  if (!settings.limits->holdings.empty())
    throw InputError(
        "limits: a backtest begins in cash and holds what it decides; leave holdings out");
  if (settings.decision == DecisionKind::soft)
    layer::refuse_holdings(*settings.limits, "a soft decision");
}

std::string text_or_empty(const Values& values, std::string_view name) {
  return values.has(name) ? values.text(name) : std::string();
}

}  // namespace

BacktestSettings backtest_settings(const Values& values) {
  BacktestSettings out;
  static_cast<solve::OptimizerSettings&>(out) = solve::optimizer_settings(values);
  settings::fill(values, out);
  settings::fill(values, out.bootstrap);
  settings::fill(values, out.account);
  settings::fill(values, out.rules);
  if (values.has("held-sizing")) {
    out.training_sizing = out.sizing;
    out.sizing.kind = *value_named<layer::Sizing>(values.text("held-sizing"));
  }
  if (learn::learns(out.framework) || out.decision == DecisionKind::soft)
    out.training = learn::training_settings(values);
  out.train_at_account_costs = learn::takes_file_costs(values);
  out.gaps = values.text("universe") == "available";
  return out;
}

trade::Ruling ruling_of(const BacktestSettings& settings) {
  trade::RuleSettings rules = settings.rules;
  if (settings.decision == DecisionKind::soft) {
    if (rules.rule && *rules.rule != trade::Rule::none)
      throw InputError(fmt::format(
          "rule = {} cannot go with decision = soft, whose weights are the layer's own; use rule "
          "none, or decision exact",
          trade::name(*rules.rule)));
    rules.rule = trade::Rule::none;
  }
  return trade::ruling(rules, solve::optimizer_named(settings.optimizer));
}

std::vector<std::string> likely_mistakes(const Values& values, std::span<const std::string> dates) {
  std::vector<std::string> out;
  const auto percents = [&](std::string_view name, double most) {
    const double value = values.real(name);
    if (value >= most)
      out.push_back(fmt::format("{} = {} is {:.4g} % a year; write {} for {} %", reference(name),
                                shortest(value), 100.0 * value, shortest(value / 100.0),
                                shortest(value)));
  };
  percents("risk-free", 1.0);
  percents("short-fee", 1.0);
  percents("financing", 1.0);
  if (values.text("sizing") == "volatility" ||
      (values.has("held-sizing") && values.text("held-sizing") == "volatility"))
    percents("target-volatility", 2.0);
  constexpr double kDearest = 1000.0, kBasisPointsPerPercent = 100.0;
  if (const double cost = values.number_or_file("cost-bps").number; cost >= kDearest)
    out.push_back(fmt::format("‹cost-bps› = {} is {:.4g} % of what is traded; write 10 for 0.1 %",
                              shortest(cost), cost / kBasisPointsPerPercent));
  // A year is a row of a long panel.
  const std::string from = text_or_empty(values, "stats-from");
  if (from.size() == 4 && from >= "1900" && from <= "2100")
    out.push_back(fmt::format("‹stats-from› = {} is row {}, which is {}; for the year write {}-01",
                              from, from, dates[static_cast<std::size_t>(stats_row(dates, from))],
                              from));
  return out;
}

void check_settings(const BacktestSettings& settings, const market::Panel* signal,
                    const learn::Model* model) {
  if (!(settings.periods_per_year > 0.0 && std::isfinite(settings.periods_per_year)))
    throw InputError(
        fmt::format("‹periods-per-year› = {} is outside (0, inf)", settings.periods_per_year));
  if (!std::isfinite(settings.risk_free))
    throw InputError(fmt::format("‹risk-free› = {} is not a number", settings.risk_free));
  const OptimizerInfo& optimizer = solve::optimizer_named(settings.optimizer);
  const learn::FrameworkInfo& framework = learn::info(settings.framework);
  solve::refuse_limits(optimizer, settings);
  static_cast<void>(ruling_of(settings));
  settings::check(settings.account);
  check_limits(settings);
  const bool takes_signal = framework.needs_file;
  if (takes_signal && signal == nullptr)
    throw InputError("framework = signal needs predictions; give ‹--signal FILE›");
  if (!takes_signal && signal != nullptr)
    throw InputError(fmt::format("a signal has no meaning for framework = {}; use framework signal",
                                 name(settings.framework)));
  check_learning(settings, model);
  check_soft(settings);
  if (settings.min_history == 0 && optimizer.needs.history())
    throw InputError(fmt::format(
        "‹min-history› = 0 goes with optimizer = {} only; {} needs 2 rows of history at least",
        solve::names_of_optimizers(
            [](const OptimizerInfo& other) { return !other.needs.history(); }, " or "),
        settings.optimizer));
  if (settings.min_history == 1 && optimizer.needs.history())
    throw InputError(
        fmt::format("‹min-history› = 1 is too short for optimizer = {}: a covariance "
                    "needs 2 rows at least",
                    settings.optimizer));
  if (settings.net == layer::Net::any && settings.sizing.kind == layer::Sizing::budget &&
      !optimizer.ignores_setting("sizing"))
    throw InputError(
        "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
        "gross or volatility");
}

}  // namespace sharpen::backtest
