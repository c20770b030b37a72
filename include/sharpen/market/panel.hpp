// Panels: a date x ticker matrix, read strictly from a wide CSV file.
//
//   date,AAA,BBB            first column the date, then one column per ticker;
//   2024-01-02,10.5,99      one row per period, oldest first.
//
// Fields are separated by commas and may be quoted (RFC 4180); UTF-8, with or without a byte
// order mark; lines end in LF or CRLF. Dates are YYYY-MM-DD (a time of 00:00:00 is cut),
// YYYYMMDD, YYYY-MM or YYYYMM, one format per file, and are kept as YYYY-MM-DD or YYYY-MM.
// Nothing is guessed, skipped or filled: a cell that is missing or not a finite decimal number
// is an InputError that says FILE:LINE:COLUMN (columns count fields from 1) and the remedy.
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
  std::vector<std::string> dates;    // (rows), strictly increasing
  std::vector<std::string> tickers;  // (n), distinct
  std::vector<double> values;        // (rows, n), row-major, finite

  Index rows() const { return static_cast<Index>(dates.size()); }
  Index n() const { return static_cast<Index>(tickers.size()); }
  ConstMat matrix() const { return {values.data(), rows(), n()}; }
  bool operator==(const Panel&) const = default;
};

enum class PanelKind {
  prices,         // p > 0
  returns,        // simple returns r >= -1
  gross_returns,  // 1 + r >= 0; zero is a total loss
};

// The values as they stand in the file. Values that cannot be of this kind are errors; so is a
// whole panel that is evidently of another kind (gross returns or prices given as returns).
// Any readable file will do, pipes such as /dev/stdin included.
Panel read_wide_csv(const std::filesystem::path& file, PanelKind kind);
// The same from memory; `name` stands for the file in messages.
Panel parse_wide_csv(std::string_view text, std::string_view name, PanelKind kind);

// Simple returns r from a panel of this kind. Prices lose their first row: row t is
// p(t + 1) / p(t) - 1, dated by the later day. Throws InputError for prices with fewer than two
// rows and for a return that overflows.
Panel simple_returns(const Panel& panel, PanelKind kind = PanelKind::prices);

// Rows from `from` to `to`, both inclusive and optional: YYYY-MM-DD (or YYYYMMDD), YYYY-MM (or
// YYYYMM), YYYY. Dates are compared to the precision both sides have: `to` 2020-03 keeps all of
// March. No rows left is an InputError that names the panel's range.
Panel select_dates(const Panel& panel, const std::optional<std::string>& from,
                   const std::optional<std::string>& to);

// The named columns, in the order given. Unknown (close names are suggested), repeated or no
// tickers at all are InputErrors.
Panel select_tickers(const Panel& panel, std::span<const std::string> tickers);

}  // namespace sharpen::market
