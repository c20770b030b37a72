// The answers of `sharpen compare`; docs/json.md lists every key.
#include <fmt/format.h>

#include <cmath>

#include "command/json_text.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/compare.hpp"
#include "sharpen/command/table.hpp"

namespace sharpen::command {

namespace {

Json interval(double low, double high) { return Json::array({low, high}); }

Json run_json(const ComparedRun& run, double root) {
  Json out;
  out["folder"] = run.folder;
  out["label"] = run.label;
  out["rows"] = run.rows;
  out["left_out"] = run.left_out;
  out["sharpe"] = run.sharpe;
  out["sharpe_annualized"] = run.sharpe * root;
  out["sharpe_ci"] = interval(run.interval.low, run.interval.high);
  out["sharpe_ci_annualized"] = interval(run.interval.low * root, run.interval.high * root);
  out["block"] = run.interval.block;
  return out;
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : "n/a";
}

std::string range(double low, double high) {
  return fmt::format("[{}, {}]", number(low), number(high));
}

std::vector<std::string> row(const std::string& name, double value, double low, double high,
                             double root) {
  return {name, number(value * root), range(low * root, high * root),
          std::isfinite(value) ? fmt::format("{:.4f}", value) : "n/a"};
}

// "A  swap_k5, in a/".
std::string title(const char* letter, const ComparedRun& run) {
  return fmt::format("{}: {} ({})", letter, printable(run.label), printable(run.folder));
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  const backtest::SharpeDifference& test = comparison.test;
  const double root = std::sqrt(comparison.periods_per_year);
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "compare";
  out["a"] = run_json(comparison.a, root);
  out["b"] = run_json(comparison.b, root);
  out["n_common"] = test.n;
  out["from"] = comparison.from;
  out["to"] = comparison.to;
  out["periods_per_year"] = comparison.periods_per_year;
  out["difference"] = test.difference;
  out["difference_annualized"] = test.difference * root;
  out["difference_ci"] = interval(test.low, test.high);
  out["difference_ci_annualized"] = interval(test.low * root, test.high * root);
  out["standard_error"] = test.standard_error;
  out["p_value"] = test.p_value;
  out["significant"] = comparison.significant();
  out["same"] = test.same;
  out["correlation"] = test.correlation;
  out["level"] = comparison.bootstrap.level;
  out["replications"] = comparison.bootstrap.replications;
  out["block"] = test.block > 0 ? Json(test.block) : Json(nullptr);
  out["seed"] = comparison.bootstrap.seed;
  out["verdict"] = comparison.verdict();
  out["warnings"] = comparison.warnings;
  return json_text(out);
}

std::string comparison_text(const Comparison& comparison) {
  const backtest::SharpeDifference& test = comparison.test;
  const double root = std::sqrt(comparison.periods_per_year);
  std::string out = title("A", comparison.a) + "\n" + title("B", comparison.b) + "\n";
  out +=
      fmt::format("{} common period{}, {} to {} (left out: {} of A's {}, {} of B's {})\n\n", test.n,
                  test.n == 1 ? "" : "s", comparison.from, comparison.to, comparison.a.left_out,
                  comparison.a.rows, comparison.b.left_out, comparison.b.rows);
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
