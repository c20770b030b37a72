// Rows of the table of settings that only `sharpen report` has.
#include "base/settings_report.hpp"

namespace sharpen::settings {

void append_report_rows(std::vector<Setting>& table) {
  for (Setting setting : std::vector<Setting>{
           {.name = "study",
 .kind = Kind::text,
 .text = "the study: its study.db, or the folder that holds it",
 .placeholder = "PATH",
 .group = Group::input},
           {.name = "format",
           .kind = Kind::choice,
           .text = "a page with charts, or tables alone",
           .placeholder = "NAME",
           .preset_words = "by the ending of --out; else text",
           .choices = {"html", "text", "md", "latex", "csv"},
           .group = Group::running},
           {.name = "table",
           .kind = Kind::list,
           .text = "only these tables, in this order (docs/report.md); not for html",
           .placeholder = "NAME,NAME",
           .preset_words = "all of them",
           .group = Group::running},
           {.name = "replications",
           .kind = Kind::integer,
           .text = "bootstrap replications behind each test",
           .placeholder = "N",
           .preset = "10000",
           .bounds = {.low = 1, .high = 10000000},
           .group = Group::statistics},
           {.name = "out",
           .kind = Kind::text,
           .text = "file to write",
           .placeholder = "FILE",
           .preset_words = "standard output; report.html beside the study for html",
           .group = Group::running},
           {.name = "force",
           .kind = Kind::flag,
           .text = "replace a file at --out that is no report",
           .preset = "false",
           .group = Group::running},
       }) {
    setting.commands = report;
    table.push_back(std::move(setting));
  }
}

}  // namespace sharpen::settings
