#include "sharpen/backtest/configure.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/configure.hpp"
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
  out.framework = learn::framework_named(values.text("framework")).framework;
  out.optimizer = values.text("optimizer");
  if (values.has("held-sizing")) {
    out.training_sizing = out.sizing;
    out.sizing = learn::yearly_sizing(values, "held-sizing");
  }
  out.historic_risk =
      values.text("historic-risk") == "train" ? HistoricRisk::train : HistoricRisk::rolling;
  if (learn::learns(out.framework) || values.text("decision") == "soft")
    out.training = learn::training_settings(values);
  if (values.has("retrain")) out.retrain = values.integer("retrain");
  out.decision = values.text("decision") == "soft" ? DecisionKind::soft : DecisionKind::exact;
  out.lookback = values.count_or_all("lookback");
  if (values.has("min-history")) out.min_history = values.integer("min-history");
  out.split = text_or_empty(values, "split");
  out.stats_from = text_or_empty(values, "stats-from");
  out.rebalance = values.integer("rebalance");
  out.cost_bps = values.real("cost-bps");
  out.risk_free = values.real("risk-free");
  out.periods_per_year = values.real("periods-per-year");
  out.benchmark = text_or_empty(values, "benchmark");
  out.gaps = values.text("universe") == "available";
  out.trials = values.integer("trials");
  out.bootstrap = {.replications = values.integer("replications"),
                   .block = values.has("block") ? values.real("block") : 0.0,
                   .seed = static_cast<std::uint64_t>(values.integer("seed"))};
  return out;
}

std::vector<std::string> slips(const Values& values, std::span<const std::string> dates) {
  std::vector<std::string> out;
  const auto percents = [&](std::string_view name, double most) {
    const double value = values.real(name);
    if (value >= most)
      out.push_back(fmt::format("{} = {} is {:.4g} % a year; write {} for {} %", name,
                                shortest(value), 100.0 * value, shortest(value / 100.0),
                                shortest(value)));
  };
  percents("risk-free", 1.0);
  if (values.text("sizing") == "volatility" ||
      (values.has("held-sizing") && values.text("held-sizing") == "volatility"))
    percents("target-volatility", 2.0);
  constexpr double kDearest = 1000.0, kBasisPointsPerPercent = 100.0;
  if (const double cost = values.real("cost-bps"); cost >= kDearest)
    out.push_back(fmt::format("cost-bps = {} is {:.4g} % of what is traded; write 10 for 0.1 %",
                              shortest(cost), cost / kBasisPointsPerPercent));
  // A year is a row of a long panel.
  const std::string from = text_or_empty(values, "stats-from");
  if (from.size() == 4 && from >= "1900" && from <= "2100")
    out.push_back(fmt::format("stats-from = {} is row {}, which is {}; for the year write {}-01",
                              from, from, dates[static_cast<std::size_t>(stats_row(dates, from))],
                              from));
  return out;
}

}  // namespace sharpen::backtest
