// Orders from day to day are the backtest: each day's files lead to the next day's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command/orders_market.hpp"
#include "support/models.hpp"

namespace sharpen::command {
namespace {

class OrdersChain : public OrdersMarket {};

TEST_F(OrdersChain, IsTheBacktestOf250Days) { EXPECT_LE(chain(rolling_, 250), 1e-12); }

TEST_F(OrdersChain, IsTheBacktestToTheShareInLots) {
  const Flags flags = with(rolling_, {{"capital", "100000"}, {"lot", "10"}, {"cost-bps", "10"}});
  EXPECT_EQ(chain(flags, 250), 0.0);
}

// Interest, fees and borrowing are charged between two days, by what the files keep.
TEST_F(OrdersChain, KeepsInterestAndFees) {
  const Flags charged = with(rolling_, {{"risk-free", "0.04"},
                                        {"short-fee", "0.02"},
                                        {"financing", "0.03"},
                                        {"target-volatility", "0.6"},
                                        {"cost-bps", "20"}});
  EXPECT_LE(chain(charged, 60), 1e-12);
  EXPECT_EQ(chain(with(charged, {{"capital", "50000"}, {"min-order", "400"}}), 60), 0.0);
}

TEST_F(OrdersChain, IsTheBacktestOfEveryRule) {
  EXPECT_LE(chain(with(rolling_, {{"rule", "none"}, {"memory", "1"}, {"sizing", "gross"}}), 30),
            1e-12);
  EXPECT_LE(chain(with(rolling_, {{"rule", "band"}}), 30), 1e-12);
  EXPECT_LE(chain(with(rolling_, {{"rebalance", "5"}}), 30), 1e-12);
  EXPECT_LE(chain(with(rolling_, {{"long-only", "true"}, {"max-weight", "0.4"}}), 30), 1e-12);
  EXPECT_EQ(chain({{"framework", "rolling"}, {"optimizer", "equal"}, {"capital", "9000"}}, 30),
            0.0);
  const Flags historic = {
      {"framework", "historic"}, {"k", "3"}, {"lookback", "20"}, {"split", prices_.dates[150]}};
  EXPECT_LE(chain(historic, 30), 1e-12);
  EXPECT_LE(chain(with(historic, {{"historic-risk", "train"}}), 30), 1e-12);
}

// Fractional shares: the same weights, written as shares.
TEST_F(OrdersChain, SharesWithoutLotsHoldTheSameWeights) {
  const BacktestAnswer judged = backtest(rolling_);
  const backtest::Run& run = judged.result.run;
  std::string account = folder_.file("cash.csv", "asset,shares\ncash,250000\n");
  for (Index p = 0; p < 60; ++p) {
    const OrdersAnswer today = day(run.first_row + p, with(rolling_, {{"positions", account}}));
    check_sums(today);
    account = folder_.path("next/positions.csv");
    std::map<std::string, double> held;
    for (const backtest::Position& each : run.weights_of(p))
      held[judged.result.tickers[at(each.asset)]] = each.weight;
    for (const backtest::NamedWeight& each : today.weights) held[each.asset] -= each.weight;
    for (const auto& [asset, difference] : held) EXPECT_NEAR(difference, 0.0, 1e-12) << asset;
  }
}

TEST_F(OrdersChain, OfASignalIsItsBacktest) {
  market::Panel signal = market::simple_returns(prices_);
  market::write_panel(signal, folder_.path("signal.csv"));
  EXPECT_LE(chain({{"framework", "signal"},
                   {"signal", folder_.path("signal.csv")},
                   {"k", "3"},
                   {"lookback", "20"}},
                  30),
            1e-12);
}

TEST_F(OrdersChain, OfAModelIsItsBacktest) {
  learn::Model model = testing::made_model({.tickers = prices_.tickers,
                                            .network = learn::NetworkKind::shared,
                                            .lookback = kLookback,
                                            .members = 2});
  model.first_date = "2010-01-04";
  model.last_date = prices_.dates[60];
  model.cost_bps = 7.0;
  learn::write_model(model, folder_.path("m.sharpen"));
  const Flags flags = {{"model", folder_.path("m.sharpen")},
                       {"framework", learn::framework_of(model.settings.alpha).name.data()},
                       {"cost-bps", "7"}};
  EXPECT_LE(chain(flags, 20), 1e-12);
  // What the model was trained with needs not be said.
  const OrdersAnswer plain = day(100, {{"model", folder_.path("m.sharpen")}});
  EXPECT_EQ(plain.settings.account.cost_bps.number, 7.0);
  EXPECT_EQ(plain.trained_to, prices_.dates[60]);
  EXPECT_THAT(plain.warnings, ::testing::Not(::testing::Contains(::testing::HasSubstr("judged"))));
  const OrdersAnswer other =
      day(100, {{"model", folder_.path("m.sharpen")}, {"cost-bps", "9"}, {"sizing", "gross"}});
  EXPECT_THAT(other.warnings, ::testing::Contains(::testing::AllOf(
                                  ::testing::HasSubstr("the model was judged with"),
                                  ::testing::HasSubstr("cost-bps is 9 and was 7"),
                                  ::testing::HasSubstr("sizing is gross and was"))));
}

// A run over the first part of the prices, then day by day: the run over all of them.
TEST_F(OrdersChain, ContinuesARun) {
  for (const Flags& flags :
       {rolling_, with(rolling_, {{"capital", "100000"}, {"lot", "10"}, {"rule", "band"}})}) {
    const BacktestAnswer all = backtest(flags);
    const BacktestAnswer part = backtest(with(flags, {{"to", prices_.dates[200]}}));
    backtest_folder(part.values, folder_.path("run"), false).write(backtest_files(part));
    const OrdersAnswer today = day(200, {{"continue", folder_.path("run")}});
    const backtest::Run& run = all.result.run;
    const Index p = 200 - run.first_row;
    ASSERT_EQ(run.dates[at(p)], prices_.dates[201]);
    ASSERT_EQ(today.weights.size(), run.weights_of(p).size());
    for (std::size_t i = 0; i < today.weights.size(); ++i)
      EXPECT_NEAR(today.weights[i].weight, run.weights_of(p)[i].weight, 1e-12);
    EXPECT_EQ(today.settings.k, all.settings.k);
    const OrdersAnswer other = day(200, {{"continue", folder_.path("run")}, {"k", "2"}});
    EXPECT_THAT(other.warnings,
                ::testing::Contains(::testing::HasSubstr("the run was made of: k is 2 and was 3")));
    std::filesystem::remove_all(folder_.path("run"));
  }
}

TEST_F(OrdersChain, ReadsTheConfigurationOfABacktest) {
  const Values book = values(settings::backtest, with(rolling_, {{"cost-bps", "3"}}));
  const std::string file = folder_.file("book.toml", book.to_toml());
  Values asked(settings::predict);
  asked.read_toml_file(file);
  asked.set_flag("asof", prices_.dates[150]);
  const OrdersAnswer found = orders_answer(asked, {}, {}, {});
  const OrdersAnswer same = day(150, with(rolling_, {{"cost-bps", "3"}}));
  ASSERT_FALSE(found.orders.empty());
  ASSERT_EQ(found.orders.size(), same.orders.size());
  for (std::size_t i = 0; i < found.orders.size(); ++i)
    EXPECT_EQ(found.orders[i].value, same.orders[i].value);
}

// A name that is halted or has no price today keeps its shares, and its value counts.
TEST_F(OrdersChain, HaltedAndPricelessNamesKeepTheirShares) {
  market::Panel holed = prices_;
  const Index last = 200;
  holed.values[at(last * kAssets + 1)] = std::nan("");
  market::write_panel(holed, folder_.path("prices.csv"));
  std::string list = "asset,shares\n";
  for (const std::string& ticker : prices_.tickers) list += ticker + ",-37\n";
  const std::string held = folder_.file("held.csv", list + "cash,100000\n");
  const std::string& gone = prices_.tickers[1];
  for (const char* universe : {"complete", "available"}) {
    const OrdersAnswer today =
        day(last, with(rolling_, {{"positions", held}, {"universe", universe}, {"lot", "1"}}));
    check_sums(today);
    double kept = 0.0;
    for (const trade::Holding& each : today.positions.holdings)
      if (each.asset == gone) kept = each.amount;
    EXPECT_EQ(kept, -37.0) << universe;
    for (const Order& order : today.orders) EXPECT_NE(order.asset, gone) << universe;
    bool said = false;
    for (const NotTraded& each : today.not_traded)
      said = said || (each.asset == gone && each.reason == "no price");
    EXPECT_TRUE(said) << universe;
    double worth = 100000.0;
    for (Index j = 0; j < kAssets; ++j)
      worth -= 37.0 * prices_.matrix()(j == 1 ? last - 1 : last, j);
    EXPECT_NEAR(today.wealth, worth, 1e-9 * worth);
  }
}

TEST_F(OrdersChain, AShortThatIsCoveredEndsAtZero) {
  // Far too much is short: with one name to hold, at least seven are covered.
  std::string list = "asset,shares\n";
  for (const std::string& ticker : prices_.tickers) list += ticker + ",-300\n";
  const std::string held = folder_.file("held.csv", list + "cash,1e6\n");
  const OrdersAnswer today = day(200, {{"framework", "rolling"},
                                       {"k", "1"},
                                       {"lookback", "20"},
                                       {"positions", held},
                                       {"lot", "100"},
                                       {"rule", "none"}});
  Index covered = 0;
  for (const Order& order : today.orders)
    if (order.to == 0.0) {
      EXPECT_EQ(*order.shares, 300.0);
      ++covered;
    }
  EXPECT_GE(covered, kAssets - 1);
  for (const trade::Holding& each : today.positions.holdings)
    EXPECT_NE(each.amount, -300.0) << each.asset;
  EXPECT_LE(today.positions.holdings.size(), 1u);
}

}  // namespace
}  // namespace sharpen::command
