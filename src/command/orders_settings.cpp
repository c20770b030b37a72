#include "command/orders_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "command/model_settings.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;
using settings::Setting;
using settings::Values;

constexpr const char* kMetricsFile = "metrics.json";

// What a day has of its own: which panel, and what is said of a whole run.
bool is_of_one_day(const Setting& setting) {
  constexpr std::array<std::string_view, 6> kNames = {"prices", "returns", "gross",
                                                      "to",     "seed",    "stats-from"};
  return std::ranges::find(kNames, setting.name) != kNames.end() ||
         setting.is(settings::of_run | settings::of_answer);
}

bool is_given(const Values& values, std::string_view name) {
  const Origin origin = values.origin(name);
  return origin == Origin::flag || origin == Origin::file;
}

// Two ways to write a value: numbers may differ in their last digits.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<double> x = parse_number(a), y = parse_number(b);
  return x && y && std::abs(*x - *y) <= 1e-12 * std::abs(*y);
}

// What was given otherwise than in `judged`, where null stands for not set.
std::vector<std::string> differing(const Values& asked, const Json& judged) {
  std::vector<std::string> out;
  for (const Setting& setting : settings::table()) {
    if (!setting.taken_by(asked.command()) || is_of_one_day(setting)) continue;
    const auto found = judged.find(std::string(setting.name));
    if (found == judged.end() || !is_given(asked, setting.name)) continue;
    const std::string was =
        found->is_null() ? std::string("not set")
                         : settings::write(setting, settings::parse(setting, flag_text(*found)));
    const std::string is = asked.written(setting.name);
    if (!same_value(is, was))
      out.push_back(
          fmt::format("{} is {} and was {}", setting.name, shortened(is), shortened(was)));
  }
  return out;
}

// A limit as the TOML of a model has it, at the beginning of a line; null: none.
Json limit_of(const std::string& toml, std::string name) {
  std::ranges::replace(name, '-', '_');
  const std::string key = "\n" + name + " = ", text = "\n" + toml;
  const std::size_t found = text.find(key);
  if (found == std::string::npos) return nullptr;
  const std::size_t begin = found + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

[[noreturn]] void refuse_older(const std::string& folder) {
  throw InputError(fmt::format(
      "{}: has no settings or no positions.csv to go on from; write it anew with this version's "
      "‹sharpen backtest --out›",
      shown_file(folder)));
}

// Whether the configuration file was written for a backtest: it knows what only that takes.
bool reads_file_of_backtest(const Values& values) {
  return std::ranges::any_of(settings::table(), [&](const Setting& setting) {
    return !values.takes(setting.name) && values.origin(setting.name) == Origin::file;
  });
}

}  // namespace

Values without_output_of_backtest(const Values& values) {
  Values out = values;
  const bool of_backtest = reads_file_of_backtest(values);
  std::error_code ignored;
  const bool folder = values.origin("out") == Origin::file &&
                      std::filesystem::is_directory(values.text("out"), ignored);
  for (const char* name : {"out", "force"})
    if (values.origin(name) == Origin::file && (of_backtest || folder)) out.forget(name);
  return out;
}

FormerRun parse_former_run(std::string_view text, const std::string& folder) {
  FormerRun out;
  out.folder = folder;
  const nlohmann::json metrics = parse_json(text);
  const auto settings = metrics.find("settings");
  if (settings == metrics.end() || !settings->is_object()) refuse_older(folder);
  if (const auto ruin = metrics.find("ruin_date"); ruin != metrics.end() && ruin->is_string())
    throw InputError(fmt::format(
        "{}: the run was ruined on {}, and nothing is left to go on with; judge a book that lasts, "
        "or begin anew without ‹--continue›",
        shown_file(folder), printable(ruin->get<std::string>())));
  for (const Setting& setting : settings::table())
    if (const auto found = settings->find(setting.name); found != settings->end())
      out.settings[std::string(setting.name)] = *found;
  // What was not set and is in force all the same.
  for (const char* name : {"rule", "memory"})
    if (!out.settings.contains(name) && metrics.contains(name)) out.in_force[name] = metrics[name];
  if (!out.settings.contains("shrinkage")) out.in_force["shrinkage"] = risk::kWindowShrinkage;
  if (out.settings.contains("capital") && !out.settings.contains("lot")) out.in_force["lot"] = 1;
  if (const auto split = metrics.find("split_date"); split != metrics.end() && split->is_string())
    out.split = split->get<std::string>();
  return out;
}

FormerRun read_former_run(const std::string& folder) {
  const std::filesystem::path path = folder;
  std::error_code ignored;
  if (std::filesystem::exists(path / "orders.csv", ignored))
    throw InputError(
        fmt::format("{}: holds the orders of a day, and no backtest; give ‹--positions {}›",
                    shown_file(folder), shown_file((path / "positions.csv").string())));
  static_cast<void>(backtest::read_run(folder));  // refuses what is none, or not whole
  if (!std::filesystem::exists(path / "positions.csv", ignored)) refuse_older(folder);
  return parse_former_run(TextFile(path / kMetricsFile).text(), folder);
}

Values follow_run(const Values& values, const FormerRun& run) {
  Values out = values;
  const std::string file = (run.folder / kMetricsFile).string();
  for (const auto& [name, value] : run.settings.items()) {
    const Setting* setting = settings::find_for(name, values.command());
    if (setting == nullptr || !setting->in_file || is_of_one_day(*setting)) continue;
    if (!is_given(values, name)) out.set_file(name, flag_text(value), printable(file, 400));
  }
  // A share of the rows would move with every new one.
  if (run.split && !is_given(values, "split")) out.set_file("split", *run.split, file);
  return out;
}

Values model_before_file(const Values& values, const learn::Model& model,
                         std::vector<std::string>& warnings) {
  Values out = values;
  Json trained = model_settings(model);
  trained["framework"] = learn::framework_of(model.settings.alpha).name;
  std::vector<std::string> passed_over;
  for (const Setting& setting : settings::table()) {
    const auto found = trained.find(std::string(setting.name));
    const bool decides = setting.name == "framework" || setting.name == "lookback";
    const bool learns =
        setting.group == settings::Group::learning && !setting.is(settings::after_training);
    if (!setting.taken_by(values.command()) || !(decides || learns) ||
        values.origin(setting.name) != Origin::file)
      continue;
    if (decides && !same_value(values.written(setting.name), flag_text(*found)))
      passed_over.push_back(fmt::format("{} = {} ({})", setting.name, values.written(setting.name),
                                        values.file_line(setting.name)));
    out.forget(setting.name);
  }
  if (!passed_over.empty())
    warnings.push_back(fmt::format("the model decides, and {} {} passed over",
                                   fmt::join(passed_over, " and "),
                                   passed_over.size() == 1 ? "is" : "are"));
  return out;
}

std::vector<std::string> differences(const Values& asked, const FormerRun& run) {
  Json judged = run.settings;
  for (const Setting& setting : settings::table()) {
    const std::string name(setting.name);
    if (setting.taken_by(asked.command()) && setting.in_file && !judged.contains(name))
      judged[name] = run.in_force.contains(name) ? run.in_force[name] : Json();
  }
  return differing(asked, judged);
}

std::vector<std::string> differences(const Values& asked, const learn::Model& model) {
  const Json trained = model_settings(model);
  Json judged;
  for (const char* name : {"k", "sizing", "target-volatility", "net", "rule", "memory",
                           "expected-sharpe", "holding-horizon", "shrinkage", "objective"})
    if (trained.contains(name)) judged[name] = trained[name];
  judged["cost-bps"] = model.cost_bps;
  judged["optimizer"] = settings::find("optimizer").preset;
  const std::string limits = trained.value("limits", "");
  for (const Setting& setting : settings::table()) {
    if (!setting.taken_by(asked.command()) || !setting.is(settings::of_limits)) continue;
    const std::string name(setting.name);
    if (judged.contains(name) || name == "objective" || name == "risk-aversion") continue;
    judged[name] = name == "limits" && !limits.empty() ? Json(limits) : limit_of(limits, name);
    if (judged[name].is_null() && !setting.preset.empty()) judged[name] = setting.preset;
  }
  return differing(asked, judged);
}

void warn_of_differences(const std::vector<std::string>& differences, std::string_view what,
                         std::vector<std::string>& warnings) {
  if (differences.empty()) return;
  std::string list;
  for (const std::string& each : differences) list += (list.empty() ? "" : ", ") + each;
  warnings.push_back(fmt::format(
      "this is not the book that {}: {}; leave the settings out, or judge it anew by ‹sharpen "
      "backtest›",
      what, list));
}

}  // namespace sharpen::command
