// Pieces that the writers of tables share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sharpen/base/text.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

// Text whose control characters and broken bytes are spelled out, in full length.
inline std::string clean(std::string_view text) { return printable(text, 8 * text.size() + 8); }

// The columns [first, last) that share the heading of column `first`.
inline std::size_t group_end(const Table& table, std::size_t first) {
  std::size_t last = first + 1;
  while (last < table.columns.size() && table.columns[last].group == table.columns[first].group)
    ++last;
  return last;
}

inline bool has_groups(const Table& table) {
  for (const Column& column : table.columns)
    if (!column.group.empty()) return true;
  return false;
}

// Columns that name the row and columns of words are set left, figures right.
inline bool is_left(const Table& table, std::size_t column) {
  for (const Row& row : table.rows) {
    const Cell::Kind kind = row.cells[column].kind;
    if (kind == Cell::Kind::number || kind == Cell::Kind::estimate) return false;
  }
  return true;
}

}  // namespace sharpen::report
