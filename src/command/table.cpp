#include "sharpen/command/table.hpp"

#include <algorithm>

#include "sharpen/base/text.hpp"

namespace sharpen::command {

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

}  // namespace sharpen::command
