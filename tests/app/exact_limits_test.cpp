// Proofs through the program under limits, costs and hurry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/proofs.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;

class ProvedUnderLimits : public testing::AskedToProve {};

TEST_F(ProvedUnderLimits, SaysOfAPortfolioThatCostsCountForHowNearItComes) {
  const std::string file = prices(20, 130),
                    held = folder_.file("held.csv", "asset,weight\nS001,0.5\nS007,-0.3\n");
  const std::vector<std::string> solve = {"solve", "--prices",    file,    "-k",
                                          "4",     "--optimizer", "exact", "--previous",
                                          held,    "--cost-bps",  "100"};
  const json answer = answer_to(solve);
  const double sharpe = answer["sharpe"], bound = answer["sharpe_upper_bound"];
  ASSERT_LT(sharpe, 0.999 * bound);
  EXPECT_EQ(answer["certified"], false);
  EXPECT_EQ(answer["stopped"], "gap");
  EXPECT_NEAR(answer["proof_gap"], bound / sharpe - 1.0, 1e-9);
  EXPECT_EQ(answer["bound_leaves_out"], json({"costs"}));
  EXPECT_THAT(run_program(solve).out, Not(HasSubstr("nothing better")));
}

TEST_F(ProvedUnderLimits, CertifiesHoweverEarlyTheTimeIsOver) {
  for (const std::string bound : {"best", "branch"}) {
    const json answer =
        answer_to({"solve", "--demo", "--certify", "--bound", bound, "--time-limit", "1e-5"});
    EXPECT_GE(answer["sharpe_upper_bound"], answer["sharpe"]);
  }
}

TEST_F(ProvedUnderLimits, CertifiesUnderTheLimitsOfTheProblem) {
  const std::string file = prices(20, 130);
  const std::vector<std::string> solve = {"solve", "--prices", file, "-k", "4", "--long-only"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = solve;
    all.insert(all.end(), more.begin(), more.end());
    return answer_to(all);
  };
  const double proved = with({"--optimizer", "exact"})["sharpe_upper_bound"];
  for (const std::string bound : {"best", "branch"})
    EXPECT_NEAR(with({"--certify", "--bound", bound})["sharpe_upper_bound"], proved, 1e-6 * proved);
}

TEST_F(ProvedUnderLimits, FindsAPortfolioUnderNarrowLimitsOrSaysWhatIsSure) {
  const std::string file = prices(12, 130);
  const auto solve = [&](const std::string& limits) {
    return std::vector<std::string>{"solve",    "--prices", file,          "-k",   "2",
                                    "--limits", limits,     "--optimizer", "exact"};
  };
  const std::string narrow =
      folder_.file("narrow.toml",
                   "long_only = true\nmax_weight = 0.79\n"
                   "rows = [\"0.55 <= S004 + S006 + S007 + S009 + S010 <= 0.74\", "
                   "\"0.39 <= S001 + S002 + S003 + S004 + S007 <= 0.41\"]\n");
  EXPECT_EQ(answer_to(solve(narrow))["stopped"], "optimal");
  const std::string none =
      folder_.file("none.toml", "long_only = true\nmax_weight = 0.5\nrows = [\"S001 = 0.3\"]\n");
  EXPECT_THAT(refusal_of(solve(none)), HasSubstr("no portfolio of 2 names keeps the limits"));
}

// B earns five times as much, and its risk is twice what is allowed.
TEST_F(ProvedUnderLimits, NoReturnIsWorthMoreRiskThanIsAllowed) {
  const std::string mean = folder_.file("mean.csv", "asset,mean\nA,0.01\nB,0.05\n"),
                    risk = folder_.file("risk.csv", "asset,A,B\nA,0.0025,0\nB,0,0.04\n"),
                    limits =
                        folder_.file("limits.toml", "long_only = true\nrows = [\"A + B = 1\"]\n");
  const json answer = answer_to({"solve", "--mean", mean, "--cov", risk, "-k", "1", "--limits",
                                 limits, "--objective", "return", "--target-volatility", "0.1",
                                 "--periods-per-year", "1", "--optimizer", "exact"});
  ASSERT_EQ(answer["holdings"].size(), 1u);
  EXPECT_EQ(answer["holdings"][0]["asset"], "A");
}

TEST_F(ProvedUnderLimits, RefusesMoreNamesThanItTakesEverywhere) {
  const std::string file = prices(2001, 8);
  const std::vector<std::string> common = {"--prices", file, "-k", "2", "--lookback", "5"};
  for (std::vector<std::string> command :
       {std::vector<std::string>{"solve", "--optimizer", "exact"},
        {"solve", "--certify", "--bound", "branch"},
        {"backtest", "--optimizer", "exact"}}) {
    command.insert(command.end(), common.begin(), common.end());
    EXPECT_THAT(refusal_of(command), HasSubstr("at most 2000 assets")) << command[2];
  }
}

}  // namespace
}  // namespace sharpen
