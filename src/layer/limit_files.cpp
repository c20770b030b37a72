#include "layer/limit_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/csv.hpp"
#include "market/asset_table.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::layer {

namespace {

using market::AssetTable;
using market::TableLine;

double share_of(const AssetTable& table, const TableLine& line, std::size_t column) {
  if (const auto value = parse_share(line.fields[column])) return *value;
  table.fail_number(line, column);
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
  const AssetTable table = market::read_asset_table(text, name, "asset,group");
  const Index group = table.column("group");
  if (group < 0 || table.header.size() != (table.date < 0 ? 2 : 3))
    throw InputError(fmt::format(
        "{}:1: the columns of groups are asset, group and perhaps date: write the header so",
        shown_file(name)));
  std::vector<GroupMember> out;
  std::map<std::tuple<std::string, std::string, std::string>, Index> lines;
  std::set<std::pair<std::string, std::string>> left, joined;
  for (const TableLine& line : table.lines) {
    GroupMember member{.asset = table.asset_of(line),
                       .group = line.fields[at(group)],
                       .from = {},
                       .where = table.where(line)};
    member.from = table.date_of(line);
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
  const AssetTable table = market::read_asset_table(text, name, "asset,quality,size");
  if (table.header.size() < (table.date < 0 ? 2U : 3U))
    throw InputError(fmt::format(
        "{}:1: there is no column of coefficients: give one beside asset, with its name",
        shown_file(name)));
  std::vector<Coefficient> out;
  std::map<std::pair<std::string, std::string>, Index> lines;
  for (const TableLine& line : table.lines) {
    const std::string from = table.date_of(line);
    const std::string& asset = table.asset_of(line);
    table.refuse_twice(line, from, lines);
    for (std::size_t c = 0; c < line.fields.size(); ++c) {
      if (static_cast<Index>(c) == table.asset || static_cast<Index>(c) == table.date ||
          line.fields[c].empty())
        continue;
      const double value = share_of(table, line, c);
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
  const AssetTable table = market::read_asset_table(text, name, "asset,weight");
  const Index weight = table.column("weight");
  if (weight < 0 || table.header.size() != 2)
    throw InputError(
        fmt::format("{}:1: the columns of holdings are asset and weight: write the header so",
                    shown_file(name)));
  std::map<std::string, double> out;
  for (const TableLine& line : table.lines) {
    const double value = share_of(table, line, at(weight));
    const std::string& asset = table.asset_of(line);
    if (!out.try_emplace(asset, value).second)
      table.fail(line, fmt::format("asset {} is there twice: keep one", shown(asset)));
  }
  return out;
}

}  // namespace sharpen::layer
