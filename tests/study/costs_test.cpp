// What studies charge, and which of their cells may share a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sharpen/base/error.hpp"
#include "sharpen/study/plan.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCostsMarket =
    "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 140, seed = 1 }\n";

Index cell_of(const Plan& plan, const std::string& method) {
  for (std::size_t cell = 0; cell < plan.results.cells.size(); ++cell)
    if (plan.results.methods[static_cast<std::size_t>(plan.results.cells[cell].method)].name ==
        method)
      return static_cast<Index>(cell);
  throw std::runtime_error("no method " + method);
}

settings::Values values_of(const Plan& plan, const std::string& method) {
  return plan.values_of(cell_of(plan, method));
}

trade::Rule rule_of(const Plan& plan, const std::string& method) {
  const settings::Values values = values_of(plan, method);
  trade::RuleSettings rules;
  settings::fill(values, rules);
  return trade::ruling(rules, solve::optimizer_named(values.text("optimizer"))).rule;
}

TEST(StudyCosts, ThePaperChargesNothingAndSaysSo) {
  for (const char* preset : {"paper", "alpha"}) {
    const std::string toml = std::string("preset = \"") + preset + "\"\nlookback = 15\n";
    const Plan plan = plan_of(toml + kCostsMarket);
    for (const Method& method : plan.results.methods) EXPECT_EQ(method.cost_bps, 0.0);
    for (const settings::Values& values : plan.values)
      EXPECT_EQ(values.number_or_file("cost-bps").number, 0.0);
    EXPECT_THAT(plan.warnings, Contains(HasSubstr("trading costs nothing in this study, as in the "
                                                  "paper; ‹--costs 5› charges for it")));
    const Plan charged = plan_of(toml + "costs = [5]\n" + kCostsMarket);
    for (const Method& method : charged.results.methods) EXPECT_EQ(method.cost_bps, 5.0);
    EXPECT_THAT(charged.warnings, Not(Contains(HasSubstr("trading costs nothing"))));
  }
}

TEST(StudyCosts, OpponentsAreUsedAsPublishedAndOursWeighTheirCosts) {
  for (const char* preset : {"paper", "demo"}) {
    const Plan plan =
        plan_of(std::string("preset = \"") + preset + "\"\nlookback = 15\n" + kCostsMarket);
    for (const char* method : {"historic-oscar", "pfl-mssrm", "pfl-sdr", "dfl-oscar", "equal"})
      EXPECT_EQ(rule_of(plan, method), trade::Rule::none) << method;
    EXPECT_EQ(rule_of(plan, "dfl-swap"), trade::Rule::cost);
    EXPECT_EQ(values_of(plan, "dfl-oscar").real("train-cost-bps"), 0.0);
    EXPECT_EQ(values_of(plan, "dfl-oscar").integer("memory"), 1);
  }
  const Plan demo = plan_of("preset = \"demo\"\nlookback = 15\n" + kCostsMarket);
  for (const Method& method : demo.results.methods) EXPECT_EQ(method.cost_bps, 5.0);
}

TEST(StudyCosts, AreFiveBasisPointsUnlessTold) {
  const Plan plan = plan_of("frameworks = [\"rolling\"]\nlookback = 15\n" + kCostsMarket);
  EXPECT_EQ(plan.results.methods.at(0).cost_bps, 5.0);
  EXPECT_THAT(plan.warnings, Not(Contains(HasSubstr("trading costs nothing"))));
}

TEST(StudyCosts, ARuleForTheWholeStudyIsForThoseThatHaveAnEarForIt) {
  const std::string lists =
      "frameworks = [\"rolling\"]\noptimizers = [\"oscar\", \"mssrm\", \"swap\", \"equal\"]\n"
      "lookback = 15\n";
  const Plan cost =
      plan_of(lists + "rule = \"cost\"\nmemory = 7\nholding-horizon = 9\n" + kCostsMarket);
  EXPECT_EQ(rule_of(cost, "rolling-oscar"), trade::Rule::cost);
  EXPECT_EQ(rule_of(cost, "rolling-swap"), trade::Rule::cost);
  EXPECT_EQ(rule_of(cost, "rolling-mssrm"), trade::Rule::none);
  EXPECT_EQ(rule_of(cost, "equal"), trade::Rule::none);
  EXPECT_EQ(values_of(cost, "rolling-mssrm").integer("memory"), 7);
  EXPECT_FALSE(values_of(cost, "equal").has("memory"));
  EXPECT_EQ(values_of(cost, "rolling-mssrm").real("holding-horizon"), 30.0);
  EXPECT_EQ(values_of(cost, "rolling-swap").real("holding-horizon"), 9.0);
  const Plan band = plan_of(lists + "rule = \"band\"\n" + kCostsMarket);
  EXPECT_EQ(rule_of(band, "rolling-mssrm"), trade::Rule::band);
  EXPECT_EQ(rule_of(band, "equal"), trade::Rule::none);
  try {
    plan_of(
        "frameworks = [\"rolling\"]\noptimizers = [\"mssrm\"]\nlookback = 15\nrule = \"cost\"\n" +
        kCostsMarket);
    FAIL() << "nobody would heed it";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no meaning for any method of this study"));
    EXPECT_THAT(error.what(), HasSubstr("oscar, symmetric, greedy, swap, pairs and exact"));
  }
}

// Keys of dfl with swap and of pfl, which only predicts, under some further settings.
struct Keys {
  std::string dfl, pfl;

  explicit Keys(const std::string& more) {
    const Plan plan = plan_of("lookback = 15\nseeds = 1\nk = [2]\n" + more + kCostsMarket +
                              "[[method]]\nname = \"dfl\"\nframework = \"dfl\"\n"
                              "[[method]]\nname = \"pfl\"\nframework = \"pfl\"\nvalidation = 0\n");
    dfl = training_key(plan, cell_of(plan, "dfl"));
    pfl = training_key(plan, cell_of(plan, "pfl"));
  }
};

TEST(StudyCosts, WhatIsRememberedIsTrainedAnewAndWhatIsPaidLaterIsNot) {
  const Keys plain("");
  for (const char* same :
       {"delay = 1\n", "short-fee = 0.01\n", "financing = 0.02\n", "memory = 5\n",
        "rule = \"cost\"\n", "train-cost-bps = 5\n", "costs = [5]\n"}) {
    EXPECT_EQ(Keys(same).dfl, plain.dfl) << same;
    EXPECT_EQ(Keys(same).pfl, plain.pfl) << same;
  }
  for (const char* other : {"memory = 6\n", "rule = \"none\"\n"}) {
    EXPECT_NE(Keys(other).dfl, plain.dfl) << other;
    EXPECT_NE(Keys(other).pfl, plain.pfl) << other;
  }
  // What decisions cost is nothing to a training that looks at none.
  for (const char* other : {"costs = [6]\n", "train-cost-bps = 6\n", "holding-horizon = 9\n"}) {
    EXPECT_NE(Keys(other).dfl, plain.dfl) << other;
    EXPECT_EQ(Keys(other).pfl, plain.pfl) << other;
  }
  EXPECT_EQ(Keys("costs = [6]\n").dfl, Keys("train-cost-bps = 6\n").dfl);
  EXPECT_EQ(Keys("costs = [9]\ntrain-cost-bps = 6\n").dfl, Keys("train-cost-bps = 6\n").dfl);
}

TEST(StudyCosts, AFileIsKeptByWhatItSays) {
  const Folder folder;
  const std::string file = (folder / "costs.csv").string();
  const auto plan = [&](const std::string& text, const std::string& more) {
    write_bytes(file, text);
    return plan_of("frameworks = [\"rolling\"]\nlookback = 15\ncosts = [\"" + file + "\"" + more +
                   "]\n" + kCostsMarket);
  };
  std::string tickers = "asset,bps\n";
  const Plan market = plan_of("frameworks = [\"rolling\"]\nlookback = 15\n" + kCostsMarket);
  for (const std::string& ticker : market.results.markets[0].tickers) tickers += ticker + ",4\n";
  const Plan one = plan(tickers, "");
  EXPECT_DOUBLE_EQ(one.results.methods.at(0).cost_bps, 4.0);
  EXPECT_THAT(one.results.methods.at(0).settings, HasSubstr(",4"));
  EXPECT_THAT(one.results.methods.at(0).settings, Not(HasSubstr("costs.csv")));
  const Plan two = plan(tickers + "\n", ", \"7\"");
  ASSERT_EQ(two.results.methods.size(), 2u);
  EXPECT_EQ(two.results.methods[0].name, "rolling-swap-costs");
  EXPECT_EQ(two.results.methods[1].name, "rolling-swap-7bp");
  try {
    plan(tickers + "nobody,3\n", "");
    FAIL() << "an asset that is not there";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("market a, method rolling-swap: "));
    EXPECT_THAT(error.what(), HasSubstr("nobody"));
  }
}

std::string fault_of(const std::string& toml) {
  try {
    plan_of(toml);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The file `costs` in a study of kCostsMarket: 5 bp, and further lines.
std::string with_file(const Folder& folder, const std::string& more) {
  const Plan market = plan_of("frameworks = [\"rolling\"]\nlookback = 15\n" + kCostsMarket);
  std::string text = "asset,bps,date\n";
  for (const std::string& ticker : market.results.markets[0].tickers)
    if (more.find(ticker + ",8") == std::string::npos) text += ticker + ",5,\n";
  const std::string file = (folder / "costs.csv").string();
  write_bytes(file, text + more);
  return "lookback = 15\ncosts = [\"" + file + "\"]\n";
}

TEST(StudyCosts, TheMeanOfAFileIsOverTheDatesThatAreTraded) {
  const Folder folder;
  const std::string rolling = "frameworks = [\"rolling\"]\n";
  const Plan later = plan_of(rolling + with_file(folder, "S001,10000,2099-01-01\n") + kCostsMarket);
  EXPECT_EQ(later.results.methods.at(0).cost_bps, 5.0);
  const Plan plain = plan_of(rolling + "lookback = 15\n" + kCostsMarket);
  const std::vector<std::string>& dates = plain.results.markets[0].dates;
  const Plan half = plan_of(
      rolling + with_file(folder, "S001,10," + dates[dates.size() / 2] + "\n") + kCostsMarket);
  // Trades of a period are made at the end of the one before.
  const auto dear = static_cast<double>(dates.size() - 1 - dates.size() / 2);
  EXPECT_NEAR(half.results.methods.at(0).cost_bps, 5.0 + dear / static_cast<double>(dates.size()),
              1e-8);
}

TEST(StudyCosts, AFileNeedsRatesFromTheFirstDecisionOnAndErrorsNameIt) {
  const Folder folder;
  const Plan plain = plan_of("frameworks = [\"rolling\"]\nlookback = 15\n" + kCostsMarket);
  const std::vector<std::string>& dates = plain.returns[0].dates;
  const std::string& first = plain.results.markets[0].dates.front();
  const auto traded = std::ranges::find(dates, first);
  const auto with = [&](const std::string& more) {
    return fault_of("frameworks = [\"rolling\"]\n" + with_file(folder, more) + kCostsMarket);
  };
  EXPECT_EQ(with("S001,8," + *(traded - 1) + "\n"), "");
  EXPECT_THAT(with("S001,8," + *traded + "\n"),
              HasSubstr("costs.csv:6: asset \"S001\" has no cost"));
  EXPECT_THAT(with("ZZZ,5,\n"), HasSubstr("costs.csv:7: there is no asset \"ZZZ\""));
  write_bytes(folder / "binary.csv", std::string("h ;\x17\0\x01\n\0", 8));
  EXPECT_THAT(fault_of("frameworks = [\"rolling\"]\nlookback = 15\ncosts = [\"" +
                       (folder / "binary.csv").string() + "\"]\n" + kCostsMarket),
              HasSubstr("binary.csv:1"));
}

TEST(StudyCosts, ABacktestReadsTheSettingsOfAMethod) {
  const Folder folder;
  const Plan plan = plan_of("frameworks = [\"rolling\"]\n" +
                            with_file(folder, "S001,7,2016-01-01\n") + kCostsMarket);
  settings::Values values(settings::backtest);
  values.read_toml(plan.results.methods.at(0).settings, "method.toml");
  EXPECT_EQ(values.number_or_file("cost-bps").file, bytes_of(folder / "costs.csv"));
}

TEST(StudyCosts, WhatATrainingWouldRefuseIsRefusedBeforeAnyCell) {
  const std::string dfl = "frameworks = [\"dfl\"]\nlookback = 15\nseeds = 1\nbatch = 16\n";
  EXPECT_EQ(fault_of(dfl + "train-block = 32\n" + kCostsMarket), "");
  EXPECT_THAT(
      fault_of(dfl + "train-block = 14\n" + kCostsMarket),
      HasSubstr("market a, method dfl-swap: train-block = 14 leaves nothing to learn from"));
  EXPECT_THAT(fault_of(dfl + "train-block = 5000\n" + kCostsMarket),
              HasSubstr("train-block = 5000 is longer than the training part"));
}

}  // namespace
}  // namespace sharpen::study
