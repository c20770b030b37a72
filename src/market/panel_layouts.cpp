#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "market/panel_csv.hpp"

namespace sharpen::market {

namespace {

// A long file may name a million dates and a million tickers once each: the table it would fill is
// refused unless at least one cell in a hundred has a row, or it is small.
constexpr std::size_t kSmallTable = 10'000'000;
constexpr std::size_t kLeastFilled = 100;

struct Row {
  Index date, ticker;  // in order of appearance
  double value;
  Index line;
};

class LongParser {
 public:
  LongParser(CsvCursor& cursor, const PanelHeader& header, PanelKind kind, Cells cells)
      : cursor_(cursor), header_(header), cell_{kind, cells, header.width} {}

  Panel parse() {
    while (!cursor_.finished()) parse_row();
    check_filling();
    return table();
  }

 private:
  void parse_row();
  Index date_number(std::string_view text);
  Index ticker_number(const std::string& ticker, const FilePosition& position);
  void check_filling() const;
  Panel table() const;
  void refuse_repeated(const Row& row, const std::vector<Index>& position,
                       const Panel& panel) const;
  void refuse_missing(const Panel& panel, const std::vector<bool>& filled) const;

  CsvCursor& cursor_;
  const PanelHeader& header_;
  CellReader cell_;
  DateColumn date_;
  std::vector<std::string> dates_, tickers_;
  std::unordered_map<std::string, Index> date_of_text_;  // as written
  std::unordered_map<std::string, Index> date_of_iso_;
  std::unordered_map<std::string, Index> ticker_of_;
  std::vector<Row> rows_;
};

void LongParser::parse_row() {
  const Index found = cursor_.count_fields();
  if (found != header_.width) fail_ragged(cursor_, found, header_.width);
  Row row{.date = 0, .ticker = 0, .value = 0.0, .line = cursor_.line()};
  // The value is read last, whatever column it is in: its message names ticker and date.
  CsvCursor value_cursor = cursor_;
  for (Index j = 0; j < header_.width; ++j) {
    if (j > 0) cursor_.comma();
    if (j == header_.value) value_cursor = cursor_;
    const std::string field(cursor_.field());
    if (j == header_.date) row.date = date_number(field);
    if (j == header_.ticker) row.ticker = ticker_number(field, cursor_.position());
  }
  const std::string text(value_cursor.field());
  row.value = cell_.parse(text, value_cursor, tickers_[static_cast<std::size_t>(row.ticker)],
                          dates_[static_cast<std::size_t>(row.date)]);
  rows_.push_back(row);
  cursor_.end_line();
}

Index LongParser::date_number(std::string_view text) {
  const auto known = date_of_text_.find(std::string(text));
  if (known != date_of_text_.end()) return known->second;
  std::string iso = date_.parse(text, cursor_, header_.width);
  const auto [place, fresh] = date_of_iso_.try_emplace(iso, static_cast<Index>(dates_.size()));
  if (fresh) dates_.push_back(std::move(iso));
  date_of_text_.emplace(text, place->second);
  return place->second;
}

Index LongParser::ticker_number(const std::string& ticker, const FilePosition& position) {
  const auto known = ticker_of_.find(ticker);
  if (known != ticker_of_.end()) return known->second;
  check_ticker(ticker, position);
  if (static_cast<Index>(tickers_.size()) >= CsvCursor::kMostColumns)
    fail_at(position, fmt::format("more than {} tickers, at line {}; is this a file of prices?",
                                  CsvCursor::kMostColumns, position.line));
  tickers_.push_back(ticker);
  ticker_of_.emplace(ticker, static_cast<Index>(tickers_.size()) - 1);
  return static_cast<Index>(tickers_.size()) - 1;
}

void LongParser::check_filling() const {
  check_size(dates_.size(), tickers_.size(), cursor_.name());
  const std::size_t cells = dates_.size() * tickers_.size();
  if (cells > kSmallTable && cells / kLeastFilled > rows_.size())
    fail_at({cursor_.name()},
            fmt::format("{} rows name {} dates and {} tickers, which leaves more than 99 % of the "
                        "table empty; is the first line date,ticker,close?",
                        rows_.size(), dates_.size(), tickers_.size()));
}

Panel LongParser::table() const {
  std::vector<Index> order(dates_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return dates_[static_cast<std::size_t>(a)] < dates_[static_cast<std::size_t>(b)];
  });
  std::vector<Index> position(order.size());
  Panel panel{{}, tickers_, {}};
  for (std::size_t t = 0; t < order.size(); ++t) {
    position[static_cast<std::size_t>(order[t])] = static_cast<Index>(t);
    panel.dates.push_back(dates_[static_cast<std::size_t>(order[t])]);
  }
  const std::size_t cells = dates_.size() * tickers_.size();
  panel.values.assign(cells, std::numeric_limits<double>::quiet_NaN());
  std::vector<bool> filled(cells);
  for (const Row& row : rows_) {
    const auto at = static_cast<std::size_t>(
        position[static_cast<std::size_t>(row.date)] * panel.n() + row.ticker);
    if (filled[at]) refuse_repeated(row, position, panel);
    filled[at] = true;
    panel.values[at] = row.value;
  }
  if (cell_.cells == Cells::complete) refuse_missing(panel, filled);
  return panel;
}

void LongParser::refuse_repeated(const Row& row, const std::vector<Index>& position,
                                 const Panel& panel) const {
  const auto first = std::find_if(rows_.begin(), rows_.end(), [&](const Row& other) {
    return other.date == row.date && other.ticker == row.ticker;
  });
  const auto t = static_cast<std::size_t>(position[static_cast<std::size_t>(row.date)]);
  fail_at({cursor_.name(), row.line},
          fmt::format("the ticker {} has two rows for {}, at line {} and line {}; keep one",
                      shown(tickers_[static_cast<std::size_t>(row.ticker)]), panel.dates[t],
                      first->line, row.line));
}

void LongParser::refuse_missing(const Panel& panel, const std::vector<bool>& filled) const {
  const auto gap = std::find(filled.begin(), filled.end(), false);
  if (gap == filled.end()) return;
  const Index at = gap - filled.begin();
  fail_at({cursor_.name()},
          fmt::format("the ticker {} has no row for {}; fill it, or drop the ticker or the date",
                      shown(tickers_[static_cast<std::size_t>(at % panel.n())]),
                      panel.dates[static_cast<std::size_t>(at / panel.n())]));
}

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
    fail_at(cursor_.position(), fmt::format("the dates are not sorted: {} at line {} comes after "
                                            "{} at line {}; sort the rows by date, oldest first",
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

Panel parse_long_rows(CsvCursor& cursor, const PanelHeader& header, PanelKind kind, Cells cells) {
  return LongParser(cursor, header, kind, cells).parse();
}

Panel parse_wide_rows(CsvCursor& cursor, PanelHeader header, PanelKind kind, Cells cells) {
  return WideParser(cursor, std::move(header), kind, cells).parse();
}

}  // namespace sharpen::market
