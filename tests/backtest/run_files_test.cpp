#include "sharpen/backtest/run_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backtest/panels.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::backtest::testing {
namespace {

using ::testing::HasSubstr;

Run small_run() {
  market::Panel panel;
  panel.dates = {"2020-01", "2020-02", "2020-03"};
  panel.tickers = {"A,B", "C \"x\""};
  panel.values = {0.5, 0.0, 0.25, -0.25, 0.0, 0.5};
  WalkSettings walk;
  walk.min_history = 1;
  walk.rebalance = 2;
  walk.costs = costs_of(100.0, panel);
  walk.stats_from = 0;
  Run run = walk_forward(panel, equal_weights(), walk, Threads(1));
  run.benchmark = {0.5, 0.25, 0.0};
  return run;
}

// The cost of 1 % is paid from cash, of which there is none: weights are of the wealth that is
// left.
TEST(RunFiles, SayWhatHappened) {
  const auto run = small_run();
  const std::vector<std::string> tickers = {"A,B", "C \"x\""};
  EXPECT_EQ(returns_csv(run),
            "date,return,gross_return,cost,turnover,net_exposure,gross_exposure,holdings,status,"
            "trading_cost,short_fee,financing\n"
            "2020-01,0,0,0,0,0,0,0,idle,0,0,0\n"
            "2020-02,-0.01,0,0.01,1,1,1,2,ok,0.01,0,0\n"
            "2020-03,0.1893939393939394,0.1893939393939394,0,0,1.01010101010101,1.01010101010101,2,"
            "held,0,0,0\n");
  const std::vector<double> later = {0.0, 0.25, 0.5}, equal = {0.0, 0.0, -0.125};
  EXPECT_EQ(returns_csv(run, later, equal).substr(76, 116),
            "status,trading_cost,short_fee,financing,delayed_return,equal_return\n"
            "2020-01,0,0,0,0,0,0,0,idle,0,0,0,0,0\n2020-02,-0.");
  EXPECT_EQ(weights_csv(run, tickers),
            "date,asset,weight\n"
            "2020-02,\"A,B\",0.5\n"
            "2020-02,\"C \"\"x\"\"\",0.5\n"
            "2020-03,\"A,B\",0.6313131313131313\n"
            "2020-03,\"C \"\"x\"\"\",0.3787878787878788\n");
  EXPECT_EQ(trades_csv(run, tickers),
            "date,asset,from,to,trade\n"
            "2020-02,\"A,B\",0,0.5,0.5\n"
            "2020-02,\"C \"\"x\"\"\",0,0.5,0.5\n");
  EXPECT_EQ(benchmark_csv(run), "date,return\n2020-01,0.5\n2020-02,0.25\n2020-03,0\n");
}

TEST(RunFiles, PortfoliosReadBackToTheSameBits) {
  const std::vector<std::string> tickers = {"A,B", "C \"x\"", "plain", " blank "};
  const std::vector<Position> held = {{0, 0.1}, {1, -1.0 / 3.0}, {3, 1e-300}};
  const std::string text = portfolio_csv(held, tickers);
  EXPECT_EQ(parse_portfolio(text, "w.csv"),
            (std::vector<NamedWeight>{{"A,B", 0.1}, {"C \"x\"", -1.0 / 3.0}, {" blank ", 1e-300}}));
  EXPECT_TRUE(parse_portfolio(portfolio_csv({}, tickers), "w.csv").empty()) << "all cash";
  EXPECT_EQ(parse_portfolio("asset,weight\r\nA,1\r\n", "w.csv"),
            (std::vector<NamedWeight>{{"A", 1.0}}));
}

TEST(RunFiles, PortfoliosThatAreNoneAreRefused) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse_portfolio(text, "w.csv"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("A,1\n"),
            "w.csv:1:1: line 1 is \"A,1\" but must be the header asset,weight; add it");
  EXPECT_EQ(
      message("asset,weight,more\n"),
      "w.csv:1:1: line 1 is \"asset,weight,more\" but must be the header asset,weight; add it");
  EXPECT_EQ(
      message("asset,weight\nA\n"),
      "w.csv:2:1: line 2 has 1 field where 2 are expected (asset and weight); give every row a "
      "name and a weight, separated by a comma");
  EXPECT_EQ(message("asset,weight\nA,1\nA,2\n"),
            "w.csv:3:1: the asset \"A\" is repeated, at line 2 and line 3; give every asset once");
  EXPECT_EQ(
      message("asset,weight\nA,\n"),
      "w.csv:2:2: the weight is missing, at line 2, column 2 (asset A); fill it or drop the row");
  EXPECT_EQ(
      message("asset,weight\n,1\n"),
      "w.csv:2:1: the name of the asset is missing, at line 2, column 1; every row starts with "
      "one");
  EXPECT_THAT(message("asset,weight\nA,nan\n"), HasSubstr("w.csv:2:2: "));
  EXPECT_THAT(message("asset,weight\nA,1,2\n"), HasSubstr("has 3 fields where 2"));
  EXPECT_NE(message(""), "");
}

}  // namespace
}  // namespace sharpen::backtest::testing
