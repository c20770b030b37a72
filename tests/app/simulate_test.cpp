// `sharpen simulate`: the file, the answer, and wrong usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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
using testing::text_of;

TEST(SimulateCommand, WritesTheLibrarysMarket) {
  const Folder folder;
  const std::string file = folder.path("prices.csv");
  const Finished run =
      run_program({"simulate", "--assets", "7", "--days", "30", "--seed", "5", "--out", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "Wrote " + file +
                         ": 7 assets, 30 days from 2015-01-01 to 2015-02-11; seed 5, "
                         "predictability 0.15.\n");
  const market::Panel expected = market::simulate({.assets = 7, .days = 30, .seed = 5});
  EXPECT_EQ(market::read_panel(file, market::PanelKind::prices), expected);
  EXPECT_EQ(text_of(file), market::panel_csv(expected));
}

TEST(SimulateCommand, TakesASignalLife) {
  const Folder folder;
  const std::string file = folder.path("prices.csv");
  const std::vector<std::string> line = {
      "simulate", "--assets", "3", "--days", "10", "--out", file, "--signal-life", "12.5"};
  const Finished run = run_program(line);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("predictability 0.15, signal life 12.5 days.\n"));
  EXPECT_EQ(text_of(file),
            market::panel_csv(market::simulate({.assets = 3, .days = 10, .signal_life = 12.5})));
  std::vector<std::string> with_json = line;
  with_json.push_back("--json");
  EXPECT_EQ(json::parse(run_program(with_json).out)["signal_life"], 12.5);
  expect_refused({"simulate", "--signal-life", "0"}, "signal-life = 0 is outside (0, 1000]");
}

TEST(SimulateCommand, PrintsThePricesWithoutAFile) {
  const Finished run = run_program({"simulate", "--assets", "2", "--days", "3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, market::panel_csv(market::simulate({.assets = 2, .days = 3})));
}

TEST(SimulateCommand, AnswersInJson) {
  const Folder folder;
  const std::string file = folder.path("prices.csv");
  const Finished run =
      run_program({"simulate", "--assets", "3", "--days", "10", "--predictability", "0",
                   "--factors", "2", "--start-date", "2020-02-28", "--out", file, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "simulate");
  EXPECT_EQ(answer["out"], file);
  EXPECT_EQ(answer["assets"], 3);
  EXPECT_EQ(answer["days"], 10);
  EXPECT_EQ(answer["from"], "2020-02-28");
  EXPECT_EQ(answer["to"], "2020-03-12");
  EXPECT_EQ(answer["seed"], 0);
  EXPECT_EQ(answer["predictability"], 0.0);
  EXPECT_TRUE(answer["signal_life"].is_null());
  EXPECT_EQ(answer["factors"], 2);
  EXPECT_TRUE(answer["warnings"].empty());
  const std::string page = text_of(std::string(SHARPEN_SOURCE_DIR) + "/docs/json.md");
  const std::string section = page.substr(page.find("## sharpen simulate --json"));
  for (const auto& [key, value] : answer.items()) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
}

TEST(SimulateCommand, SameSeedSameBytesForAnyNumberOfThreads) {
  const std::vector<std::string> base = {"simulate", "--assets", "12", "--days", "200"};
  const auto with = [&](const std::string& flag, const std::string& value) {
    std::vector<std::string> arguments = base;
    arguments.push_back(flag);
    arguments.push_back(value);
    return run_program(arguments).out;
  };
  const std::string one = with("--threads", "1");
  EXPECT_EQ(one, with("--threads", "2"));
  EXPECT_NE(one, with("--seed", "1"));
}

TEST(SimulateCommand, RefusesWhatIsOutOfBounds) {
  expect_refused({"simulate", "--assets", "0"}, "assets = 0 is outside [1, 100000]");
  expect_refused({"simulate", "--days", "1"}, "days = 1 is outside [2, 25000]");
  expect_refused({"simulate", "--days", "1e4"}, "days = 1e4 is not a whole number");
  expect_refused({"simulate", "--predictability", "2"}, "predictability = 2 is outside [0, 1]");
  expect_refused({"simulate", "--assets", "100000", "--days", "25000"},
                 "assets = 100000 and days = 25000 make 2500000000 prices, more than "
                 "50000000; ask for fewer of either");
  expect_refused({"simulate", "--start-date", "2020-13-01"},
                 "start-date = 2020-13-01 is not in the calendar; give YYYY-MM-DD");
  expect_refused({"simulate", "--json"},
                 "--json needs --out FILE: without it the prices themselves go to standard "
                 "output");
  expect_refused({"simulate", "--prices", "p.csv"},
                 "unknown option --prices; see sharpen simulate --help");
}

TEST(SimulateCommand, LeavesNothingBehindWhereItCannotWrite) {
  const Folder folder;
  const Finished run = run_program(
      {"simulate", "--assets", "2", "--days", "5", "--out", folder.path("none/prices.csv")});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("none/prices.csv"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
}

}  // namespace
}  // namespace sharpen
