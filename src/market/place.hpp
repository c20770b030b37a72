// Where an input error is, and text from a file made safe to show. Messages read
//   FILE:LINE:COLUMN: what is wrong, at line LINE, column COLUMN (ticker, date); what to do
// and are valid, printable UTF-8 whatever the file holds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

struct Place {
  std::string_view file;
  Index line = 0;    // from 1; 0: the whole file
  Index column = 0;  // field number, from 1; 0: the whole line
};

// "FILE:LINE:COLUMN: ", leaving out what is 0.
std::string prefix(const Place& place);
// "line L, column C", leaving out what is 0.
std::string spelled(const Place& place);

// Throws InputError("FILE:LINE:COLUMN: message").
[[noreturn]] void fail(const Place& place, const std::string& message);

// Control characters and bytes that are not UTF-8 escaped (\n, \x1b).
std::string printable(std::string_view text);
// The same, shortened to about 40 characters; shown() puts it in double quotes.
std::string shortened(std::string_view text);
std::string shown(std::string_view text);

// Length of the well-formed UTF-8 sequence that starts the text (not empty); 0 if there is none.
std::size_t utf8_sequence(std::string_view text);
// Whether the text is well-formed UTF-8 without control characters.
bool is_plain_text(std::string_view text);

}  // namespace sharpen::market
