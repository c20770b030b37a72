#include "sharpen/backtest/run_files.hpp"

#include <gtest/gtest.h>

#include "sharpen/base/error.hpp"

namespace sharpen::backtest {
namespace {

constexpr const char* kMetrics =
    R"({"label": "mine", "periods_per_year": 252, "risk_free": 0.001,
        "stats_from_date": "2024-01-03", "sharpe": null})";

SavedRun parse(const std::string& returns, const std::string& metrics = kMetrics) {
  return parse_run(returns, "returns.csv", metrics, "metrics.json");
}

void refuse(const std::string& returns, const std::string& message,
            const std::string& metrics = kMetrics) {
  try {
    parse(returns, metrics);
    ADD_FAILURE() << "accepted: " << message;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(SavedRun, ReadsDatesReturnsAndWhatItsMetricsSay) {
  const SavedRun run =
      parse("date,status,return,cost\n2024-01-02,ok,0.01,0\n2024-01-03,no_signal,-2e-2,1\n");
  EXPECT_EQ(run.label, "mine");
  EXPECT_EQ(run.dates, (std::vector<std::string>{"2024-01-02", "2024-01-03"}));
  EXPECT_EQ(run.returns, (std::vector<double>{0.01, -0.02}));
  EXPECT_EQ(run.periods_per_year, 252.0);
  EXPECT_EQ(run.risk_free, 0.001);
  EXPECT_EQ(run.stats_from_date, "2024-01-03");
  const SavedRun bare = parse("date,return\n2024-01,0.5\n", R"({"periods_per_year": 12})");
  EXPECT_EQ(bare.risk_free, 0.0);
  EXPECT_EQ(bare.stats_from_date, "");
  EXPECT_EQ(bare.label, "");
}

TEST(SavedRun, KnowsTheDayOfRuin) {
  EXPECT_EQ(parse("date,return\n2024-01-02,-0.99\n2024-01-03,3\n").ruin_date(), "");
  EXPECT_EQ(parse("date,return\n2024-01-02,0\n2024-01-03,-1\n2024-01-04,-2\n").ruin_date(),
            "2024-01-03");
}

TEST(SavedRun, SaysWhereAFileIsWrong) {
  const std::string remedy = "; give a folder that sharpen backtest --out wrote";
  refuse("date,return\n2024-01-02,0\n",
         "metrics.json: the key command is \"solve\" and not backtest" + remedy,
         R"({"command": "solve", "periods_per_year": 12})");
  refuse("date,return\n2024-01-02,0\n",
         "metrics.json: the schema_version is 2 and this program knows 1; use the version of "
         "sharpen that wrote it",
         R"({"schema_version": 2, "periods_per_year": 12})");
  refuse("day,return\n",
         "returns.csv:1:1: the first column is called \"day\" and not date" + remedy);
  refuse("date,profit\n", "returns.csv:1:1: there is no column called return" + remedy);
  refuse("date,return,return\n", "returns.csv:1:3: there are two columns called return; keep one");
  refuse("date,return\n", "returns.csv: there are no rows below the header" + remedy);
  refuse("date,return\n2024-01-02\n",
         "returns.csv:2: line 2 has 1 field and the header has 2" + remedy);
  refuse("date,return\n2024-01-32,1\n",
         "returns.csv:2:1: \"2024-01-32\" is not in the calendar; write dates as YYYY-MM-DD");
  refuse("date,return\n2024-01-03,1\n2024-01-03,1\n",
         "returns.csv:3:1: the date 2024-01-03 does not come after 2024-01-03, the one above; sort "
         "the rows and keep each date once");
  EXPECT_THROW(parse("date,return\n2024-01-03,nan\n"), InputError);
  EXPECT_THROW(parse("date,return\n2024-01-03,\n"), InputError);
  EXPECT_THROW(parse(""), InputError);
  const std::string rows = "date,return\n2024-01-02,0.01\n";
  refuse(rows, "metrics.json: this is not a JSON object" + remedy, "[1]");
  const std::string unread =
      "metrics.json: this is not JSON, or too long or nested too deep" + remedy;
  refuse(rows, unread, "{\"periods_per_year\": ");
  const auto with = [](const std::string& value) {
    return R"({"periods_per_year": 252, "weights": )" + value + "}";
  };
  const auto nested = [&](std::size_t depth) {
    return with(std::string(depth, '[') + std::string(depth, ']'));
  };
  refuse(rows, unread, nested(64));
  refuse(rows, unread, nested(300000));
  refuse(rows, unread, with('"' + std::string(20'000'000, 'x') + '"'));
  EXPECT_EQ(parse(rows, nested(63)).returns.size(), 1U);
  EXPECT_EQ(parse(rows, with(R"("\\\"[[[[)" + std::string(100, '{') + '"')).returns.size(), 1U);
  refuse(rows,
         "metrics.json: the key periods_per_year is missing or not a positive number" + remedy,
         "{}");
  refuse(rows,
         "metrics.json: the key periods_per_year is missing or not a positive number" + remedy,
         R"({"periods_per_year": -1})");
  refuse(rows, "metrics.json: the key risk_free is not a number" + remedy,
         R"({"periods_per_year": 252, "risk_free": "low"})");
  refuse(rows, "metrics.json: the key stats_from_date is not a date" + remedy,
         R"({"periods_per_year": 252, "stats_from_date": "soon"})");
}

TEST(CommonPeriods, AreTheDatesThatCountForBoth) {
  SavedRun a = parse("date,return\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n2024-01-05,5\n");
  SavedRun b = parse("date,return\n2024-01-03,30\n2024-01-04,40\n2024-01-05,50\n2024-01-08,80\n");
  b.risk_free = 0.0;
  const CommonPeriods both = common_periods(a, b);
  EXPECT_EQ(both.dates, (std::vector<std::string>{"2024-01-03", "2024-01-05"}));
  EXPECT_EQ(both.a, (std::vector<double>{3 - 0.001, 5 - 0.001}));
  EXPECT_EQ(both.b, (std::vector<double>{30, 50}));
  EXPECT_EQ(both.left_out_a, 2);
  EXPECT_EQ(both.left_out_b, 2);
  b.stats_from_date = "2024-01-04";
  EXPECT_EQ(common_periods(a, b).dates, (std::vector<std::string>{"2024-01-05"}));
  b.stats_from_date = "2024-01-06";
  try {
    common_periods(a, b);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the two runs have no date in common: the statistics of the first cover 2024-01-03 "
              "to 2024-01-05, of the second 2024-01-08 to 2024-01-08; compare runs over the same "
              "dates");
  }
  b.stats_from_date = "2025-01-01";
  EXPECT_THROW(common_periods(a, b), InputError);
  b = a;
  b.periods_per_year = 12;
  try {
    common_periods(a, b);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the runs have 252 and 12 periods a year; compare runs over the same kind of period");
  }
}

}  // namespace
}  // namespace sharpen::backtest
