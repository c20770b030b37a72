#include "market/place.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kMostShown = 40;

// Every byte printable or escaped (\xNN), nothing cut off.
std::string whole(std::string_view text) { return printable(text, 4 * text.size()); }

}  // namespace

std::string shortened(std::string_view text) { return printable(text, kMostShown); }

std::string shown(std::string_view text) { return '"' + shortened(text) + '"'; }

std::string shown_file(std::string_view file) { return whole(file); }

bool is_plain_text(std::string_view text) { return whole(text) == text; }

std::string prefix(const Place& place) {
  std::string out = shown_file(place.file);
  if (place.line > 0) out += fmt::format(":{}", place.line);
  if (place.line > 0 && place.column > 0) out += fmt::format(":{}", place.column);
  return out + ": ";
}

std::string spelled(const Place& place) {
  std::string out = fmt::format("line {}", place.line);
  if (place.column > 0) out += fmt::format(", column {}", place.column);
  return out;
}

std::string counted(Index count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void fail(const Place& place, const std::string& message) {
  throw InputError(prefix(place) + message);
}

}  // namespace sharpen::market
