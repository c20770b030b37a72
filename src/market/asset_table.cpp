#include "market/asset_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/csv.hpp"
#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

TableLine read_table_line(CsvCursor& cursor) {
  TableLine line{.fields = {}, .number = cursor.line()};
  do line.fields.emplace_back(cursor.field());
  while (cursor.comma());
  cursor.end_line();
  return line;
}

void check_table_header(const AssetTable& table, const TableLine& line, std::string_view example) {
  if (table.asset < 0)
    table.fail(line, fmt::format("there is no column called asset: begin with a line such as {}",
                                 example));
  std::set<std::string> titles;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const std::string& title = table.header[c];
    if (title.empty())
      table.fail(line, fmt::format("column {} of the header has no name: give it one", c + 1));
    if (!is_plain_text(title))
      table.fail(line,
                 fmt::format("the name of column {}, {}, is not plain UTF-8 text: write it so",
                             c + 1, shown(title)));
    if (!titles.insert(title).second)
      table.fail(line, fmt::format("two columns are called {}: keep one", shown(title)));
  }
}

}  // namespace

Index AssetTable::column(std::string_view title) const {
  const auto found = std::ranges::find(header, title);
  return found == header.end() ? -1 : found - header.begin();
}

std::string AssetTable::where(const TableLine& line) const {
  return fmt::format("{}:{}", shown_file(name), line.number);
}

void AssetTable::fail(const TableLine& line, const std::string& what) const {
  throw InputError(where(line) + ": " + what);
}

void AssetTable::fail_number(const TableLine& line, std::size_t column) const {
  const NumberFault fault = explain_number(line.fields[column]);
  fail(line, fmt::format("{} ({} of asset {}); {}", fault.what, shortened(header[column]),
                         shortened(asset_of(line)), fault.remedy));
}

std::string AssetTable::date_of(const TableLine& line) const {
  if (date < 0 || line.fields[at(date)].empty()) return {};
  const std::string& text = line.fields[at(date)];
  ParsedDate parsed = parse_date(text);
  if (parsed.format == DateFormat::none)
    fail(line, fmt::format("{} {}; write dates as YYYY-MM-DD", shown(text), parsed.fault));
  return std::move(parsed.iso);
}

void AssetTable::refuse_twice(const TableLine& line, const std::string& from,
                              std::map<std::pair<std::string, std::string>, Index>& seen) const {
  const auto [first, fresh] = seen.try_emplace({asset_of(line), from}, line.number);
  if (fresh) return;
  fail(line, fmt::format("asset {} is there twice{}, at line {} and line {}: keep one",
                         shown(asset_of(line)), from.empty() ? "" : " on " + from, first->second,
                         line.number));
}

AssetTable read_asset_table(std::string_view text, std::string_view name,
                            std::string_view example) {
  CsvCursor cursor(text, name);
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const TableLine first = read_table_line(cursor);
  AssetTable table{.name = name, .header = first.fields, .lines = {}};
  table.asset = table.column("asset");
  table.date = table.column("date");
  check_table_header(table, first, example);
  while (!cursor.finished()) {
    TableLine line = read_table_line(cursor);
    if (line.fields.size() != table.header.size())
      table.fail(line, fmt::format("{} where the header has {}: give every line as many",
                                   counted(static_cast<Index>(line.fields.size()), "field"),
                                   table.header.size()));
    const std::string& asset = table.asset_of(line);
    if (asset.empty()) table.fail(line, "the name of the asset is missing: every line has one");
    if (!is_plain_text(asset))
      table.fail(line,
                 fmt::format("the asset {} is not plain UTF-8 text: write it so", shown(asset)));
    table.lines.push_back(std::move(line));
  }
  return table;
}

void fail_unknown_asset(const std::string& where, std::string_view asset,
                        std::span<const std::string_view> known) {
  throw InputError(fmt::format("{}: there is no asset {} here{}{} correct the name, or take it out",
                               where, shown(asset), did_you_mean(asset, known),
                               nearest(asset, known).empty() ? ";" : ""));
}

}  // namespace sharpen::market
