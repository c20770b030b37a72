// Comma-separated text (RFC 4180), field by field, without copying it. Semicolons separate instead
// where the first line has one before any comma.
//
// Fields are trimmed of blanks unless quoted. A field may not contain a line end, quoted or not:
// no ticker, date or number does, and so the line number is the row number and an open quote is
// found where it stands. Blank lines may only end the text. What breaks a rule is an InputError.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/input_file.hpp"

namespace sharpen {

class CsvCursor {
 public:
  static constexpr std::size_t kMostFieldBytes = std::size_t{1} << 20;
  static constexpr Index kMostColumns = 1'000'000;  // beside the first

  // Skips a byte order mark; refuses text that is empty, UTF-16 or compressed.
  CsvCursor(std::string_view text, std::string_view name);

  // True when only blank lines are left. To be asked at the start of a line.
  bool finished();

  // The field at the cursor (at most kMostFieldBytes, no NUL), which is left at the separator or
  // line end after it. The view is valid until the next call.
  std::string_view field();
  // Steps over the separator at the cursor (a comma, mostly); false if there is none.
  bool comma() {
    if (at_ == end_ || *at_ != separator_) return false;
    ++at_;
    ++column_;
    return true;
  }
  // Steps over the line end at the cursor (or stands at the end of the text).
  void end_line();

  // Fields on the current line, from its start; may fail as field() does.
  Index count_fields() const;
  // The current line from its start, without its end.
  std::string_view line_text() const;

  Index line() const { return line_; }
  Index column() const { return column_; }  // field number, from 1
  FilePosition position() const { return {name_, line_, column_}; }
  std::string_view name() const { return name_; }
  char separator_char() const { return separator_; }
  std::size_t bytes_left() const { return static_cast<std::size_t>(end_ - at_); }

  // For readers that parse plain fields in place: where the cursor stands, and a step forward
  // over `fields` separators and what is between them.
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  void advance(const char* to, Index fields) {
    at_ = to;
    column_ += fields;
  }

 private:
  std::string_view quoted_field();
  void check_bytes(const char* first, const char* last) const;
  void refuse_lone_carriage_return() const;

  const char* at_;
  const char* line_start_;
  const char* end_;
  char separator_ = ',';
  std::string_view name_;
  Index line_ = 1;
  Index column_ = 1;
  std::string unescaped_;
};

// A field to write, quoted where a reader needs it: with separators, quotes and line ends in it,
// blanks at its ends, which readers may trim, or nothing at all. `also`: more that asks for quotes.
std::string csv_field(std::string_view text, std::string_view also = {});

// The whole text as a finite decimal number, read alike in every locale:
// [+-]digits[.digits][e[+-]digits], digits on one side of the point at least. Nothing else: no
// blanks, NaN, infinity, hexadecimal, overflow.
std::optional<double> parse_number(std::string_view text);

// The whole text as std::from_chars reads a number of this type.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

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
