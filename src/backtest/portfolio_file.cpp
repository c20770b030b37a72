#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "market/csv.hpp"
#include "market/number.hpp"
#include "market/text_file.hpp"
#include "sharpen/backtest/run_files.hpp"

namespace sharpen::backtest {

namespace {

using market::CsvCursor;
using market::Place;

void check_fields(const CsvCursor& cursor) {
  const Index found = cursor.count_fields();
  if (found == 2) return;
  market::fail({cursor.name(), cursor.line(), std::min<Index>(found, 3)},
               fmt::format("line {} has {} where 2 are expected (asset and weight); give every row "
                           "a name and a weight, separated by a comma",
                           cursor.line(), market::counted(found, "field")));
}

void parse_header(CsvCursor& cursor) {
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const Place place = cursor.place();
  const std::string first(cursor.field());
  const std::string line(cursor.line_text());
  const bool second = cursor.comma() && cursor.field() == "weight";
  if (first != "asset" || !second || cursor.count_fields() != 2)
    market::fail(place, fmt::format("line 1 is {} but must be the header asset,weight; add it",
                                    market::shown(line)));
  cursor.end_line();
}

double parse_weight(CsvCursor& cursor, const std::string& asset) {
  const std::string_view text = cursor.field();
  if (const auto value = market::parse_number(text)) return *value;
  const Place place = cursor.place();
  if (text.empty())
    market::fail(place, fmt::format("the weight is missing, at {} (asset {}); fill it or drop the "
                                    "row",
                                    market::spelled(place), market::shortened(asset)));
  const market::NumberFault fault = market::explain_number(text);
  market::fail(place, fmt::format("{}, at {} (weight of asset {}); {}", fault.what,
                                  market::spelled(place), market::shortened(asset), fault.remedy));
}

}  // namespace

std::vector<NamedWeight> parse_portfolio(std::string_view text, std::string_view name) {
  CsvCursor cursor(text, name);
  parse_header(cursor);
  std::vector<NamedWeight> out;
  std::unordered_map<std::string, Index> line_of;
  while (!cursor.finished()) {
    const std::string asset(cursor.field());
    const Place place = cursor.place();
    check_fields(cursor);
    if (asset.empty())
      market::fail(place, fmt::format("the name of the asset is missing, at {}; every row starts "
                                      "with one",
                                      market::spelled(place)));
    const auto [first, fresh] = line_of.try_emplace(asset, cursor.line());
    if (!fresh)
      market::fail(place,
                   fmt::format("the asset {} is repeated, at line {} and line {}; give every "
                               "asset once",
                               market::shown(asset), first->second, cursor.line()));
    cursor.comma();
    out.push_back({asset, parse_weight(cursor, asset)});
    cursor.end_line();
  }
  return out;
}

std::vector<NamedWeight> read_portfolio(const std::filesystem::path& file) {
  const market::TextFile content(file);
  return parse_portfolio(content.text(), file.string());
}

}  // namespace sharpen::backtest
