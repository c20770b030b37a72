// Tables in HTML: complete without scripts, which only sort them.
#include <fmt/format.h>

#include <cmath>

#include "report/table_writers.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

namespace {

std::string marks_html(unsigned marks) {
  const std::string signs = marks_text(marks);
  return signs.empty() ? signs : "<sup>" + signs + "</sup>";
}

// A true minus, the marks behind the mean, and the spread in a quieter voice.
std::string figure_html(const TableCell& cell) {
  const auto number = [&](double value) {
    std::string text = number_text(value, cell.digits);
    if (text.starts_with('-')) text.replace(0, 1, "−");
    return text;
  };
  std::string out = number(cell.value) + marks_html(cell.marks);
  if (cell.kind == TableCell::Kind::estimate && std::isfinite(cell.value) && std::isfinite(cell.sd))
    out += "<span class=\"sd\"> ± " + number(cell.sd) + "</span>";
  return out;
}

std::string cell_html(const TableCell& cell, bool names_row) {
  std::string inside = cell.kind == TableCell::Kind::none ? ""
                       : cell.kind == TableCell::Kind::text
                           ? html_escaped(cell.text) + marks_html(cell.marks)
                           : figure_html(cell);
  if (cell.emphasis == Emphasis::best) inside = "<strong>" + inside + "</strong>";
  if (cell.emphasis == Emphasis::apart) inside = "<em>" + inside + "</em>";
  const bool figure =
      cell.kind == TableCell::Kind::number || cell.kind == TableCell::Kind::estimate;
  const std::string value =
      figure && std::isfinite(cell.value) ? " data-value=\"" + shortest(cell.value) + "\"" : "";
  constexpr std::size_t kLongest = 40;  // characters, beyond which words go over several lines
  const std::string_view kind = figure                        ? " class=\"num\""
                                : cell.text.size() > kLongest ? " class=\"words\""
                                                              : "";
  return names_row ? fmt::format("<th scope=\"row\"{}{}>{}</th>", kind, value, inside)
                   : fmt::format("<td{}{}>{}</td>", kind, value, inside);
}

std::string head_html(const Table& table) {
  std::string out = "<thead>\n";
  if (has_groups(table)) {
    out += "<tr class=\"groups\">";
    for (std::size_t c = 0; c < table.columns.size(); c = group_end(table, c)) {
      const std::string span = fmt::format(" colspan=\"{}\"", group_end(table, c) - c);
      out += table.columns[c].group.empty() ? fmt::format("<td{}></td>", span)
                                            : fmt::format("<th scope=\"colgroup\"{}>{}</th>", span,
                                                          html_escaped(table.columns[c].group));
    }
    out += "</tr>\n";
  }
  out += "<tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", is_left(table, c) ? "" : " class=\"num\"",
                       html_escaped(table.columns[c].head));
  return out + "</tr>\n</thead>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : clean(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string to_html(const Table& table) {
  std::string out = fmt::format(
      "<figure class=\"table\" id=\"table-{0}\">\n<figcaption>{1}</figcaption>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\">\n"
      "<table class=\"sortable\">\n",
      html_escaped(table.name), html_escaped(table.title));
  out += head_html(table) + "<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += table.rows[r].rule && r > 0 ? "<tr class=\"rule\">" : "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      out += cell_html(table.rows[r].cells[c], table.columns[c].figure.empty());
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n</div>\n";
  for (const std::string& note : notes_of(table, "Bold", "italics"))
    out += "<p class=\"note\">" + html_escaped(note) + "</p>\n";
  return out + "</figure>\n";
}

}  // namespace sharpen::report
