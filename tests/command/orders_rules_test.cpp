// Orders from day to day: what is held and cannot be decided on, what settings come from where, and
// lists that are old or wrong.
#include <algorithm>
#include <filesystem>

#include "command/orders_market.hpp"
#include "sharpen/base/error.hpp"
#include "support/models.hpp"

namespace sharpen::command {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Index kToday = 200;

class OrdersRules : public OrdersMarket {
 protected:
  double price(Index asset, Index row = kToday) const { return prices_.matrix()(row, asset); }
  const std::string& ticker(Index j) const { return prices_.tickers[at(j)]; }
  static const Order* order_of(const OrdersAnswer& today, const std::string& asset) {
    for (const Order& order : today.orders)
      if (order.asset == asset) return &order;
    return nullptr;
  }
  static std::string why_not(const OrdersAnswer& today, const std::string& asset) {
    for (const NotTraded& row : today.not_traded)
      if (row.asset == asset) return std::string(row.reason);
    return {};
  }
  static double amount_of(const OrdersAnswer& today, const std::string& asset) {
    for (const trade::Holding& held : today.positions.holdings)
      if (held.asset == asset) return held.amount;
    return 0.0;
  }
  // Today's row of --tradable: 0 for this name, 1 for the others.
  std::string halts(const std::string& halted) const {
    std::string text = "date", row = "\n" + prices_.dates[kToday];
    for (const std::string& each : prices_.tickers) {
      text += "," + each;
      row += each == halted ? ",0" : ",1";
    }
    return folder_.file("tradable.csv", text + row + "\n");
  }
  std::string list(const std::string& text) const { return folder_.file("held.csv", text); }
  std::string run_of(const Flags& flags, const char* name = "run") const {
    const BacktestAnswer part = backtest(with(flags, {{"to", prices_.dates[kToday]}}));
    backtest_folder(part.values, folder_.path(name), false).write(backtest_files(part));
    return folder_.path(name);
  }
  // Other orders than those that the run over all of the prices has.
  double against_backtest(const OrdersAnswer& today, const BacktestAnswer& all) const {
    const backtest::Run& run = all.result.run;
    std::map<std::string, double> held;
    const Index period =
        std::ranges::find(run.dates, prices_.dates[kToday + 1]) - run.dates.begin();
    for (const backtest::Position& each : run.weights_of(period))
      held[all.result.tickers[at(each.asset)]] = each.weight;
    for (const backtest::NamedWeight& each : today.weights) held[each.asset] -= each.weight;
    double worst = 0.0;
    for (const auto& [asset, difference] : held) worst = std::max(worst, std::abs(difference));
    return worst;
  }
};

// Dates are compared as dates: of a month and a day in it, the day ends first.
TEST_F(OrdersRules, NothingLaterThanTheDayAskedForIsUsed) {
  const std::string& day_text = prices_.dates[kToday];
  const std::string month = day_text.substr(0, 7);
  ASSERT_EQ(prices_.dates[kToday + 1].substr(0, 7), month);
  EXPECT_EQ(day(kToday, with(rolling_, {{"to", month}})).date, day_text);
  EXPECT_EQ(day(kToday, with(rolling_, {{"to", month.substr(0, 4)}})).date, day_text);
  const auto asked = [&](const std::string& asof, const std::string& to) {
    return orders_answer(values(settings::predict, with(rolling_, {{"asof", asof}, {"to", to}})),
                         {}, {}, {})
        .date;
  };
  EXPECT_EQ(asked(month, day_text), day_text);
  EXPECT_EQ(asked(month, "2030"), asked("2030", month));
}

// --exclude and --tickers leave a name out of what is decided on, and not out of the account.
TEST_F(OrdersRules, AHeldNameThatIsLeftOutIsSold) {
  const std::string held = list("asset,shares\n" + ticker(0) + ",70\ncash,5000\n");
  std::string others = ticker(1);
  for (Index j = 2; j < kAssets; ++j) others += "," + ticker(j);
  for (const Flags& without : {Flags{{"exclude", ticker(0)}}, Flags{{"tickers", others}}}) {
    const OrdersAnswer today = day(kToday, with(with(rolling_, {{"positions", held}}), without));
    check_sums(today);
    EXPECT_NEAR(today.wealth, 5000.0 + 70.0 * price(0), 1e-9);
    const Order* sale = order_of(today, ticker(0));
    ASSERT_NE(sale, nullptr);
    EXPECT_EQ(sale->reason, "not in the universe");
    EXPECT_EQ(*sale->shares, -70.0);
    EXPECT_EQ(*sale->price, price(0));
    EXPECT_EQ(amount_of(today, ticker(0)), 0.0);
  }
  // In weights it has drifted until then.
  const std::string weights = list("asset,weight,date\n" + ticker(0) + ",0.5," +
                                   prices_.dates[kToday - 3] + "\ncash,0.5,\n");
  const OrdersAnswer drifted =
      day(kToday, with(rolling_, {{"positions", weights}, {"exclude", ticker(0)}}));
  const double grown = 0.5 * price(0) / price(0, kToday - 3);
  ASSERT_NE(order_of(drifted, ticker(0)), nullptr);
  EXPECT_NEAR(order_of(drifted, ticker(0))->from, grown / (0.5 + grown), 1e-12);
  // And of a panel of returns, too.
  market::write_panel(market::simple_returns(prices_), folder_.path("returns.csv"));
  Values asked(settings::predict);
  for (const auto& [name, text] : with(rolling_, {{"returns", folder_.path("returns.csv")},
                                                  {"asof", prices_.dates[kToday]},
                                                  {"positions", weights},
                                                  {"exclude", ticker(0)}}))
    asked.set_flag(name, text);
  const OrdersAnswer returns = orders_answer(asked, {}, {}, {});
  ASSERT_NE(order_of(returns, ticker(0)), nullptr);
  EXPECT_NEAR(order_of(returns, ticker(0))->from, grown / (0.5 + grown), 1e-12);
}

TEST_F(OrdersRules, WhatIsLeftOutIsSoldByTheRulesOfAllOrders) {
  const std::string held = list("asset,shares\n" + ticker(0) + ",70\ncash,5000\n");
  const Flags out = with(rolling_, {{"positions", held}, {"exclude", ticker(0)}, {"lot", "1"}});
  const OrdersAnswer halted = day(kToday, with(out, {{"tradable", halts(ticker(0))}}));
  EXPECT_EQ(order_of(halted, ticker(0)), nullptr);
  EXPECT_EQ(why_not(halted, ticker(0)), "halted");
  EXPECT_EQ(amount_of(halted, ticker(0)), 70.0);
  const OrdersAnswer small =
      day(kToday, with(out, {{"min-order", std::to_string(71.0 * price(0))}}));
  EXPECT_EQ(order_of(small, ticker(0)), nullptr);
  EXPECT_EQ(why_not(small, ticker(0)), "below the minimum");
  check_sums(small);
  // Every second day nothing is traded.
  int off = 0;
  for (const Index row : {kToday, kToday + 1}) {
    const OrdersAnswer today = day(row, with(out, {{"rebalance", "2"}}));
    off += today.decides() ? 0 : 1;
    EXPECT_EQ(order_of(today, ticker(0)) == nullptr, !today.decides());
    if (!today.decides()) {
      EXPECT_THAT(today.orders, IsEmpty());
      EXPECT_EQ(amount_of(today, ticker(0)), 70.0);
    }
  }
  EXPECT_EQ(off, 1);
}

// What its sale costs is not there for purchases.
TEST_F(OrdersRules, CashSufficesForTheCostOfWhatIsSold) {
  const std::string held = list("asset,shares\n" + ticker(0) + ",7000\ncash,0\n");
  const OrdersAnswer today = day(kToday, {{"framework", "rolling"},
                                          {"optimizer", "equal"},
                                          {"lookback", "20"},
                                          {"positions", held},
                                          {"exclude", ticker(0)},
                                          {"lot", "1"},
                                          {"cost-bps", "100"}});
  check_sums(today);
  ASSERT_NE(order_of(today, ticker(0)), nullptr);
  EXPECT_GT(today.orders.size(), 2u);
  EXPECT_GE(today.cash, 0.0);
}

TEST_F(OrdersRules, TheMinimumHoldsForFractionsOfAShareToo) {
  const std::string held = list("asset,shares\n" + ticker(0) + ",0.5\ncash,10000\n");
  const Flags flags = with(rolling_, {{"positions", held}});
  const OrdersAnswer plain = day(kToday, flags);
  double least = 1e300, most = 0.0;
  for (const Order& order : plain.orders) {
    least = std::min(least, std::abs(order.value));
    most = std::max(most, std::abs(order.value));
  }
  ASSERT_LT(least, most);
  const OrdersAnswer today =
      day(kToday, with(flags, {{"min-order", std::to_string(0.5 * (least + most))}}));
  check_sums(today);
  ASSERT_FALSE(today.orders.empty());
  EXPECT_LT(today.orders.size(), plain.orders.size());
  for (const Order& order : today.orders) {
    EXPECT_GE(std::abs(order.value), 0.5 * (least + most));
    EXPECT_NEAR(order.value, order_of(plain, order.asset)->value, 1e-9 * most);
  }
  for (const Order& order : plain.orders)
    if (order_of(today, order.asset) == nullptr) {
      EXPECT_EQ(why_not(today, order.asset), "below the minimum");
      EXPECT_EQ(amount_of(today, order.asset), order.asset == ticker(0) ? 0.5 : 0.0);
    }
}

// The file of a backtest says framework and lookback though nobody typed them; a model decides.
TEST_F(OrdersRules, AModelDecidesWhateverTheBookSaysByDefault) {
  learn::Model model =
      testing::made_model({.tickers = prices_.tickers, .lookback = kLookback, .members = 2});
  model.first_date = "2010-01-04";
  model.last_date = prices_.dates[60];
  learn::write_model(model, folder_.path("m.sharpen"));
  const Values book =
      values(settings::backtest, {{"k", "3"}, {"capital", "100000"}, {"min-order", "500"}});
  ASSERT_THAT(book.to_toml(), HasSubstr("framework = \"rolling\""));
  Values asked(settings::predict);
  asked.read_toml_file(folder_.file("book.toml", book.to_toml()));
  asked.set_flag("model", folder_.path("m.sharpen"));
  asked.set_flag("asof", prices_.dates[kToday]);
  const OrdersAnswer today = orders_answer(asked, {}, {}, {});
  EXPECT_EQ(today.label, "dfl swap");
  EXPECT_EQ(today.settings.lookback.count, kLookback);
  EXPECT_EQ(today.settings.k.count, 3);
  EXPECT_TRUE(today.in_money);
  EXPECT_THAT(today.warnings, Contains(::testing::AllOf(HasSubstr("the model decides"),
                                                        HasSubstr("framework = rolling"),
                                                        HasSubstr("book.toml:"))));
  asked.set_flag("framework", "rolling");
  EXPECT_THROW(orders_answer(asked, {}, {}, {}), InputError);
  // Limits and the optimizer were others, too.
  const OrdersAnswer other = day(kToday, {{"model", folder_.path("m.sharpen")},
                                          {"long-only", "true"},
                                          {"max-weight", "0.4"},
                                          {"optimizer", "greedy"}});
  EXPECT_THAT(other.warnings,
              Contains(::testing::AllOf(HasSubstr("the model was judged with"),
                                        HasSubstr("long-only is true and was false"),
                                        HasSubstr("max-weight is 0.4 and was not set"),
                                        HasSubstr("optimizer is greedy and was swap"))));
}

// Rows before the run's first are none of its own: what counts from there needs them left out.
TEST_F(OrdersRules, ContinuesFromTheFirstRowOfTheRun) {
  int shifted = 0;
  for (const Flags& more : {Flags{{"rebalance", "7"}}, Flags{{"lookback", "all"}},
                            Flags{{"framework", "historic"}, {"split", prices_.dates[120]}}}) {
    const Flags flags = with(with(rolling_, {{"from", prices_.dates[31]}}), more);
    const std::string run = run_of(flags);
    EXPECT_LE(against_backtest(day(kToday, {{"continue", run}}), backtest(flags)), 1e-12);
    const OrdersAnswer whole = day(kToday, {{"continue", run}, {"from", prices_.dates[0]}});
    shifted += against_backtest(whole, backtest(flags)) > 1e-12 ? 1 : 0;
    EXPECT_THAT(whole.warnings, Contains(HasSubstr("from is " + prices_.dates[0])));
    std::filesystem::remove_all(run);
  }
  EXPECT_GT(shifted, 0);
}

TEST_F(OrdersRules, NamesWhatTheRunHadNotSet) {
  const std::string run = run_of(rolling_);
  const std::vector<std::pair<Flags, std::string>> cases = {
      {{{"rule", "none"}}, "rule is none and was cost"},
      {{{"memory", "1"}}, "memory is 1 and was 5"},
      {{{"shrinkage", "0.5"}}, "shrinkage is 0.5 and was 0.1"},
      {{{"max-weight", "0.1"}}, "max-weight is 0.1 and was not set"},
      {{{"exclude", ticker(6)}}, "exclude is " + ticker(6) + " and was not set"}};
  for (const auto& [flags, words] : cases)
    EXPECT_THAT(day(kToday, with({{"continue", run}}, flags)).warnings,
                Contains(::testing::AllOf(HasSubstr("the run was made of"), HasSubstr(words))));
  const OrdersAnswer same =
      day(kToday, {{"continue", run}, {"rule", "cost"}, {"memory", "5"}, {"shrinkage", "0.1"}});
  EXPECT_THAT(same.warnings, Not(Contains(HasSubstr("the run was made of"))));
}

// Optimizers that are fully invested stay so around a name that cannot be traded, and no more.
TEST_F(OrdersRules, FullyInvestedIsWhatIsLeftBesideHaltedNames) {
  const std::string tradable = halts(ticker(0));
  for (const char* optimizer : {"equal", "mssrm-long"}) {
    const Flags flags = {{"framework", "rolling"}, {"optimizer", optimizer}, {"k", "5"},
                         {"lookback", "20"},       {"tradable", tradable},   {"cost-bps", "0"}};
    for (const double share : {0.0, 0.6}) {
      const std::string held = list("asset,weight\n" + ticker(0) + "," + std::to_string(share) +
                                    "\ncash," + std::to_string(1.0 - share) + "\n");
      const OrdersAnswer today = day(kToday, with(flags, {{"positions", held}}));
      EXPECT_EQ(amount_of(today, ticker(0)), share) << optimizer;
      EXPECT_NEAR(today.cash, 0.0, 1e-12) << optimizer << share;
      EXPECT_NEAR(today.gross, 1.0, 1e-12) << optimizer << share;
    }
  }
}

// A book says where the backtest wrote to.
TEST_F(OrdersRules, TheOutputOfABacktestIsNoneOfADay) {
  const Values book = values(settings::backtest,
                             with(rolling_, {{"out", folder_.path("judged")}, {"force", "true"}}));
  for (const std::string& text :
       {book.to_toml(), "framework = \"rolling\"\nk = 3\nlookback = 20\nprices = \"" +
                            folder_.path("prices.csv") + "\"\nout = \"" + folder_.path("") +
                            "\"\n"}) {
    Values asked(settings::predict);
    asked.read_toml_file(folder_.file("book.toml", text));
    asked.set_flag("asof", prices_.dates[kToday]);
    const OrdersAnswer today = orders_answer(asked, {}, {}, {});
    EXPECT_FALSE(today.values.has("out"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path("judged")));
  }
  // Of a file of predict's own it is what it says.
  Values own(settings::predict);
  own.read_toml("out = \"" + folder_.path("weights.csv") + "\"\n", "own.toml");
  for (const auto& [name, text] :
       with(rolling_, {{"prices", folder_.path("prices.csv")}, {"asof", prices_.dates[kToday]}}))
    own.set_flag(name, text);
  static_cast<void>(orders_answer(own, {}, {}, {}));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("weights.csv")));
}

TEST_F(OrdersRules, OldListsAreRefusedOrNamed) {
  const auto dated = [&](const std::string& date) {
    return with(
        rolling_,
        {{"positions", list("asset,shares,date\n" + ticker(0) + ",5," + date + "\ncash,1000,\n")}});
  };
  EXPECT_THROW(day(kToday, dated("1999-12-31")), InputError);
  const OrdersAnswer old = day(kToday, dated(prices_.dates[kToday - 120]));
  EXPECT_GT(*old.positions_age, 150);
  EXPECT_THAT(old.warnings, Contains(HasSubstr("what is held is of " + prices_.dates[80])));
  const OrdersAnswer fresh = day(kToday, dated(prices_.dates[kToday - 1]));
  EXPECT_THAT(fresh.warnings, Not(Contains(HasSubstr("what is held is of"))));
  // A month ends with its last day: this is a list of today.
  const OrdersAnswer month = day(kToday, dated(prices_.dates[kToday].substr(0, 7)));
  EXPECT_EQ(month.positions_age, 0);
  // The same day again, from what its own orders led to.
  static_cast<void>(day(kToday, rolling_));
  const OrdersAnswer again =
      day(kToday, with(rolling_, {{"positions", folder_.path("next/positions.csv")}}));
  EXPECT_THAT(again.warnings, Contains(HasSubstr("come on top")));
}

TEST_F(OrdersRules, ASplitSinceTheListIsNamed) {
  market::Panel split = prices_;
  for (Index t = kToday - 20; t < split.rows(); ++t) split.values[at(t * kAssets)] /= 4.0;
  market::write_panel(split, folder_.path("prices.csv"));
  const auto warnings = [&](Index row) {
    const std::string held = list("asset,shares,date\n" + ticker(0) + ",40," +
                                  prices_.dates[at(row)] + "\ncash,1000,\n");
    return day(kToday, with(rolling_, {{"positions", held}})).warnings;
  };
  EXPECT_THAT(warnings(kToday - 30), Contains(::testing::AllOf(HasSubstr(ticker(0) + " (split on"),
                                                               HasSubstr("were corrected after"))));
  EXPECT_THAT(warnings(kToday - 10), Not(Contains(HasSubstr("were corrected after"))));
}

TEST_F(OrdersRules, ARuinedRunIsNotContinued) {
  const std::string run =
      run_of(with(rolling_, {{"target-volatility", "60"}, {"rule", "none"}, {"cost-bps", "0"}}));
  try {
    static_cast<void>(day(kToday, {{"continue", run}}));
    ADD_FAILURE() << "a ruined run was continued";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the run was ruined on 20"));
  }
}

TEST_F(OrdersRules, ReasonsAreThoseOfTheRule) {
  const std::string held =
      list("asset,shares\n" + ticker(0) + ",30\n" + ticker(1) + ",-10\ncash,10000\n");
  const OrdersAnswer band =
      day(kToday, with(rolling_, {{"positions", held}, {"rule", "band"}, {"tradable", halts("")}}));
  ASSERT_FALSE(band.orders.empty());
  for (const Order& order : band.orders) EXPECT_EQ(order.reason, "decided");
  for (const NotTraded& row : band.not_traded) EXPECT_EQ(row.reason, "within the band");
}

}  // namespace
}  // namespace sharpen::command
