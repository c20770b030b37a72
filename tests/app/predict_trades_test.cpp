// `sharpen predict` to an account: from what is held to trades and whole shares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "app/desk.hpp"
#include "sharpen/backtest/run_files.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Desk;
using testing::Finished;
using ::testing::HasSubstr;
using testing::kDays;
using ::testing::Not;
using testing::run_program;
using ::testing::StartsWith;
using testing::text_of;
using testing::weights;

TEST(Predict, TradesFromWhatIsHeldNow) {
  const Desk desk;
  const json fresh = desk.predict({});
  const auto wanted = weights(fresh);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(fresh["previous"], nullptr);
  ASSERT_EQ(fresh["trades"].size(), 2u);
  for (const json& trade : fresh["trades"]) {
    EXPECT_EQ(trade["from"], 0.0);
    EXPECT_EQ(trade["to"], wanted.at(trade["asset"]));
    EXPECT_EQ(trade["trade"], trade["to"]);
  }
  EXPECT_NEAR(fresh["turnover"], 1.0, 1e-12);

  const std::string first = wanted.begin()->first, second = wanted.rbegin()->first;
  std::string other;
  for (const std::string& ticker : desk.prices().tickers)
    if (!wanted.contains(ticker)) other = ticker;
  const std::string held =
      desk.file("held.csv",
                fmt::format("asset,weight\nGONE,0.125\n{},0.25\n{},-0.5\nNULL,0\n", first, other));
  const json answer = desk.predict({"--previous", held}, desk.prices_with_gone("gone.csv"));
  EXPECT_EQ(answer["previous"], held);
  std::map<std::string, json> trades;
  for (const json& trade : answer["trades"]) trades[trade["asset"]] = trade;
  ASSERT_EQ(trades.size(), 4u);
  EXPECT_EQ(trades[first]["from"], 0.25);
  EXPECT_EQ(trades[first]["trade"].get<double>(), wanted.at(first) - 0.25);
  EXPECT_EQ(trades[second]["from"], 0.0);
  EXPECT_EQ(trades[other]["to"], 0.0);
  EXPECT_EQ(trades[other]["trade"], 0.5);
  EXPECT_EQ(trades["GONE"]["trade"], -0.125);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the model does not know GONE; held now, and"));
  EXPECT_THAT(answer["warnings"].dump(), Not(HasSubstr("NULL")));
}

TEST(Predict, CountsTheCostOfANameThatTheModelDoesNotKnow) {
  const Desk desk;
  const std::string held = desk.file("held.csv", "asset,weight\nGONE,0.125\n");
  std::string rates = "asset,bps,date\n";
  for (const std::string& ticker : desk.prices().tickers) rates += ticker + ",5,\n";
  const auto told = [&](const std::string& costs) {
    return desk.predict({"--previous", held, "--cost-bps", costs}, desk.prices_with_gone("g.csv"));
  };
  const auto cost_of_gone = [](const json& answer) {
    for (const json& trade : answer["trades"])
      if (trade["asset"] == "GONE") return trade["cost"];
    return json("not sold");
  };
  const json number = told("5"), all = told(desk.file("all.csv", rates + "GONE,5,\n"));
  EXPECT_DOUBLE_EQ(cost_of_gone(number), 0.125 * 5e-4);
  EXPECT_EQ(all["trades"], number["trades"]);
  EXPECT_EQ(all.at("trading_cost"), number.at("trading_cost"));
  EXPECT_EQ(cost_of_gone(told(desk.file("some.csv", rates))), nullptr);
  // Of what is in force on the day only.
  const std::string first = desk.prices().tickers[0];
  const json future = told(desk.file("future.csv", rates + first + ",10000,2099-01-01\n"));
  EXPECT_EQ(future["cost_bps"], 5.0);
}

TEST(Predict, WritesWeightsThatItReadsBackAsHeld) {
  const Desk desk;
  const std::string out = desk.path("weights.csv"), trades = desk.path("trades.csv");
  const json answer = desk.predict({"--out", out, "--trades", trades});
  std::map<std::string, double> written;
  for (const auto& [asset, weight] : backtest::read_portfolio(out)) written[asset] = weight;
  EXPECT_EQ(written, weights(answer));
  std::string expected = "asset,from,to,trade\n";
  for (const json& holding : answer["holdings"])
    expected += fmt::format("{0},0,{1},{1}\n", holding["asset"].get<std::string>(),
                            holding["weight"].get<double>());
  EXPECT_EQ(text_of(trades), expected);
  const json again = desk.predict({"--previous", out, "--trades", trades});
  EXPECT_EQ(again["trades"], json::array());
  EXPECT_EQ(again["turnover"], 0.0);
  EXPECT_EQ(text_of(trades), "asset,from,to,trade\n");
}

TEST(Predict, NeedsTwoNamesForTwoFiles) {
  const Desk desk;
  const std::string file = desk.path("both.csv");
  desk.expect_refusal({"--out", file, "--trades", file},
                      "--out and --trades name the same file; give each its own");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Predict, RefusesWeightsItCannotRead) {
  const Desk desk;
  const std::string held = desk.file("held.csv", "asset,weight\nA,x\n");
  const Finished run = run_program(desk.arguments({"--previous", held}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("sharpen: error: " + held + ":2:2: "));
  const std::string& known = desk.prices().tickers[0];
  const std::string strange = desk.file("strange.csv", "asset,weight\n" + known + "X,0.5\n");
  const std::string out = desk.path("out.csv");
  desk.expect_refusal({"--previous", strange, "--out", out},
                      strange + ": there is no asset \"" + known + "X\" here; did you mean " +
                          known + "? correct the name, or take it out");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Predict, CountsSharesInWholeLots) {
  const Desk desk;
  const std::string held =
      desk.file("held.csv", "asset,weight\n" + desk.prices().tickers[0] + ",0.2\nGONE,0.1\n");
  const double capital = 1e6;
  for (const double lot : {1.0, 100.0}) {
    const json answer =
        desk.predict({"--previous", held, "--capital", "1e6", "--lot", fmt::format("{}", lot)},
                     desk.prices_with_gone("gone.csv"));
    EXPECT_EQ(answer["capital"], capital);
    EXPECT_EQ(answer["lot"], lot);
    double invested = 0.0;
    for (const json& holding : answer["holdings"]) {
      const double price = holding["price"], weight = holding["weight"];
      const std::int64_t shares = holding["shares"];
      const auto index = holding["index"].get<Index>();
      EXPECT_EQ(price, desk.prices().matrix()(kDays - 1, index));
      EXPECT_TRUE(holding["shares"].is_number_integer());
      EXPECT_EQ(shares % static_cast<std::int64_t>(lot), 0);
      EXPECT_LE(std::abs(static_cast<double>(shares) * price - weight * capital),
                0.5 * lot * price * (1.0 + 1e-12));
      invested += static_cast<double>(shares) * price;
    }
    EXPECT_NEAR(answer["cash"], capital - invested, 1e-6);
    for (const json& trade : answer["trades"]) {
      if (trade["asset"] == "GONE") {
        EXPECT_EQ(trade["price"], nullptr);
        EXPECT_EQ(trade["shares"], nullptr);
        continue;
      }
      const std::int64_t from = trade["shares_from"], to = trade["shares_to"];
      EXPECT_EQ(trade["shares"], to - from);
      EXPECT_EQ(from % static_cast<std::int64_t>(lot), 0);
    }
    EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the file has no last price of GONE"));
  }
}

TEST(Predict, WarnsOfNamesTooDearForTheAccount) {
  const Desk desk;
  const json answer = desk.predict({"--capital", "1"});
  for (const json& holding : answer["holdings"]) EXPECT_EQ(holding["shares"], 0);
  EXPECT_EQ(answer["cash"], 1.0);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the capital is too small for a lot of "));
}

TEST(Predict, WritesShareCountsInFull) {
  const Desk desk;
  const std::string trades = desk.path("trades.csv");
  const json answer = desk.predict({"--capital", "1e9", "--lot", "1000", "--trades", trades});
  std::string expected = "asset,from,to,trade,price,shares\n";
  for (const json& t : answer["trades"])
    expected += fmt::format("{},0,{},{},{},{}\n", t["asset"].get<std::string>(),
                            t["to"].get<double>(), t["trade"].get<double>(),
                            t["price"].get<double>(), t["shares"].get<std::int64_t>());
  EXPECT_EQ(text_of(trades), expected);
}

TEST(Predict, NeedsPricesAndAnAccountToCountShares) {
  const Desk desk;
  desk.expect_refusal({"--lot", "100"}, "--lot has no meaning here; it goes with --capital");
  desk.expect_refusal({"--capital", "0"}, "capital = 0 is outside (0, inf)");
  const Finished absurd = run_program(desk.arguments({"--capital", "1e300"}));
  EXPECT_EQ(absurd.exit_code, 2);
  EXPECT_THAT(absurd.err, HasSubstr("capital = 1e+300 makes more shares of "));
  market::Panel returns = market::simple_returns(desk.prices());
  const std::string file = desk.prices("returns.csv", returns);
  const Finished run = run_program(
      {"predict", "--model", desk.path("m.sharpen"), "--returns", file, "--capital", "1e6"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "sharpen: error: --capital needs prices to count shares by; give --prices FILE\n");
}

}  // namespace
}  // namespace sharpen
