// The rows of a panel's file, after its header.
#pragma once

#include <string>
#include <string_view>

#include "market/calendar.hpp"
#include "market/panel_header.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

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
