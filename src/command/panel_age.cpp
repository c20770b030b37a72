#include "command/panel_age.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

namespace {

using namespace std::chrono;

// First and last day of a date; a month or a year has more than one.
struct Span {
  sys_days first, last;
};

std::optional<Span> span_of(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = text[i] == '-' && (i == 4 || (i == 7 && text[4] == '-'));
    if (dash) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    digits += text[i];
  }
  const std::size_t dashes = text.size() - digits.size();
  const bool known = (digits.size() == 8 && (dashes == 0 || dashes == 2)) ||
                     (digits.size() == 6 && dashes <= 1) || (digits.size() == 4 && dashes == 0);
  if (!known) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    return static_cast<unsigned>(std::stoul(digits.substr(at, size)));
  };
  const year y(static_cast<int>(number(0, 4)));
  if (y == year(0)) return std::nullopt;
  if (digits.size() == 4) return Span{sys_days(y / January / 1), sys_days(y / December / 31)};
  const month m(number(4, 2));
  if (!m.ok()) return std::nullopt;
  if (digits.size() == 6) return Span{sys_days(y / m / 1), sys_days(y / m / std::chrono::last)};
  const year_month_day day(y, m, std::chrono::day(number(6, 2)));
  if (!day.ok()) return std::nullopt;
  return Span{sys_days(day), sys_days(day)};
}

std::string text_of(sys_days date) {
  const year_month_day ymd(date);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()));
}

std::string shown_file(const std::string& file) { return printable(file, 4 * file.size()); }

std::string counted_days(long days) { return fmt::format("{} day{}", days, days == 1 ? "" : "s"); }

// Somewhere on earth it may be tomorrow already.
constexpr days kTimeZones = days(1);
// Prices older than this, or than two periods, are worth a word.
constexpr long kFresh = 7;

void refuse_future(const AgeLimit& limit, const Span& end, sys_days today) {
  if (end.first <= today + kTimeZones) return;
  throw InputError(
      fmt::format("{}: its last date, {}, is in the future (today is {}); correct the dates, or "
                  "say by ‹--asof› "
                  "DATE when the portfolio begins",
                  shown_file(limit.file), text_of(end.last), text_of(today)));
}

}  // namespace

void check_asof(const std::string& text) {
  if (!span_of(text))
    throw InputError(fmt::format("asof = {} is not a date; write YYYY-MM-DD, YYYY-MM or YYYY",
                                 text.empty() ? "''" : printable(text)));
}

std::optional<long> checked_age(const AgeLimit& limit, const std::string& before,
                                const std::string& last, std::vector<std::string>& warnings) {
  const std::optional<Span> end = span_of(last), previous = span_of(before);
  if (!end) return std::nullopt;
  const sys_days today = floor<days>(system_clock::now());
  if (!limit.asof) refuse_future(limit, *end, today);
  const sys_days day = limit.asof ? span_of(*limit.asof)->last : today;
  const long age = std::max<long>(0, static_cast<long>((day - end->last).count()));
  const std::string when = fmt::format("{} ({})", limit.asof ? "‹--asof›" : "today", text_of(day));
  if (limit.most && age > *limit.most)
    throw InputError(fmt::format(
        "{}: is stale: its last date, {}, is {} before {}, and ‹--max-age› allows {}; give a newer "
        "file, or a larger ‹--max-age›",
        shown_file(limit.file), last, counted_days(age), when, *limit.most));
  const long period = previous ? static_cast<long>((end->last - previous->last).count()) : 1;
  if (!limit.most && age > std::max(kFresh, 2 * period))
    warnings.push_back(
        fmt::format("the last date, {}, is {} before {}; ‹--max-age DAYS› refuses what is too old",
                    last, counted_days(age), when));
  return age;
}

}  // namespace sharpen::command
