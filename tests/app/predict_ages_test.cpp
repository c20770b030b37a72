// `sharpen predict` on the right day: --asof, the age of the file, and what it must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "app/desk.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Desk;
using testing::Finished;
using ::testing::HasSubstr;
using testing::kAssets;
using testing::kDays;
using testing::kLastDate;
using testing::kLookback;
using testing::run_program;
using testing::weights;
using testing::without_rows;

TEST(Predict, AsofSeesNothingAfterThatDay) {
  const Desk desk;
  const std::string day = desk.prices().dates[kDays - 31];
  const market::Panel early = without_rows(desk.prices(), 30);
  ASSERT_EQ(early.dates.back(), day);
  desk.prices("early.csv", early);
  const json short_file = desk.predict({"--asof", day}, "early.csv");
  EXPECT_EQ(desk.predict({"--asof", day}), short_file);
  EXPECT_EQ(short_file["date"], day);
  EXPECT_EQ(short_file["age_days"], 0);
  EXPECT_NE(weights(desk.predict({})), weights(short_file));

  market::Panel altered = desk.prices();
  for (std::size_t i = early.values.size(); i < altered.values.size(); ++i)
    altered.values[i] *= 1.0 + 0.3 * static_cast<double>(i % 3);
  desk.prices("altered.csv", altered);
  EXPECT_EQ(desk.predict({"--asof", day}, "altered.csv"), short_file);
}

TEST(Predict, AsofIsADateAndHasRows) {
  const Desk desk;
  desk.expect_refusal({"--asof", "soon"},
                      "asof = soon is not a date; write YYYY-MM-DD, YYYY-MM or YYYY");
  desk.expect_refusal({"--asof", "2016-02-30"},
                      "asof = 2016-02-30 is not a date; write YYYY-MM-DD, YYYY-MM or YYYY");
  EXPECT_EQ(run_program(desk.arguments({"--asof", "2001-01-01"})).exit_code, 2);
  EXPECT_EQ(desk.predict({"--asof", "2016-02"})["date"], "2016-02-29");
  EXPECT_EQ(desk.predict({"--asof", "20160229"})["date"], "2016-02-29");
  EXPECT_EQ(desk.predict({"--asof", "2015"})["date"], "2015-12-31");
}

TEST(Predict, WhatIsFurtherBackThanCleaningLooksChangesNothing) {
  const Desk desk;
  market::Panel altered = desk.prices();
  for (std::size_t i = 0; i < 40 * static_cast<std::size_t>(kAssets); ++i)
    altered.values[i] = i % 5 == 0 ? std::nan("") : 1e6;
  desk.prices("altered.csv", altered);
  EXPECT_EQ(desk.predict({}, "altered.csv"), desk.predict({}));
}

TEST(Predict, RefusesAStaleFile) {
  const Desk desk;
  desk.expect_refusal(
      {"--asof", "2016-04-02", "--max-age", "9"},
      fmt::format("{}: is stale: its last date, {}, is 10 days before --asof (2016-04-02), and "
                  "--max-age allows 9; give a newer file, or a larger --max-age",
                  desk.path("prices.csv"), kLastDate));
  const json answer = desk.predict({"--asof", "2016-04-02", "--max-age", "10"});
  EXPECT_EQ(answer["age_days"], 10);
  EXPECT_EQ(answer["warnings"], json::array());
  // Today is later than 2016 by more than a year, whenever this runs.
  const Finished run = run_program(desk.arguments({"--max-age", "365"}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is stale: its last date, 2016-03-23, is "));
  EXPECT_THAT(run.err, HasSubstr(" days before today ("));
}

TEST(Predict, WarnsOfAnOldFileWhereNoAgeIsGiven) {
  const Desk desk;
  EXPECT_THAT(desk.predict({})["warnings"].dump(), HasSubstr("the last date, 2016-03-23, is "));
  EXPECT_THAT(desk.predict({"--asof", "2016-04-02"})["warnings"].dump(),
              HasSubstr("is 10 days before --asof (2016-04-02); --max-age DAYS refuses"));
  EXPECT_EQ(desk.predict({"--asof", "2016-03-28"})["warnings"], json::array());
}

TEST(Predict, RefusesAFileFromTheFuture) {
  const Desk desk;
  market::Panel future = desk.prices();
  for (std::string& date : future.dates) date.replace(0, 2, "29");
  desk.prices("future.csv", future);
  const Finished run = run_program(desk.arguments({}, "future.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("future.csv: its last date, 2916-03-23, is in the future (today "
                                 "is "));
  EXPECT_EQ(desk.predict({"--asof", "2916-03-24"}, "future.csv")["age_days"], 1);
}

TEST(Predict, WarnsOfADayTheModelWasTrainedOn) {
  const Desk desk;
  learn::Model model = desk.model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  model.last_date = "2016-03-01";
  learn::write_model(model, desk.path("m.sharpen"));
  EXPECT_EQ(desk.predict({"--asof", "2016-03-01"})["warnings"], json::array());
  EXPECT_THAT(
      desk.predict({"--asof", "2016-02-29"})["warnings"].dump(),
      HasSubstr("the model was trained on dates up to 2016-03-01: it knows what came next"));
}

TEST(Predict, RefusesAWindowWithGaps) {
  const Desk desk;
  const auto with_gap = [&](Index first, Index rows) {
    market::Panel panel = desk.prices();
    for (Index t = first; t < first + rows; ++t)
      panel.values[static_cast<std::size_t>(t * kAssets + 2)] = std::nan("");
    desk.prices("gap.csv", panel);
  };
  const std::string ticker = desk.prices().tickers[2];
  with_gap(kDays - 1, 1);  // no last price yet: that before is carried
  EXPECT_EQ(run_program(desk.arguments({}, "gap.csv")).exit_code, 0);
  desk.expect_refusal(
      {"--max-gap", "0"},
      fmt::format("{}: 1 of the 6 assets that the model needs lack a return in its window, {} to "
                  "{}: {} (on {}); complete the file",
                  desk.path("gap.csv"), desk.prices().dates[kDays - kLookback], kLastDate, ticker,
                  kLastDate),
      "gap.csv");
  with_gap(kDays - 12, 8);
  const Finished run = run_program(desk.arguments({}, "gap.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("1 of the 6 assets that the model needs lack a return in its window"));
  EXPECT_EQ(run_program(desk.arguments({"--max-gap", "8"}, "gap.csv")).exit_code, 0);
  with_gap(kDays - 12, 3);  // carried over
  EXPECT_EQ(run_program(desk.arguments({}, "gap.csv")).exit_code, 0);
  with_gap(0, kDays - kLookback - 1);  // listed just in time
  EXPECT_EQ(weights(desk.predict({}, "gap.csv")), weights(desk.predict({})));
  with_gap(0, kDays - kLookback);
  EXPECT_EQ(run_program(desk.arguments({}, "gap.csv")).exit_code, 2);
}

TEST(Predict, NeedsAWholeWindow) {
  const Desk desk;
  desk.prices("short.csv", without_rows(desk.prices(), kDays - kLookback));
  desk.expect_refusal({},
                      fmt::format("{}: has 19 returns up to {}, and the model looks back over 20; "
                                  "give more rows",
                                  desk.path("short.csv"), desk.prices().dates[kLookback - 1]),
                      "short.csv");
  desk.prices("enough.csv", without_rows(desk.prices(), kDays - kLookback - 1));
  EXPECT_EQ(desk.predict({}, "enough.csv")["window"]["from"], desk.prices().dates[1]);
}

TEST(Predict, RefusesPricesThatNeverMove) {
  const Desk desk;
  market::Panel still = desk.prices();
  std::fill(still.values.begin(), still.values.end(), 5.0);
  desk.prices("still.csv", still);
  const Finished run = run_program(desk.arguments({}, "still.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("have no covariance: no asset moves"));
}

}  // namespace
}  // namespace sharpen
