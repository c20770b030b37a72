#include "sharpen/command/json_schema.hpp"

#include <fmt/format.h>

namespace sharpen::command::json_schema {

namespace {

constexpr std::string_view kIntroduction =
    "Every command takes `--json` and then prints one JSON object on standard output. Messages go "
    "to\nstandard error. On an error standard output stays empty and the exit code says what kind "
    "it was: 1\nthe work failed, 2 wrong usage or input.\n\nNumbers read back to the same double. "
    "A number that was not computed is `null`. Indices count from\n0 in the order of the columns "
    "used (after `--tickers`). New keys may appear without a new\n`schema_version`; a key that "
    "changes its meaning or goes away raises it.\n";

void append(const Section& section, std::string& page) {
  page += fmt::format("\n## sharpen {} --json\n", section.command);
  for (const Part& part : section.parts) {
    page += "\n";
    if (!part.text.empty()) page += fmt::format("{}\n", part.text);
    if (part.keys.empty()) continue;
    page += "| key | meaning |\n|---|---|\n";
    for (const Key& key : part.keys) page += fmt::format("| {} | {} |\n", key.keys, key.meaning);
  }
}

}  // namespace

std::string markdown() {
  std::string page =
      "# JSON\n\nWritten by `sharpen --print-json-md` from the schema in "
      "`src/command/json_schema*.cpp`.\n\n";
  page += kIntroduction;
  for (const Section& section :
       {solve_section(), doctor_section(), simulate_section(), backtest_section(), study_section(),
        compare_section(), train_section(), predict_section(), inspect_section(), report_section(),
        version_section()})
    append(section, page);
  return page;
}

}  // namespace sharpen::command::json_schema
