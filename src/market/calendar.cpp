#include "market/calendar.hpp"

#include <algorithm>
#include <chrono>

namespace sharpen::market {

namespace {

// Whether the text has the shape: d a digit, s a sign, everything else itself.
bool fits(std::string_view text, std::string_view shape) {
  return std::equal(text.begin(), text.end(), shape.begin(), shape.end(), [](char c, char want) {
    if (want == 'd') return c >= '0' && c <= '9';
    if (want == 's') return c == '+' || c == '-';
    return c == want;
  });
}

unsigned number(std::string_view digits) {
  unsigned value = 0;
  for (const char c : digits) value = 10 * value + static_cast<unsigned>(c - '0');
  return value;
}

DateFormat format_of(std::string_view text) {
  if (fits(text, "dddd-dd-dd")) return DateFormat::day;
  if (fits(text, "dddd-dd")) return DateFormat::month;
  if (fits(text, "dddddddd")) return DateFormat::compact_day;
  if (fits(text, "dddddd")) return DateFormat::compact_month;
  return DateFormat::none;
}

// What may follow the day: a time, fractions of a second, a time zone.
struct Time {
  bool valid = false;
  bool midnight = false;
};

Time parse_time(std::string_view text) {
  if (text.empty() || (text[0] != ' ' && text[0] != 'T')) return {};
  text.remove_prefix(1);
  std::string_view zone;
  const auto cut = text.find_first_of("Z+-");
  if (cut != std::string_view::npos) {
    zone = text.substr(cut);
    text = text.substr(0, cut);
    if (zone != "Z" && !fits(zone, "sdd:dd") && !fits(zone, "sdddd")) return {};
  }
  std::string_view fraction;
  const auto point = text.find('.');
  if (point != std::string_view::npos) {
    fraction = text.substr(point + 1);
    text = text.substr(0, point);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (fraction.empty() || !std::all_of(fraction.begin(), fraction.end(), is_digit)) return {};
    if (!fits(text, "dd:dd:dd")) return {};
  }
  if (!fits(text, "dd:dd:dd") && !fits(text, "dd:dd")) return {};
  const auto is_zero = [](char c) { return c == '0' || c == ':'; };
  return {true, std::all_of(text.begin(), text.end(), is_zero) &&
                    std::all_of(fraction.begin(), fraction.end(), is_zero)};
}

bool in_calendar(std::string_view year, std::string_view month, std::string_view day) {
  using namespace std::chrono;
  if (number(year) == 0) return false;
  return year_month_day(std::chrono::year(static_cast<int>(number(year))),
                        std::chrono::month(number(month)), std::chrono::day(number(day)))
      .ok();
}

}  // namespace

std::string_view pattern(DateFormat format) {
  switch (format) {
    case DateFormat::day: return "YYYY-MM-DD";
    case DateFormat::month: return "YYYY-MM";
    case DateFormat::compact_day: return "YYYYMMDD";
    case DateFormat::compact_month: return "YYYYMM";
    case DateFormat::none: break;
  }
  return "no date";
}

ParsedDate parse_date(std::string_view text) {
  constexpr std::size_t kDay = 10;  // characters of YYYY-MM-DD
  DateFormat format = format_of(text);
  if (format == DateFormat::none) {
    if (text.size() <= kDay || format_of(text.substr(0, kDay)) != DateFormat::day)
      return {DateFormat::none, {}, "is not a date"};
    const Time time = parse_time(text.substr(kDay));
    if (!time.valid) return {DateFormat::none, {}, "is a date with something after it"};
    if (!time.midnight)
      return {DateFormat::none, {}, "has a time of day, and one row is one period"};
    text = text.substr(0, kDay);
    format = DateFormat::day;
  }
  const bool compact = format == DateFormat::compact_day || format == DateFormat::compact_month;
  const bool monthly = format == DateFormat::month || format == DateFormat::compact_month;
  const std::string_view year = text.substr(0, 4);
  const std::string_view month = text.substr(compact ? 4 : 5, 2);
  const std::string_view day = monthly ? "01" : text.substr(compact ? 6 : 8, 2);
  if (!in_calendar(year, month, day)) return {DateFormat::none, {}, "is not in the calendar"};
  std::string iso;
  iso.reserve(kDay);
  iso.append(year).append("-").append(month);
  if (!monthly) iso.append("-").append(day);
  return {format, std::move(iso), {}};
}

int compare_dates(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  return a.substr(0, common).compare(b.substr(0, common));
}

}  // namespace sharpen::market
