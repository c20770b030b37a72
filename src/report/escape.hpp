// Pieces that the writers of tables share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/text.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

// Text whose control characters and broken bytes are spelled out, in full length.
inline std::string clean(std::string_view text) { return printable(text, 8 * text.size() + 8); }

// The notes of a table, before them what its emphasis means, given how it looks.
inline std::vector<std::string> notes_of(const Table& table, const std::string& best,
                                         const std::string& apart) {
  std::vector<std::string> out = table.notes;
  const std::string row = table.several_costs ? "its row at its cost" : "its row";
  if (table.legend == Legend::best)
    out.insert(out.begin(), best + ": the best mean of " + row + ".");
  if (table.legend == Legend::best_and_apart)
    out.insert(out.begin(), best + ": the best mean of " + row + " among the methods compared; " +
                                apart + ": one of ours that is better than all of them.");
  return out;
}

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
