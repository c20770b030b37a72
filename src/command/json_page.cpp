#include "sharpen/command/json_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "command/json_keys.hpp"
#include "sharpen/base/build_info.hpp"

namespace sharpen::command {

namespace {

constexpr std::string_view kIntroduction =
    "Every command takes `--json` and then prints one JSON object on standard output. Messages go "
    "to\nstandard error. On an error standard output stays empty and the exit code says what kind "
    "it was: 1\nthe work failed, 2 wrong usage or input.\n\nNumbers read back to the same double. "
    "A number that was not computed is `null`. Indices count from\n0 in the order of the columns "
    "used (after `--tickers`). New keys may appear without a new\n`schema_version`; a key that "
    "changes its meaning or goes away raises it.\n";

// Keys of one meaning share a row.
struct Row {
  std::vector<std::string> names;
  std::string_view meaning;
};

std::vector<Row> rows_of(const Section& section, int part) {
  std::vector<Row> rows;
  for (const ListedKey& key : section.keys) {
    if (key.part != part) continue;
    if (key.meaning.empty()) {
      rows.back().names.push_back(key.name);
    } else if (key.meaning.front() == '@') {
      const auto row = std::ranges::find_if(rows, [&](const Row& each) {
        return std::ranges::find(each.names, key.meaning.substr(1)) != each.names.end();
      });
      if (row == rows.end()) throw std::logic_error("a key of docs/json.md has no row");
      row->names.push_back(key.name);
    } else {
      rows.push_back({{key.name}, key.meaning});
    }
  }
  return rows;
}

void append_table(const std::vector<Row>& rows, std::string& page) {
  page += "\n| key | meaning |\n|---|---|\n";
  for (const Row& row : rows) {
    std::string names;
    for (const std::string& name : row.names)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
    page += fmt::format("| {} | {} |\n", names, row.meaning);
  }
}

void append_section(const Section& section, std::string& page) {
  page += fmt::format("\n## sharpen {} --json\n", section.command);
  for (std::size_t part = 0; part < section.texts.size(); ++part) {
    if (!section.texts[part].empty()) page += fmt::format("\n{}\n", section.texts[part]);
    const std::vector<Row> rows = rows_of(section, static_cast<int>(part));
    if (!rows.empty()) append_table(rows, page);
  }
}

Keys<BuildInfo> version_keys() {
  return answer_keys<BuildInfo>(
      "version", "`version`",
      {{{"version", "version of Sharpen", &BuildInfo::version},
        {"compiler", "compiler it was built with", &BuildInfo::compiler},
        {"build_type", "CMake's build type", &BuildInfo::build_type},
        {"blas", "OpenBLAS in its own words: version, options, and the processor it runs on",
         &BuildInfo::blas}}});
}

}  // namespace

std::string json_page() {
  std::string page =
      "# JSON\n\nWritten by `sharpen --print-json-md` from the tables of keys in "
      "`src/command`.\n\n";
  page += kIntroduction;
  for (const Section& section :
       {solve_section(), doctor_section(), simulate_section(), backtest_section(), study_section(),
        merge_section(), compare_section(), train_section(), predict_section(), orders_section(),
        inspect_section(), report_section(), version_section()})
    append_section(section, page);
  return page;
}

std::string version_json() { return json_text(json_of(version_keys(), build_info())); }

Section version_section() { return {"--version", {""}, listed(version_keys())}; }

}  // namespace sharpen::command
