// Tables for terminals.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "report/table_builder.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

namespace {

constexpr std::size_t kWidestName = 48;   // longer ones end in an ellipsis
constexpr std::size_t kWidestWords = 72;  // reasons and warnings go on below
constexpr std::size_t kMostWords = 4000;
constexpr std::size_t kPage = 100;  // notes are wrapped to it
constexpr std::string_view kGap = "  ";

// Code points that take two columns, and those that take none.
constexpr std::array<std::pair<char32_t, char32_t>, 12> kWide = {{{0x1100, 0x115F},
                                                                  {0x2E80, 0x303E},
                                                                  {0x3041, 0xA4CF},
                                                                  {0xA960, 0xA97F},
                                                                  {0xAC00, 0xD7A3},
                                                                  {0xF900, 0xFAFF},
                                                                  {0xFE30, 0xFE6F},
                                                                  {0xFF00, 0xFF60},
                                                                  {0xFFE0, 0xFFE6},
                                                                  {0x1F300, 0x1F64F},
                                                                  {0x1F680, 0x1FAFF},
                                                                  {0x20000, 0x3FFFD}}};
constexpr std::array<std::pair<char32_t, char32_t>, 5> kCombining = {
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};

template <std::size_t N>
bool within(char32_t code, const std::array<std::pair<char32_t, char32_t>, N>& ranges) {
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string cell_text(const TableCell& cell, bool key) {
  if (cell.kind == TableCell::Kind::text)
    return printable(cell.text, key ? kWidestName : kMostWords) + marks_text(cell.marks);
  const std::string_view sign = cell.emphasis == Emphasis::best    ? "▸"
                                : cell.emphasis == Emphasis::apart ? "▹"
                                                                   : "";
  return std::string(sign) + plain_text(cell) + marks_text(cell.marks);
}

// Text as lines of at most `width` columns, broken at spaces; a longer word ends in an ellipsis.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view next = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), next.size() + 1));
    const std::string word = printable(next, width);
    if (out.empty() || terminal_width(out.back()) + 1 + terminal_width(word) > width) {
      out.push_back(word);
    } else {
      out.back() += " " + word;
    }
  }
  return out;
}

// A cell as the lines it takes: what to do about a warning is not cut off.
std::vector<std::string> lines_of(const TableCell& cell, bool key) {
  const std::string text = cell_text(cell, key);
  if (key || cell.kind != TableCell::Kind::text || terminal_width(text) <= kWidestWords)
    return {text};
  return wrapped(text, kWidestWords);
}

// Marks hang to the right of the figures, so that the digits stand below each other.
std::size_t hanging(const TableCell& cell) {
  return cell.kind == TableCell::Kind::text ? 0 : terminal_width(marks_text(cell.marks));
}

void pad(std::string& line, std::size_t count) { line.append(count, ' '); }

struct Layout {
  std::vector<std::size_t> width, hang;
  std::vector<bool> left;

  // What the columns [first, last) take together.
  std::size_t room(std::size_t first, std::size_t last) const {
    return std::accumulate(width.begin() + static_cast<Index>(first),
                           width.begin() + static_cast<Index>(last),
                           (last - first - 1) * kGap.size());
  }
};

Layout layout_of(const Table& table) {
  Layout out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool key = table.columns[c].figure.empty();
    std::size_t hang = 0, body = 0;
    for (const Row& row : table.rows) {
      hang = std::max(hang, hanging(row.cells[c]));
      for (const std::string& line : lines_of(row.cells[c], key))
        body = std::max(body, terminal_width(line) - hanging(row.cells[c]));
    }
    const std::size_t head = terminal_width(printable(table.columns[c].head, kWidestName));
    out.width.push_back(std::max(head, body + hang));
    out.hang.push_back(hang);
    out.left.push_back(is_left(table, c));
  }
  // A heading over several columns needs room too: the last of them gives it.
  for (std::size_t c = 0; c < table.columns.size(); c = group_end(table, c)) {
    const std::size_t room = out.room(c, group_end(table, c));
    const std::size_t need = terminal_width(printable(table.columns[c].group, kWidestName));
    if (need > room) out.width[group_end(table, c) - 1] += need - room;
  }
  return out;
}

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string group_line(const Table& table, const Layout& layout) {
  std::string line;
  for (std::size_t c = 0; c < table.columns.size(); c = group_end(table, c)) {
    const std::size_t room = layout.room(c, group_end(table, c));
    const std::string group = printable(table.columns[c].group, kWidestName);
    const std::size_t spare = room - terminal_width(group);
    line += kGap;
    if (group.empty()) {
      pad(line, room);
      continue;
    }
    for (std::size_t i = 0; i < spare; ++i) {
      if (i == spare / 2) line += group;
      line += i + 1 == spare / 2 || i == spare / 2 ? " " : "─";
    }
    if (spare == 0) line += group;
  }
  trim_end(line);
  return line + "\n";
}

std::string head_line(const Table& table, const Layout& layout) {
  std::string line;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string head = printable(table.columns[c].head, kWidestName);
    line += kGap;
    if (!layout.left[c]) pad(line, layout.width[c] - terminal_width(head));
    line += head;
    if (layout.left[c]) pad(line, layout.width[c] - terminal_width(head));
  }
  trim_end(line);
  return line + "\n";
}

std::string row_line(const Table& table, const Row& row, const Layout& layout) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    cells.push_back(lines_of(row.cells[c], table.columns[c].figure.empty()));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string text = l < cells[c].size() ? cells[c][l] : std::string();
      const std::size_t spare = layout.width[c] - terminal_width(text);
      const std::size_t behind = layout.left[c] ? spare : layout.hang[c] - hanging(row.cells[c]);
      line += kGap;
      pad(line, spare - std::min(spare, behind));
      line += text;
      pad(line, std::min(spare, behind));
    }
    trim_end(line);
    out += line + "\n";
  }
  return out;
}

std::string rule(const Layout& layout) {
  std::size_t length = 0;
  for (const std::size_t width : layout.width) length += width + kGap.size();
  std::string line(kGap);
  for (std::size_t i = kGap.size(); i < length; ++i) line += "─";
  return line + "\n";
}

}  // namespace

std::size_t terminal_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    char32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t j = 1; j < length && i + j < text.size(); ++j)
      code = (code << 6) | (static_cast<unsigned char>(text[i + j]) & 0x3F);
    width += within(code, kCombining) ? 0 : within(code, kWide) ? 2 : 1;
    i += length;
  }
  return width;
}

std::string to_text(const Table& table) {
  const Layout layout = layout_of(table);
  std::string out = clean(table.title) + "\n\n";
  if (has_groups(table)) out += group_line(table, layout);
  out += head_line(table, layout) + rule(layout);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r > 0 && table.rows[r].rule) out += rule(layout);
    out += row_line(table, table.rows[r], layout);
  }
  const std::vector<std::string> notes = notes_of(table, "▸", "▹");
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes)
    for (const std::string& line : wrapped(clean(note), kPage - kGap.size()))
      out.append(kGap).append(line).append("\n");
  return out;
}

}  // namespace sharpen::report
