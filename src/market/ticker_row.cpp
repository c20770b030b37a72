#include "market/ticker_row.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace sharpen::market {

void refuse_other_separators(std::string_view first_field, const Place& place) {
  const bool semicolons = first_field.find(';') != std::string_view::npos;
  if (!semicolons && first_field.find('\t') == std::string_view::npos) return;
  fail(place, fmt::format("the fields are separated by {}, at line {}; save the file with commas "
                          "between fields and points in numbers",
                          semicolons ? "semicolons" : "tabs", place.line));
}

void check_ticker(std::string_view ticker, const Place& place) {
  if (ticker.empty())
    fail(place, fmt::format("the ticker is empty, at {}; name it or delete it", spelled(place)));
  if (!is_plain_text(ticker))
    fail(place, fmt::format("the ticker {} holds control characters or is not UTF-8, at {}; save "
                            "the file as plain UTF-8 text",
                            shown(ticker), spelled(place)));
}

std::vector<std::string> parse_ticker_row(CsvCursor& cursor) {
  std::vector<std::string> tickers;
  std::unordered_map<std::string, Index> column_of;
  while (cursor.comma()) {
    if (cursor.column() > CsvCursor::kMostColumns + 1)
      fail(cursor.place(), fmt::format("the header has more than {} tickers; is this a CSV file "
                                       "with one column per ticker?",
                                       CsvCursor::kMostColumns));
    std::string ticker(cursor.field());
    check_ticker(ticker, cursor.place());
    const auto [first, fresh] = column_of.try_emplace(ticker, cursor.column());
    if (!fresh)
      fail(cursor.place(),
           fmt::format("the ticker {} is repeated, at line {}, column {} and column {}; keep one "
                       "column per ticker",
                       shown(ticker), cursor.line(), first->second, cursor.column()));
    tickers.push_back(std::move(ticker));
  }
  if (tickers.empty())
    fail(cursor.place(), fmt::format("the header names no tickers, at line {}; write a first line "
                                     "such as date,TICKER,TICKER",
                                     cursor.line()));
  return tickers;
}

}  // namespace sharpen::market
