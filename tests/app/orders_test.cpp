// sharpen predict with an account: files in, files out, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using ::testing::AllOf;
using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using testing::text_of;

constexpr Index kOrderDays = 140, kDecisionDay = 130;

class Orders : public ::testing::Test {
 protected:
  Orders() : prices_(market::simulate({.assets = 6, .days = kOrderDays, .seed = 5})) {
    market::write_panel(prices_, folder_.path("prices.csv"));
  }
  std::vector<std::string> flags(const std::vector<std::string>& more) const {
    std::vector<std::string> out = {
        "predict", "--framework", "rolling", "--prices", folder_.path("prices.csv"),  "-k",
        "3",       "--lookback",  "20",      "--asof",   prices_.dates[kDecisionDay], "--threads",
        "1"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::string held(const std::string& text) const { return folder_.file("held.csv", text); }
  const std::string& ticker(std::size_t i) const { return prices_.tickers[i]; }

  const Folder folder_;
  const market::Panel prices_;
};

TEST_F(Orders, WritesOrdersAndPositionsThatTheNextDayReads) {
  const std::string next = folder_.path("next");
  const Finished first =
      run_program(flags({"--capital", "50000", "--lot", "10", "--out-dir", next}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("orders after " + prices_.dates[kDecisionDay]),
                               HasSubstr("account      worth 50000.00, cash 50000.00 before"),
                               HasSubstr("exposure     gross"), HasSubstr("basis points of"),
                               HasSubstr("age          prices 0 days"), HasSubstr("status")));
  EXPECT_THAT(text_of(next + "/orders.csv"),
              HasSubstr("asset,side,shares,price,value,cost,reason\n"));
  EXPECT_THAT(text_of(next + "/positions.csv"), HasSubstr("asset,shares,date,cost\n"));
  std::vector<std::string> again =
      flags({"--positions", next + "/positions.csv", "--lot", "10", "--out-dir", next, "--json"});
  again[10] = prices_.dates[kDecisionDay + 1];
  const nlohmann::json answer = testing::answer_of(again);
  EXPECT_EQ(answer["date"], prices_.dates[kDecisionDay + 1]);
  EXPECT_NE(answer["wealth"], 50000.0);
  EXPECT_EQ(nlohmann::json::parse(text_of(next + "/metrics.json"))["cash"], answer["cash"]);
}

TEST_F(Orders, FolderHoldsTheAnswerAsItIsPrinted) {
  const std::string next = folder_.path("next");
  std::vector<std::string> late = flags({"--out-dir", next, "--json"});
  late[10] = "2019-12-31";  // a warning, and what to do about it
  const nlohmann::json answer = testing::answer_of(late);
  ASSERT_EQ(answer["warnings"].size(), 1U);
  EXPECT_THAT(answer["warnings"][0].get<std::string>(), HasSubstr("; --max-age DAYS refuses"));
  EXPECT_EQ(nlohmann::json::parse(text_of(next + "/metrics.json")), answer);
}

TEST_F(Orders, RefusesBadAccountsAndKeepsTheFiles) {
  const std::string next = folder_.path("next");
  ASSERT_EQ(run_program(flags({"--out-dir", next})).exit_code, 0);
  const std::string before = text_of(next + "/positions.csv");
  const auto refuse = [&](const std::string& text, const std::vector<std::string>& more,
                          const ::testing::Matcher<const std::string&>& message) {
    std::vector<std::string> all = {"--positions", held(text), "--out-dir", next};
    all.insert(all.end(), more.begin(), more.end());
    expect_refused(flags(all), message);
    EXPECT_EQ(text_of(next + "/positions.csv"), before);
  };
  refuse("asset,shares\nNOBODY,5\ncash,1000\n", {},
         AllOf(HasSubstr("held.csv:2"), HasSubstr("no asset \"NOBODY\"")));
  refuse("asset,shares\n" + ticker(0) + ",5\n" + ticker(0) + ",6\ncash,1000\n", {},
         HasSubstr("twice, at line 2 and line 3"));
  refuse("asset,shares\n" + ticker(0) + ",5.5\ncash,1000\n", {"--lot", "1"},
         AllOf(HasSubstr("held.csv:2"), HasSubstr("5.5 shares"), HasSubstr("leave --lot")));
  refuse("asset,shares\n" + ticker(0) + ",5\n", {}, HasSubstr("no row for cash; add one"));
  refuse("asset,shares\n" + ticker(0) + ",-5\ncash,-1000\n", {}, HasSubstr("is worth -"));
  refuse("asset,shares,date\n" + ticker(0) + ",5,2030-01-01\ncash,1000,\n", {},
         HasSubstr("is of 2030-01-01, and the prices end on"));
  refuse("asset,weight\ncash,1\n", {"--lot", "10"}, HasSubstr("give --capital, or positions"));
  refuse("asset,weight\ncash,1\n", {"--previous", held("asset,weight\n")},
         HasSubstr("each say what is held"));
  std::vector<std::string> stale = flags({"--max-age", "2", "--out-dir", next});
  stale[10] = "2030-01-01";
  expect_refused(stale, HasSubstr("is stale"));
  EXPECT_EQ(text_of(next + "/positions.csv"), before);
  expect_refused({"predict", "--prices", folder_.path("prices.csv")},
                 AllOf(HasSubstr("no model given"), HasSubstr("--framework")));
  expect_refused(
      {"predict", "--framework", "dfl", "--prices", folder_.path("prices.csv"), "--out-dir", next},
      HasSubstr("give --model FILE"));
}

TEST_F(Orders, ContinuesOnlyWhatABacktestWrote) {
  const std::string run = folder_.path("run"), metrics = run + "/metrics.json";
  const std::vector<std::string> backtest = {
      "backtest", "--prices", folder_.path("prices.csv"), "--lookback", "20", "--out", run};
  ASSERT_EQ(run_program(backtest).exit_code, 0);
  const nlohmann::json whole = nlohmann::json::parse(text_of(metrics));
  const auto refuse = [&](const char* key, const nlohmann::json& value,
                          const ::testing::Matcher<const std::string&>& message) {
    nlohmann::json changed = whole;
    changed[key] = value;
    std::ofstream(metrics) << changed;
    expect_refused({"predict", "--continue", run, "--prices", folder_.path("prices.csv")}, message);
  };
  for (const char* settings : {"null", "[]", "5", "\"k\"", "[\"k\"]"})
    refuse("settings", nlohmann::json::parse(settings), HasSubstr("has no settings"));
  refuse("ruin_date", "\x1b[2J", HasSubstr("ruined on \\x1b[2J, and"));
  refuse("settings", {{"k", {{"a", 1}}}}, HasSubstr("is neither a whole number"));
  // Too deep to be walked through, where it would be replaced, too.
  std::ofstream(metrics) << R"({"command": "backtest", "settings": {"k": )"
                         << std::string(300000, '[') << std::string(300000, ']') << "}}";
  expect_refused({"predict", "--continue", run, "--prices", folder_.path("prices.csv")},
                 HasSubstr("nested too deep"));
  expect_refused(backtest, HasSubstr("not a result of sharpen backtest"));
}

TEST_F(Orders, SaysWhereAMistakeIs) {
  const std::string next = folder_.path("next");
  ASSERT_EQ(run_program(flags({"--out-dir", next})).exit_code, 0);
  expect_refused(flags({"--out-dir", next, "--out", next + "/positions.csv"}),
                 HasSubstr("--out is in the folder of --out-dir"));
  expect_refused(flags({"--out-dir", folder_.path("prices.csv")}),
                 AllOf(HasSubstr("out-dir = "), HasSubstr("is a file, not a folder")));
  expect_refused({"predict", "--continue", next, "--prices", folder_.path("prices.csv")},
                 AllOf(HasSubstr("holds the orders of a day"), HasSubstr("--positions")));
  market::Panel cash = prices_;
  cash.tickers[2] = "cash";
  market::write_panel(cash, folder_.path("cash.csv"));
  std::vector<std::string> odd = flags({});
  odd[4] = folder_.path("cash.csv");
  expect_refused(odd, HasSubstr("a column is called cash"));
  market::Panel signal = market::simple_returns(prices_);
  market::write_panel(signal, folder_.path("signal.csv"));
  std::vector<std::string> given = flags({"--signal", folder_.path("signal.csv"), "--json"});
  given[2] = "signal";
  EXPECT_TRUE(testing::answer_of(given)["warnings"].empty());
  const auto keep_rows = [&](Index from, Index to) {
    market::Panel some = signal;
    some.dates = {signal.dates.begin() + from, signal.dates.begin() + to};
    some.values = {signal.values.begin() + from * signal.n(),
                   signal.values.begin() + to * signal.n()};
    market::write_panel(some, folder_.path("signal.csv"));
  };
  keep_rows(0, kDecisionDay - 1);
  expect_refused(given, AllOf(HasSubstr("has no row for " + prices_.dates[kDecisionDay]),
                              HasSubstr("add it")));
  keep_rows(kDecisionDay - 1, kDecisionDay);
  EXPECT_THAT(testing::answer_of(given)["warnings"].dump(), HasSubstr("a memory of 5 periods"));
  const nlohmann::json idle =
      testing::answer_of(flags({"--explain", "--max-model-age", "9", "--json"}));
  EXPECT_THAT(idle["warnings"].dump(), AllOf(HasSubstr("--explain has no effect"),
                                             HasSubstr("--max-model-age has no effect")));
}

// What is printed as settings makes the same orders.
TEST_F(Orders, PrintedSettingsReadBackToTheSameOrders) {
  market::Panel holed = prices_;
  for (Index t = 60; t < 80; ++t) holed.values[static_cast<std::size_t>(t * 6)] = std::nan("");
  market::write_panel(holed, folder_.path("prices.csv"));
  const Finished printed = run_program(flags({"--print-config"}));
  const std::string file = folder_.file("p.toml", printed.out);
  EXPECT_EQ(testing::answer_of({"predict", "--config", file, "--json"}),
            testing::answer_of(flags({"--json"})));
}

TEST_F(Orders, BelowTheMinimumAreLeftOutAndSaid) {
  const nlohmann::json answer =
      testing::answer_of(flags({"--capital", "10000", "--min-order", "1e9", "--json"}));
  EXPECT_TRUE(answer["orders"].empty());
  std::vector<std::string> reasons;
  for (const auto& row : answer["not_traded"]) reasons.push_back(row["reason"]);
  EXPECT_THAT(reasons, ::testing::Contains("below the minimum"));
  EXPECT_EQ(answer["cash"], 10000.0);
}

TEST_F(Orders, WeightsLeadFromDayToDayInOneFile) {
  const std::string file = folder_.path("weights.csv");
  ASSERT_EQ(run_program(flags({"--out", file})).exit_code, 0);
  std::vector<std::string> again = flags({"--previous", file, "--out", file});
  again[10] = prices_.dates[kDecisionDay + 1];
  const Finished run = run_program(again);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(text_of(file), HasSubstr("asset,weight\n"));
}

// Killed at every step that changes a file: what is there is the old day or the new one.
TEST_F(Orders, SlowKilledWhileWritingLeavesTheOldFiles) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be loaded first";
#endif
  const std::string next = folder_.path("next");
  ASSERT_EQ(run_program(flags({"--capital", "50000", "--out-dir", next})).exit_code, 0);
  const auto files = [&] {
    return std::vector<std::string>{text_of(next + "/orders.csv"), text_of(next + "/positions.csv"),
                                    text_of(next + "/metrics.json")};
  };
  const std::vector<std::string> before = files();
  std::vector<std::string> again =
      flags({"--positions", next + "/positions.csv", "--lot", "1", "--out-dir", next});
  again[10] = prices_.dates[kDecisionDay + 1];
  int killed = 0;
  for (int step = 0;; ++step) {
    const Finished run =
        run_program(again, "",
                    {.variables = {"LD_PRELOAD=" SHARPEN_FAULTS,
                                   "SHARPEN_FAULT=all:" + std::to_string(step) + ":kill"}});
    if (run.exit_code == 0) break;
    ASSERT_EQ(run.exit_code, 128 + SIGKILL) << run.err;
    ++killed;
    if (files() == before) continue;
    // The new day, whole: the folder was exchanged before the kill.
    EXPECT_THAT(text_of(next + "/positions.csv"), HasSubstr(prices_.dates[kDecisionDay + 1]));
    EXPECT_THAT(text_of(next + "/metrics.json"), HasSubstr(prices_.dates[kDecisionDay + 1]));
    break;
  }
  EXPECT_GT(killed, 2);
}

}  // namespace
}  // namespace sharpen
