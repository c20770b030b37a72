// Rows named by a share, a number or a date.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/csv.hpp"
#include "market/calendar.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

bool all_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The first row that is not before `date`, to the precision both have.
Index first_from(std::span<const std::string> dates, const std::string& date) {
  const auto before = [&](const std::string& row) {
    const std::size_t common = std::min(row.size(), date.size());
    return row.compare(0, common, date, 0, common) < 0;
  };
  return std::partition_point(dates.begin(), dates.end(), before) - dates.begin();
}

std::string range_of(std::span<const std::string> dates) {
  return fmt::format("{} to {}", dates.front(), dates.back());
}

[[noreturn]] void refuse_split(const std::string& split) {
  throw InputError(fmt::format(
      "split = {} is neither a share nor a date; write a share such as 80% or 0.8 (above 0, below "
      "1), or the first date of the test part: YYYY-MM-DD, YYYY-MM or YYYY",
      printable(split)));
}

std::optional<double> share_of(const std::string& split) {
  const bool percent = split.ends_with('%');
  const auto value =
      number_from<double>(std::string_view(split).substr(0, split.size() - (percent ? 1 : 0)));
  const bool finite = value && std::isfinite(*value);
  if (percent && !finite) refuse_split(split);
  if (!finite) return std::nullopt;
  if (!percent && *value >= 1.0) return std::nullopt;  // a year, or a compact date
  const double share = percent ? *value / 100.0 : *value;
  if (!(share > 0.0 && share < 1.0)) refuse_split(split);
  return share;
}

}  // namespace

void check_split(const std::string& split) {
  const bool year = split.size() == 4 && all_digits(split);
  if (year || split == "none" || share_of(split)) return;
  if (market::parse_date(split).format == market::DateFormat::none) refuse_split(split);
}

void check_stats_from(const std::string& stats_from) {
  if (all_digits(stats_from) && stats_from.size() < 8) return;
  if (market::parse_date(stats_from).format == market::DateFormat::none)
    throw InputError(
        fmt::format("‹stats-from› = {} is neither a row nor a date; write a row of the returns, "
                    "from 1, or a date YYYY-MM-DD or YYYY-MM",
                    printable(stats_from)));
}

Index split_row(std::span<const std::string> dates, const std::string& split) {
  const auto rows = static_cast<Index>(dates.size());
  if (rows < 2)
    throw InputError(fmt::format(
        "split = {} needs 2 rows of returns at least and the panel has {}; give a longer history",
        printable(split), rows));
  if (const auto share = share_of(split)) {
    const auto training = static_cast<Index>(std::round(*share * static_cast<double>(rows)));
    return std::clamp(training, Index{1}, rows - 1);
  }
  const bool year = split.size() == 4 && all_digits(split);
  const market::ParsedDate date = market::parse_date(split);
  if (!year && date.format == market::DateFormat::none) refuse_split(split);
  const Index row = first_from(dates, year ? split : date.iso);
  if (row == 0 || row == rows)
    throw InputError(fmt::format(
        "split = {} leaves nothing {}; the returns run from {}", printable(split),
        row == 0 ? "to train on: no row is before it" : "to test: every row is before it",
        range_of(dates)));
  return row;
}

Index stats_row(std::span<const std::string> dates, const std::string& stats_from) {
  const auto rows = static_cast<Index>(dates.size());
  if (rows == 0) throw InputError("‹stats-from› needs returns and the panel has none");
  if (all_digits(stats_from) && stats_from.size() < 8) {
    const Index row = static_cast<Index>(*number_from<double>(stats_from));
    if (row < 1 || row > rows)
      throw InputError(
          fmt::format("‹stats-from› = {} is outside [1, {}], the rows of the returns; write dates "
                      "as YYYY-MM-DD",
                      stats_from, rows));
    return row - 1;
  }
  check_stats_from(stats_from);
  const Index row = first_from(dates, market::parse_date(stats_from).iso);
  if (row == rows)
    throw InputError(
        fmt::format("‹stats-from› = {} is after the last return; the returns run from {}",
                    printable(stats_from), range_of(dates)));
  return row;
}

}  // namespace sharpen::backtest
