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
