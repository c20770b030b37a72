// Where an input error is, and text from a file made safe to show. Messages read
//   FILE:LINE:COLUMN: what is wrong, at line LINE, column COLUMN (ticker, date); what to do
// and are valid, printable UTF-8 whatever the file holds.
#pragma once

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

// "1 field", "3 fields".
std::string counted(Index count, std::string_view noun);

// Text from a file, printable and at most 40 characters long; shown() puts it in double quotes.
std::string shortened(std::string_view text);
std::string shown(std::string_view text);
// A file name, printable and whole.
std::string shown_file(std::string_view file);

// Whether the text is well-formed UTF-8 without control characters.
bool is_plain_text(std::string_view text);

}  // namespace sharpen::market
