#include "command/orders_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/vec.hpp"
#include "market/asset_table.hpp"
#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

namespace {

using trade::Positions;

std::string list_of(const Positions& positions) {
  return positions.name.empty() ? std::string("positions") : shown_file(positions.name);
}

// A column from row to row of these dates, as its file has it.
void follow(const market::RawPanel& held, Index column, const std::vector<std::string>& dates,
            Stranger& out) {
  const bool prices = held.kind == market::PanelKind::prices;
  const double base = held.kind == market::PanelKind::gross_returns ? 0.0 : 1.0;
  double last = kNaN;
  Index row = 0;
  for (const std::string& date : dates) {
    const double before = last;
    double grown = kNaN;
    out.today = false;
    for (; row < held.panel.rows() && held.panel.dates[at(row)] <= date; ++row) {
      const double value = held.panel.matrix()(row, column);
      if (!(prices ? value > 0.0 : std::isfinite(value))) continue;
      out.today = held.panel.dates[at(row)] == date;
      if (prices)
        last = value;
      else
        grown = (std::isfinite(grown) ? grown : 1.0) * (base + value);
    }
    out.prices.push_back(last);
    out.moves.push_back((prices ? last / before : grown) - 1.0);
  }
  if (last > 0.0) out.price = last;
}

// Names by column, and those that the panel has and that cannot be decided on.
void find_names(const Positions& positions, const market::RawPanel& held,
                const market::Panel& returns, AccountToday& out) {
  std::unordered_map<std::string_view, Index> columns;
  for (Index j = 0; j < returns.n(); ++j) columns.emplace(returns.tickers[at(j)], j);
  out.amounts.assign(at(returns.n()), 0.0);
  for (const trade::Holding& holding : positions.holdings) {
    if (holding.amount == 0.0) continue;
    if (const auto found = columns.find(holding.asset); found != columns.end()) {
      out.amounts[at(found->second)] = holding.amount;
      continue;
    }
    const auto& others = returns.left_out;
    if (std::ranges::find(others, holding.asset) == others.end()) {
      std::vector<std::string_view> known(returns.tickers.begin(), returns.tickers.end());
      known.insert(known.end(), others.begin(), others.end());
      market::fail_unknown_asset(holding.where.empty() ? list_of(positions) : holding.where,
                                 holding.asset, known);
    }
    Stranger stranger{.asset = holding.asset, .amount = holding.amount};
    const auto column = std::ranges::find(held.panel.tickers, holding.asset);
    if (column != held.panel.tickers.end())
      follow(held, column - held.panel.tickers.begin(), returns.dates, stranger);
    out.strangers.push_back(std::move(stranger));
  }
}

// Names whose last price is one of before today, carried.
void find_carried(const market::PanelInput& input, const market::Panel& returns,
                  AccountToday& out) {
  for (const market::Halt& halt : input.halts.runs) {
    if (!halt.without_price || halt.last != input.returns.rows() - 1) continue;
    const auto found = std::ranges::find(returns.tickers, input.returns.tickers[at(halt.asset)]);
    if (found != returns.tickers.end())
      out.priceless[static_cast<std::size_t>(found - returns.tickers.begin())] = 1;
  }
}

// The last prices, and which names have none today.
void find_prices(const market::PanelInput& input, const market::Panel& returns, AccountToday& out) {
  out.prices.assign(at(returns.n()), kNaN);
  out.priceless.assign(at(returns.n()), 0);
  find_carried(input, returns, out);
  if (input.settings.kind != market::PanelKind::prices) {
    for (Index j = 0; j < returns.n(); ++j)
      if (!std::isfinite(returns.matrix()(returns.rows() - 1, j))) out.priceless[at(j)] = 1;
    return;
  }
  const market::Panel& prices = input.cleaning.panel;
  std::unordered_map<std::string_view, Index> columns;
  for (Index j = 0; j < prices.n(); ++j) columns.emplace(prices.tickers[at(j)], j);
  for (std::size_t j = 0; j < out.prices.size(); ++j) {
    const Index column = columns.at(returns.tickers[j]);
    for (Index t = prices.rows() - 1; t >= 0 && !(out.prices[j] > 0.0); --t) {
      out.prices[j] = prices.matrix()(t, column);
      if (t < prices.rows() - 1) out.priceless[j] = 1;
    }
  }
}

// Weights become shares of an account of this size, in whole lots; the rest is cash.
void count_in_shares(double capital, AccountToday& account) {
  account.in_shares = true;
  account.cash = capital;
  const auto shares = [&](double weight, double price) {
    if (!(price > 0.0)) return 0.0;
    const double exact = weight * capital / price;
    const double count =
        account.lot > 0.0 ? std::round(exact / account.lot) * account.lot + 0.0 : exact;
    account.cash -= count * price;
    return count;
  };
  for (std::size_t j = 0; j < account.amounts.size(); ++j)
    if (account.amounts[j] != 0.0)
      account.amounts[j] = shares(account.amounts[j], account.prices[j]);
  for (Stranger& stranger : account.strangers)
    stranger.amount = shares(stranger.amount, stranger.price);
}

void refuse_fractions(const Positions& positions, double lot) {
  for (const trade::Holding& holding : positions.holdings)
    if (holding.amount != std::round(holding.amount))
      throw InputError(fmt::format(
          "{}: {} shares of {} are no whole number, and lots of {} are traded; leave ‹--lot› and "
          "‹--capital› out, or give what the broker counts",
          holding.where.empty() ? list_of(positions) : holding.where, shortest(holding.amount),
          shown(holding.asset), shortest(lot)));
}

// Rows of the panel since the positions were written down. A month stands for its end.
Index first_row_after(const Positions& positions, const market::PanelInput& input,
                      const market::Panel& returns) {
  if (positions.date.empty()) return returns.rows();
  if (market::compare_dates(positions.date, returns.dates.back()) > 0)
    throw InputError(fmt::format(
        "{}: is of {}, and the prices end on {}; give prices up to that day, or the positions of "
        "the day before",
        list_of(positions), positions.date, returns.dates.back()));
  const std::string& first = input.cleaning.panel.dates.front();
  if (market::compare_dates(positions.date, first) < 0)
    throw InputError(fmt::format(
        "{}: is of {}, and the prices begin on {}: nobody knows what it has drifted to; give the "
        "broker's list of today, or prices from that day on",
        list_of(positions), positions.date, first));
  const auto after = std::ranges::partition_point(returns.dates, [&](const std::string& date) {
    return market::compare_dates(date, positions.date) <= 0;
  });
  return after - returns.dates.begin();
}

// From the day of the positions on: names drift, cash earns and pays.
void live_since(const Positions& positions, const market::PanelInput& input,
                const backtest::NextPeriod& next, AccountToday& account) {
  const market::Panel& returns = next.returns();
  const std::size_t n = account.amounts.size(), all = n + account.strangers.size();
  trade::Balance balance{
      .values = std::vector<double>(all), .cash = account.cash, .cost = positions.cost};
  for (std::size_t i = 0; i < account.strangers.size(); ++i)
    balance.values[n + i] = account.strangers[i].amount;
  if (!account.in_shares) std::ranges::copy(account.amounts, balance.values.begin());
  const market::Panel& prices = input.cleaning.panel;
  std::unordered_map<std::string_view, Index> columns;
  for (Index j = 0; j < prices.n(); ++j) columns.emplace(prices.tickers[at(j)], j);
  std::vector<double> moves(all, kNaN);
  for (Index t = first_row_after(positions, input, returns); t < returns.rows(); ++t) {
    for (std::size_t j = 0; j < n; ++j) {
      moves[j] = returns.matrix()(t, static_cast<Index>(j));
      if (!account.in_shares || account.amounts[j] == 0.0) continue;
      // Fees of a day without a price are those of the last one.
      double price = prices.matrix()(t, columns.at(returns.tickers[j]));
      if (!(price > 0.0)) price = account.prices[j];
      balance.values[j] = account.amounts[j] * price;
    }
    for (std::size_t i = 0; i < account.strangers.size(); ++i) {
      const Stranger& stranger = account.strangers[i];
      if (!stranger.moves.empty()) moves[n + i] = stranger.moves[at(t)];
      if (!account.in_shares) continue;
      const double before = t > 0 && !stranger.prices.empty() ? stranger.prices[at(t - 1)] : kNaN;
      balance.values[n + i] = stranger.amount * (before > 0.0 ? before : stranger.price);
    }
    balance.live(moves, next.rates());
  }
  account.cash = balance.cash;
  account.values.assign(balance.values.begin(), balance.values.begin() + static_cast<Index>(n));
  for (std::size_t i = 0; i < account.strangers.size(); ++i) {
    Stranger& stranger = account.strangers[i];
    stranger.value = account.in_shares ? stranger.amount * stranger.price : balance.values[n + i];
  }
  for (std::size_t j = 0; account.in_shares && j < n; ++j)
    account.values[j] = account.amounts[j] == 0.0 ? 0.0 : account.amounts[j] * account.prices[j];
}

// What holds for every order holds for theirs.
void judge_strangers(const backtest::NextPeriod& next, double min_order, AccountToday& account) {
  std::vector<std::string> names;
  for (const Stranger& stranger : account.strangers) names.push_back(stranger.asset);
  const std::vector<char> frozen = next.frozen_others(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Stranger& stranger = account.strangers[i];
    const double value = std::abs(stranger.value);
    if (!stranger.today)
      stranger.kept = kNoPrice;
    else if (frozen[i] != 0)
      stranger.kept = kHalted;
    else if (!next.decides())
      stranger.kept = kNoDecision;
    else if (account.in_shares && value < min_order)
      stranger.kept = kBelowMinimum;
    else
      stranger.cost = next.cost_of_other(stranger.asset) * value;
  }
}

}  // namespace

market::RawPanel columns_held(const market::RawPanel& raw, const Positions& positions) {
  market::RawPanel out{.file = raw.file, .kind = raw.kind, .panel = {}};
  std::vector<std::string> tickers;
  for (const trade::Holding& holding : positions.holdings)
    if (std::ranges::find(raw.panel.tickers, holding.asset) != raw.panel.tickers.end())
      tickers.push_back(holding.asset);
  if (!tickers.empty()) out.panel = market::select_tickers(raw.panel, tickers);
  return out;
}

backtest::AccountNow AccountToday::now() const {
  backtest::AccountNow out;
  for (std::size_t j = 0; j < values.size(); ++j) out.weights.push_back(weight(j));
  out.fixed = fixed;
  out.wealth = wealth;
  for (const Stranger& stranger : strangers) {
    out.owed += stranger.cost;
    if (stranger.kept.empty() || stranger.value == 0.0) continue;
    out.elsewhere += stranger.value;
    if (stranger.kept == kBelowMinimum) continue;  // it goes as soon as it is worth it
    ++out.outside.names;
    out.outside.net += stranger.value / wealth;
    out.outside.gross += std::abs(stranger.value / wealth);
  }
  if (in_shares) out.shares = amounts;
  return out;
}

std::vector<std::string> corrected_since(const Positions& positions,
                                         const market::PanelInput& input) {
  std::vector<std::string> out;
  if (!positions.in_shares || positions.date.empty()) return out;
  for (const market::Finding& finding : input.cleaning.findings) {
    const bool held = std::ranges::any_of(positions.holdings, [&](const trade::Holding& each) {
      return each.asset == finding.ticker && each.amount != 0.0;
    });
    if (held && market::is_suspect(finding.rule) && finding.how == market::OnSuspect::adjust &&
        market::compare_dates(finding.last_date, positions.date) > 0)
      out.push_back(
          fmt::format("{} ({} on {})", finding.ticker, name(finding.rule), finding.first_date));
  }
  return out;
}

AccountToday account_today(const Positions& positions, const market::PanelInput& input,
                           const market::RawPanel& held, const backtest::NextPeriod& next,
                           const trade::AccountSettings& settings) {
  const market::Panel& returns = next.returns();
  AccountToday out;
  out.in_shares = positions.in_shares;
  out.lot = trade::lot_size(settings);
  out.cash = positions.cash;
  find_names(positions, held, returns, out);
  find_prices(input, returns, out);
  if (positions.in_shares && out.lot > 0.0) refuse_fractions(positions, out.lot);
  live_since(positions, input, next, out);
  out.wealth = out.cash + sum(out.values);
  for (const Stranger& stranger : out.strangers) out.wealth += stranger.value;
  if (!(out.wealth > 0.0 && std::isfinite(out.wealth)))
    throw InputError(fmt::format(
        "{}: the account is worth {}, and there is nothing to decide on; correct shares and cash",
        list_of(positions), shortest(out.wealth)));
  if (!positions.in_shares && settings.capital) {
    for (std::size_t j = 0; j < out.amounts.size(); ++j) out.amounts[j] = out.weight(j);
    for (Stranger& stranger : out.strangers) stranger.amount = stranger.value / out.wealth;
    count_in_shares(*settings.capital, out);
    out.wealth = out.cash;
    for (std::size_t j = 0; j < out.amounts.size(); ++j) {
      out.values[j] = out.amounts[j] == 0.0 ? 0.0 : out.amounts[j] * out.prices[j];
      out.wealth += out.values[j];
    }
    for (Stranger& stranger : out.strangers)
      out.wealth += stranger.value = stranger.amount * stranger.price;
  }
  out.fixed = next.frozen();
  out.fixed.resize(out.amounts.size(), 0);
  for (std::size_t j = 0; j < out.amounts.size(); ++j)
    if (out.amounts[j] != 0.0 && out.priceless[j] != 0) out.fixed[j] = 1;
  judge_strangers(next, settings.min_order, out);
  return out;
}

}  // namespace sharpen::command
