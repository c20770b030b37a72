// Proofs through the program: anytime where one portfolio is asked for, by nodes where many are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "app/proofs.hpp"
#include "backtest/panels.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

class Exactly : public testing::AskedToProve {};

TEST_F(Exactly, SolveSaysWhatIsProvedAndWhyItStopped) {
  const std::string file = prices(90, 130);
  const std::vector<std::string> solve = {"solve", "--prices",    file,   "-k",
                                          "9",     "--optimizer", "exact"};
  const auto with = [&](const std::vector<std::string>& more,
                        const std::string& optimizer = "exact") {
    std::vector<std::string> all = solve;
    all.back() = optimizer;
    all.insert(all.end(), more.begin(), more.end());
    return answer_to(all);
  };
  const json best = with({});
  EXPECT_EQ(best["stopped"], "optimal");
  EXPECT_EQ(best["certified"], true);
  EXPECT_EQ(best["holdings"].size(), 9u);
  EXPECT_NEAR(best["sharpe_upper_bound"], best["sharpe"], 2e-7 * best["sharpe"].get<double>());
  EXPECT_GE(best["sharpe_upper_bound"], best["sharpe"]);
  for (const std::string other : {"swap", "greedy", "symmetric"})
    EXPECT_LE(with({}, other)["sharpe"].get<double>(), best["sharpe_upper_bound"].get<double>())
        << other;
  const json one = with({"--node-limit", "1"});
  EXPECT_EQ(one["stopped"], "nodes");
  EXPECT_EQ(one["nodes"], 1);
  EXPECT_GE(one["sharpe_upper_bound"], best["sharpe"]);
  const json content = with({"--proof-gap", "0.5"});
  EXPECT_EQ(content["stopped"], "gap");
  EXPECT_LE(content["proof_gap"].get<double>(), 0.5);
  for (const std::string threads : {"2", "7"})
    EXPECT_EQ(with({"--node-limit", "20", "--threads", threads}),
              with({"--node-limit", "20", "--threads", "1"}));
  const Finished said = run_program(solve);
  EXPECT_THAT(said.out, HasSubstr("proof      "));
}

TEST_F(Exactly, TheTimeIsKeptAndCtrlCGivesWhatIsProvedByThen) {
  const std::string file = prices(300, 130);
  const auto begin = std::chrono::steady_clock::now();
  const json late = answer_to(
      {"solve", "--prices", file, "-k", "15", "--optimizer", "exact", "--time-limit", ".3"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(late["stopped"], "time");
  EXPECT_GE(late["sharpe_upper_bound"], late["sharpe"]);
  const pid_t child = testing::start_program(
      {"solve", "--prices", file, "-k", "15", "--optimizer", "exact", "--time-limit", "600"});
  ASSERT_GT(child, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ASSERT_EQ(kill(child, SIGINT), 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Sharpe ratios of portfolios that may be net short are bounded by those of all of these.
TEST_F(Exactly, CertifiesWhatLimitsAllowToBeNetShort) {
  const std::string mean = folder_.file("m.csv", "asset,mean\nA,-0.001\nB,-0.002\nC,-0.0005\n");
  const std::string cov = folder_.file(
      "c.csv", ",A,B,C\nA,0.0004,0.0001,0\nB,0.0001,0.0009,0.0002\nC,0,0.0002,0.0003\n");
  const std::string limits =
      folder_.file("l.toml", "min_weight = -1\nmax_weight = 1\nmin_net = -2\n");
  for (const std::string objective : {"return", "utility"})
    for (const std::string bound : {"best", "branch", "perspective"}) {
      const json found =
          answer_to({"solve", "--mean", mean, "--cov", cov, "-k", "2", "--limits", limits,
                     "--objective", objective, "--certify", "--bound", bound});
      EXPECT_LT(found["net_exposure"].get<double>(), 0.0);
      EXPECT_GE(found["sharpe_upper_bound"], found["sharpe"]) << objective << ", " << bound;
      EXPECT_LE(found["share_of_bound"].get<double>(), 1.0);
    }
}

TEST_F(Exactly, BacktestsAndStudiesCountTheDecisionsThatAreProved) {
  const std::string file = prices(8, 90);
  const std::vector<std::string> common = {"--prices", file, "-k", "3", "--lookback", "40"};
  const auto command = [&](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), common.begin(), common.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const json walk = answer_to(command({"backtest"}, {"--optimizer", "exact"}));
  EXPECT_EQ(walk["share_certified"], 1.0);
  EXPECT_GT(walk["n_certified"], 10);
  EXPECT_EQ(answer_to(command({"backtest"}, {"--optimizer", "exact", "--threads", "2"}))["sharpe"],
            walk["sharpe"]);
  const Finished study =
      run_program(command({"study"}, {"--frameworks", "rolling", "--optimizers", "exact,swap",
                                      "--out", folder_.path("s")}));
  ASSERT_EQ(study.exit_code, 0) << study.err;
  const Finished report =
      run_program({"report", folder_.path("s"), "--format", "csv", "--table", "trading"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("rolling-exact,,share_certified,1,"));
}

TEST_F(Exactly, RefusesWhatHasNoMeaning) {
  const std::string file = prices(8, 110);
  const std::vector<std::string> solve = {"solve", "--prices", file, "-k", "3"};
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = solve;
    all.insert(all.end(), more.begin(), more.end());
    return refusal_of(all);
  };
  EXPECT_THAT(refused({"--optimizer", "exact", "--time-limit", "0"}),
              HasSubstr("time-limit = 0 is outside"));
  EXPECT_THAT(refused({"--optimizer", "exact", "--node-limit", "0"}), HasSubstr("node-limit = 0"));
  EXPECT_THAT(refused({"--optimizer", "exact", "--min-weight", ".4"}),
              HasSubstr("every weight >= 40 %"));
  EXPECT_THAT(refusal_of({"solve", "--prices", file, "-k", "9", "--optimizer", "exact"}),
              HasSubstr("k = 9"));
  EXPECT_THAT(
      refusal_of({"backtest", "--prices", file, "--optimizer", "exact", "--time-limit", "3"}),
      HasSubstr("unknown option --time-limit"));
}

}  // namespace
}  // namespace sharpen
