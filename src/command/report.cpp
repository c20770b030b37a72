#include "sharpen/command/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using report::Format;
using report::Table;
using report::TableCell;
using settings::Values;

// The file itself, or study.db in the folder.
fs::path study_file(const Values& values) {
  if (!values.has("study"))
    throw InputError("no study given; write ‹sharpen report› study.db, or name its folder");
  const fs::path given = values.text("study");
  std::error_code error;
  if (!fs::is_directory(given, error)) return given;
  if (!fs::exists(given / "study.db", error))
    throw InputError(
        fmt::format("{}: holds no study.db; name the folder that ‹sharpen study --out› was given",
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

// A line of the CSV format, with names.
struct Figure {
  const report::Column* column;
  const report::Row* row;
  const TableCell* cell;
};

std::vector<Figure> figures(const Table& table) {
  std::vector<Figure> out;
  for (const report::Row& row : table.rows)
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (!table.columns[c].figure.empty() && row.cells[c].kind != TableCell::Kind::none)
        out.push_back({&table.columns[c], &row, &row.cells[c]});
  return out;
}

Json count_or_null(Index count) { return count > 0 ? Json(count) : Json(nullptr); }

Keys<Figure> table_figure_keys() {
  const auto estimate = [](auto value) {
    return [value](const Figure& f) {
      return f.cell->kind == TableCell::Kind::estimate ? Json(value(*f.cell)) : absent();
    };
  };
  return {
      {"market", "name of the market", [](auto& f) { return text_or_null(f.row->market); }},
      {"assets", "assets in it", [](auto& f) { return count_or_null(f.row->assets); }},
      {"k", "most names held", [](auto& f) { return count_or_null(f.row->k); }},
      {"k_given", "k as the study gave it: `10%`, or a count",
       [](auto& f) { return text_or_null(f.row->k_given); }},
      {"method", "name of the method; `null` where the figure is of no single one",
       [](auto& f) {
         return text_or_null(f.column->method.empty() ? f.row->method : f.column->method);
       }},
      {"against",
       "`significance` and `planned`: name of the method that `method` is tested against; else "
       "`null`",
       [](auto& f) { return text_or_null(f.row->against); }},
      {"seed", "of a single run; else `null`", [](auto& f) { return text_or_null(f.row->seed); }},
      {"item",
       "`warnings`: 1, 2, ... of the warnings of a market, or of a method in a row; else `null`",
       [](auto& f) { return count_or_null(f.row->item); }},
      {"figure",
       "what it is: `sharpe_annualized`, `p_value`, ...; where methods trade at several costs, the "
       "test of each cost has its own: `p_value_at_5bp`",
       [](auto& f) { return f.row->figure_in(*f.column); }},
      {"value", "number; for estimates the mean over the runs",
       [](auto& f) {
         return f.cell->kind == TableCell::Kind::text ? absent() : Json(f.cell->value);
       }},
      {"text", "instead of `value`, for words; a method is meant by its name",
       [](auto& f) {
         return f.cell->kind == TableCell::Kind::text ? Json(f.cell->key()) : absent();
       }},
      {"sd", "estimates only: standard deviation over the runs; `null` for one run",
       estimate([](auto& c) { return c.sd; })},
      {"runs", "estimates only: runs that have the figure",
       estimate([](auto& c) { return c.runs; })},
      {"planned", "estimates only: runs planned", estimate([](auto& c) { return c.planned; })},
      {"best", "estimates only: whether it is the best of the methods compared in its row",
       estimate([](auto& c) { return c.emphasis == report::Emphasis::best; })},
      {"best_of_all",
       "estimates only: whether it is of a method shown apart, and better than all of those",
       estimate([](auto& c) { return c.emphasis == report::Emphasis::apart; })},
      {"ruin", "estimates only: whether one of the runs ended in ruin",
       estimate([](auto& c) { return (c.marks & report::ruined) != 0; })},
  };
}

Keys<Table> table_keys() {
  return {
      {"name", "`sharpe`, `drawdown`, ...", &Table::name},
      {"title", "its title", &Table::title},
      {"notes", "its footnotes", &Table::notes},
      list<Table>("figures", "one entry per figure", table_figure_keys(), figures),
  };
}

std::vector<std::string> warnings_of_part(const study::Results& results) {
  if (results.shard.whole()) return {};
  return {
      fmt::format("this is part {} of {} of a study, and not all of it; ‹sharpen merge› puts "
                  "parts together",
                  results.shard.part, results.shard.of)};
}

Keys<ReportAnswer> report_keys() {
  const auto count = [](study::CellState state) {
    return [state](const ReportAnswer& r) {
      return std::ranges::count(r.study->results.cells, state, &study::Cell::state);
    };
  };
  return answer_keys<ReportAnswer>(
      "report", "`report`",
      {{{"study", "the file read", [](auto& r) { return r.study->file; }},
        {"name", "of the study", [](auto& r) { return r.study->results.name; }},
        {"format", "`html`, `text`, `md`, `latex` or `csv`: of the file written",
         [](auto& r) { return report::name(r.format); }},
        {"out",
         "the file written; `null` if none was, because neither `--out` nor `--format html` was "
         "given",
         [](auto& r) { return text_or_null(r.out); }},
        {"bytes", "its size; `null` without a file",
         [](auto& r) { return r.out.empty() ? Json(nullptr) : Json(r.text.size()); }},
        {"cells", "cells planned", [](auto& r) { return r.study->results.cells.size(); }},
        {"done", "how many of them are", count(study::CellState::done)},
        {"failed", "", count(study::CellState::failed)},
        {"missing", "", count(study::CellState::missing)},
        {"findings", "sentences on what stands out", &ReportAnswer::findings},
        list<ReportAnswer>("tables", "the tables that have rows, or those asked for by `--table`",
                           table_keys(), &ReportAnswer::tables),
        {"warnings", kWarningsMeaning,
         [](auto& r) { return plain(warnings_of_part(r.study->results)); }}}});
}

}  // namespace

Format format_of_file(const fs::path& out) {
  const std::string ending = out.extension().string();
  if (ending == ".html" || ending == ".htm") return Format::html;
  if (ending == ".md") return Format::markdown;
  if (ending == ".tex") return Format::latex;
  if (ending == ".csv") return Format::csv;
  if (ending.empty() || ending == ".txt") return Format::text;
  throw InputError(
      fmt::format("out = {} has an ending of no format; use .html, .htm, .txt, .md, .tex or .csv, "
                  "or give ‹--format›",
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
                                            study::Detail detail, const Control& control,
                                            const Log& log) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  study::Results results = study::read_store(file, detail, log, control.stop);
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

ReportAnswer report_answer(const Values& values, const Control& control, const Log& log) {
  const fs::path file = study_file(values);
  const bool force = values.flag("force");
  if (values.has("out")) check_report_file(values.text("out"), file, force);
  const Format format = format_of(values);
  const fs::path out = place_of(values, format, file);
  if (!out.empty()) {
    check_report_file(out, file, force);
    check_writable(out);
  }
  const bool page = format == Format::html;
  const std::vector<std::string> names =
      values.has("table") ? values.list("table") : std::vector<std::string>();
  ReportAnswer answer =
      report_of(read_study(values, file.string(),
                           page ? study::Detail::all : study::Detail::returns, control, log),
                format, names);
  for (const std::string& warning : warnings_of_part(answer.study->results)) log.warning(warning);
  answer.out = out.string();
  if (!out.empty()) write_file(out, answer.text);
  return answer;
}

std::string report_json(const ReportAnswer& answer) { return json_text<report_keys>(answer); }

Section report_section() {
  return {"report",
          {"The figures of every table, as the CSV format has them ([report.md](report.md))."},
          listed(report_keys())};
}

}  // namespace sharpen::command
