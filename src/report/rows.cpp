// Rows of the table of settings that only `sharpen report` has.
#include "base/settings_rows.hpp"
#include "sharpen/backtest/statistics.hpp"

namespace sharpen::settings {

std::vector<Setting> report_rows() {
  std::vector<Setting> rows = {
      row("study", Kind::text, "the study: its study.db, or the folder that holds it",
          {.placeholder = "PATH", .group = Group::input, .shell_only = every_command}),
      row("format", Kind::choice, "a page with charts, or tables alone",
          {.preset_words = "by the ending of ‹--out›; else text",
           .choices = {"html", "text", "md", "latex", "csv"},
           .shell_only = every_command}),
      row("table", Kind::list, "only these tables, in this order (docs/report.md); not for html",
          {.placeholder = "NAME,NAME", .preset_words = "all of them", .shell_only = every_command}),
      row("replications", field(&backtest::BootstrapSettings::replications),
          "bootstrap replications behind each test",
          {.bounds = {.low = 1, .high = 10000000}, .group = Group::statistics, .roles = of_answer}),
      row("out", Kind::text, "file to write",
          {.preset_words = "standard output; report.html beside the study for html",
           .roles = of_run,
           .shell_only = every_command}),
      row("force", Kind::flag, "replace a file at ‹--out› that is no report",
          {.roles = of_run, .shell_only = every_command}),
  };
  return rows_of(report, Group::running, std::move(rows));
}

}  // namespace sharpen::settings
