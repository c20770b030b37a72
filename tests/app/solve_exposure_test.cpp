// What `sharpen solve` says about its weights as a whole, and what it warns of.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_program;

std::string text(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "solve");
  const Finished run = run_program(flags);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

json solved(std::vector<std::string> flags) {
  flags.push_back("--json");
  return json::parse(text(flags), nullptr, false);
}

std::vector<std::string> warnings(const std::vector<std::string>& flags) {
  return solved(flags)["warnings"];
}

// Sigma = diag(4, 1).
class Moments : public ::testing::Test {
 protected:
  std::vector<std::string> with(const std::string& mean, std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--mean", folder_.file("mean.csv", mean), "--cov",
                               folder_.file("cov.csv", ",A,B\nA,4,0\nB,0,1\n"), "-k", "2"});
    return flags;
  }
  Folder folder_;
};

TEST_F(Moments, ExposureIsWhatTheWeightsAddUpTo) {
  // y = (0.5, 1)/sqrt(2), w = (1, 2)/3.
  const json answer = solved(with("A,2\nB,1\n", {"--periods-per-year", "4"}));
  EXPECT_NEAR(answer["gross_exposure"].get<double>(), 1, 1e-15);
  EXPECT_NEAR(answer["net_exposure"].get<double>(), 1, 1e-15);
  EXPECT_NEAR(answer["expected_return"].get<double>(), 4.0 / 3, 1e-14);
  EXPECT_NEAR(answer["volatility"].get<double>(), std::sqrt(8.0) / 3, 1e-14);
  EXPECT_NEAR(answer["volatility_annualized"].get<double>(), 2 * std::sqrt(8.0) / 3, 1e-14);
  EXPECT_NEAR(answer["sharpe"].get<double>(),
              answer["expected_return"].get<double>() / answer["volatility"].get<double>(), 1e-14);
}

TEST_F(Moments, ExposureFollowsTheSizing) {
  const json answer = solved(with("A,2\nB,1\n", {"--sizing", "volatility", "--target-volatility",
                                                 "0.2", "--periods-per-year", "16"}));
  EXPECT_NEAR(answer["volatility_annualized"].get<double>(), 0.2, 1e-15);
  EXPECT_NEAR(answer["volatility"].get<double>(), 0.05, 1e-15);
  // Budget sizing: the weights add up to t/(t + c).
  const double t = 1.5 / std::sqrt(2.0);
  const json budget = solved(with("A,2\nB,1\n", {"--sizing", "budget", "--offset", "0.5"}));
  EXPECT_NEAR(budget["net_exposure"].get<double>(), t / (t + 0.5), 1e-14);
  EXPECT_THAT(budget["warnings"].get<std::vector<std::string>>(), IsEmpty());
}

TEST_F(Moments, CashHasNoExposure) {
  const json answer = solved(with("A,0\nB,0\n"));
  for (const char* key :
       {"gross_exposure", "net_exposure", "volatility", "volatility_annualized", "expected_return"})
    EXPECT_EQ(answer[key], 0.0) << key;
}

TEST_F(Moments, VeryLargeWeightsHaveAFiniteVolatility) {
  const json answer = solved(with("A,2\nB,1\n", {"--sizing", "volatility", "--target-volatility",
                                                 "1e200", "--periods-per-year", "1"}));
  EXPECT_NEAR(answer["volatility"].get<double>() / 1e200, 1, 1e-14);
  EXPECT_THAT(text(with("A,2\nB,1\n", {"--sizing", "volatility", "--target-volatility", "1e200"})),
              HasSubstr("volatility 1.0e+202 % a year\n"));
}

TEST_F(Moments, TheTextSaysWhatTheSharpeRatioIsOf) {
  EXPECT_THAT(text({"--demo"}),
              HasSubstr(" annualised (252 periods a year), of the window itself\n"));
  EXPECT_THAT(text(with("A,2\nB,1\n", {"--periods-per-year", "1"})),
              HasSubstr(" annualised (1 period a year), of the given moments\n"));
  EXPECT_THAT(text({"--demo"}),
              HasSubstr("\nexposure   gross 1.0000, net 0.0056, volatility 7.8 % a year\n"));
}

TEST_F(Moments, BudgetSizingWithoutANetPositionIsWarnedOf) {
  // On the face y = (1, -1)/sqrt(5): w = y/0.01.
  const json answer = solved(with("A,-1\nB,-2\n", {"--sizing", "budget"}));
  EXPECT_EQ(answer["status"], "neutral_face");
  EXPECT_NEAR(answer["gross_exposure"].get<double>(), 200 / std::sqrt(5.0), 1e-10);
  EXPECT_THAT(answer["warnings"].get<std::vector<std::string>>(),
              ElementsAre("budget sizing divides by t + offset, and the net position t is zero: "
                          "the gross exposure is 89.44 and the weights add up to 0, not 1; use "
                          "--sizing gross or volatility"));
  for (const char* sizing : {"gross", "volatility"})
    EXPECT_THAT(warnings(with("A,-1\nB,-2\n", {"--sizing", sizing})), IsEmpty()) << sizing;
}

TEST_F(Moments, BudgetSizingWithALargeOffsetIsWarnedOf) {
  // t = 1.5/sqrt(2) = 1.06.
  EXPECT_THAT(warnings(with("A,2\nB,1\n", {"--sizing", "budget", "--offset", "1.05"})), IsEmpty());
  EXPECT_THAT(warnings(with("A,2\nB,1\n", {"--sizing", "budget", "--offset", "1.07"})),
              ElementsAre(HasSubstr("the net position t is below the offset")));
}

TEST(SolveWarnings, NamesWithoutAPortfolioAreBlamedOnTheScore) {
  const json answer = solved({"--demo", "-k", "1", "--optimizer", "oscar"});
  ASSERT_EQ(answer["status"], "no_signal");
  EXPECT_THAT(answer["warnings"].get<std::vector<std::string>>(),
              ElementsAre("the names chosen by oscar have no portfolio with a positive Sharpe "
                          "ratio; swap looks further"));
  const json swap = solved({"--demo", "-k", "1", "--optimizer", "swap"});
  EXPECT_EQ(swap["status"], "ok");
  EXPECT_THAT(swap["warnings"].get<std::vector<std::string>>(), IsEmpty());
}

TEST_F(Moments, TheScoreIsBlamedOnlyWhereThereIsASignal) {
  for (const char* optimizer : {"oscar", "symmetric"}) {
    EXPECT_THAT(warnings(with("A,0\nB,0\n", {"--optimizer", optimizer})), IsEmpty());
    auto one = with("A,-3\nB,1\n", {"--optimizer", optimizer});  // scores 1.5 and 1
    one.back() = "1";
    EXPECT_THAT(warnings(one), ElementsAre(HasSubstr(std::string("chosen by ") + optimizer)));
  }
}

TEST(SolveWarnings, FlagsWithoutEffectAreNamed) {
  EXPECT_THAT(
      warnings({"--demo", "--seed", "0", "--sizing", "volatility", "--target-volatility", "0.1"}),
      IsEmpty());
  EXPECT_THAT(
      warnings({"--demo", "--target-volatility", "0.1", "--offset", "0.01"}),
      ElementsAre("--target-volatility has no effect here; it goes with --sizing volatility or "
                  "--objective return",
                  "--offset has no effect here; it goes with --sizing budget"));
  const Folder folder;
  const std::string mean = folder.file("mean.csv", "A,1\nB,2\n");
  const std::string cov = folder.file("cov.csv", ",A,B\nA,4,0\nB,0,1\n");
  EXPECT_THAT(warnings({"--mean", mean, "--cov", cov, "--seed", "3"}),
              ElementsAre("--seed has no effect here; it goes with --demo"));
}

TEST(SolveWarnings, AConfigurationFileMayHoldSettingsWithoutEffect) {
  const Folder folder;
  const std::string file = folder.file("my.toml", "demo = true\noffset = 0.5\n");
  EXPECT_THAT(warnings({"--config", file}), IsEmpty());
}

TEST(Solve, TickersWithCommasAreQuoted) {
  const Folder folder;
  const std::string file = folder.file("r.csv",
                                       "date,\"Smith, Sons\",B,C\n2024-01-01,0.1,0,0.1\n"
                                       "2024-01-02,-0.1,0.2,0.2\n2024-01-03,0.2,0,-0.1\n");
  const json answer =
      solved({"--returns", file, "--lookback", "all", "--tickers", "\"Smith, Sons\",C", "-k", "2"});
  EXPECT_EQ(answer["n"], 2);
  EXPECT_EQ(answer["holdings"][0]["asset"], "Smith, Sons");
}

TEST(SolvePage, NamesEveryOptimizerStatusAndSizing) {
  const std::string page = testing::text_of(SHARPEN_SOURCE_DIR "/docs/solve.md");
  for (const char* word : {"swap", "greedy", "symmetric", "oscar", "ok", "neutral_face",
                           "no_signal", "not_converged", "gross", "volatility", "budget"})
    EXPECT_THAT(page, HasSubstr("| `" + std::string(word) + "` |")) << word;
}

// Prices that grow by the same factor every day: returns that differ in their last digits.
TEST(SteadyGrowth, HasNoRiskToSolveForAndNoneToTrade) {
  std::string prices = "date,A,B,C\n";
  for (int t = 0; t < 120; ++t) {
    const double growth = std::pow(1.0005, t);
    prices += fmt::format("2020-{:02}-{:02},{},{},{}\n", 1 + t / 28, 1 + t % 28, 100 * growth,
                          50 * growth, 20 * growth);
  }
  const Folder folder;
  const std::string file = folder.file("steady.csv", prices);
  const Finished solved = run_program({"solve", "--prices", file, "--lookback", "60"});
  EXPECT_EQ(solved.exit_code, 2);
  EXPECT_THAT(solved.err, HasSubstr("no asset moves between"));
  const Finished walked = run_program({"backtest", "--prices", file, "--lookback", "60", "--json"});
  ASSERT_EQ(walked.exit_code, 0) << walked.err;
  const json answer = json::parse(walked.out);
  EXPECT_EQ(answer["final_wealth"], 1.0);
  EXPECT_THAT(answer["warnings"][0].get<std::string>(), HasSubstr("could not be made"));
}

TEST(SteadyGrowth, AGrossExposureThatNobodyCanWantIsSaid) {
  const Folder folder;
  const auto said = warnings({"--mean", folder.file("mean.csv", "A,1e-4\nB,2e-4\n"), "--cov",
                              folder.file("cov.csv", ",A,B\nA,1e-20,0\nB,0,1e-20\n"), "-k", "2",
                              "--sizing", "volatility"});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("times the wealth: what is held hardly moves"));
}

// More names than returns and no shrinkage: long and short positions cancel nearly all risk.
TEST(NearlySingularWindow, VolatilityAndSharpeRatioAreThoseOfOnePortfolio) {
  const Folder folder;
  const std::string prices = folder.path("prices.csv");
  ASSERT_EQ(
      run_program({"simulate", "--assets", "60", "--days", "200", "--seed", "4", "--out", prices})
          .exit_code,
      0);
  const Finished solved = run_program(
      {"solve", "--prices", prices, "--lookback", "50", "-k", "60", "--shrinkage", "0", "--json"});
  ASSERT_EQ(solved.exit_code, 0) << solved.err;
  const json answer = json::parse(solved.out);
  const double sharpe = answer["sharpe"];
  EXPECT_NEAR(answer["expected_return"].get<double>() / answer["volatility"].get<double>(), sharpe,
              1e-8 * sharpe);
}

}  // namespace
}  // namespace sharpen
