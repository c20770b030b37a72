// Point-in-time universes through every command that takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using sharpen::testing::data_folder;
using sharpen::testing::expect_refused;
using sharpen::testing::Finished;
using sharpen::testing::Folder;
using sharpen::testing::run_program;
using sharpen::testing::text_of;
using ::testing::HasSubstr;

class MemberFiles : public ::testing::Test {
 protected:
  static constexpr Index kAssets = 6, kDays = 200;

  MemberFiles() {
    market::SimulationSettings settings;
    settings.assets = kAssets;
    settings.days = kDays;
    settings.seed = 9;
    panel_ = market::simulate(settings);
    // One starts late, one is gone for a while.
    for (Index t = 0; t < 30; ++t) panel_.values[at(t * kAssets + 4)] = std::nan("");
    for (Index t = 90; t < 120; ++t) panel_.values[at(t * kAssets + 1)] = std::nan("");
    prices_ = folder_.path("prices.csv");
    market::write_panel(panel_, prices_);
    std::string text = "date,ticker,member\n";
    for (Index j = 0; j < 5; ++j) text += line(0, j, "in");
    members_ = folder_.file("members.csv", text + line(150, 0, "out") + line(150, 5, "in"));
  }

  std::string line(Index row, Index asset, const std::string& what) const {
    return panel_.dates[at(row)] + "," + panel_.tickers[at(asset)] + "," + what + "\n";
  }
  std::vector<std::string> small(std::vector<std::string> more) const {
    more.insert(more.end(), {"--prices", prices_, "--lookback", "20", "-k", "2"});
    return more;
  }
  std::vector<std::string> small_training(std::vector<std::string> more) const {
    more = small(std::move(more));
    more.insert(more.end(), {"--hidden", "4", "--epochs", "1", "--ensemble", "2", "--batch", "16",
                             "--train-block", "24", "--horizon", "1"});
    return more;
  }

  Folder folder_;
  market::Panel panel_;
  std::string prices_, members_;
};

TEST_F(MemberFiles, HoldOnlyMembersThatHavePrices) {
  const std::string out = folder_.path("run");
  const Finished run =
      run_program(small({"backtest", "--universe", "available", "--members", members_,
                         "--optimizer", "equal", "--json", "--out", out}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["n_assets"], kAssets) << "a long gap drops nobody";
  std::map<std::string, std::set<std::string>> held;  // asset, dates
  std::ifstream weights(out + "/weights.csv");
  std::string row;
  std::getline(weights, row);
  while (std::getline(weights, row)) {
    const auto first = row.find(','), second = row.find(',', first + 1);
    held[row.substr(first + 1, second - first - 1)].insert(row.substr(0, first));
  }
  const auto& dates = panel_.dates;
  const auto any = [&](Index asset, Index from, Index to) {
    return std::ranges::any_of(held[panel_.tickers[at(asset)]], [&](const std::string& date) {
      return date >= dates[at(from)] && date <= dates[at(to)];
    });
  };
  EXPECT_TRUE(any(0, 0, 150));
  EXPECT_FALSE(any(0, 151, kDays - 1)) << "left at the end of row 150";
  EXPECT_FALSE(any(5, 0, 150)) << "joined then";
  EXPECT_TRUE(any(5, 151, kDays - 1));
  EXPECT_FALSE(any(4, 0, 50)) << "has no window yet";
  EXPECT_TRUE(any(4, 51, 51));
  EXPECT_TRUE(any(1, 95, 95)) << "five rows are a gap, and the sixth is the end that nobody knew";
  EXPECT_FALSE(any(1, 96, 140)) << "gone, and back with a window of 20 returns at row 141";
  EXPECT_TRUE(any(1, 141, 141));
}

TEST_F(MemberFiles, AreTrainedOnTestedAndPredictedWith) {
  const std::string model = folder_.path("model.sharpen");
  const Finished trained =
      run_program(small_training({"train", "--universe", "available", "--members", members_,
                                  "--out", model, "--to", panel_.dates[160]}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  for (const char* threads : {"1", "2"}) {
    const Finished tested = run_program({"backtest", "--prices", prices_, "--universe", "available",
                                         "--members", members_, "--framework", "dfl", "--model",
                                         model, "--threads", threads, "--json"});
    ASSERT_EQ(tested.exit_code, 0) << tested.err;
    EXPECT_EQ(json::parse(tested.out)["n_assets"], kAssets);
  }
  const Finished predicted =
      run_program({"predict", "--model", model, "--prices", prices_, "--members", members_,
                   "--asof", panel_.dates.back(), "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const json now = json::parse(predicted.out);
  for (const json& holding : now["holdings"])
    EXPECT_NE(holding["asset"], panel_.tickers[0]) << "no member any more";
  // In the gap the model decides without the name that has none, if told so.
  const std::string then = panel_.dates[115];
  expect_refused({"predict", "--model", model, "--prices", prices_, "--asof", then},
                 HasSubstr("or give --universe available to decide without them"));
  const Finished without = run_program({"predict", "--model", model, "--prices", prices_, "--asof",
                                        then, "--universe", "available", "--json"});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  const json gap = json::parse(without.out);
  for (const json& holding : gap["holdings"]) EXPECT_NE(holding["asset"], panel_.tickers[1]);
}

TEST_F(MemberFiles, LeaveWhatCannotBeTradedAloneInPredictions) {
  const std::string model = folder_.path("model.sharpen"), out = folder_.path("weights.csv");
  ASSERT_EQ(
      run_program(small_training({"train", "--universe", "available", "--out", model})).exit_code,
      0);
  std::string mask = "date", values;
  for (const std::string& ticker : panel_.tickers) {
    mask += "," + ticker;
    values += ticker == panel_.tickers[2] ? ",0" : ",1";
  }
  const std::string& last = panel_.dates.back();
  const std::string tradable = folder_.file("tradable.csv", mask + "\n" + last + values + "\n");
  const std::string previous =
      folder_.file("previous.csv", "asset,weight\n" + panel_.tickers[2] + ",0.3\n");
  const Finished run = run_program({"predict", "--model", model, "--prices", prices_, "--universe",
                                    "available", "--tradable", tradable, "--previous", previous,
                                    "--asof", last, "--out", out, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["not_tradable"], json({panel_.tickers[2]}));
  for (const json& trade : answer["trades"]) EXPECT_NE(trade["asset"], panel_.tickers[2]);
  EXPECT_THAT(text_of(out), HasSubstr(panel_.tickers[2] + ",0.3\n"));
}

TEST_F(MemberFiles, AreRefusedWithTheLineAndTheRemedyAndNothingIsWritten) {
  const std::string out = folder_.path("run");
  const auto refused = [&](const std::string& text, const std::string& what) {
    const std::string file = folder_.file("wrong.csv", text);
    expect_refused(small({"backtest", "--members", file, "--out", out}), HasSubstr(what));
    expect_refused(small_training({"train", "--members", file, "--out", out}), HasSubstr(what));
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_FALSE(std::filesystem::exists(out + ".partial"));
  };
  const std::string head = "date,ticker,member\n";
  refused(head + line(0, 0, "in") + line(5, 0, "in"), "wrong.csv:3: \"S001\" joins on");
  refused(head + line(0, 0, "in") + line(5, 0, "out") + line(9, 0, "out"), "memberships cross");
  refused(head + "2015-01-01,OTHER,in\n", "wrong.csv is about other tickers");
  refused(head + "2015-13-01,S001,in\n", "wrong.csv:2: \"2015-13-01\" is not");
  expect_refused(small({"backtest", "--members", folder_.path("none.csv")}),
                 HasSubstr("none.csv is no file that is there"));
  expect_refused(
      small({"backtest", "--members", folder_.file("late.csv", head + line(100, 0, "in"))}),
      HasSubstr("says nothing before " + panel_.dates[100] +
                ", and the first decision is made at"));
  expect_refused(small({"backtest", "--members", members_, "--out", members_}), HasSubstr("out"));
  expect_refused(
      small_training({"train", "--members", members_, "--network", "joint", "--out", out}),
      HasSubstr("members cannot go with network = joint"));
}

TEST_F(MemberFiles, AreKeptByStudies) {
  const std::string config = folder_.file(
      "s.toml",
      "k = 2\nlookback = 20\nuniverse = \"available\"\n[[market]]\nprices = \"" + prices_ +
          "\"\nmembers = \"" + members_ +
          "\"\n[[method]]\n[[method]]\nframework = "
          "\"historic\"\n[[method]]\nframework = \"pfl\"\nepochs = 1\nensemble = 1\nhidden "
          "= [4]\nhorizon = 1\nbatch = 16\n");
  const std::string out = folder_.path("study");
  const Finished first = run_program({"study", config, "--seeds", "1", "--out", out, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(json::parse(first.out)["failed"], 0);
  EXPECT_EQ(json::parse(first.out)["done"], 3);
  EXPECT_THAT(text_of(out + "/study.db"), HasSubstr(line(150, 5, "in").substr(0, 15)))
      << "what the file said is in the study";
  const std::string text = text_of(members_);
  folder_.file("members.csv", text + line(170, 0, "in"));
  const Finished other = run_program({"study", config, "--seeds", "1", "--out", out});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err,
              HasSubstr("is read with other settings than when this study began: members"));
  folder_.file("members.csv", text);
  EXPECT_EQ(run_program({"study", config, "--seeds", "1", "--out", out}).exit_code, 0);
}

TEST(MembersOfRealPanels, SlowComeAndGoOnEachOfThem) {
  if (data_folder().empty())
    GTEST_SKIP() << "the test data are not here; set SHARPEN_TEST_DATA to their folder";
  const Folder folder;
  for (const char* name : {"ftse100_2000_2023.csv", "nikkei225_2014_2025.csv",
                           "sp500_20_1990_2022.csv", "us_liquid_2016_2025.csv"}) {
    const std::string prices = data_folder() + "/" + name;
    const market::Panel panel =
        market::read_panel(prices, market::PanelKind::prices, market::Cells::raw);
    // Half of the names from the start, the others from the middle on, when a third leaves.
    std::string text = "date,ticker,member\n";
    const std::string &first = panel.dates.front(), &middle = panel.dates[at(panel.rows() / 2)];
    for (Index j = 0; j < panel.n(); ++j) {
      text += (j % 2 == 0 ? first : middle) + "," + panel.tickers[at(j)] + ",in\n";
      if (j % 6 == 0) text += middle + "," + panel.tickers[at(j)] + ",out\n";
    }
    const std::string members = folder.file("members.csv", text);
    const Finished run =
        run_program({"backtest", "--prices", prices, "--universe", "available", "--members",
                     members, "-k", "10", "--rebalance", "5", "--replications", "100", "--json"});
    ASSERT_EQ(run.exit_code, 0) << name << run.err;
    const json answer = json::parse(run.out);
    EXPECT_TRUE(answer["target_volatility"].is_number()) << name;
    EXPECT_GT(answer["n_rebalances"], 50) << name;
  }
}

}  // namespace
}  // namespace sharpen
