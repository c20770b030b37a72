// From two runs to the answer of `sharpen compare`: no printing, no signals.
#include <fmt/format.h>

#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/command/compare.hpp"

namespace sharpen::command {

namespace {

using backtest::SavedRun;
using settings::Values;

ComparedRun compared(const std::string& folder, const SavedRun& run, Index left_out,
                     ConstVec excess, const backtest::BootstrapSettings& settings,
                     const Threads& threads) {
  return {.folder = folder,
          .label = run.label,
          .rows = static_cast<Index>(run.dates.size()),
          .left_out = left_out,
          .sharpe = backtest::sharpe_moments(excess).sharpe,
          .interval = backtest::sharpe_interval(excess, settings, threads)};
}

void add_warnings(const SavedRun& a, const SavedRun& b, Comparison& out) {
  if (a.risk_free != b.risk_free)
    out.warnings.push_back(fmt::format(
        "the runs subtract different risk-free rates, {} and {} a period; each keeps its own",
        fmt::format("{:.6g}", a.risk_free), fmt::format("{:.6g}", b.risk_free)));
  for (const auto& [name, run] : {std::pair{"A", &a}, std::pair{"B", &b}})
    if (const std::string date = run->ruin_date(); !date.empty())
      out.warnings.push_back(fmt::format(
          "{} ends in ruin on {}: all its wealth is lost, whatever its Sharpe ratio", name, date));
  const auto mostly_left_out = [](const ComparedRun& run) { return 2 * run.left_out > run.rows; };
  if (mostly_left_out(out.a) || mostly_left_out(out.b))
    out.warnings.push_back(
        "more than half of a run's rows are left out, because the other has no such date or "
        "statistics had not started; the figures here are not those of the whole runs");
}

// "42 %", "1.2 %", "0.03 %".
std::string percent(double share) {
  const double value = 100.0 * share;
  return fmt::format("{:.{}f} %", value, value >= 10.0 ? 0 : value >= 1.0 ? 1 : 2);
}

// Of the folder that a setting names, unless it is in memory.
NamedRun run_of(const Values& values, std::string_view name, std::optional<NamedRun> given) {
  if (given) return std::move(*given);
  if (!values.has(name))
    throw InputError(
        "two folders are needed: ‹sharpen compare› A/ B/, each written by ‹sharpen backtest "
        "--out›");
  return {values.text(name), backtest::read_run(values.text(name))};
}

Comparison compare_runs(const NamedRun& a, const NamedRun& b, const Values& values,
                        const Control& control) {
  const backtest::CommonPeriods common = backtest::common_periods(a.run, b.run);
  const Threads threads(static_cast<int>(values.integer("threads")));
  Comparison out;
  out.bootstrap = {.replications = values.integer("replications"),
                   .block = values.has("block") ? values.real("block") : 0.0,
                   .seed = static_cast<std::uint64_t>(values.integer("seed")),
                   .stop = control.stop};
  const auto done = [&](Index steps) {
    if (control.progress) control.progress(steps, 3);
  };
  out.from = common.dates.front();
  out.to = common.dates.back();
  out.periods_per_year = a.run.periods_per_year;
  out.test = backtest::sharpe_difference(common.a, common.b, out.bootstrap, threads);
  done(1);
  out.a = compared(a.folder, a.run, common.left_out_a, common.a, out.bootstrap, threads);
  done(2);
  out.b = compared(b.folder, b.run, common.left_out_b, common.b, out.bootstrap, threads);
  done(3);
  out.bootstrap.stop = {};
  add_warnings(a.run, b.run, out);
  return out;
}

}  // namespace

Comparison compare_answer(const Values& values, CompareInputs inputs, const Control& control) {
  const NamedRun a = run_of(values, "first", std::move(inputs.a));
  const NamedRun b = run_of(values, "second", std::move(inputs.b));
  control.begin("resampling");
  return compare_runs(a, b, values, control);
}

std::string Comparison::verdict() const {
  for (const auto& [name, run] : {std::pair{"A", &a}, std::pair{"B", &b}})
    if (std::isnan(run->sharpe))
      return fmt::format(
          "{} has no Sharpe ratio on the common periods ({}), so there is nothing to compare.",
          name, test.n < 2 ? "there are too few" : "its returns do not vary");
  if (test.same)
    return "The two runs earn the same, up to scale: there is no difference between their Sharpe "
           "ratios.";
  if (!tested())
    return fmt::format("The difference cannot be tested on {} common period{}: the test needs 10.",
                       test.n, test.n == 1 ? "" : "s");
  const double size = std::abs(test.difference) * std::sqrt(periods_per_year);
  if (!significant())
    return fmt::format(
        "The difference of {:.2f} a year is within what chance gives: p = {:.2g}. If the two were "
        "equally good, a difference at least as large would show in {} of samples like this one; "
        "these data do not tell them apart.",
        size, test.p_value, percent(test.p_value));
  return fmt::format(
      "{}'s Sharpe ratio is higher by {:.2f} a year, more than chance gives: p = {:.2g}. If the "
      "two were equally good, a difference at least as large would show in only {} of samples "
      "like this one.",
      test.difference > 0.0 ? "A" : "B", size, test.p_value, percent(test.p_value));
}

}  // namespace sharpen::command
