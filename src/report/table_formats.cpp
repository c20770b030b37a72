// Tables in GitHub's Markdown; as CSV, every figure of every table, one line each; and in HTML,
// complete without scripts, which only sort them.
#include "report/table_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/csv.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::report {

namespace {

std::string cell_text(const TableCell& cell) {
  std::string text =
      cell.kind == TableCell::Kind::text ? markdown_escaped(cell.text) : plain_text(cell);
  if (cell.emphasis == Emphasis::best) text = "**" + text + "**";
  if (cell.emphasis == Emphasis::apart) text = "*" + text + "*";
  return text + markdown_escaped(marks_text(cell.marks));
}

// Markdown has no headings over several columns: the group goes before the head.
std::string head_text(const Column& column) {
  const std::string head = markdown_escaped(column.head);
  return column.group.empty() ? head : markdown_escaped(column.group) + ": " + head;
}

bool is_number(std::string_view text) {
  const std::optional<double> value = number_from<double>(text);
  return value && std::isfinite(*value);
}

// What spreadsheets take for a formula, in half and full width.
bool starts_formula(std::string_view text) {
  constexpr std::string_view kHalf = "=+-@\t\r\n";
  constexpr std::array<std::string_view, 4> kFull = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
                                                     "\xEF\xBC\xA0"};
  if (text.empty()) return false;
  return kHalf.find(text.front()) != std::string_view::npos ||
         std::ranges::any_of(kFull,
                             [&](std::string_view start) { return text.starts_with(start); });
}

std::string number(double value) { return std::isfinite(value) ? shortest(value) : std::string(); }

std::string line_of(const Table& table, const Column& column, const Row& row,
                    const TableCell& cell) {
  const bool estimate = cell.kind == TableCell::Kind::estimate;
  const bool words = cell.kind == TableCell::Kind::text;
  const std::string_view standing = cell.emphasis == Emphasis::best    ? "best"
                                    : cell.emphasis == Emphasis::apart ? "apart"
                                                                       : "";
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(table.name),
      csv_field(row.market), row.assets > 0 ? std::to_string(row.assets) : "",
      row.k > 0 ? std::to_string(row.k) : "", csv_field(row.k_given),
      csv_field(column.method.empty() ? row.method : column.method), csv_field(row.seed),
      csv_field(row.figure_in(column)), words ? "" : number(cell.value),
      estimate ? number(cell.sd) : "", estimate ? std::to_string(cell.runs) : "",
      estimate ? std::to_string(cell.planned) : "", standing,
      (cell.marks & ruined) != 0 ? "yes" : "", words ? csv_field(cell.key()) : "",
      csv_field(row.against), row.item > 0 ? std::to_string(row.item) : "");
}

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

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>|~&#!$@";
  const std::string shown = clean(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view before = std::string_view(shown).substr(0, i);
    // What would become a link by itself: http:// and www.
    const bool scheme = shown[i] == ':' && shown.compare(i, 3, "://") == 0;
    const bool host = shown[i] == '.' && before.size() >= 3 &&
                      (before.ends_with("www") || before.ends_with("WWW"));
    if (kMarkup.find(shown[i]) != std::string_view::npos || scheme || host) out += '\\';
    out += shown[i];
  }
  return out;
}

std::string to_markdown(const Table& table) {
  std::string out = "### " + markdown_escaped(table.title) + "\n\n|";
  for (const Column& column : table.columns) out += " " + head_text(column) + " |";
  out += "\n|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) out += is_left(table, c) ? "---|" : "--:|";
  out += "\n";
  for (const Row& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row.cells) out += " " + cell_text(cell) + " |";
    out += "\n";
  }
  for (const std::string& note : notes_of(table, "Bold", "italics"))
    out += "\n" + markdown_escaped(note) + "\n";
  return out;
}

std::string csv_field(std::string_view text) {
  std::string value = starts_formula(text) && !is_number(text) ? "'" : "";
  // Tabs and line ends are text like any other in quotes; nothing else may steer a terminal.
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\t\r\n"), text.size());
    value += clean(text.substr(0, end));
    value += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return value.empty() ? value : sharpen::csv_field(value);
}

std::string to_csv(std::span<const Table> tables) {
  std::string out =
      "table,market,assets,k,k_given,method,seed,figure,value,sd,runs,planned,standing,ruin,text,"
      "against,item\r\n";
  for (const Table& table : tables)
    for (const Row& row : table.rows)
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (!table.columns[c].figure.empty() && row.cells[c].kind != TableCell::Kind::none)
          out += line_of(table, table.columns[c], row, row.cells[c]);
  return out;
}

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
    out += table.rows[r].rule && r > 0     ? "<tr class=\"rule\">"
           : !table.rows[r].figure.empty() ? "<tr class=\"beside\">"
                                           : "<tr>";
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
