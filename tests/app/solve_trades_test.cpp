// `sharpen solve --previous`: a portfolio from what is held, and why each trade is made or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

class SolveTrades : public ::testing::Test {
 protected:
  SolveTrades() {
    market::write_panel(market::simulate({.assets = 12, .days = 150, .seed = 3}),
                        folder_.path("p.csv"));
    folder_.file("h.csv", "asset,weight\nS001,0.2\nS004,0.3\nS007,-0.1\n");
  }

  std::vector<std::string> line(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"solve", "--prices", folder_.path("p.csv"), "-k", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  json solve(std::vector<std::string> more) const {
    more.push_back("--json");
    const Finished run = run_program(line(more));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }
  std::string held() const { return folder_.path("h.csv"); }
  static std::map<std::string, double> weights(const json& answer) {
    std::map<std::string, double> out;
    for (const json& holding : answer["holdings"]) out[holding["asset"]] = holding["weight"];
    return out;
  }

  Folder folder_;
};

TEST_F(SolveTrades, WithoutHoldingsNothingChanges) {
  const json plain = solve({});
  for (const char* key : {"trades", "rule", "left_undone", "turnover"})
    EXPECT_FALSE(plain.contains(key)) << key;
  json idle = solve({"--rule", "cost", "--cost-bps", "50", "--expected-sharpe", "2"});
  EXPECT_EQ(idle["warnings"].size(), 3u);
  EXPECT_THAT(idle["warnings"].dump(), HasSubstr("--rule has no effect here; it goes with --pre"));
  idle["warnings"] = json::array();
  EXPECT_EQ(idle, plain);
}

TEST_F(SolveTrades, FreeTradingMakesThePortfolioAnew) {
  const json plain = solve({});
  for (const std::vector<std::string>& free :
       {std::vector<std::string>{"--cost-bps", "0"}, {"--rule", "none"}}) {
    std::vector<std::string> more = {"--previous", held()};
    more.insert(more.end(), free.begin(), free.end());
    const json answer = solve(more);
    EXPECT_EQ(weights(answer), weights(plain));
    EXPECT_NEAR(answer["sharpe"].get<double>(), plain["sharpe"].get<double>(), 1e-12);
    EXPECT_EQ(answer["left_undone"], json::array());
  }
}

TEST_F(SolveTrades, TradesOnlyWhatPays) {
  const json dear = solve({"--previous", held(), "--cost-bps", "1e6"});
  EXPECT_EQ(weights(dear),
            (std::map<std::string, double>{{"S001", 0.2}, {"S004", 0.3}, {"S007", -0.1}}));
  EXPECT_EQ(dear["trades"], json::array());
  ASSERT_FALSE(dear["left_undone"].empty());
  double before = 100;
  for (const char* bps : {"1", "20", "60", "300"}) {
    const json answer = solve({"--previous", held(), "--cost-bps", bps});
    double cost = 0, turnover = 0;
    for (const json& trade : answer["trades"]) {
      const double change = std::abs(trade["trade"].get<double>());
      turnover += change;
      cost += trade["cost"].get<double>();
      EXPECT_NEAR(trade["cost"], std::atof(bps) * 1e-4 * change, 1e-15);
      EXPECT_FALSE(trade["gain"].is_null());
    }
    EXPECT_NEAR(answer["turnover"], turnover, 1e-12);
    EXPECT_NEAR(answer["trading_cost"], cost, 1e-15);
    EXPECT_LE(turnover, before + 1e-12) << bps;
    before = turnover;
    for (const json& trade : answer["left_undone"])
      EXPECT_EQ(trade["reason"] == "cost", trade["gain"] <= trade["cost"]);
  }
}

// Which portfolio is best does not depend on the scale of mu, and neither does what pays.
TEST_F(SolveTrades, BelievesTheSignalAsMuchWhateverItPromises) {
  std::map<std::string, double> first;
  for (const double unit : {1.0, 100.0}) {
    std::string mean = "asset,mean\n", cov = "asset,A,B,C\n";
    const double mu[3] = {0.001, 0.0004, -0.0003};
    const double sigma[3][3] = {{4e-4, 1e-4, 5e-5}, {1e-4, 2e-4, 4e-5}, {5e-5, 4e-5, 3e-4}};
    for (int i = 0; i < 3; ++i) {
      mean += fmt::format("{},{}\n", "ABC"[i], unit * mu[i]);
      cov += fmt::format("{},{},{},{}\n", "ABC"[i], sigma[i][0], sigma[i][1], sigma[i][2]);
    }
    const Finished run = run_program({"solve", "--mean", folder_.file("m.csv", mean), "--cov",
                                      folder_.file("c.csv", cov), "-k", "2", "--previous",
                                      folder_.file("a.csv", "asset,weight\nB,0.5\n"), "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto found = weights(json::parse(run.out));
    if (first.empty()) first = found;
    ASSERT_EQ(found.size(), first.size());
    for (const auto& [asset, weight] : first) EXPECT_NEAR(found.at(asset), weight, 1e-9);
  }
}

// What a trade gains is that of a signal of the size that it is believed to have, by every rule.
TEST_F(SolveTrades, ATradeGainsTheSameByEveryRule) {
  const auto gains = [&](const std::string& rule) {
    std::map<std::string, double> out;
    const json answer = solve({"--previous", held(), "--cost-bps", "0", "--rule", rule});
    for (const json& trade : answer["trades"]) out[trade["asset"]] = trade["gain"];
    return out;
  };
  const auto by_cost = gains("cost"), by_none = gains("none");
  ASSERT_GT(by_cost.size(), 3u);
  ASSERT_EQ(by_none.size(), by_cost.size());
  for (const auto& [asset, gain] : by_cost)
    EXPECT_NEAR(by_none.at(asset), gain, 1e-9 * std::abs(gain)) << asset;
}

TEST_F(SolveTrades, WhatATradeGainsDoesNotDependOnTheScaleOfTheSignal) {
  for (const char* rule : {"none", "band", "cost"}) {
    std::map<std::string, double> first;
    for (const double unit : {1.0, 10.0}) {
      const std::string mean = fmt::format("asset,mean\nA,{}\nB,{}\nC,{}\n", unit * 0.001,
                                           unit * 0.0004, unit * -0.0003);
      const std::string cov = "asset,A,B,C\nA,4e-4,1e-4,5e-5\nB,1e-4,2e-4,4e-5\nC,5e-5,4e-5,3e-4\n";
      const Finished run =
          run_program({"solve", "--mean", folder_.file("m.csv", mean), "--cov",
                       folder_.file("c.csv", cov), "-k", "2", "--rule", rule, "--previous",
                       folder_.file("a.csv", "asset,weight\nB,0.5\nC,0.2\n"), "--json"});
      ASSERT_EQ(run.exit_code, 0) << run.err;
      std::map<std::string, double> gains;
      const json answer = json::parse(run.out);
      for (const json& trade : answer["trades"]) gains[trade["asset"]] = trade["gain"];
      ASSERT_FALSE(gains.empty());
      if (first.empty()) first = gains;
      ASSERT_EQ(gains.size(), first.size());
      for (const auto& [asset, gain] : first)
        EXPECT_NEAR(gains.at(asset), gain, 1e-7 * std::abs(gain)) << rule << " " << asset;
    }
  }
}

TEST_F(SolveTrades, DoubtsHoldingsInPercent) {
  const auto warned = [&](const std::string& text) {
    return solve({"--previous", folder_.file("percent.csv", text)})["warnings"].dump();
  };
  EXPECT_THAT(warned("asset,weight\nS001,30\nS004,-20\nS007,10\n"),
              HasSubstr("what is held has a gross exposure of 60 times the wealth; weights are "
                        "shares of it: write 0.3 for 30 %"));
  EXPECT_EQ(warned("asset,weight\nS001,3\nS004,-2\n"), "[]");
}

TEST_F(SolveTrades, RefusesTwoOpinionsOfWhatIsHeld) {
  const std::string limits =
      folder_.file("l.toml",
                   "max_turnover = 1.5\nholdings = {S001 = 0.2, S004 = \"30%\", S007 = "
                   "-0.1, S002 = 0}\n");
  EXPECT_EQ(run_program(line({"--limits", limits, "--previous", held()})).exit_code, 0);
  EXPECT_EQ(run_program(line({"--limits", limits})).exit_code, 0);
  const std::string other = folder_.file("o.csv", "asset,weight\nS001,0.2\nS004,0.1\nS007,-0.1\n");
  expect_refused(line({"--limits", limits, "--previous", other}),
                 "--previous and holdings in the limits say two things of what is held, first of "
                 "S004; leave holdings out of the limits");
}

TEST_F(SolveTrades, SaysWhatDoesNotMatterForTheRule) {
  const auto warned = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--previous", held()});
    return solve(more)["warnings"].dump();
  };
  constexpr auto kOnlySaid =
      "--expected-sharpe does not change what is decided, only what it is said to gain; it goes "
      "with --rule cost";
  EXPECT_THAT(warned({"--rule", "none", "--expected-sharpe", "2"}), HasSubstr(kOnlySaid));
  EXPECT_EQ(warned({"--rule", "cost", "--expected-sharpe", "2", "--holding-horizon", "9"}), "[]");
}

TEST_F(SolveTrades, SellsWhatWasLeftOutAndRefusesWhatNobodyKnows) {
  const json answer =
      solve({"--previous", held(), "--tickers", "S001,S002,S003,S008,S009,S010,S011"});
  EXPECT_THAT(answer["warnings"].dump(),
              HasSubstr("left out of the problem: S004, S007; held now"));
  std::map<std::string, json> trades;
  for (const json& trade : answer["trades"]) trades[trade["asset"]] = trade;
  EXPECT_EQ(trades["S004"]["to"], 0.0);
  EXPECT_EQ(trades["S004"]["gain"], nullptr);
  EXPECT_NEAR(trades["S004"]["cost"], 5e-4 * 0.3, 1e-15);
  const std::string bad = folder_.file("bad.csv", "asset,weight\nS404,0.5\n");
  expect_refused(line({"--previous", bad}),
                 bad +
                     ": there is no asset \"S404\" here; did you mean S004? correct the name, or "
                     "take it out");
  expect_refused(line({"--previous", held(), "--optimizer", "mssrm", "--rule", "cost"}),
                 "rule = cost cannot go with optimizer = mssrm, which knows of no costs; use "
                 "--rule band or none");
  expect_refused(line({"--previous", held(), "--cost-bps", "-1"}),
                 "cost-bps = -1 is outside [0, inf)");
  const std::string costs = folder_.file("costs.csv", "asset,bps\nS001,5\nS404,3\n");
  const Finished run = run_program(line({"--previous", held(), "--cost-bps", costs}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("there is no asset \"S404\" here"));
}

TEST_F(SolveTrades, TellsPeopleWhatPays) {
  const Finished run = run_program(line({"--previous", held(), "--cost-bps", "1e6"}));
  EXPECT_THAT(run.out, HasSubstr("left undone"));
  EXPECT_THAT(run.out, HasSubstr("would not pay"));
  EXPECT_THAT(run.out, HasSubstr("turnover   0.0000\n"));
}

TEST_F(SolveTrades, ReasonsOfNamesAreThereToo) {
  const json answer = solve({"--previous", held(), "--explain", "--cost-bps", "30"});
  for (const json& holding : answer["holdings"]) EXPECT_TRUE(holding.contains("risk_contribution"));
}

}  // namespace
}  // namespace sharpen
