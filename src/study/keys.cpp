// What trainings and oracles depend on. Every setting of a backtest is in a key unless it is named
// here as one that cannot matter: a setting that is new to the table separates cells until somebody
// has thought about it.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "sharpen/learn/framework.hpp"
#include "sharpen/study/plan.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

bool among(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of the process, of the answer, and of the statistics that a study does not keep.
bool never_matters(std::string_view name) {
  return among(
      {"out", "force", "json", "threads", "log-level", "config", "print-config", "label", "trials",
       "replications", "block", "preset", "model", "signal", "prices", "returns"},
      name);
}

// What is done with a signal once it is there.
bool after_training(std::string_view name) {
  return among({"framework", "optimizer", "historic-risk", "sdr-recovery", "sdr-match", "sdr-gap",
                "cost-bps", "risk-free", "stats-from", "decision", "held-sizing"},
               name);
}

// What a training that only predicts, and stops when told, never looks at.
bool of_decisions(std::string_view name) {
  return among({"k", "alpha", "mixing", "decision-loss", "warm-start", "beta", "beta-final",
                "score", "raw-score", "reoptimization", "topk", "sizing", "offset",
                "target-volatility", "net", "validation", "patience"},
               name);
}

bool learns(const Values& values) {
  return learn::framework_named(values.text("framework")).learns;
}

template <class Leave>
std::string key(const Plan& plan, Index cell, const Values& values, const Leave& leave) {
  const Cell& at = plan.results.cells[static_cast<std::size_t>(cell)];
  const Market& market = plan.results.markets[static_cast<std::size_t>(at.market)];
  std::string out = fmt::format("market={}\nchecksum={}\n", market.name, market.checksum);
  for (const settings::Setting& setting : settings::table()) {
    if ((setting.commands & settings::backtest) == 0 || never_matters(setting.name) ||
        leave(setting) || !values.has(setting.name))
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
           return after_training(setting.name) || (predicts && of_decisions(setting.name));
         });
}

std::string oracle_key(const Plan& plan, Index cell) {
  const Values values = plan.values_of(cell);
  if (!learns(values)) return "";
  const bool soft = values.text("decision") == "soft";
  return "oracle\n" + key(plan, cell, values, [&](const settings::Setting& setting) {
           return among({"framework", "seed", "historic-risk"}, setting.name) ||
                  (!soft && setting.group == settings::Group::learning);
         });
}

}  // namespace sharpen::study
