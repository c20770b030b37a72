#include "sharpen/command/trades.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/vec.hpp"
#include "command/trading.hpp"
#include "market/asset_table.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::command {

namespace {

using backtest::NamedWeight;
using settings::Values;

TradeRow row_of(const std::string& asset, double from, double to, const Sizes* sizes) {
  TradeRow row{.asset = asset, .from = from, .to = to};
  if (sizes == nullptr) return row;
  if (const std::optional<double> price = sizes->price(asset))
    row.shares = {*price, *sizes->shares(asset, from), *sizes->shares(asset, to)};
  return row;
}

}  // namespace

std::optional<double> Sizes::price(const std::string& asset) const {
  const auto found = prices.find(asset);
  return found == prices.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Sizes::shares(const std::string& asset, double weight) const {
  const std::optional<double> each = price(asset);
  if (!each) return std::nullopt;
  const double count = std::round(weight * capital / *each / lot) * lot;
  constexpr double kMost = 9007199254740992.0;  // 2^53: beyond it not every count is a number
  if (std::abs(count) > kMost)
    throw InputError(fmt::format(
        "capital = {} makes more shares of {} than can be counted: its weight is {}, its price {}; "
        "correct one of them",
        shortest(capital), printable(asset, 24), shortest(weight), shortest(*each)));
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
      out += row.shares ? fmt::format(",{},{}", shortest(row.shares->price),
                                      share_text(row.shares->trade()))
                        : ",,";
    out += "\n";
  }
  return out;
}

double turnover(const std::vector<TradeRow>& trades) {
  double sum = 0.0;
  for (const TradeRow& row : trades) sum += std::abs(row.trade());
  return sum;
}

std::string share_text(double shares) { return fmt::format("{:.0f}", shares); }

trade::Ruling ruling_of(const Values& values, trade::RuleSettings usual,
                        const solve::OptimizerInfo& optimizer) {
  settings::fill(values, usual);
  return trade::ruling(usual, optimizer);
}

std::vector<double> holdings_of(const std::vector<NamedWeight>& previous, const std::string& file,
                                std::span<const std::string> tickers,
                                std::span<const std::string> known,
                                std::vector<std::string>& strangers) {
  std::vector<double> out(tickers.size());
  for (const NamedWeight& position : previous) {
    if (position.weight == 0.0) continue;
    const auto found = std::ranges::find(tickers, position.asset);
    if (found != tickers.end()) {
      out[at(found - tickers.begin())] = position.weight;
      continue;
    }
    if (std::ranges::find(known, position.asset) == known.end()) {
      std::vector<std::string_view> names(tickers.begin(), tickers.end());
      names.insert(names.end(), known.begin(), known.end());
      market::fail_unknown_asset(file.empty() ? "previous" : shown_file(file), position.asset,
                                 names);
    }
    strangers.push_back(position.asset);
  }
  return out;
}

void refuse_other_holdings(const std::vector<NamedWeight>& previous,
                           const layer::LimitRules* rules) {
  if (rules == nullptr || rules->holdings.empty()) return;
  std::map<std::string, double> difference = rules->holdings;
  for (const NamedWeight& position : previous) difference[position.asset] -= position.weight;
  constexpr double kRounding = 1e-9;  // weights as they are written: 1/3, 33.3333333333 %
  for (const auto& [asset, by] : difference)
    if (std::abs(by) > kRounding)
      throw InputError(fmt::format(
          "‹--previous› and holdings in the limits say two things of what is held, first of {}; "
          "leave holdings out of the limits",
          printable(asset)));
}

void warn_of_percent(const std::vector<NamedWeight>& previous, std::vector<std::string>& warnings) {
  constexpr double kMostGross = 5.0;
  double gross = 0.0;
  for (const NamedWeight& position : previous) gross += std::abs(position.weight);
  if (gross > kMostGross)
    warnings.push_back(fmt::format(
        "what is held has a gross exposure of {:.4g} times the wealth; weights are shares of it: "
        "write 0.3 for 30 %",
        gross));
}

void warn_of_idle_rule(const Values& values, const trade::Ruling& ruling,
                       const solve::OptimizerInfo& optimizer, bool tells_gains,
                       std::vector<std::string>& warnings) {
  const auto given = [&](std::string_view name) {
    return values.takes(name) && values.origin(name) == settings::Origin::flag;
  };
  for (const std::string_view name : {"expected-sharpe", "holding-horizon"})
    if (given(name) && ruling.rule != trade::Rule::cost)
      warnings.push_back(
          fmt::format("‹--{}› {}; it goes with ‹--rule cost›", name,
                      tells_gains ? "does not change what is decided, only what it is said to gain"
                                  : "has no effect here"));
  if (given("memory") && !optimizer.needs.signal)
    warnings.push_back(
        fmt::format("‹--memory› has no effect here; it goes with other optimizers: {} {}",
                    optimizer.name, optimizer.ignores_since));
}

void set_costs(const settings::NumberOrFile& bps, std::span<const std::string> tickers,
               std::span<const std::string> known, const std::string& date, Trading& out) {
  const trade::CostBook book(bps, tickers, known, date);
  const ConstVec costs = book.at(date);
  out.costs.assign(costs.begin(), costs.end());
  out.cost_bps = bps.file.empty() ? bps.number : book.mean_bps(std::span(&date, 1));
  for (const NamedWeight& position : out.previous)
    if (const std::optional<double> rate = book.of_other(position.asset, date))
      out.other_costs.emplace(position.asset, *rate);
}

double unit_of(ConstVec mu, ConstVec q) {
  const double length = dot(q, q), unit = dot(mu, q) / length;
  return length > 0.0 && unit > 0.0 && std::isfinite(unit) ? unit : 1.0;
}

std::vector<trade::TradeReason> decide_from(ConstVec holdings, const Trading& trading,
                                            const solve::OptimizerInfo& optimizer,
                                            const solve::OptimizerSettings& settings,
                                            double periods_per_year, const solve::Problem& problem,
                                            double unit, solve::Choice& choice) {
  trade::Trader trader(trading.ruling, optimizer, settings, periods_per_year);
  const trade::Standing standing{.holdings = holdings,
                                 .costs = trading.costs,
                                 .fixed = trading.fixed,
                                 .outside = trading.outside};
  solve::Answer decided;
  trader.decide(problem, choice, standing, decided);
  std::vector<trade::TradeReason> reasons =
      trader.reasons(problem, choice, standing, decided, unit);
  const bool made_anew = decided.portfolio.weights == choice.portfolio.weights;
  choice.from_holdings = !made_anew;
  static_cast<solve::Answer&>(choice) = std::move(decided);
  return reasons;
}

void list_trades(const std::vector<NamedWeight>& wanted, std::span<const std::string> tickers,
                 const std::vector<trade::TradeReason>& reasons, const Sizes* sizes, Trading& out) {
  std::unordered_map<std::string_view, double> gains;
  for (const trade::TradeReason& reason : reasons) {
    const std::string& asset = tickers[at(reason.asset)];
    if (reason.done)
      gains.emplace(asset, reason.gain);
    else
      out.left_undone.push_back({.asset = asset,
                                 .from = reason.from,
                                 .to = reason.ideal,
                                 .gain = reason.gain,
                                 .cost = reason.cost});
  }
  out.trades = trade_list(out.previous, wanted, sizes);
  for (TradeRow& row : out.trades) {
    const auto found = std::ranges::find(tickers, row.asset);
    const auto other = out.other_costs.find(row.asset);
    if (found != tickers.end())
      row.cost = out.costs[at(found - tickers.begin())] * std::abs(row.trade());
    else if (other != out.other_costs.end())
      row.cost = other->second * std::abs(row.trade());
    out.cost += row.cost.value_or(0.0);
    if (const auto gain = gains.find(row.asset); gain != gains.end()) row.gain = gain->second;
  }
}

}  // namespace sharpen::command
