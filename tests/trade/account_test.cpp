// The account against one that is kept in money, position by position.
#include "sharpen/trade/account.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/problems.hpp"

namespace sharpen::trade {
namespace {

using sharpen::testing::kNaN;
using sharpen::testing::Problems;

// Money in each name and in cash, as a broker's books have it.
struct Books {
  explicit Books(Index n) : money(at(n)) {}

  double wealth() const {
    double total = cash;
    for (const double m : money) total += m;
    return total;
  }

  // Trades to the shares of wealth given, pays for it, and lives through a period.
  void live(const std::vector<double>& target, const std::vector<double>& returns,
            const Rates& rates) {
    const double W = wealth();
    trading = short_fee = financing = 0.0;
    double invested = 0.0;
    for (std::size_t i = 0; i < money.size(); ++i) {
      const double bought = target[i] * W - money[i];
      trading += rates.trading[i] * std::abs(bought);
      cash -= bought;
      money[i] += bought;
      invested += money[i];
      if (money[i] < 0.0) short_fee += rates.short_fee * -money[i];
    }
    if (cash < 0.0) financing = rates.financing * -cash;
    cash += cash * rates.risk_free;
    for (std::size_t i = 0; i < money.size(); ++i)
      if (!std::isnan(returns[i])) money[i] *= 1.0 + returns[i];
    before_costs = wealth();
    cash -= trading + short_fee + financing;
  }

  std::vector<double> money;
  double cash = 1.0;
  double trading = 0.0, short_fee = 0.0, financing = 0.0, before_costs = 0.0;
};

TEST(Account, AgreesWithBooksKeptInMoney) {
  const Index n = 7;
  Problems problems(3);
  Account account(n);
  Books books(n);
  std::vector<double> target(at(n)), returns(at(n)), costs(at(n));
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = 1e-4 * static_cast<double>(i);
  double largest_cost = 0.0;
  for (int day = 0; day < 400; ++day) {
    for (std::size_t i = 0; i < target.size(); ++i) {
      const Index kind = problems.below(4);
      const double kept = account.weights()[i];
      target[i] = kind == 0 ? 0.0 : kind == 1 ? kept : 0.4 * problems.normal();
      returns[i] = problems.below(20) == 0 ? kNaN : 0.02 * problems.normal();
    }
    const Rates rates{.trading = costs, .short_fee = 2e-5, .financing = 3e-5, .risk_free = 1e-4};
    const double W = books.wealth();
    const Period period = account.live(target, returns, rates);
    books.live(target, returns, rates);
    ASSERT_FALSE(period.ruined);
    EXPECT_NEAR(period.costs.trading, books.trading / W, 1e-13);
    EXPECT_NEAR(period.costs.short_fee, books.short_fee / W, 1e-13);
    EXPECT_NEAR(period.costs.financing, books.financing / W, 1e-13);
    EXPECT_NEAR(period.gross, books.before_costs / W - 1.0, 1e-12);
    EXPECT_NEAR(period.net(), books.wealth() / W - 1.0, 1e-12);
    for (std::size_t i = 0; i < target.size(); ++i)
      EXPECT_NEAR(account.weights()[i], books.money[i] / books.wealth(), 1e-12);
    largest_cost = std::max(largest_cost, period.costs.total());
  }
  EXPECT_GT(largest_cost, 1e-4);
}

TEST(Account, WithoutCostsDriftsToTheBitAsSharesOfGrossWealth) {
  const Index n = 5;
  Problems problems(4);
  Account account(n);
  std::vector<double> held(at(n)), target(at(n)), returns(at(n));
  for (int day = 0; day < 50; ++day) {
    double turnover = 0.0, gross = 0.0, invested = 0.0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      target[i] = problems.normal();
      returns[i] = 0.01 * problems.normal();
      turnover += std::abs(target[i] - held[i]);
      invested += target[i];
      gross += target[i] * returns[i];
    }
    gross += (1.0 - invested) * 1e-4;
    const Period period = account.live(target, returns, {.risk_free = 1e-4});
    EXPECT_EQ(period.turnover, turnover);
    EXPECT_EQ(period.gross, gross);
    EXPECT_EQ(period.net(), gross);
    for (std::size_t i = 0; i < held.size(); ++i) {
      held[i] = target[i] * (1.0 + returns[i]) / (1.0 + gross);
      EXPECT_EQ(account.weights()[i], held[i]);
    }
  }
}

TEST(Account, WhoTradesNothingPaysNothing) {
  Account account(3);
  const std::vector<double> first = {0.5, -0.2, 0.0}, returns = {0.03, 0.01, kNaN};
  const std::vector<double> costs(3, 1.0);
  account.live(first, returns, {});
  const Period period = account.live(account.weights(), returns, {.trading = costs});
  EXPECT_EQ(period.turnover, 0.0);
  EXPECT_EQ(period.costs.total(), 0.0);
  EXPECT_EQ(account.weights()[2], 0.0);
}

TEST(Account, EndsInRuinByReturnsAndByCosts) {
  const std::vector<double> target = {2.0}, crash = {-0.5}, calm = {0.0}, dear = {0.5};
  Account by_returns(1);
  EXPECT_TRUE(by_returns.live(target, crash, {}).ruined);
  EXPECT_EQ(by_returns.weights()[0], 0.0);
  Account by_costs(1);
  EXPECT_TRUE(by_costs.live(target, calm, {.trading = dear}).ruined);
  Account alive(1);
  EXPECT_FALSE(alive.live(target, calm, {.trading = std::vector<double>{0.4999}}).ruined);
}

}  // namespace
}  // namespace sharpen::trade
