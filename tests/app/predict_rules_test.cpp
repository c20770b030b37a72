// `sharpen predict` by a rule: what is held, what a trade gains and costs, and what is not traded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "app/desk.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "support/models.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Desk;
using testing::Finished;
using ::testing::HasSubstr;
using testing::run_program;
using testing::text_of;
using testing::weights;

// Networks that look at returns, so that signals differ from day to day.
learn::Model restless(const Desk& desk) {
  learn::Model model = testing::made_model({.tickers = desk.prices().tickers,
                                            .network = learn::NetworkKind::shared,
                                            .lookback = testing::kLookback,
                                            .hidden = {5},
                                            .members = 3});
  model.first_date = "2010-01-04";
  model.last_date = "2014-12-31";
  model.settings.mandate.k = {.count = 3, .percent = 0.0};
  learn::write_model(model, desk.path("m.sharpen"));
  return model;
}

std::string holdings_file(const Desk& desk, const std::map<std::string, double>& held) {
  std::string text = "asset,weight\n";
  for (const auto& [asset, weight] : held) text += fmt::format("{},{}\n", asset, weight);
  return desk.file("held.csv", text);
}

// The account of the backtest before the trades of a period.
std::map<std::string, double> held_before(const backtest::BacktestResult& walked, Index period) {
  std::map<std::string, double> out;
  const auto name = [&](Index asset) { return walked.tickers[static_cast<std::size_t>(asset)]; };
  for (const backtest::Position& position : walked.run.weights_of(period))
    out[name(position.asset)] = position.weight;
  for (const backtest::Trade& trade : walked.run.trades_of(period))
    out[name(trade.asset)] = trade.from;
  std::erase_if(out, [](const auto& each) { return each.second == 0.0; });
  return out;
}

// One book: the same model, day and holdings, by every rule.
TEST(PredictRule, DecidesWhatABacktestDecides) {
  const Desk desk;
  const learn::Model model = restless(desk);
  for (const trade::Rule rule : {trade::Rule::cost, trade::Rule::band, trade::Rule::none}) {
    backtest::BacktestSettings settings;
    settings.framework = backtest::Framework::dfl;
    settings.training = model.settings;
    settings.k = model.settings.mandate.k;
    settings.lookback = {.count = testing::kLookback, .all = false};
    settings.sizing = model.settings.mandate.sizing;
    settings.rules = {.rule = rule, .memory = 4, .expected_sharpe = 3.0, .holding_horizon = 8.0};
    settings.account.cost_bps.number = 10.0;
    const backtest::BacktestResult walked = backtest::backtest(
        market::simple_returns(desk.prices()), settings, Threads(1), nullptr, {}, &model);
    Index traded = 0;
    for (const Index period : {40, 77, 130, 200, 250}) {
      std::map<std::string, double> expected;
      for (const backtest::Position& position : walked.run.weights_of(period))
        expected[walked.tickers[static_cast<std::size_t>(position.asset)]] = position.weight;
      traded += std::ssize(walked.run.trades_of(period));
      const json answer =
          desk.predict({"--asof", walked.run.dates[static_cast<std::size_t>(period - 1)],
                        "--previous", holdings_file(desk, held_before(walked, period)), "--rule",
                        std::string(name_of(rule)), "--memory", "4", "--expected-sharpe", "3",
                        "--holding-horizon", "8", "--cost-bps", "10"});
      const auto found = weights(answer);
      ASSERT_EQ(found.size(), expected.size()) << name_of(rule) << " " << period;
      for (const auto& [asset, weight] : expected) EXPECT_NEAR(found.at(asset), weight, 1e-12);
      EXPECT_EQ(answer["trades"].size(), walked.run.trades_of(period).size());
      EXPECT_NEAR(answer["trading_cost"].get<double>(), 1e-3 * answer["turnover"].get<double>(),
                  1e-15);
    }
    EXPECT_GT(traded, 0);
  }
}

// What the loss was charged is not what a trade costs.
TEST(PredictRule, TakesTheTradingCostOfTheModelAsABacktestOfItDoes) {
  const Desk desk;
  learn::Model model = restless(desk);
  model.cost_bps = 12.0;
  model.settings.train_cost_bps = 0.0;
  learn::write_model(model, desk.path("m.sharpen"));
  const json predicted = desk.predict({});
  EXPECT_EQ(predicted["cost_bps"], 12.0);
  EXPECT_NEAR(predicted["trading_cost"].get<double>(), 12e-4 * predicted["turnover"].get<double>(),
              1e-15);
  const Finished walked =
      run_program({"backtest", "--framework", "dfl", "--model", desk.path("m.sharpen"), "--prices",
                   desk.path("prices.csv"), "--replications", "10", "--json"});
  ASSERT_EQ(walked.exit_code, 0) << walked.err;
  EXPECT_EQ(json::parse(walked.out)["cost_bps"], 12.0);
  EXPECT_EQ(desk.predict({"--cost-bps", "3"})["cost_bps"], 3.0);
}

// Days that only feed the memory may be from before a listing.
TEST(PredictRule, RemembersWhatAJointNetworkCouldSay) {
  const Desk desk;
  learn::Model model = desk.model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  model.settings.rules = {.rule = trade::Rule::cost, .memory = 5};
  learn::write_model(model, desk.path("m.sharpen"));
  market::Panel late = desk.prices();
  for (Index t = 0; t < testing::kDays - testing::kLookback - 4; ++t)
    late.values[static_cast<std::size_t>(t * testing::kAssets + 2)] = std::nan("");
  desk.prices("late.csv", late);
  EXPECT_EQ(weights(desk.predict({}, "late.csv")).size(), 2u);
}

TEST(PredictRule, TradesThatWouldNotPayAreLeftUndone) {
  const Desk desk;
  restless(desk);
  const std::string held =
      holdings_file(desk, {{desk.prices().tickers[0], 0.2}, {desk.prices().tickers[3], -0.1}});
  const auto with = [&](const std::string& bps) {
    return desk.predict({"--previous", held, "--rule", "cost", "--cost-bps", bps});
  };
  const json dear = with("1000000");
  EXPECT_EQ(dear["trades"], json::array());
  EXPECT_EQ(dear["trading_cost"], 0.0);
  ASSERT_FALSE(dear["left_undone"].empty());
  for (const json& trade : dear["left_undone"]) {
    EXPECT_EQ(trade["reason"], "cost");
    EXPECT_LT(trade["gain"], trade["cost"]);
    EXPECT_NEAR(trade["cost"],
                100 * std::abs(trade["to"].get<double>() - trade["from"].get<double>()), 1e-9);
  }
  const json cheap = with("2");
  ASSERT_FALSE(cheap["trades"].empty());
  for (const json& trade : cheap["trades"])
    EXPECT_NEAR(trade["cost"], 2e-4 * std::abs(trade["trade"].get<double>()), 1e-15);
  EXPECT_EQ(cheap["rule"], "cost");
  EXPECT_EQ(cheap["memory"], 5);
  EXPECT_EQ(cheap["cost_bps"], 2.0);

  const Finished text =
      run_program(desk.arguments({"--previous", held, "--rule", "cost", "--cost-bps", "1000000"}));
  EXPECT_THAT(text.out, HasSubstr("left undone"));
  EXPECT_THAT(text.out, HasSubstr("would not pay"));
  EXPECT_THAT(text.out, HasSubstr("trading    by the rule cost; costs 0.00 bp of the wealth"));
  EXPECT_THAT(text.out, HasSubstr("decided from what is held, and by what it costs to change it"));
}

// Networks that promise what they like: their trades gain what they are believed to.
TEST(PredictRule, ATradeGainsTheSameByEveryRule) {
  const Desk desk;
  restless(desk);
  const std::string held =
      holdings_file(desk, {{desk.prices().tickers[0], 0.2}, {desk.prices().tickers[3], -0.1}});
  const auto gains = [&](const std::string& rule) {
    std::map<std::string, double> out;
    const json answer =
        desk.predict({"--previous", held, "--cost-bps", "0", "--memory", "1", "--rule", rule});
    for (const json& trade : answer["trades"]) out[trade["asset"]] = trade["gain"];
    return out;
  };
  const auto by_cost = gains("cost"), by_none = gains("none");
  ASSERT_GT(by_cost.size(), 2u);
  ASSERT_EQ(by_none.size(), by_cost.size());
  for (const auto& [asset, gain] : by_cost)
    EXPECT_NEAR(by_none.at(asset), gain, 1e-6 * std::abs(gain)) << asset;
}

TEST(PredictRule, SaysWhatIsOddAboutHoldingsAndRules) {
  const Desk desk;
  const std::string percent = holdings_file(desk, {{desk.prices().tickers[0], 30.0}});
  const json answer =
      desk.predict({"--previous", percent, "--rule", "band", "--holding-horizon", "2"});
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("a gross exposure of 30 times the wealth"));
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("--holding-horizon does not change what is"));
  const std::string limits = desk.file(
      "l.toml", "max_turnover = 1.5\nholdings = {" + desk.prices().tickers[1] + " = 0.2}\n");
  desk.expect_refusal({"--previous", percent, "--limits", limits},
                      "--previous and holdings in the limits say two things of what is held, first "
                      "of " +
                          desk.prices().tickers[0] + "; leave holdings out of the limits");
}

// What is further back than the memory changes nothing.
TEST(PredictRule, ForgetsWhatIsOlderThanItsMemory) {
  const Desk desk;
  restless(desk);
  market::Panel cut = desk.prices();
  // M = 3 N windows of kLookback returns, and the rows that cleaning looks at.
  const Index keep = testing::kLookback + 3 * 3 - 1 + 250 + 1;
  const Index drop = cut.rows() - keep;
  ASSERT_GT(drop, 0);
  cut.dates.erase(cut.dates.begin(), cut.dates.begin() + drop);
  cut.values.erase(cut.values.begin(), cut.values.begin() + drop * cut.n());
  desk.prices("cut.csv", cut);
  const std::vector<std::string> asked = {"--rule", "cost", "--memory", "3"};
  EXPECT_EQ(weights(desk.predict(asked, "cut.csv")), weights(desk.predict(asked)));
}

TEST(PredictRule, RefusesWhatCannotBe) {
  const Desk desk;
  const std::string out = desk.path("next.csv");
  const auto refuse = [&](std::vector<std::string> more, const std::string& message) {
    more.insert(more.end(), {"--out", out});
    desk.expect_refusal(more, message);
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refuse(
      {"--framework", "pfl"},
      "framework = pfl, and the model was trained as dfl; leave --framework out, or give another "
      "model");
  refuse({"--memory", "0"}, "memory = 0 is outside [1, 10000]");
  refuse({"--cost-bps", "-1"}, "cost-bps = -1 is outside [0, inf)");
  const auto& tickers = desk.prices().tickers;
  const std::string few = desk.file("few.csv", "asset,bps\n" + tickers[0] + ",5\n");
  refuse({"--cost-bps", few},
         few + ": asset \"" + tickers[1] + "\" has no line: add one with what its trades cost");
}

}  // namespace
}  // namespace sharpen
