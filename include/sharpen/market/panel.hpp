// Panels: a date x ticker matrix, read from a CSV file. Two layouts are told apart by the header:
//
//   date,AAA,BBB            wide: first column the date, then one column per ticker;
//   2024-01-02,10.5,99      one row per period, oldest first.
//
//   date,ticker,close       long: these three columns in any order, under these or like names;
//   2024-01-02,AAA,10.5     rows in any order, each date and ticker at most once.
//
// Fields are separated by commas or semicolons and may be quoted (RFC 4180); UTF-8, with or
// without a byte order mark; lines end in LF or CRLF; a file whose name ends in .gz is unpacked.
// The header rows that yfinance writes (prices above tickers) are understood where they name one
// closing price per ticker. Dates are YYYY-MM-DD (a time of 00:00:00 is cut), YYYYMMDD, YYYY-MM or
// YYYYMM, one format per file, and are kept as YYYY-MM-DD or YYYY-MM.
// Nothing is guessed, skipped or filled: what does not fit is an InputError that says
// FILE:LINE:COLUMN (columns count fields from 1) and the remedy.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

struct Panel {
  std::vector<std::string> dates;          // (rows), strictly increasing
  std::vector<std::string> tickers;        // (n), distinct
  std::vector<double> values;              // (rows, n), row-major; NaN where there is no value
  std::vector<std::string> left_out = {};  // tickers that there were before columns were chosen

  Index rows() const { return static_cast<Index>(dates.size()); }
  Index n() const { return static_cast<Index>(tickers.size()); }
  ConstMat matrix() const { return {values.data(), rows(), n()}; }
  // As doubles: a panel with NaN equals none. What was left out is not part of it.
  bool operator==(const Panel& other) const {
    return dates == other.dates && tickers == other.tickers && values == other.values;
  }
};

enum class PanelKind {
  prices,         // p > 0
  returns,        // simple returns r >= -1
  gross_returns,  // 1 + r >= 0; zero is a total loss
};

// What the cells of a file may be.
enum class Cells {
  complete,  // every cell a value of the panel's kind
  raw,       // as files are, for cleaning (cleaning.hpp): a cell that is empty, NaN, NA, N/A, null
             // or the like is NaN, and prices may be zero or negative
};

// The least value a cell can have.
double least_value(PanelKind kind, Cells cells);

// Why a number below least_value() is refused, and the remedy.
struct KindFault {
  std::string_view what;
  std::string_view remedy;
};
KindFault below_least(PanelKind kind);

// A file of another kind passes every check of its cells; it is told by the whole, NaN left out.
void check_kind(std::span<const double> values, PanelKind kind, std::string_view file);

// The values as they stand in the file. Values that cannot be of this kind are errors; so is a
// whole panel that is evidently of another kind (gross returns or prices given as returns).
// Any readable file will do, pipes such as /dev/stdin included.
Panel read_panel(const std::filesystem::path& file, PanelKind kind, Cells cells = Cells::complete);
// The same from memory; `name` stands for the file in messages.
Panel parse_panel(std::string_view text, std::string_view name, PanelKind kind,
                  Cells cells = Cells::complete);

// The panel in the wide layout, in the fewest digits that read back to the same bits; NaN is an
// empty cell. Written under a temporary name in the same folder and then renamed. A file that
// cannot be written, or has a name that ends in .gz, is an InputError; nothing half-written is
// left.
void write_panel(const Panel& panel, const std::filesystem::path& file);
std::string panel_csv(const Panel& panel);

// Simple returns r from a panel of this kind. Prices lose their first row: row t is
// p(t + 1) / p(t) - 1, dated by the later day, and NaN where either price is. Throws InputError
// for prices with fewer than two rows or not positive, and for a return that overflows.
Panel simple_returns(const Panel& panel, PanelKind kind = PanelKind::prices);

// Throws InputError for a bound that select_dates cannot read, and for two in the wrong order.
void check_dates(const std::optional<std::string>& from, const std::optional<std::string>& to);

// Rows from `from` to `to`, both inclusive and optional: YYYY-MM-DD (or YYYYMMDD), YYYY-MM (or
// YYYYMM), YYYY. Dates are compared to the precision both sides have: `to` 2020-03 keeps all of
// March. No rows left is an InputError that names the panel's range.
Panel select_dates(const Panel& panel, const std::optional<std::string>& from,
                   const std::optional<std::string>& to);

// The named columns, in the order given. Unknown (close names are suggested), repeated or no
// tickers at all are InputErrors.
Panel select_tickers(const Panel& panel, std::span<const std::string> tickers);
// All but the named columns, which may have been left out before. Unknown tickers, and none left,
// are InputErrors.
Panel exclude_tickers(const Panel& panel, std::span<const std::string> tickers);

}  // namespace sharpen::market
