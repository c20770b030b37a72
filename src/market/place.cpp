#include "market/place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sharpen/base/error.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kMostShown = 40;

unsigned char byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// C0 and C1 control characters and DEL: they would move the cursor of a terminal.
bool is_control(std::string_view sequence) {
  const unsigned char first = byte(sequence, 0);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
  return sequence.size() == 2 && first == 0xc2 && byte(sequence, 1) < 0xa0;
}

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
}

std::string escaped(std::string_view text, std::size_t most_characters) {
  std::string out;
  std::size_t characters = 0;
  while (!text.empty()) {
    if (characters++ == most_characters) return out + "...";
    const std::size_t length = utf8_sequence(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(sequence))
      append_escaped(out, sequence);
    else
      out += sequence;
    text.remove_prefix(sequence.size());
  }
  return out;
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  const unsigned char first = byte(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(text, i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool beyond = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0 || is_control(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) { return escaped(text, text.size()); }

std::string shortened(std::string_view text) { return escaped(text, kMostShown); }

std::string shown(std::string_view text) { return '"' + shortened(text) + '"'; }

std::string prefix(const Place& place) {
  std::string out = printable(place.file);
  if (place.line > 0) out += fmt::format(":{}", place.line);
  if (place.line > 0 && place.column > 0) out += fmt::format(":{}", place.column);
  return out + ": ";
}

std::string spelled(const Place& place) {
  std::string out = fmt::format("line {}", place.line);
  if (place.column > 0) out += fmt::format(", column {}", place.column);
  return out;
}

void fail(const Place& place, const std::string& message) {
  throw InputError(prefix(place) + message);
}

}  // namespace sharpen::market
