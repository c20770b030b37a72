// What cells can share: a training, and perfect foresight.
#include <fmt/format.h>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/study/plan.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

// Of the process, of the answer, and what is in the reading of a market or stands for others.
constexpr unsigned kNeverMatters = settings::of_run | settings::of_answer | settings::input_file |
                                   settings::names_file | settings::shorthand;

bool learns(const Values& values) {
  return learn::framework_named(values.text("framework")).learns;
}

// What trainings and oracles depend on. Every setting of a backtest is in a key unless its roles
// say that it cannot matter: a setting that is new to the table has none, and separates cells until
// somebody has thought about it.
template <class Leave>
std::string key(const Plan& plan, Index cell, const Values& values, const Leave& leave) {
  const Cell& at = plan.results.cells[static_cast<std::size_t>(cell)];
  const Market& market = plan.results.markets[static_cast<std::size_t>(at.market)];
  std::string out = fmt::format("market={}\nchecksum={}\n", market.name, market.checksum);
  for (const auto& [setting, value] : market.reading)
    out += fmt::format("read with {}={}\n", setting, value);
  for (const settings::Setting& setting : settings::table()) {
    if (!setting.taken_by(settings::backtest) || setting.is(kNeverMatters) || leave(setting) ||
        !values.has(setting.name))
      continue;
    out += fmt::format("{}={}\n", setting.name, values.written(setting.name));
  }
  return out;
}

// The rule that a training goes by, whether it was given or not.
void put_rule_in_force(const backtest::BacktestSettings& settings, Values& values) {
  const trade::Ruling rule = settings.training.ruling();
  values.set_flag("rule", name(rule.rule));
  values.set_flag("memory", std::to_string(rule.memory));
}

// What trainings charge, whether that was given or is the cost of trading. A training that was told
// does not look at the other.
bool charge_in_force(Values& values) {
  const settings::NumberOrFile& costs = values.number_or_file("cost-bps");
  if (!values.has("train-cost-bps") && costs.file.empty())
    values.set_flag("train-cost-bps", shortest(costs.number));
  return values.has("train-cost-bps");
}

}  // namespace

std::string training_key(const Plan& plan, Index cell) {
  Values values = plan.values_of(cell);
  if (!learns(values)) return "";
  if (!learn::framework_named(values.text("framework")).decides) values.set_flag("alpha", "0");
  const bool predicts = values.real("alpha") == 0.0 && values.real("validation") == 0.0;
  const backtest::BacktestSettings settings = backtest::backtest_settings(values);
  put_rule_in_force(settings, values);
  const bool charged = charge_in_force(values);
  // What is kept of a training is the signal with the memory that the method's own rule has, so
  // that it matters to every training: to those too that never look at a decision.
  const trade::Ruling rule = backtest::ruling_of(settings);
  return fmt::format("training\nremembers={} {}\n", rule.memory,
                     rule.normalizes() ? "normalized" : "as it is") +
         key(plan, cell, values, [&](const settings::Setting& setting) {
           return setting.is(settings::after_training) ||
                  (predicts && setting.is(settings::of_decisions)) ||
                  (charged && setting.name == "cost-bps");
         });
}

std::string oracle_key(const Plan& plan, Index cell) {
  const Values values = plan.values_of(cell);
  if (!learns(values)) return "";
  const bool soft = values.text("decision") == "soft";
  return "oracle\n" + key(plan, cell, values, [&](const settings::Setting& setting) {
           return setting.is(settings::of_signal) ||
                  (!soft && setting.group == settings::Group::learning);
         });
}

}  // namespace sharpen::study
