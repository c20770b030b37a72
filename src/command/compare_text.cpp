// The answer of `sharpen compare` as text.
#include <fmt/format.h>

#include <cmath>

#include "sharpen/base/text.hpp"
#include "sharpen/command/compare.hpp"
#include "sharpen/command/table.hpp"

namespace sharpen::command {

namespace {

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

std::string compare_text(const Comparison& comparison) {
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
