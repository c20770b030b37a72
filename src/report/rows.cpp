// Rows of the table of settings that only `sharpen report` has.
#include "base/settings_rows.hpp"
#include "sharpen/backtest/statistics.hpp"

namespace sharpen::settings {

std::vector<Setting> report_rows() {
  std::vector<Setting> all = {
      {.name = "study",
       .kind = Kind::text,
       .text = "the study: its study.db, or the folder that holds it",
       .placeholder = "PATH",
       .group = Group::input,
       .roles = steers,
       .shell_only = every_command},
      {.name = "format",
       .kind = Kind::choice,
       .text = "a page with charts, or tables alone",
       .placeholder = "NAME",
       .preset_words = "by the ending of ‹--out›; else text",
       .choices = {"html", "text", "md", "latex", "csv"},
       .group = Group::running,
       .roles = steers,
       .shell_only = every_command},
      {.name = "table",
       .kind = Kind::list,
       .text = "only these tables, in this order (docs/report.md); not for html",
       .placeholder = "NAME,NAME",
       .preset_words = "all of them",
       .group = Group::running,
       .roles = steers,
       .shell_only = every_command},
      {.name = "replications",
       .fields = {field(&backtest::BootstrapSettings::replications)},
       .text = "bootstrap replications behind each test",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 10000000},
       .group = Group::statistics,
       .roles = of_answer},
      {.name = "out",
       .kind = Kind::text,
       .text = "file to write",
       .placeholder = "FILE",
       .preset_words = "standard output; report.html beside the study for html",
       .group = Group::running,
       .roles = of_run | steers,
       .shell_only = every_command},
      {.name = "force",
       .kind = Kind::flag,
       .text = "replace a file at ‹--out› that is no report",
       .preset = "false",
       .group = Group::running,
       .roles = of_run | steers,
       .shell_only = every_command},
  };
  for (Setting& row : all) row.commands = report;
  return all;
}

}  // namespace sharpen::settings
