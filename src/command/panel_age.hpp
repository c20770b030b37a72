// How old a panel is: calendar days from its last row to the day it is used for.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sharpen::command {

struct AgeLimit {
  std::string file;                 // for messages
  std::optional<std::string> asof;  // the day it is used for; none: today
  std::optional<long> most;         // days; none: any age, with a warning for an old one
};

// Throws InputError unless `text` is YYYY-MM-DD, YYYYMMDD, YYYY-MM, YYYYMM or YYYY.
void check_asof(const std::string& text);

// The age in days of a panel that ends with the date `last`, one before it being `before` ("" if
// none). A month ends with its last day. Throws InputError for an older panel than allowed, and for
// one that ends after today although no --asof says so. Dates of another form have no age.
std::optional<long> checked_age(const AgeLimit& limit, const std::string& before,
                                const std::string& last, std::vector<std::string>& warnings);

}  // namespace sharpen::command
