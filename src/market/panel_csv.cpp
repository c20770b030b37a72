#include "market/panel_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <unordered_map>

#include "base/input_file.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

using Fields = std::vector<std::string>;

// A line with too few or too many fields is the better explanation of a strange field in it.
void refuse_if_ragged(const CsvCursor& cursor, Index width) {
  const Index found = cursor.count_fields();
  if (found != width) fail_ragged(cursor, found, width);
}

// The name of the first column by which a wide file can say that it is one, whatever its tickers.
constexpr std::string_view kWideOnly = "period";

bool is_date_name(std::string_view text) {
  return is_one_of(text, {"", "date", "datetime", "day", "month", "time", "timestamp"});
}

bool is_ticker_name(std::string_view text) {
  return is_one_of(text, {"ticker", "symbol", "asset", "instrument"});
}

bool is_adjusted(std::string_view label) {
  return is_one_of(label, {"adj close", "adj_close", "adjclose", "adj. close", "adjusted close"});
}

// The columns of one stock, as data vendors call them.
bool is_label(std::string_view text) {
  return is_adjusted(text) || is_one_of(text, {"open", "high", "low", "close", "volume",
                                               "dividends", "stock splits", "capital gains"});
}

bool all_labels(std::span<const std::string> fields) {
  return !fields.empty() && std::all_of(fields.begin(), fields.end(), is_label);
}

bool is_long_header(const Fields& fields) {
  return fields.size() == 3 && !is_one_of(fields[0], {kWideOnly}) &&
         std::count_if(fields.begin(), fields.end(), is_ticker_name) == 1 &&
         std::count_if(fields.begin(), fields.end(), is_date_name) == 1;
}

PanelHeader long_header(const Fields& fields) {
  PanelHeader header{.long_layout = true, .width = 3};
  for (Index j = 0; j < 3; ++j) {
    const std::string& field = fields[at(j)];
    (is_date_name(field) ? header.date : is_ticker_name(field) ? header.ticker : header.value) = j;
  }
  return header;
}

// date,ticker,open,high,...: the long layout with more than one value.
void refuse_long_with_more(const Fields& fields, const FilePosition& line) {
  if (fields.size() < 4 || std::none_of(fields.begin(), fields.end(), is_ticker_name)) return;
  const bool known = std::all_of(fields.begin(), fields.end(), [](const std::string& field) {
    return is_date_name(field) || is_ticker_name(field) || is_label(field);
  });
  if (known)
    fail_at(line, fmt::format("the header has {} columns, at line {}, where the long layout has "
                              "three; keep the columns date,ticker,close",
                              fields.size(), line.line));
}

void refuse_one_stock(const Fields& fields, const FilePosition& line) {
  if (fields.size() < 3 || !is_date_name(fields[0]) || !all_labels(std::span(fields).subspan(1)))
    return;
  fail_at(line, fmt::format("the columns {}, {}{} are those of one stock, at line {}; keep the "
                            "date and the close, and head the close with its ticker",
                            shortened(fields[1]), shortened(fields[2]),
                            fields.size() > 3 ? ", ..." : "", line.line));
}

// The label whose columns hold the closing prices, if that is clear.
std::string closing_label(std::span<const std::string> labels, const FilePosition& line) {
  const auto find = [&](auto is_wanted) {
    const auto found = std::find_if(labels.begin(), labels.end(), is_wanted);
    return found == labels.end() ? std::string() : *found;
  };
  const bool one = std::all_of(labels.begin(), labels.end(),
                               [&](const std::string& label) { return label == labels[0]; });
  if (one) return labels[0];
  const std::string close =
      find([](const std::string& label) { return is_one_of(label, {"close"}); });
  const std::string adjusted = find([](const std::string& label) { return is_adjusted(label); });
  if (!close.empty() && !adjusted.empty())
    fail_at(line, fmt::format("the header has both {} and {}, at line {}; keep one of them: in "
                              "pandas, data[\"{}\"].to_csv(...)",
                              close, adjusted, line.line, adjusted));
  if (close.empty() && adjusted.empty())
    fail_at(line,
            fmt::format("the header has no closing prices, at line {}; keep one column per ticker",
                        line.line));
  return close.empty() ? adjusted : close;
}

// yfinance: `Price,Close,Close` above `Ticker,AAA,BBB`, or the other way round, and perhaps a
// line `Date,,` below. Leaves the cursor at the first row.
PanelHeader two_line_header(CsvCursor& cursor, const Fields& labels, const Fields& names,
                            Index names_line) {
  if (labels.size() != names.size())
    fail_at({cursor.name(), cursor.line()},
            fmt::format("line {} has {} fields and line {} has {}; give both lines of the header "
                        "one field per column",
                        cursor.line() - 1, labels.size(), cursor.line(), names.size()));
  const FilePosition names_place = {cursor.name(), names_line};
  const std::string wanted = closing_label(std::span(labels).subspan(1), names_place);
  cursor.end_line();

  PanelHeader header{.width = static_cast<Index>(labels.size())};
  Fields kept = {names[0]};
  for (std::size_t j = 1; j < labels.size(); ++j) {
    const bool keep = labels[j] == wanted;
    header.position.push_back(keep ? static_cast<Index>(kept.size()) - 1 : -1);
    if (keep) kept.push_back(names[j]);
  }
  header.tickers = checked_tickers(kept, names_place);
  if (header.tickers.size() + 1 == labels.size()) header.position.clear();

  CsvCursor ahead = cursor;
  if (ahead.finished()) return header;
  const Fields third = parse_fields(ahead);
  const bool index_name =
      is_date_name(third[0]) &&
      std::all_of(third.begin() + 1, third.end(), [](const auto& text) { return text.empty(); });
  if (index_name) {
    ahead.end_line();
    cursor = ahead;
  }
  return header;
}

}  // namespace

std::string DateColumn::parse(std::string_view text, const CsvCursor& cursor, Index width) {
  ParsedDate date = parse_date(text);
  const FilePosition position = cursor.position();
  if (date.format == DateFormat::none || (format_ != DateFormat::none && date.format != format_))
    refuse_if_ragged(cursor, width);
  if (text.empty())
    fail_at(position,
            fmt::format("the date is missing, at {}; every row has its date", spelled(position)));
  if (date.format == DateFormat::none)
    fail_at(
        position,
        fmt::format("{} {}, at {}; write dates as {}", shown(text), date.fault, spelled(position),
                    pattern(format_ == DateFormat::none ? DateFormat::day : format_)));
  if (format_ == DateFormat::none) {
    format_ = date.format;
    first_line_ = cursor.line();
  }
  if (date.format != format_)
    fail_at(position, fmt::format("the date {} is written as {} but line {} has {}, at {}; use one "
                                  "format in the whole file",
                                  shown(text), pattern(date.format), first_line_, pattern(format_),
                                  spelled(position)));
  return std::move(date.iso);
}

double CellReader::parse(std::string_view text, const CsvCursor& cursor, std::string_view ticker,
                         std::string_view date) const {
  const auto refuse = [&](const std::string& what, std::string_view remedy) {
    refuse_if_ragged(cursor, width);
    fail_at(cursor.position(),
            fmt::format("{}, at {} (ticker {}, {}); {}", what, spelled(cursor.position()),
                        shortened(ticker), date, remedy));
  };
  if (text.empty() || is_missing(text)) {
    if (cells == Cells::raw) return std::numeric_limits<double>::quiet_NaN();
    if (text.empty()) refuse("the value is missing", "fill it, or drop the ticker or the rows");
  }
  const std::optional<double> value = parse_number(text);
  if (!value) {
    const NumberFault fault = explain_number(text);
    refuse(fault.what, fault.remedy);
  }
  if (*value < least_value(kind, cells)) {
    const KindFault fault = below_least(kind);
    refuse(fmt::format("{} {}", shown(text), fault.what), fault.remedy);
  }
  return *value;
}

void fail_ragged(const CsvCursor& cursor, Index found, Index width) {
  const bool decimal_commas = found == 2 * width - 1 && cursor.separator_char() == ',';
  fail_at({cursor.name(), cursor.line(), std::min(found, width + 1)},
          fmt::format("line {} has {} where {} are expected, as in the header; {}", cursor.line(),
                      counted(found, "field"), width,
                      decimal_commas ? "if the numbers have decimal commas, write decimal points"
                                     : "give every row one field per column"));
}

void check_size(std::size_t rows, std::size_t columns, std::string_view file) {
  const std::size_t most = most_memory() / sizeof(double);
  if (columns == 0 || rows <= most / columns) return;
  fail_at({file},
          fmt::format(
              "{} rows of {} tickers do not fit into memory; split the file by dates or tickers",
              rows, columns));
}

Panel parse_panel(std::string_view text, std::string_view name, PanelKind kind, Cells cells) {
  try {
    CsvCursor cursor(text, name);
    PanelHeader header = parse_panel_header(cursor);
    if (cursor.finished())
      fail_at({name}, "has a header but no rows; one row per period is expected");
    Panel panel = header.long_layout ? parse_long_rows(cursor, header, kind, cells)
                                     : parse_wide_rows(cursor, std::move(header), kind, cells);
    check_kind(panel.values, kind, name);
    return panel;
  } catch (const std::bad_alloc&) {
    fail_at({name}, "does not fit into memory; split the file by dates or tickers");
  }
}

Panel read_panel(const std::filesystem::path& file, PanelKind kind, Cells cells) {
  const TextFile content(file);
  return parse_panel(content.text(), file.string(), kind, cells);
}

std::string panel_csv(const Panel& panel) {
  std::string out = is_ambiguous_header(panel.tickers) ? "period" : "date";
  for (const std::string& ticker : panel.tickers) out += "," + csv_field(ticker, " ");
  out += "\n";
  for (Index t = 0; t < panel.rows(); ++t) {
    out += panel.dates[at(t)];
    for (const double value : panel.matrix().row(t)) {
      out += ',';
      if (!std::isnan(value)) fmt::format_to(std::back_inserter(out), "{}", value);
    }
    out += "\n";
  }
  return out;
}

void write_panel(const Panel& panel, const std::filesystem::path& file) {
  if (file.extension() == ".gz")  // the reader would try to unpack it
    fail_at({file.string()},
            "the panel is written as plain CSV; give a name that does not end in .gz");
  write_file(file, panel_csv(panel));
}

void refuse_tabs(std::string_view first_field, const FilePosition& position) {
  if (first_field.find('\t') == std::string_view::npos) return;
  fail_at(position, fmt::format("the fields are separated by tabs, at line {}; save the file with "
                                "commas between fields and points in numbers",
                                position.line));
}

void check_ticker(std::string_view ticker, const FilePosition& position) {
  if (ticker.empty())
    fail_at(position,
            fmt::format("the ticker is empty, at {}; name it or delete it", spelled(position)));
  if (!is_plain_text(ticker))
    fail_at(position, fmt::format("the ticker {} holds control characters or is not UTF-8, at {}; "
                                  "save the file as plain UTF-8 text",
                                  shown(ticker), spelled(position)));
}

std::vector<std::string> parse_fields(CsvCursor& cursor) {
  std::vector<std::string> fields;
  do {
    if (cursor.column() > CsvCursor::kMostColumns + 1)
      fail_at(
          cursor.position(),
          fmt::format(
              "the header has more than {} tickers; is this a CSV file with one column per ticker?",
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
                        number ? " (an OR-Library file goes with ‹sharpen solve --moments›)" : ""));
  }
  std::unordered_map<std::string_view, Index> column_of;
  for (std::size_t j = 1; j < fields.size(); ++j) {
    const FilePosition position = {line.file, line.line, static_cast<Index>(j) + 1};
    check_ticker(fields[j], position);
    const auto [first, fresh] = column_of.try_emplace(fields[j], position.column);
    if (!fresh)
      fail_at(position, fmt::format("the ticker {} is repeated, at line {}, column {} and column "
                                    "{}; keep one column per ticker",
                                    shown(fields[j]), line.line, first->second, position.column));
  }
  return {fields.begin() + 1, fields.end()};
}

PanelHeader parse_panel_header(CsvCursor& cursor) {
  // Asked for its refusal of a blank first line; the text is not empty.
  static_cast<void>(cursor.finished());
  const FilePosition line = {cursor.name(), cursor.line(), 1};
  const Fields fields = parse_fields(cursor);
  refuse_tabs(fields[0], line);
  if (parse_date(fields[0]).format != DateFormat::none)
    fail_at(line, fmt::format("line 1 starts with the date {} but must be a header; add a first "
                              "line such as date,TICKER,TICKER",
                              shown(fields[0])));
  if (is_long_header(fields)) {
    cursor.end_line();
    return long_header(fields);
  }
  refuse_long_with_more(fields, line);

  CsvCursor ahead = cursor;
  ahead.end_line();
  const bool labels_first = all_labels(std::span(fields).subspan(1));
  if (!ahead.finished()) {
    const bool rows_follow = parse_date(CsvCursor(ahead).field()).format != DateFormat::none;
    if (!rows_follow) {
      const Fields second = parse_fields(ahead);
      if (labels_first) {
        cursor = ahead;
        return two_line_header(cursor, fields, second, 2);
      }
      if (all_labels(std::span(second).subspan(1))) {
        cursor = ahead;
        return two_line_header(cursor, second, fields, 1);
      }
    }
  }
  refuse_one_stock(fields, line);
  PanelHeader header{.width = static_cast<Index>(fields.size())};
  header.tickers = checked_tickers(fields, line);
  cursor.end_line();
  return header;
}

bool is_ambiguous_header(const std::vector<std::string>& tickers) {
  Fields fields = {"date"};
  fields.insert(fields.end(), tickers.begin(), tickers.end());
  return std::any_of(tickers.begin(), tickers.end(), is_ticker_name) ||
         all_labels(std::span(fields).subspan(1));
}

}  // namespace sharpen::market
