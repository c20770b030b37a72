#include "base/number.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sharpen {

namespace {

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
