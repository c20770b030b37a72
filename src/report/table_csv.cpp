// Every figure of every table, one line each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/csv.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

namespace {

bool is_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

// What spreadsheets take for a formula, in half and full width.
bool starts_formula(std::string_view text) {
  constexpr std::string_view kHalf = "=+-@\t\r\n";
  constexpr std::array<std::string_view, 4> kFull = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
                                                     "\xEF\xBC\xA0"};
  if (text.empty()) return false;
  return kHalf.find(text.front()) != std::string_view::npos ||
         std::ranges::any_of(kFull,
                             [&](std::string_view start) { return text.starts_with(start); });
}

std::string number(double value) { return std::isfinite(value) ? shortest(value) : std::string(); }

std::string line_of(const Table& table, const Column& column, const Row& row,
                    const TableCell& cell) {
  const bool estimate = cell.kind == TableCell::Kind::estimate;
  const bool words = cell.kind == TableCell::Kind::text;
  const std::string_view standing = cell.emphasis == Emphasis::best    ? "best"
                                    : cell.emphasis == Emphasis::apart ? "apart"
                                                                       : "";
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(table.name),
      csv_field(row.market), row.assets > 0 ? std::to_string(row.assets) : "",
      row.k > 0 ? std::to_string(row.k) : "", csv_field(row.k_given),
      csv_field(column.method.empty() ? row.method : column.method), csv_field(row.seed),
      csv_field(column.figure), words ? "" : number(cell.value), estimate ? number(cell.sd) : "",
      estimate ? std::to_string(cell.runs) : "", estimate ? std::to_string(cell.planned) : "",
      standing, (cell.marks & ruined) != 0 ? "yes" : "", words ? csv_field(cell.key()) : "",
      csv_field(row.against), row.item > 0 ? std::to_string(row.item) : "");
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string value = starts_formula(text) && !is_number(text) ? "'" : "";
  value += text;
  return value.empty() ? value : sharpen::csv_field(value);
}

std::string to_csv(std::span<const Table> tables) {
  std::string out =
      "table,market,assets,k,k_given,method,seed,figure,value,sd,runs,planned,standing,ruin,text,"
      "against,item\r\n";
  for (const Table& table : tables)
    for (const Row& row : table.rows)
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (!table.columns[c].figure.empty() && row.cells[c].kind != TableCell::Kind::none)
          out += line_of(table, table.columns[c], row, row.cells[c]);
  return out;
}

}  // namespace sharpen::report
