// From two runs to the answer of `sharpen compare`: no printing, no signals.
#include <fmt/format.h>

#include <cmath>

#include "command/json_keys.hpp"
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
std::string rounded_percent(double share) {
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

// One of the two runs, and the factor that makes a Sharpe ratio one of a year.
struct Run {
  const ComparedRun* run;
  double root;
};

double root_of(const Comparison& comparison) { return std::sqrt(comparison.periods_per_year); }

Json interval(double low, double high) { return Json::array({low, high}); }

// The page describes them once, for a. `part`: kNoTable for b.
Key<Comparison> run_key(std::string_view name, std::string_view meaning,
                        ComparedRun Comparison::*member, int part) {
  const Keys<Run> keys = in_part<Run>(
      part,
      {{"folder", "as given", [](auto& r) { return r.run->folder; }},
       {"label", "what the run calls itself; the folder's name if it has no label",
        [](auto& r) { return r.run->label; }},
       {"rows", "periods in its file", [](auto& r) { return r.run->rows; }},
       {"left_out", "how many of them are not common, or come before the statistics of either run",
        [](auto& r) { return r.run->left_out; }},
       {"sharpe", "Sharpe ratio per period, and × √`periods_per_year`",
        [](auto& r) { return r.run->sharpe; }},
       {"sharpe_annualized", "", [](auto& r) { return r.run->sharpe * r.root; }},
       {"sharpe_ci", "its 95 % interval, [low, high]",
        [](auto& r) { return interval(r.run->interval.low, r.run->interval.high); }},
       {"sharpe_ci_annualized", "",
        [](auto& r) {
          return interval(r.run->interval.low * r.root, r.run->interval.high * r.root);
        }},
       {"block", "mean block length behind the interval",
        [](auto& r) { return r.run->interval.block; }}});
  return {name, meaning,
          [keys, member](const Comparison& c) {
            return json_of(keys, Run{&(c.*member), root_of(c)});
          },
          0, listed(keys, std::string(name) + ".")};
}

Keys<Comparison> test_keys() {
  return {
      {"n_common", "number of common periods", [](auto& c) { return c.test.n; }},
      {"from", "the first and the last of them", &Comparison::from},
      {"to", "", &Comparison::to},
      {"periods_per_year", "the number used to annualise", &Comparison::periods_per_year},
      {"difference", "Sharpe ratio of `a` minus that of `b`",
       [](auto& c) { return c.test.difference; }},
      {"difference_annualized", "", [](auto& c) { return c.test.difference * root_of(c); }},
      {"difference_ci", "its 95 % interval, [low, high]",
       [](auto& c) { return interval(c.test.low, c.test.high); }},
      {"difference_ci_annualized", "",
       [](auto& c) { return interval(c.test.low * root_of(c), c.test.high * root_of(c)); }},
      {"standard_error", "of `difference`", [](auto& c) { return c.test.standard_error; }},
      {"p_value",
       "two-sided, of no difference; `null` if it could not be tested (`verdict` says why)",
       [](auto& c) { return c.test.p_value; }},
      {"significant", "whether `p_value` is below 1 − `level`", &Comparison::significant},
      {"same", "whether the two earn the same up to scale: `difference` 0, `p_value` 1",
       [](auto& c) { return c.test.same; }},
      {"correlation", "of the two runs' excess returns",
       [](auto& c) { return c.test.correlation; }},
      {"level", "0.95", [](auto& c) { return c.bootstrap.level; }},
      {"replications", "the settings used", [](auto& c) { return c.bootstrap.replications; }},
      {"block", "block length of the test; `null` if nothing was resampled",
       [](auto& c) { return c.test.block > 0 ? Json(c.test.block) : Json(nullptr); }},
      {"seed", "@replications", [](auto& c) { return c.bootstrap.seed; }},
      {"verdict", "what the test means, in words", &Comparison::verdict},
      {"warnings", kWarningsMeaning, &Comparison::warnings},
  };
}

Keys<Comparison> compare_keys() {
  return answer_keys<Comparison>(
      "compare", "`compare`",
      {{run_key("a", "the two runs, over the common periods", &Comparison::a, 0),
        run_key("b", "@a", &Comparison::b, kNoTable)},
       test_keys()});
}

std::string two_decimals(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : "n/a";
}

std::string range(double low, double high) {
  return fmt::format("[{}, {}]", two_decimals(low), two_decimals(high));
}

std::vector<std::string> row(const std::string& name, double value, double low, double high,
                             double root) {
  return {name, two_decimals(value * root), range(low * root, high * root),
          std::isfinite(value) ? fmt::format("{:.4f}", value) : "n/a"};
}

// "A  swap_k5, in a/".
std::string title(const char* letter, const ComparedRun& run) {
  return fmt::format("{}: {} ({})", letter, printable(run.label), printable(run.folder));
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
    return fmt::format("The difference cannot be tested on {}: the test needs 10.",
                       counted(test.n, "common period"));
  const double size = std::abs(test.difference) * std::sqrt(periods_per_year);
  if (!significant())
    return fmt::format(
        "The difference of {:.2f} a year is within what chance gives: p = {:.2g}. If the two were "
        "equally good, a difference at least as large would show in {} of samples like this one; "
        "these data do not tell them apart.",
        size, test.p_value, rounded_percent(test.p_value));
  return fmt::format(
      "{}'s Sharpe ratio is higher by {:.2f} a year, more than chance gives: p = {:.2g}. If the "
      "two were equally good, a difference at least as large would show in only {} of samples "
      "like this one.",
      test.difference > 0.0 ? "A" : "B", size, test.p_value, rounded_percent(test.p_value));
}

std::string compare_json(const Comparison& comparison) {
  return json_text<compare_keys>(comparison);
}

Section compare_section() {
  return {"compare",
          {"How each figure is computed: [statistics.md](statistics.md)."},
          listed(compare_keys())};
}

std::string compare_text(const Comparison& comparison) {
  const backtest::SharpeDifference& test = comparison.test;
  const double root = std::sqrt(comparison.periods_per_year);
  std::string out = title("A", comparison.a) + "\n" + title("B", comparison.b) + "\n";
  out += fmt::format("{}, {} to {} (left out: {} of A's {}, {} of B's {})\n\n",
                     counted(test.n, "common period"), comparison.from, comparison.to,
                     comparison.a.left_out, comparison.a.rows, comparison.b.left_out,
                     comparison.b.rows);
  const auto run_row = [&](const char* name, const ComparedRun& run) {
    return row(name, run.sharpe, run.interval.low, run.interval.high, root);
  };
  out += render_table({"Sharpe ratio", "a year", "95% interval", "a period"},
                      {run_row("A", comparison.a), run_row("B", comparison.b),
                       row("A - B", test.difference, test.low, test.high, root)});
  out += "\n" + comparison.verdict() + "\n";
  if (comparison.tested() && !test.same)
    out += fmt::format(
        "(Ledoit-Wolf test: {} replications, blocks of {}; the two correlate at {:.2f}.)\n",
        comparison.bootstrap.replications, test.block, test.correlation);
  for (const std::string& warning : comparison.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

}  // namespace sharpen::command
