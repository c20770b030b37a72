#include "layer/limit_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/csv.hpp"
#include "base/vec.hpp"
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

double coefficient_of(const AssetTable& table, const TableLine& line, std::size_t column) {
  constexpr double kLargest = 1e70;  // sums of squares, with factors, stay in the range of numbers
  const double value = share_of(table, line, column);
  if (std::abs(value) > kLargest)
    table.fail(line, fmt::format("{} of asset {} is {}, beyond {}: write it in another unit",
                                 shown(table.header[column]), shown(table.asset_of(line)),
                                 shortest(value), shortest(kLargest)));
  return value;
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

CoefficientTable parse_coefficients(std::string_view text, std::string_view name) {
  const AssetTable table = market::read_asset_table(text, name, "asset,quality,size");
  if (table.header.size() < (table.date < 0 ? 2U : 3U))
    throw InputError(fmt::format(
        "{}:1: there is no column of coefficients: give one beside asset, with its name",
        shown_file(name)));
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.header.size(); ++c)
    if (static_cast<Index>(c) != table.asset && static_cast<Index>(c) != table.date)
      columns.push_back(c);
  CoefficientTable out;
  for (const std::size_t c : columns) out.names.push_back(table.header[c]);
  std::map<std::pair<std::string, std::string>, Index> lines;
  for (const TableLine& line : table.lines) {
    const std::string from = table.date_of(line);
    table.refuse_twice(line, from, lines);
    // A line that says nothing is as if it were not there.
    if (std::ranges::all_of(columns, [&](std::size_t c) { return line.fields[c].empty(); }))
      continue;
    out.lines.push_back({table.asset_of(line), from, table.where(line)});
    for (const std::size_t c : columns)
      out.values.push_back(line.fields[c].empty() ? kNaN : coefficient_of(table, line, c));
  }
  return out;
}

std::string write_coefficients(const CoefficientTable& table) {
  const bool dated = any_dated(table.lines);
  std::string out = "asset";
  for (const std::string& name : table.names) out += ',' + csv_field(name);
  out += dated ? ",date\n" : "\n";
  for (std::size_t l = 0; l < table.lines.size(); ++l) {
    out += csv_field(table.lines[l].asset);
    for (const double value : table.matrix().row(static_cast<Index>(l)))
      out += ',' + (std::isnan(value) ? "" : shortest(value));
    out += (dated ? ',' + table.lines[l].from : "") + '\n';
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
