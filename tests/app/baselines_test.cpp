// The published opponents and certified bounds through the program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "backtest/panels.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using backtest::testing::random_panel;
using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

json baseline_answer(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const Finished run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json::parse(run.out, nullptr, false);
}

// Moments of three assets: independent, of variance 1, with Sharpe ratios 3, 2 and 1.
class IndependentAssets : public ::testing::Test {
 protected:
  std::vector<std::string> solve(std::vector<std::string> more) const {
    std::vector<std::string> all = {"solve", "--mean", mean_, "--cov", cov_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Folder folder_;
  std::string mean_ = folder_.file("mean.csv", "asset,mean\nA,3\nB,2\nC,1\n");
  std::string cov_ = folder_.file("cov.csv", ",A,B,C\nA,1,0,0\nB,0,1,0\nC,0,0,1\n");
};

TEST_F(IndependentAssets, EveryBaselineFindsTheTwoBestOfThree) {
  for (const std::string optimizer : {"mssrm", "mssrm-long", "sdr"}) {
    const json answer = baseline_answer(solve({"-k", "2", "--optimizer", optimizer}));
    EXPECT_EQ(answer["optimizer"], optimizer);
    EXPECT_EQ(answer["status"], "ok") << optimizer;
    ASSERT_EQ(answer["holdings"].size(), 2u) << optimizer;
    EXPECT_EQ(answer["holdings"][0]["asset"], "A");
    EXPECT_EQ(answer["holdings"][1]["asset"], "B");
    EXPECT_NEAR(answer["holdings"][0]["weight"], 0.6, 1e-4);
    EXPECT_NEAR(answer["sharpe"], std::sqrt(13.0), 1e-6);
    EXPECT_TRUE(answer["iterations"].is_number_integer());
    EXPECT_EQ(answer.contains("certified"), optimizer != "mssrm");
    // With so small an epsilon, convexity alone does not prove that C cannot replace a name.
    EXPECT_EQ(answer.value("certified", true), optimizer != "mssrm-long");
  }
}

TEST_F(IndependentAssets, CertifyProvesABoundForEveryOptimizer) {
  for (const std::string optimizer :
       {"oscar", "symmetric", "greedy", "swap", "pairs", "exact", "mssrm", "mssrm-long", "sdr"}) {
    for (const std::string bound : {"sdp", "perspective", "branch", "best"}) {
      const json answer = baseline_answer(
          solve({"-k", "2", "--optimizer", optimizer, "--certify", "--bound", bound}));
      const double proved = answer["sharpe_upper_bound"];
      EXPECT_GE(proved, std::sqrt(13.0)) << optimizer << " " << bound;
      EXPECT_LT(proved, std::sqrt(14.0) + 1e-3) << optimizer << " " << bound;
      const std::string from = answer["bound_from"];
      // What is proved to be the best is the smallest bound there is.
      EXPECT_EQ(from, bound == "best" || optimizer == "exact" ? "branch" : bound);
      EXPECT_NEAR(answer["share_of_bound"], answer["sharpe"].get<double>() / proved, 1e-12);
      EXPECT_LE(answer["gap"].get<double>(), 1e-3);
      EXPECT_EQ(answer["bound_status"], "ok");
      EXPECT_NEAR(answer["sharpe_upper_bound_annualized"], proved * std::sqrt(252.0), 1e-9);
    }
  }
}

TEST_F(IndependentAssets, NothingIsProvedUnlessAskedFor) {
  const json answer = baseline_answer(solve({"-k", "2"}));
  for (const char* key : {"sharpe_upper_bound", "bound_from", "gap", "certified", "iterations"})
    EXPECT_FALSE(answer.contains(key)) << key;
}

TEST_F(IndependentAssets, AllNegativeIsCashForTheLongOnly) {
  const std::string mean = folder_.file("falling.csv", "asset,mean\nA,-3\nB,-2\nC,-1\n");
  const json answer = baseline_answer(
      {"solve", "--mean", mean, "--cov", cov_, "-k", "2", "--optimizer", "mssrm-long"});
  EXPECT_EQ(answer["status"], "no_signal");
  EXPECT_TRUE(answer["holdings"].empty());
  EXPECT_EQ(answer["sharpe"], 0.0);
  EXPECT_EQ(answer["certified"], true);
}

TEST_F(IndependentAssets, TextTellsStepsAndBound) {
  const Finished run = run_program(solve({"-k", "2", "--optimizer", "mssrm-long", "--certify"}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 of 3 assets by mssrm-long (at most 2)"));
  EXPECT_THAT(run.out, HasSubstr("; not certified\n"));
  EXPECT_THAT(run.out, HasSubstr("bound      no 2 names reach more than 3."));
  EXPECT_THAT(run.out, HasSubstr(" of it is reached\n"));
  EXPECT_THAT(run_program(solve({"-k", "3", "--optimizer", "mssrm-long"})).out,
              HasSubstr("; certified globally optimal\n"));
}

TEST_F(IndependentAssets, FlagsWithoutEffectAreNamed) {
  const auto warnings = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-k", "2"});
    return baseline_answer(solve(more))["warnings"].dump();
  };
  EXPECT_THAT(warnings({"--bound", "sdp"}),
              HasSubstr("--bound has no effect here; it goes with --certify"));
  EXPECT_THAT(warnings({"--sdr-recovery", "match"}),
              HasSubstr("--sdr-recovery has no effect here; it goes with --optimizer sdr"));
  EXPECT_THAT(warnings({"--sdr-gap", "0.01"}), HasSubstr("--sdr-gap has no effect here"));
  EXPECT_EQ(warnings({"--sdr-gap", "0.01", "--certify"}), "[]");
  EXPECT_EQ(warnings({"--optimizer", "sdr", "--sdr-gap", "0.01", "--sdr-recovery", "match"}), "[]");
  EXPECT_THAT(warnings({"--optimizer", "mssrm-long", "--sizing", "budget", "--net", "any"}),
              HasSubstr("mssrm-long is long only and fully invested"));
}

TEST_F(IndependentAssets, RefusesValuesOutsideTheirBounds) {
  const auto refused = [&](const std::string& flag, const std::string& value) {
    const Finished run = run_program(solve({"--optimizer", "sdr", flag, value}));
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_EQ(refused("--sdr-gap", "0"), "sharpen: error: sdr-gap = 0 is outside (0, 0.5]\n");
  EXPECT_EQ(refused("--sdr-recovery", "topk"),
            "sharpen: error: sdr-recovery = topk is not one of top-k, match; did you mean "
            "top-k?\n");
  EXPECT_EQ(refused("--bound", "sdr"),
            "sharpen: error: bound = sdr is not one of best, sdp, perspective, branch; did you "
            "mean sdp?\n");
}

TEST(Baselines, ExplainWorksForEachOfThem) {
  for (const std::string optimizer : {"mssrm", "mssrm-long", "sdr"}) {
    const json answer = baseline_answer({"solve", "--demo", "--optimizer", optimizer, "--explain"});
    ASSERT_FALSE(answer["holdings"].empty());
    double total = 0.0;
    for (const json& holding : answer["holdings"])
      total += holding["risk_contribution"].get<double>();
    EXPECT_NEAR(total, 1.0, 1e-9) << optimizer;
  }
}

TEST(Baselines, MssrmLongIsMeasuredByTheSameRiskAsTheOthers) {
  // Shrinkage does not reach its weights, only the figures.
  const json plain =
      baseline_answer({"solve", "--demo", "--optimizer", "mssrm-long", "--shrinkage", "0"});
  const json shrunk =
      baseline_answer({"solve", "--demo", "--optimizer", "mssrm-long", "--shrinkage", "0.5"});
  EXPECT_EQ(plain["holdings"], shrunk["holdings"]);
  EXPECT_NE(plain["sharpe"], shrunk["sharpe"]);
  EXPECT_NEAR(shrunk["sharpe"],
              shrunk["expected_return"].get<double>() / shrunk["volatility"].get<double>(), 1e-12);
  EXPECT_LE(shrunk["share_of_full"].get<double>(), 1.0);
}

TEST(Baselines, BacktestsCountStepsAndProofs) {
  const Folder folder;
  const std::string file = folder.file("returns.csv", market::panel_csv(random_panel(60, 6, 3)));
  std::map<std::string, json> answers;
  for (const std::string optimizer : {"mssrm", "mssrm-long", "sdr", "swap"}) {
    const std::vector<std::string> flags = {"backtest", "--returns", file, "--optimizer",
                                            optimizer,  "-k",        "2",  "--lookback",
                                            "20",       "--threads"};
    std::vector<std::string> one = flags, three = flags;
    one.push_back("1");
    three.push_back("3");
    json answer = baseline_answer(one), other = baseline_answer(three);
    answer["settings"].erase("threads");
    other["settings"].erase("threads");
    EXPECT_EQ(answer, other) << optimizer;
    answers[optimizer] = answer;
    EXPECT_EQ(answer["label"], "rolling " + optimizer);
    EXPECT_EQ(answer.contains("iterations"), optimizer != "swap");
    EXPECT_EQ(answer.contains("n_certified"), optimizer == "mssrm-long" || optimizer == "sdr");
    EXPECT_EQ(answer["status_counts"]["not_converged"], 0);
  }
  EXPECT_EQ(answers["sdr"]["n_certified"], 40);
  EXPECT_EQ(answers["mssrm-long"]["mean_net_exposure"],
            answers["mssrm-long"]["mean_gross_exposure"]);
}

TEST(Baselines, BacktestsNameFlagsWithoutEffect) {
  const Folder folder;
  const std::string file = folder.file("returns.csv", market::panel_csv(random_panel(40, 4, 3)));
  const auto warnings = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"backtest", "--returns", file, "-k", "2", "--lookback", "20"};
    all.insert(all.end(), more.begin(), more.end());
    return baseline_answer(all)["warnings"].dump();
  };
  EXPECT_THAT(
      warnings({"--optimizer", "mssrm-long", "--shrinkage", "0.3", "--sizing", "budget", "--net",
                "any"}),
      HasSubstr("optimizer = mssrm-long is long only, fully invested and takes the covariance as "
                "it is: --sizing, --net, --shrinkage has no effect"));
  EXPECT_THAT(warnings({"--sdr-gap", "0.1"}),
              HasSubstr("--sdr-gap has no effect here; it goes with --optimizer sdr"));
}

class RealData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::data_folder();
    if (folder_.empty()) GTEST_SKIP() << "there is no folder of test data";
  }
  std::string folder_;
};

TEST_F(RealData, ThePublishedCommandPrintsThePublishedFigures) {
  const std::string file = folder_ + "/ff25_monthly_gross.csv";
  const json answer = baseline_answer(
      {"backtest",      "--returns",  file,           "--gross", "--framework",        "rolling",
       "--optimizer",   "mssrm-long", "-k",           "10",      "--lookback",         "60",
       "--min-history", "5",          "--stats-from", "2",       "--periods-per-year", "12",
       "--rule",        "none",       "--cost-bps",   "0"});
  EXPECT_EQ(fmt::format("{:.4f}", answer["sharpe"].get<double>()), "0.2481");
  EXPECT_EQ(fmt::format("{:.2f}", answer["final_wealth"].get<double>()), "615.34");
  EXPECT_EQ(answer["status_counts"]["ok"], 618);
  EXPECT_EQ(answer["status_counts"]["idle"], 4);
}

TEST_F(RealData, RelaxationsHaveTheirKnownValues) {
  struct Known {
    std::vector<std::string> input;
    const char* k;
    double bound, sharpe;
    std::vector<int> support;
  };
  const std::vector<std::string> port1 = {"--moments", folder_ + "/port1.txt", "--format", "orlib"};
  const std::vector<std::string> ff25 = {"--returns", folder_ + "/ff25_monthly_gross.csv",
                                         "--gross",   "--lookback",
                                         "all",       "--shrinkage",
                                         "0"};
  for (const Known& known : {Known{port1, "3", 0.2511778, 0.227999826, {4, 5, 28}},
                             Known{port1, "5", 0.2851190, 0.253749754, {2, 4, 15, 17, 28}},
                             Known{ff25, "3", 0.3150734, 0.301900257, {6, 14, 20}}}) {
    std::vector<std::string> flags = {"solve", "-k", known.k};
    flags.insert(flags.end(), known.input.begin(), known.input.end());
    std::vector<std::string> sdr = flags, oscar = flags;
    sdr.insert(sdr.end(), {"--optimizer", "sdr"});
    oscar.insert(oscar.end(), {"--optimizer", "oscar", "--certify", "--bound", "sdp"});
    const json answer = baseline_answer(sdr), certified = baseline_answer(oscar);
    EXPECT_NEAR(answer["sharpe_upper_bound"], known.bound, 1e-6);
    EXPECT_NEAR(certified["sharpe_upper_bound"], known.bound, 1e-6);
    EXPECT_EQ(certified["bound_from"], "sdp");
    EXPECT_LE(answer["gap"].get<double>(), 1e-6);
    EXPECT_LE(certified["gap"].get<double>(), 1e-6);
    EXPECT_EQ(answer["certified"], true);
    EXPECT_NEAR(answer["sharpe"], known.sharpe, 1e-8);
    std::vector<int> support;
    for (const json& holding : answer["holdings"]) support.push_back(holding["index"]);
    EXPECT_EQ(support, known.support);
  }
}

TEST_F(RealData, MssrmStaysBelowTheBestKnown) {
  const json answer =
      baseline_answer({"solve", "--returns", folder_ + "/ff25_monthly_gross.csv", "--gross",
                       "--lookback", "all", "--shrinkage", "0", "-k", "5", "--optimizer", "mssrm"});
  EXPECT_NEAR(answer["sharpe"], 0.347594105, 1e-8);  // here it finds it
}

}  // namespace
}  // namespace sharpen
