// Pieces that the writers of tables share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/report/table.hpp"

namespace sharpen::report {

// Text whose control characters and broken bytes are spelled out, in full length.
std::string clean(std::string_view text);

// The notes of a table, before them what its emphasis means, given how it looks.
std::vector<std::string> notes_of(const Table& table, const std::string& best,
                                  const std::string& apart);

// The signs of a cell's marks: "***†‡§".
std::string marks_text(unsigned marks);

// The end of the columns that share the heading of column `first`.
std::size_t group_end(const Table& table, std::size_t first);
bool has_groups(const Table& table);

// Columns that name the row and columns of words are set left, figures right.
bool is_left(const Table& table, std::size_t column);

}  // namespace sharpen::report
