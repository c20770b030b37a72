#include "sharpen/backtest/configure.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/solve/configure.hpp"

namespace sharpen::backtest {

namespace {

using settings::Values;

std::string text_or_empty(const Values& values, std::string_view name) {
  return values.has(name) ? values.text(name) : std::string();
}

}  // namespace

BacktestSettings backtest_settings(const Values& values) {
  BacktestSettings out;
  static_cast<solve::OptimizerSettings&>(out) = solve::optimizer_settings(values);
  settings::fill(values, out);
  settings::fill(values, out.bootstrap);
  if (values.has("held-sizing")) {
    out.training_sizing = out.sizing;
    out.sizing.kind = *value_named<layer::Sizing>(values.text("held-sizing"));
  }
  if (learn::learns(out.framework) || out.decision == DecisionKind::soft)
    out.training = learn::training_settings(values);
  out.gaps = values.text("universe") == "available";
  return out;
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
  if (values.text("sizing") == "volatility" ||
      (values.has("held-sizing") && values.text("held-sizing") == "volatility"))
    percents("target-volatility", 2.0);
  constexpr double kDearest = 1000.0, kBasisPointsPerPercent = 100.0;
  if (const double cost = values.real("cost-bps"); cost >= kDearest)
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

}  // namespace sharpen::backtest
