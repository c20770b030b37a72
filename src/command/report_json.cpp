// The answer of `sharpen report --json`.
#include <algorithm>

#include "command/json_keys.hpp"
#include "sharpen/command/report.hpp"

namespace sharpen::command {

namespace {

using report::Table;
using report::TableCell;

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

Keys<Figure> figure_keys() {
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
       [](auto& f) { return f.column->figure; }},
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
      list<Table>("figures", "one entry per figure", figure_keys(), figures),
  };
}

Keys<ReportAnswer> report_keys() {
  const auto count = [](study::CellState state) {
    return [state](const ReportAnswer& r) {
      return std::ranges::count(r.study->results.cells, state, &study::Cell::state);
    };
  };
  Keys<ReportAnswer> keys = head<ReportAnswer>("report", "`report`");
  append<ReportAnswer>(
      keys,
      {{"study", "the file read", [](auto& r) { return r.study->file; }},
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
       {"warnings", kWarningsMeaning, [](auto&) { return Json::array(); }}});
  return keys;
}

}  // namespace

std::string report_json(const ReportAnswer& answer) {
  static const Keys<ReportAnswer> keys = report_keys();
  return json_text(json_of(keys, answer));
}

Section report_section() {
  return {"report",
          {"The figures of every table, as the CSV format has them ([report.md](report.md))."},
          listed(report_keys())};
}

}  // namespace sharpen::command
