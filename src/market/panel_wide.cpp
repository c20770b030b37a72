#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "market/panel_csv.hpp"

namespace sharpen::market {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

class WideParser {
 public:
  WideParser(CsvCursor& cursor, PanelHeader header, PanelKind kind, Cells cells)
      : cursor_(cursor),
        position_(std::move(header.position)),
        cell_{kind, cells, header.width},
        least_(least_value(kind, cells)),
        first_line_(cursor.line()) {
    panel_.tickers = std::move(header.tickers);
  }

  Panel parse() {
    reserve();
    while (!cursor_.finished()) {
      parse_row_date();
      const std::size_t start = panel_.values.size();
      panel_.values.resize(start + panel_.tickers.size());
      double* const out = panel_.values.data() + start;
      if (position_.empty()) {
        parse_cells(out);
      } else {
        parse_some_cells(out);
      }
      if (cursor_.comma()) fail_ragged(cursor_, cursor_.count_fields(), cell_.width);
      cursor_.end_line();
    }
    return std::move(panel_);
  }

 private:
  void reserve();
  void parse_row_date();
  void parse_cells(double* out);
  void parse_some_cells(double* out);
  double parse_careful_cell(std::size_t j) {
    return cell_.parse(cursor_.field(), cursor_, panel_.tickers[j], panel_.dates.back());
  }

  CsvCursor& cursor_;
  std::vector<Index> position_;
  CellReader cell_;
  double least_;
  Index first_line_;
  DateColumn date_;
  Panel panel_;
};

// Rows are about as long as the first one; a cell takes two bytes at least, or one if it may be
// missing.
void WideParser::reserve() {
  const std::size_t bytes = cursor_.bytes_left();
  const std::size_t row_bytes = cursor_.line_text().size() + 1;
  const std::size_t rows = bytes / row_bytes + bytes / row_bytes / 16 + 1;
  check_size(bytes / row_bytes, panel_.tickers.size(), cursor_.name());
  panel_.dates.reserve(rows);
  panel_.values.reserve(std::min(rows * panel_.tickers.size(), bytes + 1));
}

void WideParser::parse_row_date() {
  std::string iso = date_.parse(cursor_.field(), cursor_, cell_.width);
  auto& dates = panel_.dates;
  if (!dates.empty() && dates.back() >= iso) {
    const auto earlier = std::lower_bound(dates.begin(), dates.end(), iso);
    if (*earlier == iso)
      fail_at(cursor_.position(),
              fmt::format("the date {} is repeated, at line {} and line {}; keep one row per date",
                          iso, earlier - dates.begin() + first_line_, cursor_.line()));
    fail_at(
        cursor_.position(),
        fmt::format("the dates are not sorted: {} at line {} comes after {} at line {}; sort the "
                    "rows by date, oldest first",
                    iso, cursor_.line(), dates.back(), cursor_.line() - 1));
  }
  dates.push_back(std::move(iso));
}

// The hot loop: plain numbers between separators are parsed where they stand. Anything else, right
// or wrong, goes to parse_careful_cell.
void WideParser::parse_cells(double* out) {
  const std::size_t n = panel_.tickers.size();
  const char* const end = cursor_.end();
  const char separator = cursor_.separator_char();
  for (std::size_t j = 0; j < n; ++j) {
    if (!cursor_.comma()) fail_ragged(cursor_, cursor_.count_fields(), cell_.width);
    const auto [stop, error] = fast_float::from_chars(cursor_.at(), end, out[j]);
    const bool whole = stop == end || *stop == separator || *stop == '\n' || *stop == '\r';
    const bool short_enough = stop - cursor_.at() <= Index{CsvCursor::kMostFieldBytes};
    // Written so that NaN is refused.
    if (error == std::errc() && whole && short_enough && out[j] >= least_ && out[j] <= kLargest)
      cursor_.advance(stop, 0);
    else
      out[j] = parse_careful_cell(j);
  }
}

// Some columns are passed over.
void WideParser::parse_some_cells(double* out) {
  for (const Index position : position_) {
    if (!cursor_.comma()) fail_ragged(cursor_, cursor_.count_fields(), cell_.width);
    if (position >= 0) {
      out[position] = parse_careful_cell(static_cast<std::size_t>(position));
    } else {
      cursor_.field();
    }
  }
}

}  // namespace

Panel parse_wide_rows(CsvCursor& cursor, PanelHeader header, PanelKind kind, Cells cells) {
  return WideParser(cursor, std::move(header), kind, cells).parse();
}

}  // namespace sharpen::market
