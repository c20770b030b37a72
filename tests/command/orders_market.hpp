// What the tests of orders share: a market, and commands about it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sharpen/command/backtest.hpp"
#include "sharpen/command/orders.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/files.hpp"

namespace sharpen::command {

using Flags = std::vector<std::pair<std::string, std::string>>;
using settings::Values;

inline constexpr Index kAssets = 8, kLookback = 20;

class OrdersMarket : public ::testing::Test {
 protected:
  OrdersMarket() : OrdersMarket(300) {}
  explicit OrdersMarket(Index days)
      : prices_(market::simulate({.assets = kAssets, .days = days, .seed = 11})) {
    market::write_panel(prices_, folder_.path("prices.csv"));
  }

  Values values(settings::Command command, const Flags& flags) const {
    Values out(command);
    out.set_flag("prices", folder_.path("prices.csv"));
    out.set_flag("threads", "1");
    for (const auto& [name, text] : flags) out.set_flag(name, text);
    return out;
  }
  BacktestAnswer backtest(Flags flags) const {
    flags.emplace_back("replications", "10");
    return backtest_answer(values(settings::backtest, flags), {}, {}, {});
  }
  OrdersAnswer day(Index price_row, Flags flags) const {
    flags.emplace_back("asof", prices_.dates[at(price_row)]);
    flags.emplace_back("out-dir", folder_.path("next"));
    return orders_answer(values(settings::predict, flags), {}, {}, {});
  }
  Flags with(Flags flags, const Flags& more) const {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  // The largest difference between what `days` daily runs and the backtest hold, in weights or
  // shares. `first`: flags of the first day.
  double chain(const Flags& flags, Index days, const Flags& first = {}) const {
    const BacktestAnswer judged = backtest(flags);
    const backtest::Run& run = judged.result.run;
    const bool counted = !run.shares.empty();
    double worst = 0.0;
    for (Index p = 0; p < std::min(days, run.periods()); ++p) {
      const Flags account =
          p == 0 ? first : Flags{{"positions", folder_.path("next/positions.csv")}};
      // Row t of the returns begins with row t of the prices.
      const OrdersAnswer today = day(run.first_row + p, with(flags, account));
      check_sums(today);
      std::map<std::string, double> held;
      for (Index i = run.weights_begin[at(p)]; i < run.weights_begin[at(p + 1)]; ++i)
        held[judged.result.tickers[at(run.weights[at(i)].asset)]] =
            counted ? run.shares[at(i)] : run.weights[at(i)].weight;
      const trade::Positions written = trade::read_positions(folder_.path("next/positions.csv"));
      EXPECT_EQ(written.in_shares, counted);
      for (const trade::Holding& holding : written.holdings) held[holding.asset] -= holding.amount;
      for (const auto& [asset, difference] : held) worst = std::max(worst, std::abs(difference));
    }
    return worst;
  }
  // Cash after is cash before less what the orders say, to the cent; positions are what is held.
  static void check_sums(const OrdersAnswer& today) {
    std::istringstream lines(orders_csv(today));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "asset,side,shares,price,value,cost,reason");
    double cash = today.cash_before;
    while (std::getline(lines, line)) {
      std::vector<std::string> fields;
      std::istringstream parts(line);
      for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
      ASSERT_EQ(fields.size(), 7u) << line;
      ASSERT_TRUE(fields[1] == "buy" || fields[1] == "sell") << line;
      const double value = std::stod(fields[4]), cost = std::stod(fields[5]);
      EXPECT_GT(value, 0.0);
      if (today.in_money) {
        EXPECT_NEAR(value, std::stod(fields[2]) * std::stod(fields[3]), 1e-9 * value);
      }
      cash += (fields[1] == "sell" ? value : -value) - cost;
    }
    EXPECT_NEAR(cash, today.cash, today.in_money ? 0.005 : 1e-14);
    EXPECT_EQ(today.positions.cash, today.cash);
  }

  const testing::Folder folder_;
  market::Panel prices_;
  const Flags rolling_ = {
      {"framework", "rolling"}, {"k", "3"}, {"lookback", std::to_string(kLookback)}};
};

}  // namespace sharpen::command
