#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/command/report.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::app {

namespace {

namespace fs = std::filesystem;
using report::Format;
using report::Table;
using settings::Values;

std::string shown(const fs::path& path) { return printable(path.string(), 400); }

// The file itself, or study.db in the folder.
fs::path study_file(const Values& values) {
  if (!values.has("study"))
    throw InputError("no study given; write ‹sharpen report› study.db, or name its folder");
  const fs::path given = values.text("study");
  std::error_code error;
  if (!fs::is_directory(given, error)) return given;
  if (!fs::exists(given / "study.db", error))
    throw InputError(
        fmt::format("{}: holds no study.db; name the folder that ‹sharpen study --out› "
                    "was given",
                    shown(given)));
  return given / "study.db";
}

Format format_of(const Values& values) {
  if (values.has("format")) return report::format_of(values.text("format"));
  const std::string ending =
      values.has("out") ? fs::path(values.text("out")).extension().string() : "";
  if (ending == ".html" || ending == ".htm") return Format::html;
  if (ending == ".md") return Format::markdown;
  if (ending == ".tex") return Format::latex;
  if (ending == ".csv") return Format::csv;
  if (ending.empty() || ending == ".txt") return Format::text;
  throw InputError(fmt::format(
      "out = {} has an ending of no format; use .html, .htm, .txt, .md, .tex or .csv, or give "
      "‹--format›",
      shown(values.text("out"))));
}

// Where a report goes; empty for standard output.
fs::path place_of(const Values& values, Format format, const fs::path& study) {
  if (values.has("out")) return values.text("out");
  return format == Format::html ? study.parent_path() / "report.html" : fs::path();
}

// Whether a file begins as every report of one of the formats does.
bool is_report_file(const fs::path& file) {
  std::array<char, 600> head{};
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(in.gcount()));
  return text.empty() || report::is_report(text);
}

void check_place(const fs::path& out, const fs::path& study, bool force) {
  std::error_code error;
  if (fs::is_directory(out, error))
    throw InputError(fmt::format("out = {} is a folder; name a file in it", shown(out)));
  if (!fs::is_regular_file(out, error)) return;
  for (const char* ending : {"", "-wal", "-shm", "-journal"})
    if (fs::equivalent(out, study.string() + ending, error) && !error)
      throw InputError(
          fmt::format("out = {} would replace the study; give it another name", shown(out)));
  if (!force && !is_report_file(out))
    throw InputError(
        fmt::format("out = {} is there already and no report of Sharpen; choose another name, or "
                    "give ‹--force› "
                    "to replace it",
                    shown(out)));
}

std::vector<Table> chosen_tables(std::vector<Table> all, const Values& values, Format format) {
  if (!values.has("table")) return all;
  if (format == Format::html)
    throw InputError("‹--table› is for text, md, latex and csv; a page has all tables");
  return report::chosen(all, values.list("table"));
}

report::Summary summary_of(const study::Results& results, const Values& values) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  const Interrupts interrupts;
  Progress progress;
  progress.stage("testing differences");
  return report::summarize(results,
                           {.replications = values.integer("replications"),
                            .seed = static_cast<std::uint64_t>(values.integer("seed")),
                            .stop = [&] { return interrupts.seen(); }},
                           threads);
}

std::string size_text(std::size_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void make_report(const Values& values) {
  const fs::path file = study_file(values);
  if (values.has("out")) check_place(values.text("out"), file, values.flag("force"));
  const Format format = format_of(values);
  const fs::path out = place_of(values, format, file);
  if (!out.empty()) check_place(out, file, values.flag("force"));
  const study::Results results =
      study::read_store(file, format == Format::html ? study::Detail::all : study::Detail::returns);
  const report::Summary summary = summary_of(results, values);
  command::WrittenReport written{
      .study = file.string(),
      .format = format,
      .out = out.string(),
      .findings = report::findings(results, summary),
      .tables = chosen_tables(report::tables(results, summary), values, format)};
  const std::string text =
      report::document(results, summary, written.tables, format, !values.has("table"));
  written.bytes = text.size();
  if (!out.empty()) write_file(out, text);
  if (values.flag("json")) return print(command::report_json(written, results));
  if (out.empty()) return print(text);
  print(fmt::format("{}: written, {}{}\n", shown(out), size_text(text.size()),
                    format == Format::html ? "; open it in a browser" : ""));
}

}  // namespace

void run_report(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  try {
    make_report(values);
  } catch (const Interrupted&) {
    throw Failure("interrupted");
  }
}

}  // namespace sharpen::app
