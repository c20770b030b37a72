// Finite decimal numbers, read alike in every locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file_position.hpp"

namespace sharpen {

// The whole text as a number: [+-]digits[.digits][e[+-]digits], digits on one side of the point
// at least. Nothing else: no blanks, NaN, infinity, hexadecimal, overflow.
std::optional<double> parse_number(std::string_view text);

// Whether the text is a word for a missing value: NaN, NA, N/A, null, none, - and the like.
bool is_missing(std::string_view text);

// Why parse_number refused this text, and what to do: "\"1,5\" has a comma ...; write ...".
struct NumberFault {
  std::string what;
  std::string remedy;
};
NumberFault explain_number(std::string_view text);

// Throws InputError("FILE:LINE:COLUMN: why this is no number, at line L, column C (what it is of);
// remedy").
[[noreturn]] void fail_number(const FilePosition& position, std::string_view text,
                              std::string_view what_it_is);

}  // namespace sharpen
