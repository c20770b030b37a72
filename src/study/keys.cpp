// What trainings and oracles depend on. Every setting of a backtest is in a key unless its roles
// say that it cannot matter: a setting that is new to the table has none, and separates cells until
// somebody has thought about it.
#include <fmt/format.h>

#include "sharpen/learn/framework.hpp"
#include "sharpen/study/plan.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

// Of the process, of the answer, and what is in the checksum of a market or stands for others.
constexpr unsigned kNeverMatters =
    settings::of_run | settings::of_answer | settings::input_file | settings::shorthand;

bool learns(const Values& values) {
  return learn::framework_named(values.text("framework")).learns;
}

template <class Leave>
std::string key(const Plan& plan, Index cell, const Values& values, const Leave& leave) {
  const Cell& at = plan.results.cells[static_cast<std::size_t>(cell)];
  const Market& market = plan.results.markets[static_cast<std::size_t>(at.market)];
  std::string out = fmt::format("market={}\nchecksum={}\n", market.name, market.checksum);
  for (const settings::Setting& setting : settings::table()) {
    if (!setting.taken_by(settings::backtest) || setting.is(kNeverMatters) || leave(setting) ||
        !values.has(setting.name))
      continue;
    out += fmt::format("{}={}\n", setting.name, values.written(setting.name));
  }
  return out;
}

}  // namespace

std::string training_key(const Plan& plan, Index cell) {
  Values values = plan.values_of(cell);
  if (!learns(values)) return "";
  if (!learn::framework_named(values.text("framework")).decides) values.set_flag("alpha", "0");
  const bool predicts = values.real("alpha") == 0.0 && values.real("validation") == 0.0;
  return "training\n" + key(plan, cell, values, [&](const settings::Setting& setting) {
           return setting.is(settings::after_training) ||
                  (predicts && setting.is(settings::of_decisions));
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
