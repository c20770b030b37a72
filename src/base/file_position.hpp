// Where in a file an input error is. Messages read
//   FILE:LINE:COLUMN: what is wrong, at line LINE, column COLUMN (ticker, date); what to do
// and are valid, printable UTF-8 whatever the file holds.
#pragma once

#include <string>
#include <string_view>

#include "sharpen/base/text.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen {

struct FilePosition {
  std::string_view file;
  Index line = 0;    // from 1; 0: the whole file
  Index column = 0;  // field number, from 1; 0: the whole line
};

// "line L, column C", leaving out a column of 0.
std::string spelled(const FilePosition& position);

// Throws InputError("FILE:LINE:COLUMN: message"), leaving out what is 0.
[[noreturn]] void fail_at(const FilePosition& position, const std::string& message);

}  // namespace sharpen
