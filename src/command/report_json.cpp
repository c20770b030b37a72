#include "sharpen/command/report.hpp"

#include <algorithm>

#include "command/json_text.hpp"

namespace sharpen::command {

namespace {

using report::Column;
using report::Row;
using report::Table;
using report::TableCell;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json count_or_null(Index count) { return count > 0 ? Json(count) : Json(nullptr); }

// A line of the CSV format, with names.
Json figure_json(const Column& column, const Row& row, const TableCell& cell) {
  const bool estimate = cell.kind == TableCell::Kind::estimate;
  const bool words = cell.kind == TableCell::Kind::text;
  Json out;
  out["market"] = text_or_null(row.market);
  out["assets"] = count_or_null(row.assets);
  out["k"] = count_or_null(row.k);
  out["k_given"] = text_or_null(row.k_given);
  out["method"] = text_or_null(column.method.empty() ? row.method : column.method);
  out["against"] = text_or_null(row.against);
  out["seed"] = text_or_null(row.seed);
  out["item"] = count_or_null(row.item);
  out["figure"] = column.figure;
  if (words) {
    out["text"] = cell.key();
    return out;
  }
  out["value"] = cell.value;
  if (estimate) {
    out["sd"] = cell.sd;
    out["runs"] = cell.runs;
    out["planned"] = cell.planned;
    out["best"] = cell.emphasis == report::Emphasis::best;
    out["best_of_all"] = cell.emphasis == report::Emphasis::apart;
    out["ruin"] = (cell.marks & report::ruined) != 0;
  }
  return out;
}

Json table_json(const Table& table) {
  Json figures = Json::array();
  for (const Row& row : table.rows)
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (!table.columns[c].figure.empty() && row.cells[c].kind != TableCell::Kind::none)
        figures.push_back(figure_json(table.columns[c], row, row.cells[c]));
  Json out;
  out["name"] = table.name;
  out["title"] = table.title;
  out["notes"] = table.notes;
  out["figures"] = std::move(figures);
  return out;
}

}  // namespace

std::string report_json(const WrittenReport& written, const study::Results& results) {
  const auto count = [&](study::CellState state) {
    return std::ranges::count(results.cells, state, &study::Cell::state);
  };
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "report";
  out["study"] = written.study;
  out["name"] = results.name;
  out["format"] = report::name(written.format);
  out["out"] = text_or_null(written.out);
  out["bytes"] = written.out.empty() ? Json(nullptr) : Json(written.bytes);
  out["cells"] = results.cells.size();
  out["done"] = count(study::CellState::done);
  out["failed"] = count(study::CellState::failed);
  out["missing"] = count(study::CellState::missing);
  out["findings"] = written.findings;
  out["tables"] = Json::array();
  for (const Table& table : written.tables) out["tables"].push_back(table_json(table));
  out["warnings"] = Json::array();
  return json_text(out);
}

}  // namespace sharpen::command
