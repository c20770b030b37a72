// Tables in GitHub's Markdown.
#include "report/table_writers.hpp"
#include "sharpen/report/table.hpp"

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

}  // namespace sharpen::report
