#include "sharpen/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "report/table_builder.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::report {

namespace {

constexpr std::string_view kNothing = "–";

}  // namespace

TableCell TableCell::of(std::string text) {
  TableCell cell;
  cell.kind = Kind::text;
  cell.text = std::move(text);
  return cell;
}

TableCell TableCell::number(double value, int digits) {
  TableCell cell;
  cell.kind = Kind::number;
  cell.value = value;
  cell.digits = digits;
  return cell;
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kNothing);
  constexpr double kLongest = 1e6;  // beyond it digits are noise that widens the column
  if (std::abs(value) >= kLongest && digits > 0) return fmt::format("{:.{}e}", value, 2);
  std::string text = fmt::format("{:.{}f}", value, digits);
  // A loss too small to show is no loss: "-0.000" reads like one.
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return text;
}

std::string plain_text(const TableCell& cell) {
  switch (cell.kind) {
    case TableCell::Kind::none: return {};
    case TableCell::Kind::text: return cell.text;
    case TableCell::Kind::number: return number_text(cell.value, cell.digits);
    case TableCell::Kind::estimate: break;
  }
  if (!std::isfinite(cell.value) || !std::isfinite(cell.sd))
    return number_text(cell.value, cell.digits);
  return number_text(cell.value, cell.digits) + " ± " + number_text(cell.sd, cell.digits);
}

std::string clean(std::string_view text) { return printable(text, 8 * text.size() + 8); }

std::vector<std::string> notes_of(const Table& table, const std::string& best,
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

std::string marks_text(unsigned marks) {
  constexpr std::array<std::pair<Mark, std::string_view>, 6> kSigns = {{{three_stars, "***"},
                                                                        {two_stars, "**"},
                                                                        {one_star, "*"},
                                                                        {incomplete, "†"},
                                                                        {ruined, "‡"},
                                                                        {contrary, "§"}}};
  std::string out;
  for (const auto& [mark, sign] : kSigns)
    if ((marks & mark) != 0) out += sign;
  return out;
}

std::size_t group_end(const Table& table, std::size_t first) {
  std::size_t last = first + 1;
  while (last < table.columns.size() && table.columns[last].group == table.columns[first].group)
    ++last;
  return last;
}

bool has_groups(const Table& table) {
  return std::ranges::any_of(table.columns, [](const Column& c) { return !c.group.empty(); });
}

bool is_left(const Table& table, std::size_t column) {
  return std::ranges::none_of(table.rows, [&](const Row& row) {
    const TableCell::Kind kind = row.cells[column].kind;
    return kind == TableCell::Kind::number || kind == TableCell::Kind::estimate;
  });
}

}  // namespace sharpen::report
