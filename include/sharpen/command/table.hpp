// Text in columns, for terminals.
#pragma once

#include <string>
#include <vector>

namespace sharpen::command {

// The first column is set left, the others right; rows as wide as the header. Every line starts
// with two spaces.
std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace sharpen::command
