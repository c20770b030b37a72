#include "base/csv.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sharpen {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool starts_with_bytes(std::string_view text, std::string_view bytes) {
  return text.substr(0, bytes.size()) == bytes;
}

// Whichever of comma and semicolon comes first on the first line, outside quotation marks.
char separator_of(std::string_view text) {
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n') break;
    if (!quoted && (c == ',' || c == ';')) return c;
  }
  return ',';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text;
}

bool starts_like_a_number(std::string_view text) {
  const std::string_view rest = without_sign(text);
  return !rest.empty() && (is_digit(rest[0]) || rest[0] == '.');
}

}  // namespace

CsvCursor::CsvCursor(std::string_view text, std::string_view name) : name_(name) {
  using namespace std::string_view_literals;
  if (starts_with_bytes(text, "\xff\xfe"sv) || starts_with_bytes(text, "\xfe\xff"sv))
    fail_at({name}, "is UTF-16 text; save it as UTF-8");
  if (starts_with_bytes(text, "\x1f\x8b"sv))
    fail_at({name}, "is compressed; unpack it with gunzip, or give it a name that ends in .gz");
  if (starts_with_bytes(text, "PK\x03\x04"sv))
    fail_at({name}, "is a zip archive or a workbook; export it as CSV");
  if (starts_with_bytes(text, "\xef\xbb\xbf"sv)) text.remove_prefix(3);
  at_ = line_start_ = text.data();
  end_ = text.data() + text.size();
  separator_ = separator_of(text);
  if (std::all_of(at_, end_, [](char c) { return is_blank(c) || c == '\r' || c == '\n'; }))
    fail_at({name}, "is empty; a header line and rows are expected");
}

bool CsvCursor::finished() {
  const char* p = at_;
  while (p != end_ && is_blank(*p)) ++p;
  if (p != end_ && *p != '\n' && *p != '\r') return false;
  const bool only_blank =
      std::all_of(p, end_, [](char c) { return is_blank(c) || c == '\r' || c == '\n'; });
  if (only_blank) return true;
  if (*p == '\r') {
    at_ = p;
    refuse_lone_carriage_return();
  }
  fail_at({name_, line_}, fmt::format("line {} is blank; delete it", line_));
}

std::string_view CsvCursor::field() {
  const char* first = at_;
  while (first != end_ && is_blank(*first)) ++first;
  if (first != end_ && *first == '"') {
    check_bytes(at_, first);
    at_ = first;
    return quoted_field();
  }
  const char* p = first;
  while (p != end_ && *p != separator_ && *p != '\n' && *p != '\r' && *p != '"') ++p;
  check_bytes(at_, p);
  if (p != end_ && *p == '"')
    fail_at(position(), fmt::format("a quotation mark inside the unquoted field {}, at {}; quote "
                                    "the whole field and double the marks inside it",
                                    shown({first, p + 1}), spelled(position())));
  at_ = p;
  while (p != first && is_blank(p[-1])) --p;
  return {first, p};
}

std::string_view CsvCursor::quoted_field() {
  const char* const open = at_;
  const char* const content = open + 1;
  const char* p = content;
  bool doubled = false;
  for (;; ++p) {
    if (p == end_ || *p == '\n')
      fail_at(position(),
              fmt::format(
                  "the quoted field {} is not closed on its line, at {}; close the quotation mark",
                  shown({open, p}), spelled(position())));
    if (*p != '"') continue;
    if (p + 1 == end_ || p[1] != '"') break;
    doubled = true;
    ++p;
  }
  check_bytes(open, p);
  std::string_view text(content, p);
  at_ = p + 1;
  while (at_ != end_ && is_blank(*at_)) ++at_;
  if (at_ != end_ && *at_ != separator_ && *at_ != '\n' && *at_ != '\r')
    fail_at(
        position(),
        fmt::format(
            "text after the closing quotation mark of {}, at {}; put a {} or a line end there",
            shown({open, p + 1}), spelled(position()), separator_ == ',' ? "comma" : "semicolon"));
  if (!doubled) return text;
  unescaped_.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    unescaped_ += text[i];
    if (text[i] == '"') ++i;
  }
  return unescaped_;
}

void CsvCursor::check_bytes(const char* first, const char* last) const {
  const std::string_view bytes(first, last);
  if (bytes.size() > kMostFieldBytes)
    fail_at(position(),
            fmt::format("a field of {} bytes, at {}; at most {} are allowed, is this a CSV file?",
                        bytes.size(), spelled(position()), kMostFieldBytes));
  if (bytes.find('\0') != std::string_view::npos)
    fail_at(position(),
            fmt::format("a NUL byte in {}, at {}; the file is not text, export it again as CSV",
                        shown(bytes), spelled(position())));
}

void CsvCursor::refuse_lone_carriage_return() const {
  if (at_ + 1 != end_ && at_[1] == '\n') return;
  fail_at(
      position(),
      fmt::format(
          "a carriage return without a line feed, at {}; save the file with LF or CRLF line ends",
          spelled(position())));
}

void CsvCursor::end_line() {
  if (at_ != end_ && *at_ == '\r') {
    refuse_lone_carriage_return();
    ++at_;
  }
  if (at_ != end_) ++at_;
  line_start_ = at_;
  ++line_;
  column_ = 1;
}

Index CsvCursor::count_fields() const {
  CsvCursor copy = *this;
  copy.at_ = line_start_;
  copy.column_ = 1;
  copy.field();
  while (copy.comma()) copy.field();
  if (copy.at_ != end_ && *copy.at_ == '\r') copy.refuse_lone_carriage_return();
  return copy.column_;
}

std::string_view CsvCursor::line_text() const {
  return {line_start_, std::find(line_start_, end_, '\n')};
}

std::string csv_field(std::string_view text, std::string_view also) {
  const bool plain = !text.empty() && text.find_first_of(",\"\r\n;\t") == std::string_view::npos &&
                     text.find_first_of(also) == std::string_view::npos && text.front() != ' ' &&
                     text.back() != ' ';
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::optional<double> parse_number(std::string_view text) {
  if (!starts_like_a_number(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = fast_float::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_missing(std::string_view text) {
  return is_one_of(without_sign(text),
                   {"nan", "na", "n/a", "#n/a", "null", "none", "nil", "-", ".", ""});
}

NumberFault explain_number(std::string_view text) {
  const std::string quoted = shown(text);
  const std::string plain = "write a plain decimal number such as 101.25";
  const std::string_view rest = without_sign(text);
  if (text.find('\0') != std::string_view::npos)
    return {quoted + " holds a NUL byte", "the file is not text: export it again as CSV"};
  if (is_missing(text))
    return {quoted + " stands for a missing value", "fill it, or drop the ticker or the rows"};
  if (is_one_of(rest, {"inf", "infinity"})) return {quoted + " is not a finite number", plain};
  if (rest.size() > 1 && rest[0] == '0' && is_one_of(rest.substr(1, 1), {"x"}))
    return {quoted + " is hexadecimal", plain};
  if (!starts_like_a_number(text)) return {quoted + " is not a number", plain};
  const std::string_view digits = text[0] == '+' ? text.substr(1) : text;
  double value = 0.0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = fast_float::from_chars(digits.data(), end, value);
  if (stop == end)
    return {quoted + " is too large for a double (1.8e308)", "give it in larger units"};
  if (error != std::errc()) return {quoted + " is not a number", plain};
  if (*stop == ',')
    return {quoted + " has a comma inside the number",
            "write a decimal point, and no thousands separators: 1234.5"};
  if (*stop == '%') return {quoted + " is a percentage", "write 0.015 for 1.5%"};
  const std::string tail(stop, end);
  return {quoted + " has " + shown(tail) + " after the number", plain};
}

void fail_number(const FilePosition& position, std::string_view text, std::string_view what_it_is) {
  const NumberFault fault = explain_number(text);
  fail_at(position, fmt::format("{}, at {} ({}); {}", fault.what, spelled(position), what_it_is,
                                fault.remedy));
}

}  // namespace sharpen
