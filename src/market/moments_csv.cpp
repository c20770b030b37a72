#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <span>
#include <unordered_map>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "market/panel_csv.hpp"
#include "sharpen/market/moments.hpp"

namespace sharpen::market {

namespace {

constexpr double kSymmetryTolerance = 1e-8;

using Columns = std::unordered_map<std::string, Index>;

[[noreturn]] void fail_count(const CsvCursor& cursor, Index found, Index expected,
                             std::string_view what) {
  fail_at(
      {cursor.name(), cursor.line(), std::min(found, expected + 1)},
      fmt::format("line {} has {} where {} are expected ({}); give every row one field per column",
                  cursor.line(), counted(found, "field"), expected, what));
}

// The number at the cursor; describe() says what it is, and is only asked when it is wrong.
template <class Describe>
double parse_cell(CsvCursor& cursor, const Describe& describe) {
  const std::string_view text = cursor.field();
  if (const auto value = parse_number(text)) return *value;
  const FilePosition position = cursor.position();
  if (text.empty())
    fail_at(position, fmt::format("the value is missing, at {} ({}); fill it or drop the ticker",
                                  spelled(position), describe()));
  fail_number(position, text, describe());
}

// A header is known by its words: a first row with a misspelt number must not pass for one.
bool is_mean_header(std::string_view first, std::string_view second) {
  if (first.empty()) return true;  // no ticker is empty
  if (parse_number(second)) return false;
  return is_one_of(first, {"asset", "assets", "ticker", "tickers", "symbol", "name"}) ||
         is_one_of(second, {"mean", "means", "mu", "return", "expected_return", "expected return",
                            "signal", "value"});
}

// Steps over the first line if it is a header.
void skip_mean_header(CsvCursor& cursor) {
  if (cursor.finished()) return;
  CsvCursor ahead = cursor;
  const std::string first(ahead.field());
  if (ahead.count_fields() != 2) return;
  ahead.comma();
  if (!is_mean_header(first, ahead.field())) return;
  ahead.end_line();
  cursor = ahead;
}

struct Means {
  std::vector<std::string> tickers;
  std::vector<double> mean;
  Columns line_of;
};

Means parse_means(std::string_view text, std::string_view name) {
  CsvCursor cursor(text, name);
  Means out;
  skip_mean_header(cursor);
  while (!cursor.finished()) {
    const std::string ticker(cursor.field());
    const FilePosition position = cursor.position();
    const Index found = cursor.count_fields();
    if (found == 1) refuse_tabs(ticker, position);
    if (found != 2) fail_count(cursor, found, 2, "ticker and mean");
    check_ticker(ticker, position);
    const auto [first, fresh] = out.line_of.try_emplace(ticker, cursor.line());
    if (!fresh)
      fail_at(
          position,
          fmt::format("the ticker {} is repeated, at line {} and line {}; give every ticker once",
                      shown(ticker), first->second, cursor.line()));
    cursor.comma();
    out.mean.push_back(parse_cell(cursor, [&] { return "mean of ticker " + shortened(ticker); }));
    out.tickers.push_back(ticker);
    cursor.end_line();
  }
  if (out.tickers.empty())
    fail_at({name}, "has a header but no rows; one row per asset is expected");
  return out;
}

// A covariance as it stands in its file: rows and columns in their own orders.
struct CovarianceTable {
  std::string_view name;
  std::vector<std::string> tickers;  // of the columns
  Columns column_of;                 // ticker -> column, from 0
  Columns row_of;                    // ticker -> row, from 0; the same tickers
  std::vector<double> values;
};

class CovarianceParser {
 public:
  CovarianceParser(std::string_view text, std::string_view name) : cursor_(text, name) {
    table_.name = name;
  }

  CovarianceTable parse() {
    parse_header();
    while (!cursor_.finished()) parse_row();
    for (const std::string& ticker : table_.tickers)
      if (!table_.row_of.contains(ticker))
        fail_at({table_.name}, fmt::format("the ticker {} has a column (line 1, column {}) but no "
                                           "row; give one row per column",
                                           shown(ticker), table_.column_of.at(ticker) + 2));
    return std::move(table_);
  }

 private:
  void parse_header() {
    static_cast<void>(cursor_.finished());  // refuses a blank first line
    const FilePosition line = {cursor_.name(), cursor_.line(), 1};
    const std::vector<std::string> fields = parse_fields(cursor_);
    refuse_tabs(fields[0], line);
    table_.tickers = checked_tickers(fields, line);
    cursor_.end_line();
    for (const std::string& ticker : table_.tickers)
      table_.column_of.emplace(ticker, static_cast<Index>(table_.column_of.size()));
  }

  void parse_row() {
    const std::string ticker(cursor_.field());
    const Index width = static_cast<Index>(table_.tickers.size()) + 1;
    const Index found = cursor_.count_fields();
    if (found != width) fail_count(cursor_, found, width, "a ticker and one covariance per column");
    check_ticker(ticker, cursor_.position());
    if (!table_.column_of.contains(ticker))
      fail_at(cursor_.position(),
              fmt::format("the ticker {} has a row but no column, at {}; give one column per row",
                          shown(ticker), spelled(cursor_.position())));
    const auto [first, fresh] =
        table_.row_of.try_emplace(ticker, static_cast<Index>(table_.row_of.size()));
    if (!fresh)
      fail_at(
          cursor_.position(),
          fmt::format("the ticker {} is repeated, at line {} and line {}; give one row per ticker",
                      shown(ticker), first->second + 2, cursor_.line()));
    for (const std::string& other : table_.tickers) {
      cursor_.comma();
      const double value = parse_cell(cursor_, [&] {
        return fmt::format("covariance of {} and {}", shortened(ticker), shortened(other));
      });
      if (other == ticker && value < 0.0)
        fail_at(cursor_.position(),
                fmt::format("the variance {} of {} is negative, at {}; correct it", value,
                            shortened(ticker), spelled(cursor_.position())));
      table_.values.push_back(value);
    }
    cursor_.end_line();
  }

  CsvCursor cursor_;
  CovarianceTable table_;
};

void check_same_tickers(const Means& means, std::string_view mean_name,
                        const CovarianceTable& table) {
  for (const std::string& ticker : means.tickers)
    if (!table.column_of.contains(ticker))
      fail_at({mean_name, means.line_of.at(ticker), 1},
              fmt::format("the ticker {} has a mean, at line {}, but no covariance in {}; name the "
                          "same tickers in both files",
                          shown(ticker), means.line_of.at(ticker), shown_file(table.name)));
  for (const std::string& ticker : table.tickers)
    if (!means.line_of.contains(ticker))
      fail_at({table.name, 1, table.column_of.at(ticker) + 2},
              fmt::format("the ticker {} has a covariance, at line 1, column {}, but no mean in "
                          "{}; name the same tickers in both files",
                          shown(ticker), table.column_of.at(ticker) + 2, shown_file(mean_name)));
}

// The table seen in the order of the means.
class OrderedCovariance {
 public:
  OrderedCovariance(const CovarianceTable& table, std::span<const std::string> tickers)
      : table_(table), tickers_(tickers) {
    for (const std::string& ticker : tickers) {
      row_.push_back(table.row_of.at(ticker));
      column_.push_back(table.column_of.at(ticker));
    }
  }

  // (Sigma_ij + Sigma_ji) / 2, after a check that they agree.
  double symmetric_entry(std::size_t i, std::size_t j) const {
    const double ij = entry(i, j);
    const double ji = entry(j, i);
    if (ij == ji) return ij;
    const double scale = std::sqrt(entry(i, i)) * std::sqrt(entry(j, j));
    const double allowed = kSymmetryTolerance * std::max({scale, std::abs(ij), std::abs(ji)});
    if (!(std::abs(ij - ji) <= allowed)) fail_asymmetric(i, j);
    return 0.5 * ij + 0.5 * ji;
  }

 private:
  double entry(std::size_t i, std::size_t j) const {
    return table_.values[at(row_[i]) * row_.size() + at(column_[j])];
  }
  FilePosition position(std::size_t i, std::size_t j) const {
    return {table_.name, row_[i] + 2, column_[j] + 2};
  }
  [[noreturn]] void fail_asymmetric(std::size_t i, std::size_t j) const {
    fail_at(position(i, j),
            fmt::format("the covariance is not symmetric: {} and {} have {} at {} but {} at {}; "
                        "correct one of the two",
                        shortened(tickers_[i]), shortened(tickers_[j]), entry(i, j),
                        spelled(position(i, j)), entry(j, i), spelled(position(j, i))));
  }

  const CovarianceTable& table_;
  std::span<const std::string> tickers_;
  std::vector<Index> row_;
  std::vector<Index> column_;
};

Moments assemble(Means means, std::string_view mean_name, const CovarianceTable& table) {
  check_same_tickers(means, mean_name, table);
  Moments out{std::move(means.tickers), std::move(means.mean), {}};
  const std::size_t n = out.tickers.size();
  const OrderedCovariance ordered(table, out.tickers);
  out.covariance.resize(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j)
      out.covariance[i * n + j] = out.covariance[j * n + i] = ordered.symmetric_entry(i, j);
  return out;
}

}  // namespace

Moments parse_moments_csv(std::string_view mean_text, std::string_view mean_name,
                          std::string_view covariance_text, std::string_view covariance_name) {
  try {
    return assemble(parse_means(mean_text, mean_name), mean_name,
                    CovarianceParser(covariance_text, covariance_name).parse());
  } catch (const std::bad_alloc&) {
    fail_at({covariance_name}, "does not fit into memory; give fewer assets");
  }
}

Moments read_moments_csv(const std::filesystem::path& mean_file,
                         const std::filesystem::path& covariance_file) {
  const TextFile mean(mean_file);
  const TextFile covariance(covariance_file);
  return parse_moments_csv(mean.text(), mean_file.string(), covariance.text(),
                           covariance_file.string());
}

}  // namespace sharpen::market
