#include "sharpen/command/report.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using report::Format;
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
  return format_of_file(values.has("out") ? values.text("out") : "");
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

}  // namespace

Format format_of_file(const fs::path& out) {
  const std::string ending = out.extension().string();
  if (ending == ".html" || ending == ".htm") return Format::html;
  if (ending == ".md") return Format::markdown;
  if (ending == ".tex") return Format::latex;
  if (ending == ".csv") return Format::csv;
  if (ending.empty() || ending == ".txt") return Format::text;
  throw InputError(fmt::format(
      "out = {} has an ending of no format; use .html, .htm, .txt, .md, .tex or .csv, or give "
      "‹--format›",
      shown(out)));
}

void check_report_file(const fs::path& out, const fs::path& study, bool force) {
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
                    "give ‹--force› to replace it",
                    shown(out)));
}

std::shared_ptr<const ReadStudy> read_study(const Values& values, const std::string& file,
                                            study::Detail detail, const Control& control) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  study::Results results = study::read_store(file, detail);
  control.begin("testing differences");
  report::Summary summary =
      report::summarize(results,
                        {.replications = values.integer("replications"),
                         .seed = static_cast<std::uint64_t>(values.integer("seed")),
                         .stop = control.stop},
                        threads);
  return std::make_shared<const ReadStudy>(ReadStudy{file, std::move(results), std::move(summary)});
}

ReportAnswer report_of(std::shared_ptr<const ReadStudy> study, Format format,
                       std::span<const std::string> names) {
  if (format == Format::html && !names.empty())
    throw InputError("‹--table› is for text, md, latex and csv; a page has all tables");
  ReportAnswer answer{.study = std::move(study), .format = format};
  const auto& [file, results, summary] = *answer.study;
  answer.findings = report::findings(results, summary);
  answer.tables = report::tables(results, summary);
  if (!names.empty()) answer.tables = report::chosen(answer.tables, names);
  answer.text = report::document(results, summary, answer.tables, format, names.empty());
  return answer;
}

ReportAnswer report_answer(const Values& values, const Control& control) {
  const fs::path file = study_file(values);
  const bool force = values.flag("force");
  if (values.has("out")) check_report_file(values.text("out"), file, force);
  const Format format = format_of(values);
  const fs::path out = place_of(values, format, file);
  if (!out.empty()) check_report_file(out, file, force);
  const bool page = format == Format::html;
  const std::vector<std::string> names =
      values.has("table") ? values.list("table") : std::vector<std::string>();
  ReportAnswer answer =
      report_of(read_study(values, file.string(),
                           page ? study::Detail::all : study::Detail::returns, control),
                format, names);
  answer.out = out.string();
  if (!out.empty()) write_file(out, answer.text);
  return answer;
}

}  // namespace sharpen::command
