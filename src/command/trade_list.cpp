#include "sharpen/command/trade_list.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "base/csv.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

namespace {

TradeRow row_of(const std::string& asset, double from, double to, const Sizes* sizes) {
  TradeRow row{.asset = asset, .from = from, .to = to};
  if (sizes == nullptr) return row;
  row.price = sizes->price(asset);
  row.shares_from = sizes->shares(asset, from);
  row.shares_to = sizes->shares(asset, to);
  return row;
}

}  // namespace

double Sizes::price(const std::string& asset) const {
  const auto found = prices.find(asset);
  return found == prices.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

double Sizes::shares(const std::string& asset, double weight) const {
  const double each = price(asset);
  const double count = std::round(weight * capital / each / lot) * lot;
  constexpr double kMost = 9007199254740992.0;  // 2^53: beyond it not every count is a number
  if (std::abs(count) > kMost)
    throw InputError(fmt::format(
        "capital = {} makes more shares of {} than can be counted: its weight is {}, its price {}; "
        "correct one of them",
        shortest(capital), printable(asset, 24), shortest(weight), shortest(each)));
  return count == 0.0 ? 0.0 : count;  // no -0
}

std::vector<TradeRow> trade_list(const std::vector<backtest::NamedWeight>& held,
                                 const std::vector<backtest::NamedWeight>& wanted,
                                 const Sizes* sizes) {
  std::unordered_map<std::string, double> from;
  for (const backtest::NamedWeight& position : held) from[position.asset] = position.weight;
  std::vector<TradeRow> rows;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& asset, double to) {
    const auto found = from.find(asset);
    const double before = found == from.end() ? 0.0 : found->second;
    if (seen.insert(asset).second && before != to) rows.push_back(row_of(asset, before, to, sizes));
  };
  for (const backtest::NamedWeight& position : wanted) add(position.asset, position.weight);
  for (const backtest::NamedWeight& position : held) add(position.asset, 0.0);
  return rows;
}

std::string trade_csv(const std::vector<TradeRow>& trades, bool with_shares) {
  std::string out = with_shares ? "asset,from,to,trade,price,shares\n" : "asset,from,to,trade\n";
  for (const TradeRow& row : trades) {
    out += fmt::format("{},{},{},{}", csv_field(row.asset), shortest(row.from), shortest(row.to),
                       shortest(row.trade()));
    if (with_shares)
      out += fmt::format(",{},{}", std::isnan(row.price) ? "" : shortest(row.price),
                         share_text(row.shares()));
    out += "\n";
  }
  return out;
}

double turnover(const std::vector<TradeRow>& trades) {
  double sum = 0.0;
  for (const TradeRow& row : trades) sum += std::abs(row.trade());
  return sum;
}

std::string share_text(double shares) {
  return std::isnan(shares) ? std::string() : fmt::format("{:.0f}", shares);
}

}  // namespace sharpen::command
