#include "study/method_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/settings_toml.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

void set_all(const std::vector<Given>& given, Values& values) {
  for (const Given& each : given) {
    if (each.file_line.empty())
      values.set_flag(each.name, each.text);
    else
      values.set_file(each.name, each.text, each.file_line);
  }
}

// Settings without one come from a preset or a list.
std::vector<Given> with_file_line(const std::vector<Given>& all, bool file_line) {
  std::vector<Given> out;
  for (const Given& each : all)
    if (each.file_line.empty() != file_line) out.push_back(each);
  return out;
}

bool needs_training(const Given& each) {
  return settings::find_for(each.name, settings::backtest)->is(settings::needs_training);
}

// Whether a setting of the whole study means something to a method. What is a matter of learning is
// for those that learn, and a soft decision for optimizers that it can stand in for.
bool applies_to(const MethodGrid& method, const Given& each) {
  if (needs_training(each))
    return learn::framework_named(find_given(method.settings, "framework")->text).learns;
  if (each.name == "decision" && each.text == "soft")
    return solve::optimizer_named(find_given(method.settings, "optimizer")->text).softens;
  return true;
}

std::vector<Given> those_for(const MethodGrid& method, const std::vector<Given>& common) {
  std::vector<Given> out;
  std::ranges::copy_if(common, std::back_inserter(out),
                       [&](const Given& each) { return applies_to(method, each); });
  return out;
}

// What the text of a method leaves out: what is of a cell, of a panel or of the process.
constexpr unsigned kNotInText = settings::of_run | settings::of_answer | settings::of_one_run |
                                settings::of_panel | settings::of_cell;

std::string method_toml(const Values& values) {
  std::string out;
  for (const settings::Setting& setting : settings::table())
    if (setting.taken_by(settings::backtest) && setting.in_file && !setting.is(kNotInText) &&
        values.has(setting.name))
      out += fmt::format("{} = {}\n", setting.name,
                         settings::toml_text(setting, values.value(setting.name)));
  return out;
}

}  // namespace

Values market_values(const Grid& grid, const MarketGrid& market) {
  Values values(settings::backtest);
  set_all(grid.common, values);
  set_all(market.settings, values);
  values.set_default("split", backtest::kTrainingSplit);
  return values;
}

Values method_values(const Grid& grid, const MarketGrid* market, const MethodGrid& method) {
  Values values(settings::backtest);
  set_all(with_file_line(method.settings, false), values);
  set_all(those_for(method, grid.common), values);
  if (market != nullptr) set_all(market->settings, values);
  set_all(with_file_line(method.settings, true), values);
  values.set_default("split", backtest::kTrainingSplit);
  if (method.training == "paper") {
    values.set_flag("preset", "paper");
    values.use_paper_preset();
  }
  return values;
}

Method method_of(const Grid& grid, const MethodGrid& method) {
  const Values values = method_values(grid, nullptr, method);
  const learn::FrameworkInfo& framework = learn::framework_named(values.text("framework"));
  Method out;
  out.name = method.name;
  out.label = method.label;
  out.role = method.role;
  out.framework = values.text("framework");
  out.optimizer = values.text("optimizer");
  out.cost_bps = values.real("cost-bps");
  out.settings = method_toml(values);
  if (!framework.learns) return out;
  out.training = method.training.empty() ? "default" : method.training;
  out.alpha = framework.decides ? values.real("alpha") : 0.0;
  out.ensemble = static_cast<Index>(values.integer("ensemble"));
  return out;
}

void check_taken(const Grid& grid) {
  for (const Given& each : grid.common) {
    if (std::ranges::any_of(grid.methods,
                            [&](const MethodGrid& method) { return applies_to(method, each); }))
      continue;
    throw InputError(fmt::format(
        "{} has no meaning for any method of this study; it goes with {}",
        each.file_line.empty() ? reference("--" + each.name)
                               : each.file_line + ": " + reference(each.name),
        needs_training(each)
            ? std::string("frameworks pfl and dfl: leave it out, or name one of them")
            : fmt::format(
                  "optimizers {}: leave it out, or name one of them",
                  solve::names_of_optimizers(
                      [](const solve::OptimizerInfo& row) { return row.softens; }, " and "))));
  }
}

void check_values(const Values& values) {
  market::check_panel_settings(values);
  backtest::check_settings(backtest::backtest_settings(values));
  backtest::check_split(values.text("split"));
  if (values.has("stats-from")) backtest::check_stats_from(values.text("stats-from"));
}

}  // namespace sharpen::study
