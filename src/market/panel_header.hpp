// What the first lines of a CSV file say: its layout, and the tickers that head its columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/csv.hpp"

namespace sharpen::market {

struct PanelHeader {
  bool long_layout = false;
  Index width = 0;  // fields of every row
  // Wide: the tickers, and for every field after the date the position of its ticker, or -1 for
  // one that is passed over; empty if all are kept in order.
  std::vector<std::string> tickers = {};
  std::vector<Index> position = {};
  // Long: field numbers from 0.
  Index date = 0, ticker = 0, value = 0;
};

// Reads the header and leaves the cursor at the first row. Headers of two or three lines, prices
// above tickers or below, are those of yfinance.
PanelHeader parse_panel_header(CsvCursor& cursor);

// Whether a header date,TICKERS... would be taken for another layout; "period" never is.
bool is_ambiguous_header(const std::vector<std::string>& tickers);

// All fields of the line at the cursor, which is left at the end of the line; more than
// CsvCursor::kMostColumns beside the first are refused.
std::vector<std::string> parse_fields(CsvCursor& cursor);

// The tickers of a header line, given its fields: all but the first. At least one, distinct, none
// empty, all plain text.
std::vector<std::string> checked_tickers(std::span<const std::string> fields,
                                         const FilePosition& line);

// Refuses a first field that shows a file separated by tabs.
void refuse_tabs(std::string_view first_field, const FilePosition& position);

// Refuses a ticker at this position that is empty or not plain text.
void check_ticker(std::string_view ticker, const FilePosition& position);

}  // namespace sharpen::market
