// A panel's CSV file: what its first lines say, its layout and the tickers that head its columns;
// and the rows after them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.hpp"
#include "market/calendar.hpp"
#include "sharpen/market/panel.hpp"

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

Panel parse_wide_rows(CsvCursor& cursor, PanelHeader header, PanelKind kind, Cells cells);
Panel parse_long_rows(CsvCursor& cursor, const PanelHeader& header, PanelKind kind, Cells cells);

// Dates of one format per file: the first one fixes it.
class DateColumn {
 public:
  // The date in ISO form. `text` is the field at the cursor.
  std::string parse(std::string_view text, const CsvCursor& cursor, Index width);

 private:
  DateFormat format_ = DateFormat::none;
  Index first_line_ = 0;
};

// A cell that is not plain: quoted, missing, or wrong. `text` is the field at the cursor; ticker
// and date are named in the message.
struct CellReader {
  PanelKind kind;
  Cells cells;
  Index width;

  double parse(std::string_view text, const CsvCursor& cursor, std::string_view ticker,
               std::string_view date) const;
};

// Refuses a row of `found` fields where `width` are expected.
[[noreturn]] void fail_ragged(const CsvCursor& cursor, Index found, Index width);

// Refuses a panel whose cells would not fit into memory.
void check_size(std::size_t rows, std::size_t columns, std::string_view file);

}  // namespace sharpen::market
