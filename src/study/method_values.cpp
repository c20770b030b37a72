#include "study/method_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sharpen/backtest/configure.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

void set_all(const std::vector<Given>& given, Values& values) {
  for (const Given& each : given) {
    if (each.place.empty())
      values.set_flag(each.name, each.text);
    else
      values.set_file(each.name, each.text, each.place);
  }
}

// Settings without a place come from a preset or a list.
std::vector<Given> with_place(const std::vector<Given>& all, bool place) {
  std::vector<Given> out;
  for (const Given& each : all)
    if (each.place.empty() != place) out.push_back(each);
  return out;
}

// Whether a setting of the whole study means something to a method. What is a matter of learning is
// for those that learn, and a soft decision for optimizers that it can stand in for.
bool heeds(const MethodGrid& method, const Given& each) {
  if (each.name == "retrain")
    return learn::framework_named(find_given(method.settings, "framework")->text).learns;
  if (each.name == "decision" && each.text == "soft")
    return solve::optimizer_named(find_given(method.settings, "optimizer")->text).softens;
  return true;
}

std::vector<Given> heeded(const std::vector<Given>& common, const MethodGrid& method) {
  std::vector<Given> out;
  std::ranges::copy_if(common, std::back_inserter(out),
                       [&](const Given& each) { return heeds(method, each); });
  return out;
}

// Settings of a cell, a market or a process, which the text of a method leaves out.
bool not_of_method(std::string_view name) {
  for (const std::string_view known :
       {"prices",       "returns",    "gross", "from",  "to",    "tickers", "universe",
        "max-gap",      "on-suspect", "k",     "seed",  "model", "signal",  "benchmark",
        "trials",       "label",      "out",   "force", "json",  "threads", "log-level",
        "replications", "block"})
    if (name == known) return true;
  return false;
}

std::string method_toml(const Values& values) {
  std::string out;
  const std::string text = values.to_toml();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!line.starts_with('#') && !not_of_method(line.substr(0, line.find(' '))))
      out.append(line).append("\n");
    begin = end + 1;
  }
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
  set_all(with_place(method.settings, false), values);
  set_all(heeded(grid.common, method), values);
  if (market != nullptr) set_all(market->settings, values);
  set_all(with_place(method.settings, true), values);
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
                            [&](const MethodGrid& method) { return heeds(method, each); }))
      continue;
    throw InputError(fmt::format(
        "{}{} has no meaning for any method of this study; it goes with {}",
        each.place.empty() ? "--" : each.place + ": ", each.name,
        each.name == "retrain"
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
