#include "layer/limit_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/csv.hpp"
#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::layer {

namespace {

// One line of a table: its fields, and where it is.
struct TableLine {
  std::vector<std::string> fields;
  Index number = 0;
};

// A CSV of which every line has the fields of the header, which has `asset` and perhaps `date`.
struct LimitTableFile {
  std::string_view name;
  std::vector<std::string> header;
  std::vector<TableLine> lines;
  Index asset = -1, date = -1;

  std::string where(const TableLine& line) const {
    return fmt::format("{}:{}", shown_file(name), line.number);
  }
  [[noreturn]] void fail(const TableLine& line, const std::string& what) const {
    throw InputError(where(line) + ": " + what);
  }
};

TableLine read_line(CsvCursor& cursor) {
  TableLine line{.fields = {}, .number = cursor.line()};
  do line.fields.emplace_back(cursor.field());
  while (cursor.comma());
  cursor.end_line();
  return line;
}

Index column_called(const std::vector<std::string>& header, std::string_view title) {
  const auto found = std::ranges::find(header, title);
  return found == header.end() ? -1 : found - header.begin();
}

void check_header(const LimitTableFile& table, const TableLine& line, std::string_view example) {
  if (table.asset < 0)
    table.fail(line, fmt::format("there is no column called asset: begin with a line such as {}",
                                 example));
  std::set<std::string> titles;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const std::string& title = table.header[c];
    if (title.empty() || !is_plain_text(title))
      table.fail(line, fmt::format("column {} of the header has no name: give it one", c + 1));
    if (!titles.insert(title).second)
      table.fail(line, fmt::format("two columns are called {}: keep one", shown(title)));
  }
}

LimitTableFile read_table(std::string_view text, std::string_view name, std::string_view example) {
  CsvCursor cursor(text, name);
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const TableLine first = read_line(cursor);
  LimitTableFile table{.name = name, .header = first.fields, .lines = {}};
  table.asset = column_called(table.header, "asset");
  table.date = column_called(table.header, "date");
  check_header(table, first, example);
  while (!cursor.finished()) {
    TableLine line = read_line(cursor);
    if (line.fields.size() != table.header.size())
      table.fail(line, fmt::format("{} where the header has {}: give every line as many",
                                   counted(static_cast<Index>(line.fields.size()), "field"),
                                   table.header.size()));
    const std::string& asset = line.fields[at(table.asset)];
    if (asset.empty()) table.fail(line, "the name of the asset is missing: every line has one");
    if (!is_plain_text(asset))
      table.fail(line,
                 fmt::format("the asset {} is not plain UTF-8 text: write it so", shown(asset)));
    table.lines.push_back(std::move(line));
  }
  return table;
}

// The date of a line; "": it counts always.
std::string date_of(const LimitTableFile& table, const TableLine& line) {
  if (table.date < 0 || line.fields[at(table.date)].empty()) return {};
  const std::string& text = line.fields[at(table.date)];
  market::ParsedDate date = market::parse_date(text);
  if (date.format == market::DateFormat::none)
    table.fail(line, fmt::format("{} {}; write dates as YYYY-MM-DD", shown(text), date.fault));
  return std::move(date.iso);
}

double number_of(const LimitTableFile& table, const TableLine& line, std::size_t column) {
  const std::string& text = line.fields[column];
  if (const auto value = parse_share(text)) return *value;
  const NumberFault fault = explain_number(text);
  table.fail(line,
             fmt::format("{} ({} of asset {}); {}", fault.what, shortened(table.header[column]),
                         shortened(line.fields[at(table.asset)]), fault.remedy));
}

bool any_dated(const auto& entries) {
  return std::ranges::any_of(entries, [](const auto& entry) { return !entry.from.empty(); });
}

}  // namespace

std::optional<double> parse_share(std::string_view text) {
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.remove_suffix(1);
  while (percent && !text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto value = parse_number(text);
  if (!value) return std::nullopt;
  return (percent ? *value / 100.0 : *value) + 0.0;  // no negative zero
}

std::vector<GroupMember> parse_groups(std::string_view text, std::string_view name) {
  const LimitTableFile table = read_table(text, name, "asset,group");
  const Index group = column_called(table.header, "group");
  if (group < 0 || table.header.size() != (table.date < 0 ? 2 : 3))
    throw InputError(fmt::format(
        "{}:1: the columns of groups are asset, group and perhaps date: write the header so",
        shown_file(name)));
  std::vector<GroupMember> out;
  std::map<std::tuple<std::string, std::string, std::string>, Index> lines;
  std::set<std::pair<std::string, std::string>> left, joined;
  for (const TableLine& line : table.lines) {
    GroupMember member{.asset = line.fields[at(table.asset)],
                       .group = line.fields[at(group)],
                       .from = {},
                       .where = table.where(line)};
    member.from = date_of(table, line);
    if (member.group.empty() && member.from.empty())
      table.fail(line, fmt::format("the group of asset {} is missing: fill it or drop the line",
                                   shortened(member.asset)));
    if (!is_plain_text(member.group))
      table.fail(line, fmt::format("the group {} is not plain UTF-8 text: write it so",
                                   shown(member.group)));
    const auto [first, fresh] =
        lines.try_emplace({member.asset, member.group, member.from}, line.number);
    if (!fresh)
      table.fail(line,
                 fmt::format("asset {} is in group {} twice, at line {} and line {}: keep one",
                             shown(member.asset), shown(member.group), first->second, line.number));
    (member.group.empty() ? left : joined).emplace(member.asset, member.from);
    if (left.contains({member.asset, member.from}) && joined.contains({member.asset, member.from}))
      table.fail(line, fmt::format("asset {} is in a group and in none from {} on: keep one",
                                   shown(member.asset), member.from));
    out.push_back(std::move(member));
  }
  return out;
}

std::string write_groups(const std::vector<GroupMember>& groups) {
  const bool dated = any_dated(groups);
  std::string out = dated ? "asset,group,date\n" : "asset,group\n";
  for (const GroupMember& member : groups) {
    out += csv_field(member.asset) + ',' + csv_field(member.group);
    if (dated) out += ',' + member.from;
    out += '\n';
  }
  return out;
}

std::vector<Coefficient> parse_coefficients(std::string_view text, std::string_view name) {
  const LimitTableFile table = read_table(text, name, "asset,quality,size");
  if (table.header.size() < (table.date < 0 ? 2U : 3U))
    throw InputError(fmt::format(
        "{}:1: there is no column of coefficients: give one beside asset, with its name",
        shown_file(name)));
  std::vector<Coefficient> out;
  std::map<std::pair<std::string, std::string>, Index> lines;
  for (const TableLine& line : table.lines) {
    const std::string from = date_of(table, line);
    const std::string& asset = line.fields[at(table.asset)];
    const auto [first, fresh] = lines.try_emplace({asset, from}, line.number);
    if (!fresh)
      table.fail(line, fmt::format("asset {} is there twice{}, at line {} and line {}: keep one",
                                   shown(asset), from.empty() ? "" : " on " + from, first->second,
                                   line.number));
    for (std::size_t c = 0; c < line.fields.size(); ++c) {
      if (static_cast<Index>(c) == table.asset || static_cast<Index>(c) == table.date ||
          line.fields[c].empty())
        continue;
      const double value = number_of(table, line, c);
      out.push_back({asset, table.header[c], value, from, table.where(line)});
    }
  }
  return out;
}

// One line for neighbours of the same asset and date, as they stood on one.
std::string write_coefficients(const std::vector<Coefficient>& coefficients) {
  std::vector<std::string> names;
  std::map<std::string, Index> column_of;
  for (const Coefficient& entry : coefficients)
    if (column_of.try_emplace(entry.name, static_cast<Index>(names.size())).second)
      names.push_back(entry.name);
  const bool dated = any_dated(coefficients);
  std::string out = "asset";
  for (const std::string& name : names) out += ',' + csv_field(name);
  out += dated ? ",date\n" : "\n";
  for (std::size_t first = 0; first < coefficients.size();) {
    const Coefficient& head = coefficients[first];
    std::vector<std::string> fields(names.size());
    std::size_t next = first;
    for (; next < coefficients.size(); ++next) {
      const Coefficient& entry = coefficients[next];
      std::string& field = fields[at(column_of.at(entry.name))];
      if (entry.asset != head.asset || entry.from != head.from || !field.empty()) break;
      field = shortest(entry.value);
    }
    out += csv_field(head.asset);
    for (const std::string& field : fields) out += ',' + field;
    out += (dated ? ',' + head.from : "") + '\n';
    first = next;
  }
  return out;
}

std::map<std::string, double> parse_holdings(std::string_view text, std::string_view name) {
  const LimitTableFile table = read_table(text, name, "asset,weight");
  const Index weight = column_called(table.header, "weight");
  if (weight < 0 || table.header.size() != 2)
    throw InputError(
        fmt::format("{}:1: the columns of holdings are asset and weight: write the header so",
                    shown_file(name)));
  std::map<std::string, double> out;
  for (const TableLine& line : table.lines) {
    const double value = number_of(table, line, at(weight));
    const std::string& asset = line.fields[at(table.asset)];
    if (!out.try_emplace(asset, value).second)
      table.fail(line, fmt::format("asset {} is there twice: keep one", shown(asset)));
  }
  return out;
}

}  // namespace sharpen::layer
