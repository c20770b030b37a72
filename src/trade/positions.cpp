#include "sharpen/trade/positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "market/asset_table.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::trade {

namespace {

constexpr double kNearOne = 0.01;  // that weights and cash may be away from 1

// Columns of a list; -1: there is none.
struct Titles {
  Index amount = -1, cost = -1;
  bool in_shares = false;
};

Titles titles_of(const market::AssetTable& table) {
  const Index shares = table.column("shares"), weight = table.column("weight");
  if ((shares < 0) == (weight < 0))
    throw InputError(fmt::format(
        "{}:1: {}; write the header asset,shares or asset,weight", shown_file(table.name),
        shares < 0 ? "there is no column called shares or weight"
                   : "there are columns called shares and weight, and one must count"));
  const Titles out{
      .amount = std::max(shares, weight), .cost = table.column("cost"), .in_shares = shares >= 0};
  const std::size_t known = 2 + (out.cost >= 0 ? 1u : 0u) + (table.date >= 0 ? 1u : 0u);
  if (table.header.size() == known) return out;
  for (const std::string& title : table.header)
    if (title != "asset" && title != "shares" && title != "weight" && title != "cost" &&
        title != "date")
      throw InputError(fmt::format(
          "{}:1: nothing is known of a column called {}; keep asset, {} and perhaps date and cost",
          shown_file(table.name), shown(title), out.in_shares ? "shares" : "weight"));
  return out;
}

double number_in(const market::AssetTable& table, const market::TableLine& line, Index column) {
  const std::optional<double> value = parse_number(line.fields[at(column)]);
  if (!value) table.fail_number(line, at(column));
  return *value;
}

void take_line(const market::AssetTable& table, const market::TableLine& line, const Titles& titles,
               Positions& out) {
  const double amount = number_in(table, line, titles.amount);
  if (titles.cost >= 0 && !line.fields[at(titles.cost)].empty())
    out.cost += number_in(table, line, titles.cost);
  if (const std::string date = table.date_of(line); !date.empty()) {
    if (!out.date.empty() && out.date != date)
      table.fail(line,
                 fmt::format("the date is {}, and {} above: a list is of one day", date, out.date));
    out.date = date;
  }
  if (table.asset_of(line) == kCash)
    out.cash = amount;
  else
    out.holdings.push_back({table.asset_of(line), amount, table.where(line)});
}

void check_sum(const Positions& positions) {
  double sum = positions.cash + positions.cost;
  for (const Holding& holding : positions.holdings) sum += holding.amount;
  if (std::abs(sum - 1.0) <= kNearOne) return;
  throw InputError(fmt::format(
      "{}: the weights and cash add up to {}, not to 1; write shares of the wealth, cash among "
      "them, or give asset,shares",
      shown_file(positions.name), shortest(sum)));
}

}  // namespace

Positions parse_positions(std::string_view text, std::string_view name) {
  const market::AssetTable table = market::read_asset_table(text, name, "asset,shares");
  const Titles titles = titles_of(table);
  Positions out{.name = std::string(name), .in_shares = titles.in_shares};
  std::map<std::pair<std::string, std::string>, Index> seen;
  for (const market::TableLine& line : table.lines) {
    table.refuse_twice(line, {}, seen);
    take_line(table, line, titles, out);
  }
  if (!seen.contains({std::string(kCash), std::string()}))
    throw InputError(fmt::format(
        "{}: there is no row for cash; add one, such as cash,{}, or cash,0 if there is none",
        shown_file(name), titles.in_shares ? "12500.50" : "0.25"));
  if (!out.in_shares) check_sum(out);
  return out;
}

Positions read_positions(const std::filesystem::path& file) {
  const TextFile content(file);
  return parse_positions(content.text(), file.string());
}

std::string plain_number(double value) {
  constexpr double kMost = 1e15;
  const bool whole = value == std::round(value) && std::abs(value) < kMost;
  return whole ? fmt::format("{:.0f}", value + 0.0) : shortest(value);
}

std::string positions_csv(const Positions& positions) {
  std::string out = fmt::format("asset,{},date,cost\n", positions.in_shares ? "shares" : "weight");
  for (const Holding& holding : positions.holdings)
    if (holding.amount != 0.0)
      out += fmt::format("{},{},{},\n", csv_field(holding.asset), plain_number(holding.amount),
                         positions.date);
  return out + fmt::format("{},{},{},{}\n", kCash, plain_number(positions.cash), positions.date,
                           plain_number(positions.cost));
}

double Balance::wealth() const {
  double sum = cash;
  for (const double value : values) sum += value;
  return sum;
}

void Balance::live(ConstVec returns, const Rates& rates) {
  const double before = cash + cost;
  double sold_short = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sold_short += std::max(0.0, -values[i]);
    if (std::isfinite(returns[i])) values[i] *= 1.0 + returns[i];
  }
  cash += before * rates.risk_free - rates.short_fee * sold_short -
          rates.financing * std::max(0.0, -before);
  cost = 0.0;
}

}  // namespace sharpen::trade
