#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

#include "market/calendar.hpp"
#include "market/csv.hpp"
#include "market/number.hpp"
#include "market/text_file.hpp"
#include "market/ticker_row.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// The least value a panel of this kind can hold.
double least_value(PanelKind kind) {
  switch (kind) {
    case PanelKind::prices: return std::numeric_limits<double>::denorm_min();
    case PanelKind::returns: return -1.0;
    case PanelKind::gross_returns: return 0.0;
  }
  return -kLargest;
}

// Why a number below least_value() is refused, and the remedy.
std::string_view below_least(PanelKind kind) {
  switch (kind) {
    case PanelKind::prices:
      return "is not a price: prices are positive; correct it, or give returns as --returns";
    case PanelKind::returns:
      return "is not a simple return: no asset loses more than all of its value (-1); write 0.01 "
             "for 1 %, or did you mean --prices or --returns with --gross?";
    case PanelKind::gross_returns:
      return "is not a gross return 1 + r: no asset loses more than all of its value (0); leave "
             "out --gross if these are simple returns r";
  }
  return "";
}

class PanelParser {
 public:
  PanelParser(std::string_view text, std::string_view name, PanelKind kind)
      : cursor_(text, name), kind_(kind), least_(least_value(kind)) {}

  Panel parse() {
    parse_header();
    if (cursor_.finished())
      fail({cursor_.name()}, "has a header but no rows; one row per period is expected");
    reserve();
    while (!cursor_.finished()) {
      parse_row_date();
      parse_cells();
      cursor_.end_line();
    }
    check_kind();
    return std::move(panel_);
  }

 private:
  void parse_header();
  void reserve();
  void parse_row_date();
  void check_order(const std::string& iso) const;
  void parse_cells();
  double parse_careful_cell(std::size_t j);
  void check_kind() const;
  [[noreturn]] void fail_cell(std::size_t j, const std::string& what,
                              std::string_view remedy) const;
  [[noreturn]] void fail_ragged(Index found) const;

  Index width() const { return panel_.n() + 1; }

  CsvCursor cursor_;
  PanelKind kind_;
  double least_;
  DateFormat format_ = DateFormat::none;
  Panel panel_;
};

void PanelParser::parse_header() {
  // Asked for its refusal of a blank first line; the text is not empty.
  static_cast<void>(cursor_.finished());
  const std::string first(cursor_.field());
  refuse_other_separators(first, cursor_.place());
  if (parse_date(first).format != DateFormat::none)
    fail(cursor_.place(),
         fmt::format("line 1 starts with the date {} but must be a header; add a first line such "
                     "as date,TICKER,TICKER",
                     shown(first)));
  panel_.tickers = parse_ticker_row(cursor_);
  cursor_.end_line();
}

// Rows are about as long as the first one; a cell takes two bytes at least.
void PanelParser::reserve() {
  const std::size_t bytes = cursor_.bytes_left();
  const std::size_t row_bytes = cursor_.line_text().size() + 1;
  const std::size_t rows = bytes / row_bytes + bytes / row_bytes / 16 + 1;
  panel_.dates.reserve(rows);
  panel_.values.reserve(std::min(rows * panel_.tickers.size(), bytes / 2 + 1));
}

void PanelParser::parse_row_date() {
  const std::string_view text = cursor_.field();
  ParsedDate date = parse_date(text);
  if (date.format == DateFormat::none || (format_ != DateFormat::none && date.format != format_)) {
    const Index found = cursor_.count_fields();
    if (found != width()) fail_ragged(found);
  }
  if (text.empty())
    fail(cursor_.place(), fmt::format("the date is missing, at {}; every row starts with its date",
                                      spelled(cursor_.place())));
  if (date.format == DateFormat::none)
    fail(cursor_.place(),
         fmt::format("{} {}, at {}; write dates as {}", shown(text), date.fault,
                     spelled(cursor_.place()),
                     pattern(format_ == DateFormat::none ? DateFormat::day : format_)));
  if (format_ == DateFormat::none) format_ = date.format;
  if (date.format != format_)
    fail(
        cursor_.place(),
        fmt::format("the date {} is written as {} but line 2 has {}, at {}; use one format in the "
                    "whole file",
                    shown(text), pattern(date.format), pattern(format_), spelled(cursor_.place())));
  check_order(date.iso);
  panel_.dates.push_back(std::move(date.iso));
}

void PanelParser::check_order(const std::string& iso) const {
  const auto& dates = panel_.dates;
  if (dates.empty() || dates.back() < iso) return;
  const auto earlier = std::lower_bound(dates.begin(), dates.end(), iso);
  if (*earlier == iso)
    fail(cursor_.place(),
         fmt::format("the date {} is repeated, at line {} and line {}; keep one row per date", iso,
                     earlier - dates.begin() + 2, cursor_.line()));
  fail(cursor_.place(),
       fmt::format("the dates are not sorted: {} at line {} comes after {} at line {}; sort the "
                   "rows by date, oldest first",
                   iso, cursor_.line(), dates.back(), cursor_.line() - 1));
}

// The hot loop: plain numbers between commas are parsed where they stand. Anything else, right or
// wrong, goes to parse_careful_cell.
void PanelParser::parse_cells() {
  const std::size_t n = panel_.tickers.size();
  const std::size_t start = panel_.values.size();
  panel_.values.resize(start + n);
  double* const out = panel_.values.data() + start;
  const char* const end = cursor_.end();
  for (std::size_t j = 0; j < n; ++j) {
    if (!cursor_.comma()) fail_ragged(cursor_.count_fields());
    const auto [stop, error] = fast_float::from_chars(cursor_.at(), end, out[j]);
    const bool whole = stop == end || *stop == ',' || *stop == '\n' || *stop == '\r';
    const bool short_enough = stop - cursor_.at() <= Index{CsvCursor::kMostFieldBytes};
    // Written so that NaN is refused.
    if (error == std::errc() && whole && short_enough && out[j] >= least_ && out[j] <= kLargest)
      cursor_.advance(stop, 0);
    else
      out[j] = parse_careful_cell(j);
  }
  if (cursor_.comma()) fail_ragged(cursor_.count_fields());
}

double PanelParser::parse_careful_cell(std::size_t j) {
  const std::string_view text = cursor_.field();
  if (text.empty()) fail_cell(j, "the value is missing", "fill it, or drop the ticker or the rows");
  const std::optional<double> value = parse_number(text);
  if (!value) {
    const NumberFault fault = explain_number(text);
    fail_cell(j, fault.what, fault.remedy);
  }
  if (*value < least_) {
    const std::string_view why = below_least(kind_);
    const auto cut = why.find(';');
    fail_cell(j, shown(text) + " " + std::string(why.substr(0, cut)), why.substr(cut + 2));
  }
  return *value;
}

// A line with too few or too many fields is the better explanation of a strange cell.
void PanelParser::fail_cell(std::size_t j, const std::string& what, std::string_view remedy) const {
  const Index found = cursor_.count_fields();
  if (found != width()) fail_ragged(found);
  fail(cursor_.place(), fmt::format("{}, at {} (ticker {}, {}); {}", what, spelled(cursor_.place()),
                                    shortened(panel_.tickers[j]), panel_.dates.back(), remedy));
}

void PanelParser::fail_ragged(Index found) const {
  const bool decimal_commas = found == 2 * panel_.n() + 1;
  fail({cursor_.name(), cursor_.line(), std::min(found, width() + 1)},
       fmt::format("line {} has {} where {} are expected (the date and {}, as in the header); {}",
                   cursor_.line(), counted(found, "field"), width(), counted(panel_.n(), "ticker"),
                   decimal_commas ? "if the numbers have decimal commas, write decimal points"
                                  : "give every row one field per column"));
}

// A file of another kind passes every check of its cells; it is told by the whole.
void PanelParser::check_kind() const {
  if (kind_ == PanelKind::prices) return;
  const auto [low, high] = std::minmax_element(panel_.values.begin(), panel_.values.end());
  double mean = 0.0;
  for (const double value : panel_.values)
    mean += value / static_cast<double>(panel_.values.size());
  const auto refuse = [&, low = *low, high = *high](std::string_view what,
                                                    std::string_view remedy) {
    fail({cursor_.name()}, fmt::format("the values look like {} (all between {:.4g} and {:.4g}, "
                                       "mean {:.4g}); {}",
                                       what, low, high, mean, remedy));
  };
  if (*low <= 0.0) return;
  if (kind_ == PanelKind::returns && mean > 1.5) refuse("prices", "give the file as --prices");
  if (kind_ == PanelKind::returns && *low >= 0.2 && mean >= 0.75)
    refuse("gross returns 1 + r", "add --gross");
  if (kind_ == PanelKind::gross_returns && mean > 3.0)
    refuse("prices", "give the file as --prices, without --gross");
}

}  // namespace

Panel parse_wide_csv(std::string_view text, std::string_view name, PanelKind kind) {
  try {
    return PanelParser(text, name, kind).parse();
  } catch (const std::bad_alloc&) {
    fail({name}, "does not fit into memory; split the file by dates or tickers");
  }
}

Panel read_wide_csv(const std::filesystem::path& file, PanelKind kind) {
  const TextFile content(file);
  return parse_wide_csv(content.text(), file.string(), kind);
}

}  // namespace sharpen::market
