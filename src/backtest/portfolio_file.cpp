#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/csv.hpp"
#include "base/number.hpp"
#include "base/text_file.hpp"
#include "sharpen/backtest/run_files.hpp"

namespace sharpen::backtest {

namespace {

void check_fields(const CsvCursor& cursor) {
  const Index found = cursor.count_fields();
  if (found == 2) return;
  fail_at({cursor.name(), cursor.line(), std::min<Index>(found, 3)},
          fmt::format("line {} has {} where 2 are expected (asset and weight); give every row "
                      "a name and a weight, separated by a comma",
                      cursor.line(), counted(found, "field")));
}

void parse_header(CsvCursor& cursor) {
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const FilePosition position = cursor.position();
  const std::string first(cursor.field());
  const std::string line(cursor.line_text());
  const bool second = cursor.comma() && cursor.field() == "weight";
  if (first != "asset" || !second || cursor.count_fields() != 2)
    fail_at(position,
            fmt::format("line 1 is {} but must be the header asset,weight; add it", shown(line)));
  cursor.end_line();
}

double parse_weight(CsvCursor& cursor, const std::string& asset) {
  const std::string_view text = cursor.field();
  if (const auto value = parse_number(text)) return *value;
  const FilePosition position = cursor.position();
  if (text.empty())
    fail_at(position, fmt::format("the weight is missing, at {} (asset {}); fill it or drop the "
                                  "row",
                                  spelled(position), shortened(asset)));
  fail_number(position, text, "weight of asset " + shortened(asset));
}

}  // namespace

std::vector<NamedWeight> parse_portfolio(std::string_view text, std::string_view name) {
  CsvCursor cursor(text, name);
  parse_header(cursor);
  std::vector<NamedWeight> out;
  std::unordered_map<std::string, Index> line_of;
  while (!cursor.finished()) {
    const std::string asset(cursor.field());
    const FilePosition position = cursor.position();
    check_fields(cursor);
    if (asset.empty())
      fail_at(position, fmt::format("the name of the asset is missing, at {}; every row starts "
                                    "with one",
                                    spelled(position)));
    const auto [first, fresh] = line_of.try_emplace(asset, cursor.line());
    if (!fresh)
      fail_at(position, fmt::format("the asset {} is repeated, at line {} and line {}; give every "
                                    "asset once",
                                    shown(asset), first->second, cursor.line()));
    cursor.comma();
    out.push_back({asset, parse_weight(cursor, asset)});
    cursor.end_line();
  }
  return out;
}

std::vector<NamedWeight> read_portfolio(const std::filesystem::path& file) {
  const TextFile content(file);
  return parse_portfolio(content.text(), file.string());
}

}  // namespace sharpen::backtest
