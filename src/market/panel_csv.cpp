#include "market/panel_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "base/number.hpp"
#include "base/text_file.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

// A line with too few or too many fields is the better explanation of a strange field in it.
void refuse_if_ragged(const CsvCursor& cursor, Index width) {
  const Index found = cursor.count_fields();
  if (found != width) fail_ragged(cursor, found, width);
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
    fail_at(position,
            fmt::format("the date {} is written as {} but line {} has {}, at {}; use one format "
                        "in the whole file",
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
          fmt::format("{} rows of {} tickers do not fit into memory; split the file by dates "
                      "or tickers",
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

}  // namespace sharpen::market
