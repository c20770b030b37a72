// Bad input gets a clear error, exit code 2, and nothing on standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/program.hpp"

namespace sharpen {
namespace {

using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using testing::run_program;
using ::testing::StartsWith;

class BadInput : public ::testing::Test {
 protected:
  void expect_refused(std::vector<std::string> flags,
                      const ::testing::Matcher<const std::string&>& message) {
    flags.insert(flags.begin(), {"solve", "--json"});
    testing::expect_refused(std::move(flags), message);
  }
  void expect_prices_refused(const std::string& csv,
                             const ::testing::Matcher<const std::string&>& message) {
    expect_refused({"--prices", folder_.file("prices.csv", csv)}, message);
  }
  std::string prices_at(const std::string& place) { return folder_.path("prices.csv") + place; }

  testing::Folder folder_;
};

TEST_F(BadInput, FilesThatCannotBeRead) {
  expect_refused({"--prices", folder_.path("none.csv")}, HasSubstr(folder_.path("none.csv")));
  expect_refused({"--prices", folder_.path("")}, HasSubstr("directory"));
}

TEST_F(BadInput, EmptyOrRaggedCsv) {
  expect_prices_refused("", HasSubstr("empty"));
  expect_prices_refused("date,A,B\n", HasSubstr(prices_at("")));
  expect_prices_refused("date,A,B\n2024-01-01,1,2\n2024-01-02,1\n", HasSubstr(prices_at(":3")));
}

TEST_F(BadInput, TextWhereANumberBelongs) {
  expect_prices_refused("date,A,B\n2024-01-01,1,2\n2024-01-02,1,oops\n",
                        AllOf(HasSubstr(prices_at(":3:3")), HasSubstr("oops"), HasSubstr("B")));
}

TEST_F(BadInput, DuplicateTickersAndDatesAndUnsortedDates) {
  expect_prices_refused("date,A,A\n2024-01-01,1,2\n2024-01-02,1,2\n",
                        AllOf(HasSubstr(prices_at("")), HasSubstr("A")));
  expect_prices_refused("date,A,B\n2024-01-01,1,2\n2024-01-01,1,2\n",
                        AllOf(HasSubstr(prices_at(":3")), HasSubstr("2024-01-01")));
  expect_prices_refused("date,A,B\n2024-01-02,1,2\n2024-01-01,1,2\n",
                        AllOf(HasSubstr(prices_at(":3")), HasSubstr("2024-01-01")));
}

TEST_F(BadInput, WindowsThatAreTooShort) {
  const std::string csv = "date,A,B\n2024-01-01,1,2\n2024-01-02,2,3\n2024-01-03,3,2\n";
  expect_prices_refused(csv, HasSubstr("lookback = 100 is more than the 2 returns of the panel "
                                       "(2024-01-02 to 2024-01-03); give --lookback all"));
  const std::string file = folder_.file("prices.csv", csv);
  expect_refused({"--prices", file, "--lookback", "all", "--to", "2024-01-02"},
                 HasSubstr("the panel has 1 return (2024-01-02 to 2024-01-02); a covariance needs "
                           "at least 2"));
  expect_refused({"--prices", file, "--lookback", "1"}, HasSubstr("lookback = 1 is outside"));
  expect_refused({"--prices", file, "--lookback", "2", "--to", "2024-01-01"},
                 HasSubstr(file + ": returns need at least 2 rows of prices and the panel has 1"));
}

TEST_F(BadInput, UnknownTickersAndDates) {
  expect_refused({"--demo", "--tickers", "ALDER,NOBODY"}, HasSubstr("NOBODY"));
  expect_refused({"--demo", "--tickers", "ALDER,ALDER"}, HasSubstr("ALDER"));
  expect_refused({"--demo", "--from", "2030-01-01"}, HasSubstr("2024-12-31"));
  expect_refused({"--demo", "--from", "soon"}, HasSubstr("soon"));
}

class BadMoments : public BadInput {
 protected:
  void expect_moments_refused(const std::string& mean, const std::string& cov,
                              const ::testing::Matcher<const std::string&>& message) {
    expect_refused(
        {"--mean", folder_.file("mean.csv", mean), "--cov", folder_.file("cov.csv", cov)}, message);
  }
  static constexpr const char* kMean = "asset,mean\nA,0.1\nB,0.2\n";
};

TEST_F(BadMoments, CovarianceThatIsNotSymmetric) {
  expect_moments_refused(kMean, ",A,B\nA,1,0.5\nB,0.4,1\n",
                         AllOf(HasSubstr("symmetric"), HasSubstr("0.5"), HasSubstr("0.4")));
}

TEST_F(BadMoments, CovarianceThatIsNotPositiveSemidefinite) {
  expect_moments_refused(
      kMean, ",A,B\nA,1,2\nB,2,1\n",
      HasSubstr(folder_.path("cov.csv") + ": the covariance is not positive semidefinite"));
  const std::string orlib =
      folder_.file("m.txt", "3\n1 1\n1 1\n1 1\n1 1 1\n1 2 0.9\n1 3 0.9\n2 2 1\n2 3 -0.9\n3 3 1\n");
  expect_refused({"--moments", orlib}, HasSubstr(orlib + ": the covariance is not positive semi"));
  expect_moments_refused(kMean, ",A,B\nA,-1,0\nB,0,1\n", HasSubstr("negative"));
}

TEST_F(BadMoments, MeanThatIsNotANumber) {
  expect_moments_refused("asset,mean\nA,nan\nB,0.2\n", ",A,B\nA,1,0\nB,0,1\n",
                         HasSubstr(folder_.path("mean.csv") + ":2:2"));
  expect_moments_refused("asset,mean\nA,inf\nB,0.2\n", ",A,B\nA,1,0\nB,0,1\n",
                         HasSubstr(folder_.path("mean.csv") + ":2:2"));
}

TEST_F(BadMoments, NoRiskAtAll) {
  expect_moments_refused(
      kMean, ",A,B\nA,0,0\nB,0,0\n",
      HasSubstr(folder_.path("cov.csv") + ": every variance is zero: there is no risk to "
                                          "measure; give the variances"));
}

TEST_F(BadMoments, UnknownOrRepeatedTickers) {
  const std::string mean = folder_.file("mean.csv", kMean);
  const std::string cov = folder_.file("cov.csv", ",A,B\nA,1,0\nB,0,1\n");
  expect_refused({"--mean", mean, "--cov", cov, "--tickers", "A,C"},
                 HasSubstr("tickers: there is no asset C"));
  expect_refused({"--mean", mean, "--cov", cov, "--tickers", "A,A"},
                 HasSubstr("tickers: A is named twice"));
}

// Not errors: inputs that have an answer, with a status or a warning that says what it is.
class OddInput : public ::testing::Test {
 protected:
  nlohmann::json solve(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"solve", "--json"});
    const Finished run = run_program(flags);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return nlohmann::json::parse(run.out, nullptr, false);
  }
  nlohmann::json solve_moments(const std::string& mean, const std::string& k) {
    return solve({"--mean", folder_.file("mean.csv", mean), "--cov",
                  folder_.file("cov.csv", ",A,B,C\nA,2,0.5,0\nB,0.5,1,0\nC,0,0,3\n"), "-k", k});
  }
  testing::Folder folder_;
};

TEST_F(OddInput, AConstantPriceIsSolvedAndNamedInAWarning) {
  const std::string file = folder_.file("prices.csv",
                                        "date,UP,FLAT,DOWN\n2024-01-01,10,5,10\n2024-01-02,11,5,9\n"
                                        "2024-01-03,12,5,10\n2024-01-04,14,5,9\n");
  for (const char* shrinkage : {"0.1", "0"}) {
    const auto answer =
        solve({"--prices", file, "--lookback", "all", "-k", "2", "--shrinkage", shrinkage});
    EXPECT_EQ(answer["status"], "ok");
    ASSERT_GE(answer["warnings"].size(), 1u);
    EXPECT_THAT(answer["warnings"][0].get<std::string>(),
                AllOf(HasSubstr("FLAT"), HasSubstr("zero variance")));
    const bool shrunk = answer["shrinkage"].get<double>() > 0;
    EXPECT_EQ(answer["jitter"].get<double>() > 0, !shrunk);
    EXPECT_EQ(answer["warnings"].size(), shrunk ? 1u : 2u);  // the jitter is said, too
  }
}

TEST_F(OddInput, OnlyConstantPricesAreRefused) {
  const std::string file =
      folder_.file("prices.csv", "date,A,B\n2024-01-01,10,5\n2024-01-02,10,5\n2024-01-03,10,5\n");
  const Finished run = run_program({"solve", "--prices", file, "--lookback", "all"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no asset moves between 2024-01-02 and 2024-01-03"));
}

TEST_F(OddInput, NoSignalIsCash) {
  for (const char* mean : {"A,0\nB,0\nC,0\n", "A,-1\nB,-1\nC,-1\n"}) {
    const auto answer = solve_moments(mean, "2");
    EXPECT_EQ(answer["status"], "no_signal");
    EXPECT_EQ(answer["sharpe"], 0);
    EXPECT_EQ(answer["full_sharpe"], 0);
    EXPECT_TRUE(answer["share_of_full"].is_null());
    EXPECT_EQ(answer["cardinality"], 0);
    EXPECT_TRUE(answer["holdings"].empty());
  }
}

TEST_F(OddInput, AllNegativeSignalsGiveANeutralPortfolio) {
  const auto answer = solve_moments("A,-1\nB,-2\nC,-3\n", "2");
  EXPECT_EQ(answer["status"], "neutral_face");
  EXPECT_GT(answer["sharpe"].get<double>(), 0);
  EXPECT_EQ(answer["cardinality"], 2);
  double net = 0;
  for (const auto& holding : answer["holdings"]) net += holding["weight"].get<double>();
  EXPECT_NEAR(net, 0, 1e-15);
}

TEST_F(OddInput, NumbersOutOfRangeAreAFailureAndNotAnAnswer) {
  const std::string mean = folder_.file("mean.csv", "A,1e300\nB,2e300\n");
  for (const char* variance : {"1e-300", "1e308"}) {
    const std::string cov =
        folder_.file("cov.csv", std::string(",A,B\nA,") + variance + ",0\nB,0," + variance + "\n");
    const Finished run = run_program({"solve", "--json", "--mean", mean, "--cov", cov, "-k", "2"});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, StartsWith("sharpen: error: "));
    EXPECT_THAT(run.err, HasSubstr("rescale the input"));
  }
}

TEST_F(OddInput, AnAbsurdReturnIsNamed) {
  const std::string file = folder_.file(
      "p.csv",
      "date,A,B\n2024-01-01,1,1\n2024-01-02,2,1\n2024-01-03,1,1e300\n2024-01-04,1,1e-300\n");
  for (const char* form : {"dense", "low-rank"}) {
    const Finished run = run_program(
        {"solve", "--prices", file, "--lookback", "all", "--form", form, "--on-suspect", "report"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, "sharpen: error: " + file +
                           ": the return 1e+300 of B on 2024-01-03 cannot be true, and its square "
                           "overflows; correct the file, or leave the asset or the date out\n");
  }
}

TEST_F(OddInput, ReturnsWhoseSquaresVanishAreRefused) {
  const std::string file = folder_.file(
      "r.csv", "date,A,B\n2024-01-01,1e-170,0\n2024-01-02,-3e-170,1e-170\n2024-01-03,0,0\n");
  const Finished run = run_program({"solve", "--returns", file, "--lookback", "all"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr(file + ": no return is larger than the -3e-170 of A on "
                                        "2024-01-02: their squares vanish"));
}

TEST_F(OddInput, OneNameWithANegativeSignalIsCash) {
  EXPECT_EQ(solve_moments("A,-1\nB,-2\nC,-3\n", "1")["status"], "no_signal");
}

TEST_F(OddInput, WithNetAnyANegativeSignalIsSoldShort) {
  const std::string mean = folder_.file("mean.csv", "A,-1\nB,-2\nC,-3\n");
  const std::string cov = folder_.file("cov.csv", ",A,B,C\nA,2,0.5,0\nB,0.5,1,0\nC,0,0,3\n");
  const auto answer = solve({"--mean", mean, "--cov", cov, "-k", "1", "--net", "any"});
  EXPECT_EQ(answer["status"], "ok");
  EXPECT_EQ(answer["status_text"], "solved: the net position may have either sign");
  EXPECT_EQ(answer["holdings"][0]["asset"], "B");
  EXPECT_EQ(answer["holdings"][0]["weight"], -1.0);
  EXPECT_DOUBLE_EQ(answer["sharpe"].get<double>(), 2.0);
}

}  // namespace
}  // namespace sharpen
