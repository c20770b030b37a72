// What a command line or a file allows and is more likely a mistake: the answer says so. And what
// --print-config refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sharpen/base/random.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_program;

// Rows of noise around `level`, on days 1 to 28 of the months from 2001-01 on, or on one day of
// each month.
std::string panel_csv(std::size_t rows, double level, bool monthly = false) {
  Random random(7);
  std::string csv = "date,A,B,C\n";
  for (std::size_t t = 0; t < rows; ++t) {
    const std::size_t month = monthly ? t : t / 28, day = monthly ? 28 : 1 + t % 28;
    csv += fmt::format("{}-{:02}-{:02}", 2001 + month / 12, 1 + month % 12, day);
    for (int j = 0; j < 3; ++j) csv += fmt::format(",{:.6f}", level + 0.01 * random.normal());
    csv += "\n";
  }
  return csv;
}

std::vector<std::string> warnings_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Finished run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out, nullptr, false);
  return answer.is_object() ? answer["warnings"].get<std::vector<std::string>>()
                            : std::vector<std::string>{"no answer"};
}

class LikelyMistakes : public ::testing::Test {
 protected:
  std::vector<std::string> backtest(const std::string& kind, const std::string& file,
                                    std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"backtest", kind, file, "--optimizer", "equal", "--min-history", "0",
                               "--replications", "10"});
    return more;
  }
  Folder folder_;
  std::string daily_ = folder_.file("daily.csv", panel_csv(60, 0.0));
  std::string monthly_ = folder_.file("monthly.csv", panel_csv(60, 0.0, true));
};

TEST_F(LikelyMistakes, MonthsAnnualisedAsDaysAreDoubted) {
  const auto doubt =
      Contains(AllOf(HasSubstr("about 12 periods a year"), HasSubstr("periods-per-year is 252"),
                     HasSubstr("give --periods-per-year 12")));
  EXPECT_THAT(warnings_of(backtest("--returns", monthly_)), doubt);
  EXPECT_THAT(warnings_of({"solve", "--returns", monthly_, "--lookback", "all"}), doubt);
  EXPECT_THAT(warnings_of(backtest("--returns", monthly_, {"--periods-per-year", "12"})),
              IsEmpty());
}

TEST_F(LikelyMistakes, DaysAnnualisedAsMonthsAreDoubtedToo) {
  EXPECT_THAT(warnings_of(backtest("--returns", daily_)), IsEmpty());
  EXPECT_THAT(warnings_of(backtest("--returns", daily_, {"--periods-per-year", "365"})), IsEmpty());
  EXPECT_THAT(warnings_of(backtest("--returns", daily_, {"--periods-per-year", "12"})),
              Contains(HasSubstr("periods-per-year is 12: ")));
}

TEST_F(LikelyMistakes, GrossReturnsGivenAsPricesAreDoubtedByEveryCommand) {
  const std::string gross = folder_.file("gross.csv", panel_csv(60, 1.0));
  const std::string doubt = "the values look like gross returns 1 + r: give --returns FILE --gross";
  EXPECT_THAT(warnings_of(backtest("--prices", gross)), Contains(doubt));
  EXPECT_THAT(warnings_of({"solve", "--prices", gross, "--lookback", "20"}), Contains(doubt));
  EXPECT_THAT(warnings_of({"doctor", gross}), Contains(doubt));
  EXPECT_THAT(warnings_of(backtest("--returns", gross, {"--gross"})), IsEmpty());
}

TEST_F(LikelyMistakes, ReturnsGivenAsPricesAreRefusedWithTheFlagToGive) {
  const std::string message = daily_ + ": the values look like returns: give --returns FILE";
  expect_refused(backtest("--prices", daily_), message);
  expect_refused({"solve", "--prices", daily_}, message);
}

TEST_F(LikelyMistakes, PercentsGivenAsSharesAreDoubted) {
  EXPECT_THAT(warnings_of(backtest("--returns", daily_, {"--risk-free", "5"})),
              Contains("risk-free = 5 is 500 % a year; write 0.05 for 5 %"));
  EXPECT_THAT(warnings_of(backtest("--returns", daily_, {"--risk-free", "0.5"})), IsEmpty());
}

TEST_F(LikelyMistakes, AYearThatIsARowIsDoubted) {
  const std::string file = folder_.file("long.csv", panel_csv(2100, 0.0));
  EXPECT_THAT(warnings_of(backtest("--returns", file, {"--stats-from", "2003"})),
              Contains("stats-from = 2003 is row 2003, which is 2006-12-15; for the year write "
                       "2003-01"));
  EXPECT_THAT(warnings_of(backtest("--returns", file, {"--stats-from", "2003-01"})), IsEmpty());
  EXPECT_THAT(warnings_of(backtest("--returns", file, {"--stats-from", "203"})), IsEmpty());
}

TEST_F(LikelyMistakes, AFileWithoutItsFlagIsRecognised) {
  expect_refused({"backtest", daily_},
                     fmt::format("unexpected argument {0}; did you mean --prices {0}?", daily_));
  expect_refused({"backtest", "--returns", daily_, "nowhere.csv"},
                     "unexpected argument nowhere.csv; see sharpen backtest --help");
  expect_refused({"backtest", "--prices", daily_, daily_},
                     fmt::format("unexpected argument {}; see sharpen backtest --help", daily_));
}

TEST(PrintConfig, RefusesWhatContradictsItself) {
  const auto refused = [](std::vector<std::string> arguments, const std::string& message) {
    arguments.emplace_back("--print-config");
    expect_refused(arguments, message);
  };
  const std::string gross = "--gross has no meaning here; it goes with --returns";
  refused({"backtest", "--prices", "p.csv", "--gross"}, gross);
  refused({"doctor", "p.csv", "--gross"}, gross);
  refused({"solve", "--prices", "p.csv", "--gross"}, gross);
  refused({"backtest", "--prices", "p.csv", "--returns", "r.csv"},
          "--prices and --returns cannot go together; give one of --prices FILE and --returns "
          "FILE");
  refused({"backtest", "--signal", "s.csv"},
          "--signal has no meaning here; it goes with --framework signal");
  refused({"backtest", "--split", "150%"},
          "split = 150% is neither a share nor a date; write a share such as 80% or 0.8 (above 0, "
          "below 1), or the first date of the test part: YYYY-MM-DD, YYYY-MM or YYYY");
  refused({"backtest", "--stats-from", "soon"},
          "stats-from = soon is neither a row nor a date; write a row of the returns, from 1, or a "
          "date YYYY-MM-DD or YYYY-MM");
  refused({"backtest", "--net", "any", "--sizing", "budget"},
          "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
          "gross or volatility");
  for (const char* command : {"backtest", "doctor", "solve"})
    refused({command, "--from", "2016", "--to", "2015"},
            "from = 2016 is after to = 2015; exchange them");
  refused({"simulate", "--start-date", "x"}, "start-date = x is not a date; give YYYY-MM-DD");
}

TEST(PrintConfig, TakesWhatIsOnlyMissing) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"backtest"},
        {"backtest", "--framework", "signal"},
        {"doctor"},
        {"solve"},
        {"simulate"},
        {"compare"},
        {"backtest", "--prices", "not_there_yet.csv"}}) {
    std::vector<std::string> printing = arguments;
    printing.emplace_back("--print-config");
    const Finished run = run_program(printing);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("# Settings of `sharpen " + arguments.front() + "`"));
  }
}

}  // namespace
}  // namespace sharpen
