// `sharpen compare`: two backtest folders, one test, one sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;

constexpr const char* kMetrics = R"({"label": "LABEL", "periods_per_year": 252, "risk_free": 0})";

// Two runs in folders a/ and b/.
class Runs {
 public:
  std::string write(const std::string& name, const std::vector<double>& returns,
                    const std::string& metrics = kMetrics, std::size_t first_day = 0) const {
    const auto days = market::simulate({.assets = 1, .days = 1000}).dates;
    std::string csv = "date,return,cost\n";
    for (std::size_t t = 0; t < returns.size(); ++t)
      csv += days[first_day + t] + "," + shortest(returns[t]) + ",0\n";
    return write_text(name, csv, metrics);
  }
  std::string write_text(const std::string& name, const std::string& csv,
                         const std::string& metrics) const {
    std::filesystem::create_directory(folder_.path(name));
    folder_.file(name + "/returns.csv", csv);
    std::string labelled = metrics;
    if (const auto at = labelled.find("LABEL"); at != std::string::npos)
      labelled.replace(at, 5, "run " + name);
    folder_.file(name + "/metrics.json", labelled);
    return folder_.path(name);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  Folder folder_;
};

std::vector<double> returns(std::size_t n, double sharpe, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> out(n);
  for (double& r : out) r = 0.01 * (sharpe + random.normal());
  return out;
}

json compare(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"compare", "--json", "--replications", "500"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Finished run = run_program(all);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return json::parse(run.out, nullptr, false);
}

TEST(Compare, PrintsTheLibrarysTest) {
  const Runs runs;
  const std::vector<double> x = returns(400, 0.1, 1), y = returns(400, 0.0, 2);
  const json answer = compare({runs.write("a", x), runs.write("b", y), "--seed", "3"});
  const backtest::BootstrapSettings settings = {.replications = 500, .seed = 3};
  const Threads one(1);
  const auto test = backtest::sharpe_difference(x, y, settings, one);
  const auto interval = backtest::sharpe_interval(x, settings, one);
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "compare");
  EXPECT_EQ(answer["n_common"], 400);
  EXPECT_EQ(answer["difference"], test.difference);
  EXPECT_EQ(answer["difference_annualized"], test.difference * std::sqrt(252.0));
  EXPECT_EQ(answer["difference_ci"], (json{test.low, test.high}));
  EXPECT_EQ(answer["p_value"], test.p_value);
  EXPECT_EQ(answer["standard_error"], test.standard_error);
  EXPECT_EQ(answer["block"], test.block);
  EXPECT_EQ(answer["correlation"], test.correlation);
  EXPECT_EQ(answer["same"], false);
  EXPECT_EQ(answer["a"]["label"], "run a");
  EXPECT_EQ(answer["a"]["folder"], runs.path("a"));
  EXPECT_EQ(answer["a"]["rows"], 400);
  EXPECT_EQ(answer["a"]["left_out"], 0);
  EXPECT_EQ(answer["a"]["sharpe"], test.sharpe_a);
  EXPECT_EQ(answer["b"]["sharpe"], test.sharpe_b);
  EXPECT_EQ(answer["a"]["sharpe_ci"], (json{interval.low, interval.high}));
  EXPECT_EQ(answer["replications"], 500);
  EXPECT_EQ(answer["seed"], 3);
  EXPECT_EQ(answer["level"], 0.95);
  EXPECT_EQ(answer["periods_per_year"], 252.0);
  EXPECT_EQ(answer["from"], "2015-01-01");
  EXPECT_TRUE(answer["warnings"].empty());
}

TEST(Compare, SaysInWordsWhatTheTestMeans) {
  const Runs runs;
  const std::string skilled = runs.write("a", returns(900, 0.2, 1));
  const std::string plain = runs.write("b", returns(900, 0.0, 2));
  const std::string other = runs.write("c", returns(900, 0.01, 3));
  const json large = compare({skilled, plain});
  EXPECT_EQ(large["significant"], true);
  EXPECT_THAT(large["verdict"].get<std::string>(), HasSubstr("A's Sharpe ratio is higher by "));
  EXPECT_THAT(large["verdict"].get<std::string>(), HasSubstr("more than chance gives: p = 0.002"));
  EXPECT_THAT(compare({plain, skilled})["verdict"].get<std::string>(),
              HasSubstr("B's Sharpe ratio is higher by "));
  const json small = compare({plain, other});
  EXPECT_EQ(small["significant"], false);
  EXPECT_THAT(small["verdict"].get<std::string>(), HasSubstr("is within what chance gives: p = "));
  const Finished text = run_program({"compare", plain, other, "--replications", "200"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("900 common periods, 2015-01-01 to "));
  EXPECT_THAT(text.out, HasSubstr("is within what chance gives"));
  EXPECT_THAT(text.out, HasSubstr("A - B"));
}

TEST(Compare, WarnsOfRuin) {
  const Runs runs;
  std::vector<double> lost = returns(300, 0.2, 1);
  lost.back() = -1.0;
  const std::string a = runs.write("a", lost), b = runs.write("b", returns(400, 0.1, 2));
  EXPECT_THAT(compare({b, a})["warnings"].dump(),
              HasSubstr("B ends in ruin on 2016-02-24: all its wealth is lost, whatever its Sharpe "
                        "ratio"));
  EXPECT_EQ(compare({a, b})["warnings"].size(), 1u);
}

TEST(Compare, EqualRunsDoNotDiffer) {
  const Runs runs;
  const std::string a = runs.write("a", returns(300, 0.1, 1));
  const std::string b = runs.write("b", returns(300, 0.1, 1));
  const json answer = compare({a, b});
  EXPECT_EQ(answer["difference"], 0.0);
  EXPECT_EQ(answer["p_value"], 1.0);
  EXPECT_EQ(answer["same"], true);
  EXPECT_EQ(answer["block"], nullptr);
  EXPECT_THAT(answer["verdict"].get<std::string>(), HasSubstr("there is no difference"));
}

TEST(Compare, AlignsByDateAndLeavesOutWhatIsBeforeTheStatistics) {
  const Runs runs;
  const std::vector<double> x = returns(200, 0.1, 1);
  const std::vector<double> later(x.begin() + 50, x.end());
  // b starts 50 days later with the same returns; the statistics of a start on its 60th row.
  const std::string a = runs.write(
      "a", x, R"({"periods_per_year": 252, "risk_free": 0, "stats_from_date": "2015-03-25"})");
  const std::string b = runs.write("b", later, kMetrics, 50);
  const json answer = compare({a, b});
  EXPECT_EQ(answer["n_common"], 141);
  EXPECT_EQ(answer["from"], "2015-03-25");
  EXPECT_EQ(answer["a"]["left_out"], 59);
  EXPECT_EQ(answer["b"]["left_out"], 9);
  EXPECT_EQ(answer["a"]["label"], "a");  // the folder's name where there is no label
  EXPECT_EQ(answer["same"], true);
}

TEST(Compare, WarnsOfWhatMakesTheFiguresHardToRead) {
  const Runs runs;
  const std::string a = runs.write("a", returns(200, 0.1, 1));
  const std::string b = runs.write(
      "b", returns(60, 0.1, 2), R"({"periods_per_year": 252, "risk_free": 0.0001, "label": "b"})");
  const json answer = compare({a, b});
  ASSERT_EQ(answer["warnings"].size(), 2u);
  EXPECT_THAT(answer["warnings"][0].get<std::string>(), HasSubstr("different risk-free rates"));
  EXPECT_THAT(answer["warnings"][1].get<std::string>(), HasSubstr("more than half"));
}

TEST(Compare, SaysWhyThereIsNothingToTest) {
  const Runs runs;
  const std::string a = runs.write("a", returns(200, 0.1, 1));
  const std::string cash = runs.write("b", std::vector<double>(200, 0.0));
  const json flat = compare({a, cash});
  EXPECT_EQ(flat["p_value"], nullptr);
  EXPECT_EQ(flat["b"]["sharpe"], nullptr);
  EXPECT_EQ(flat["significant"], false);
  EXPECT_EQ(flat["verdict"],
            "B has no Sharpe ratio on the common periods (its returns do not vary), so there is "
            "nothing to compare.");
  const json few = compare({a, runs.write("c", returns(5, 0.1, 2))});
  EXPECT_EQ(few["p_value"], nullptr);
  EXPECT_EQ(few["verdict"],
            "The difference cannot be tested on 5 common periods: the test needs 10.");
  const json one = compare({a, runs.write("d", {0.01})});
  EXPECT_EQ(one["n_common"], 1);
  EXPECT_THAT(one["verdict"].get<std::string>(), HasSubstr("there are too few"));
  EXPECT_EQ(run_program({"compare", a, cash}).exit_code, 0);
}

TEST(Compare, HasEqualBytesForAnyNumberOfThreads) {
  const Runs runs;
  const std::string a = runs.write("a", returns(200, 0.1, 1));
  const std::string b = runs.write("b", returns(200, 0.0, 2));
  EXPECT_EQ(compare({a, b, "--threads", "1"}), compare({a, b, "--threads", "2"}));
  EXPECT_NE(compare({a, b, "--block", "10"})["p_value"], compare({a, b})["p_value"]);
  EXPECT_EQ(compare({a, b, "--block", "10"})["block"], 10);
}

TEST(Compare, RefusesWhatIsNotTwoRuns) {
  const Runs runs;
  const std::string a = runs.write("a", returns(50, 0.1, 1));
  const std::string wrote = "; give a folder that sharpen backtest --out wrote";
  const std::string two =
      "two folders are needed: sharpen compare A/ B/, each written by sharpen backtest --out";
  expect_refused({"compare"}, two);
  expect_refused({"compare", a}, two);
  expect_refused({"compare", a, a, a},
                     "unexpected argument " + a.substr(0, 60) + "; see sharpen compare --help");
  expect_refused({"compare", a, runs.path("none")},
                     runs.path("none") + " is not a folder" + wrote);
  const std::string later = runs.write("later", returns(50, 0.1, 1), kMetrics, 400);
  expect_refused({"compare", a, later},
                     "the two runs have no date in common: the statistics of the first cover "
                     "2015-01-01 to 2015-03-11, of the second 2016-07-14 to 2016-09-21; compare "
                     "runs over the same dates");
  const std::string monthly =
      runs.write("monthly", returns(50, 0.1, 1), R"({"periods_per_year": 12})");
  expect_refused({"compare", a, monthly},
                     "the runs have 252 and 12 periods a year; compare runs over the same kind of "
                     "period");
  expect_refused({"compare", a, a, "--block", "51"},
                     "block = 51 is outside [1, 50], the number of periods");
  expect_refused({"compare", a, a, "--replications", "0"},
                     "replications = 0 is outside [1, 10000000]");
  const std::string broken = runs.write_text("broken", "date,return\n2015-01-01,abc\n", kMetrics);
  const Finished bad = run_program({"compare", a, broken});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("broken/returns.csv:2:2: "));
}

TEST(Compare, EveryKeyIsListedInTheDocumentation) {
  const Runs runs;
  const std::string a = runs.write("a", returns(50, 0.1, 1));
  const json answer = compare({a, a});
  const std::string page = testing::text_of(std::string(SHARPEN_SOURCE_DIR) + "/docs/json.md");
  const std::string section = page.substr(page.find("## sharpen compare --json"));
  for (const auto& [key, value] : answer.items()) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
  for (const auto& [key, value] : answer["a"].items())
    EXPECT_THAT(section, HasSubstr("`a." + key + "`"));
}

TEST(Compare, LabelsDoNotSteerTheTerminal) {
  const Runs runs;
  const std::string a =
      runs.write("a", returns(50, 0.1, 1), R"({"periods_per_year": 252, "label": "\u001b[2Jx"})");
  const Finished run = run_program({"compare", a, a, "--replications", "20"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sharpen
