#include "market/ticker_row.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace sharpen::market {

void refuse_tabs(std::string_view first_field, const FilePosition& position) {
  if (first_field.find('\t') == std::string_view::npos) return;
  fail_at(position,
          fmt::format("the fields are separated by tabs, at line {}; save the file with commas "
                      "between fields and points in numbers",
                      position.line));
}

void check_ticker(std::string_view ticker, const FilePosition& position) {
  if (ticker.empty())
    fail_at(position,
            fmt::format("the ticker is empty, at {}; name it or delete it", spelled(position)));
  if (!is_plain_text(ticker))
    fail_at(position,
            fmt::format("the ticker {} holds control characters or is not UTF-8, at {}; save "
                        "the file as plain UTF-8 text",
                        shown(ticker), spelled(position)));
}

std::vector<std::string> parse_fields(CsvCursor& cursor) {
  std::vector<std::string> fields;
  do {
    if (cursor.column() > CsvCursor::kMostColumns + 1)
      fail_at(cursor.position(),
              fmt::format("the header has more than {} tickers; is this a CSV file "
                          "with one column per ticker?",
                          CsvCursor::kMostColumns));
    fields.emplace_back(cursor.field());
  } while (cursor.comma());
  return fields;
}

std::vector<std::string> checked_tickers(std::span<const std::string> fields,
                                         const FilePosition& line) {
  if (fields.size() < 2) {
    const bool number =
        !fields[0].empty() && fields[0].find_first_not_of("0123456789") == std::string::npos;
    fail_at({line.file, line.line, 1},
            fmt::format("the header names no tickers, at line {}; write a first line such as "
                        "date,TICKER,TICKER{}",
                        line.line,
                        number ? " (an OR-Library file goes with sharpen solve --moments)" : ""));
  }
  std::unordered_map<std::string_view, Index> column_of;
  for (std::size_t j = 1; j < fields.size(); ++j) {
    const FilePosition position = {line.file, line.line, static_cast<Index>(j) + 1};
    check_ticker(fields[j], position);
    const auto [first, fresh] = column_of.try_emplace(fields[j], position.column);
    if (!fresh)
      fail_at(position,
              fmt::format("the ticker {} is repeated, at line {}, column {} and column {}; keep "
                          "one column per ticker",
                          shown(fields[j]), line.line, first->second, position.column));
  }
  return {fields.begin() + 1, fields.end()};
}

}  // namespace sharpen::market
