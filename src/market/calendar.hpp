// Calendar dates as files write them.
#pragma once

#include <string>
#include <string_view>

namespace sharpen::market {

enum class DateFormat {
  none,
  day,            // YYYY-MM-DD, perhaps with a time of 00:00:00 and a time zone, which are cut
  month,          // YYYY-MM
  compact_day,    // YYYYMMDD
  compact_month,  // YYYYMM
};

// "YYYY-MM-DD" and so on, for messages.
std::string_view pattern(DateFormat format);

struct ParsedDate {
  DateFormat format = DateFormat::none;  // none: not a date, and `fault` says why
  std::string iso;                       // YYYY-MM-DD or YYYY-MM; sorts as the dates do
  std::string_view fault;                // "is not a date", "is not in the calendar", ...
};

ParsedDate parse_date(std::string_view text);

// Compares two dates to the precision that both have: < 0, 0 or > 0.
int compare_dates(std::string_view a, std::string_view b);

}  // namespace sharpen::market
