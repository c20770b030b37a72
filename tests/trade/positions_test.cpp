#include "sharpen/trade/positions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharpen/base/error.hpp"
#include "sharpen/trade/account.hpp"

namespace sharpen::trade {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_positions(text, "held.csv"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Positions, AreReadInAnyOrderOfColumns) {
  const Positions found = parse_positions("shares,asset\n100,AAA\n-20,BBB\n-1500.25,cash\n", "x");
  EXPECT_TRUE(found.in_shares);
  EXPECT_EQ(found.cash, -1500.25);
  EXPECT_EQ(found.date, "");
  ASSERT_EQ(found.holdings.size(), 2u);
  EXPECT_EQ(found.holdings[1].asset, "BBB");
  EXPECT_EQ(found.holdings[1].amount, -20.0);
}

TEST(Positions, AreWrittenAsTheyAreRead) {
  Positions held{.in_shares = true,
                 .holdings = {{.asset = "A,B", .amount = 100000.0},
                              {.asset = "ODD", .amount = 1.0 / 3.0},
                              {.asset = "NONE", .amount = 0.0}},
                 .cash = 0.1 + 0.2,
                 .cost = 12.5,
                 .date = "2024-05-03"};
  const std::string text = positions_csv(held);
  EXPECT_THAT(text, HasSubstr("asset,shares,date,cost\n\"A,B\",100000,2024-05-03,\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("NONE")));
  const Positions back = parse_positions(text, "x");
  ASSERT_EQ(back.holdings.size(), 2u);
  EXPECT_EQ(back.holdings[1].amount, 1.0 / 3.0);
  EXPECT_EQ(back.cash, held.cash);
  EXPECT_EQ(back.cost, held.cost);
  EXPECT_EQ(back.date, held.date);
}

TEST(Positions, RefuseBadListsWithLineAndRemedy) {
  EXPECT_THAT(refusal("asset,shares\nAAA,1\n"), HasSubstr("no row for cash; add one"));
  EXPECT_THAT(refusal("asset,shares\nAAA,1\nAAA,2\ncash,0\n"),
              HasSubstr("held.csv:3: asset \"AAA\" is there twice, at line 2 and line 3"));
  EXPECT_THAT(refusal("asset,shares\ncash,1\ncash,2\n"), HasSubstr("\"cash\" is there twice"));
  EXPECT_THAT(refusal("asset,amount\nAAA,1\ncash,0\n"), HasSubstr("called shares or weight"));
  EXPECT_THAT(refusal("asset,shares,weight\nAAA,1,1\ncash,0,0\n"), HasSubstr("one must count"));
  EXPECT_THAT(refusal("asset,shares,broker\nAAA,1,x\ncash,0,x\n"), HasSubstr("\"broker\""));
  EXPECT_THAT(refusal("asset,shares\nAAA,many\ncash,0\n"), HasSubstr("held.csv:2"));
  EXPECT_THAT(refusal("asset,weight\nAAA,0.5\ncash,0.1\n"), HasSubstr("add up to 0.6, not to 1"));
  EXPECT_EQ(refusal("asset,weight,cost\nAAA,0.5,\ncash,0.47,0.03\n"), "accepted");
  EXPECT_THAT(refusal("asset,shares,date\nAAA,1,2024-01-02\ncash,0,2024-01-03\n"),
              HasSubstr("a list is of one day"));
  EXPECT_THAT(refusal("asset,shares,date\nAAA,1,yesterday\ncash,0,\n"), HasSubstr("YYYY-MM-DD"));
}

// The account in shares of wealth is the naive reference: a trade, then periods.
TEST(Balance, LivesAsTheAccountDoes) {
  Account account(3);
  const std::vector<double> target = {0.7, -0.4, 0.9}, costs = {1e-3, 2e-3, 5e-4};
  const std::vector<std::vector<double>> returns = {
      {0.02, -0.01, 0.03}, {-0.05, 0.04, std::nan("")}, {0.01, 0.0, -0.02}};
  const Rates rates{.trading = {}, .short_fee = 3e-4, .financing = 2e-4, .risk_free = 1e-4};
  Balance balance{.values = target, .cash = 1.0 - 1.2, .cost = 0.0};
  Rates first = rates;
  first.trading = costs;
  for (std::size_t i = 0; i < 3; ++i) balance.cost += costs[i] * std::abs(target[i]);
  balance.cash -= balance.cost;
  double wealth = 1.0;
  for (std::size_t t = 0; t < returns.size(); ++t) {
    const std::vector<double> held(account.weights().begin(), account.weights().end());
    const Period period = account.live(t == 0 ? ConstVec(target) : ConstVec(held), returns[t],
                                       t == 0 ? first : rates);
    wealth *= 1.0 + period.net();
    balance.live(returns[t], rates);
    EXPECT_NEAR(balance.wealth(), wealth, 1e-14);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(balance.values[i] / balance.wealth(), account.weights()[i], 1e-14);
  }
}

}  // namespace
}  // namespace sharpen::trade
