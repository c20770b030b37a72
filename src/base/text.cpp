#include "sharpen/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace sharpen {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Length of the UTF-8 sequence that starts text, 0 if it is broken (overlong, surrogate, cut
// short).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  char32_t code = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return length;
}

// The C1 controls, and marks that change the direction or the line of the text around them, or are
// not to be seen.
bool steers_layout(std::string_view sequence) {
  if (sequence == "\xD8\x9C" || sequence == "\xEF\xBB\xBF") return true;
  if (sequence.size() == 2)
    return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
  if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  const auto third = static_cast<unsigned char>(sequence[2]);
  if (second == 0x80) return (third >= 0x8B && third <= 0x8F) || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA0 && third <= 0xAF;
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;  // nothing we name is longer; keeps the work bounded
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string_view best;
  // Of a word of one or two letters anything is a near miss: only its case may differ.
  const std::size_t allowed = word.size() < 3 ? 0 : std::max<std::size_t>(1, word.size() / 3);
  std::size_t best_distance = allowed + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view guess = nearest(word, candidates);
  return guess.empty() ? std::string() : std::string("; did you mean ").append(guess).append("?");
}

std::string printable(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, sequence_length(text));
    const std::string_view sequence = text.substr(0, length);
    const auto lead = static_cast<unsigned char>(sequence[0]);
    const bool plain = lead < 0x80 ? lead >= 0x20 && lead != 0x7F
                                   : sequence_length(text) != 0 && !steers_layout(sequence);
    const std::size_t cost = plain ? 1 : 4 * length;
    const std::size_t reserve = text.size() > length ? 1 : 0;  // room for the ellipsis
    if (used + cost + reserve > width) {
      if (used < width) out += "…";
      return out;
    }
    if (plain) {
      out += sequence;
    } else {
      append_escaped(out, sequence);
    }
    used += cost;
    text.remove_prefix(length);
  }
  return out;
}

std::string json_escaped(std::string_view json) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = std::max<std::size_t>(1, sequence_length(json));
    const std::string_view sequence = json.substr(0, length);
    if (sequence == "\x7F" || steers_layout(sequence)) {
      char32_t code =
          length == 1 ? 0x7F : static_cast<unsigned char>(sequence[0]) & (0x7F >> length);
      for (const char c : sequence.substr(1))
        code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out += digits[(code >> shift) & 15];
    } else {
      out += sequence;
    }
    json.remove_prefix(length);
  }
  return out;
}

std::string shortened(std::string_view text) { return printable(text, 40); }

std::string shown(std::string_view text) { return '"' + shortened(text) + '"'; }

// Room enough for every byte as \xNN.
std::string shown_file(std::string_view file) { return printable(file, 4 * file.size()); }

bool is_plain_text(std::string_view text) { return shown_file(text) == text; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) { return lower(a) == b; });
  });
}

std::string counted(Index count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const std::string& title : header) width.push_back(display_width(title));
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], display_width(row[c]));

  std::string out;
  const auto add_line = [&](const std::vector<std::string>& row) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(width[c] - display_width(row[c]), ' ');
      out += "  ";
      out += c == 0 ? row[c] + gap : gap + row[c];
    }
    out += "\n";
  };
  add_line(header);
  for (const auto& row : rows) add_line(row);
  return out;
}

std::string shortest(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

std::string few_decimals(double value) {
  if (std::abs(value) < 0.1 || !std::isfinite(value)) return fmt::format("{:.4g}", value);
  std::string out = fmt::format("{:.4f}", value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace sharpen
