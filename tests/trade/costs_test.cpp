// Costs of trading by asset and date.
#include "sharpen/trade/costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sharpen/base/error.hpp"
#include "support/files.hpp"

namespace sharpen::trade {
namespace {

using settings::NumberOrFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kTickers = {"A", "B", "C"};
const std::vector<std::string> kKnown = {"GONE"};
const std::vector<std::string> kDates = {"2020-01-01", "2020-01-02", "2020-01-03", "2020-01-06"};

CostBook book(const std::string& text, std::string_view first = "2020-01-01") {
  return CostBook({.number = 0.0, .file = text}, kTickers, kKnown, first);
}

std::string fault(const std::string& text, std::string_view first = "2020-01-01") {
  try {
    book(text, first);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CostBook, OneNumberIsForAll) {
  const CostBook all({.number = 5.0, .file = {}}, kTickers, {}, "2020-01-01");
  EXPECT_THAT(all.at("1990-01-01"), ElementsAre(5e-4, 5e-4, 5e-4));
  EXPECT_TRUE(all.any());
  EXPECT_EQ(all.mean_bps(kDates), 5.0);
  const CostBook none({.number = 0.0, .file = {}}, kTickers, {}, "");
  EXPECT_FALSE(none.any());
  EXPECT_THROW(CostBook({.number = -1.0, .file = {}}, kTickers, {}, ""), InputError);
  EXPECT_THROW(CostBook({.number = std::nan(""), .file = {}}, kTickers, {}, ""), InputError);
}

TEST(CostBook, ColumnsComeInAnyOrderAndAssetsThatWereLeftOutDoNotMatter) {
  const CostBook some = book("bps,asset\n30,C\n10,A\n99,GONE\n0,B\n");
  EXPECT_THAT(some.at("2020-01-01"), ElementsAre(1e-3, 0.0, 3e-3));
  EXPECT_NEAR(some.mean_bps(kDates), 40.0 / 3.0, 1e-9);
}

TEST(CostBook, LinesCountFromTheirDateOn) {
  const CostBook some = book(
      "asset,bps,date\n"
      "A,1,2019-01-01\nB,2,\nC,3,2020-01-01\n"
      "A,4,2019-06-01\nA,5,2020-03-01\nB,6,2020-03-01\nC,7,2020-04-01\n");
  EXPECT_THAT(some.at("2020-01-01"), ElementsAre(4 * 1e-4, 2 * 1e-4, 3 * 1e-4));
  EXPECT_THAT(some.at("2020-02-29"), ElementsAre(4 * 1e-4, 2 * 1e-4, 3 * 1e-4));
  EXPECT_THAT(some.at("2020-03-01"), ElementsAre(5 * 1e-4, 6 * 1e-4, 3 * 1e-4));
  EXPECT_THAT(some.at("2021-01-01"), ElementsAre(5 * 1e-4, 6 * 1e-4, 7 * 1e-4));
  EXPECT_THAT(some.at(""), ElementsAre(5 * 1e-4, 6 * 1e-4, 7 * 1e-4));
}

TEST(CostBook, TheMeanIsOverTheDatesThatAreAskedFor) {
  const std::string text =
      "asset,bps,date\nA,5,\nB,5,\nC,5,\nA,11,2020-01-03\nB,10000,2099-01-01\n";
  EXPECT_EQ(book(text).mean_bps(kDates), 6.0);  // 5 on two days, 7 on two
  EXPECT_EQ(book(text).mean_bps(std::span(kDates).first(2)), 5.0);
  EXPECT_EQ(book(text).mean_bps(std::span(kDates).last(1)), 7.0);
  EXPECT_EQ(book("asset,bps\nA,13.1\nB,13.2\nC,12.775\n").mean_bps(kDates), 13.025);
}

TEST(CostBook, KnowsWhatWasPaidBeforeTheFirstDecision) {
  const CostBook some = book(
      "asset,bps,date\nA,1,\nA,3,2019-06-01\nB,2,2019-07-01\nC,4,2019-01-01\nC,0,2020-01-01\n");
  EXPECT_THAT(some.at("2018-01-01"), ElementsAre(1e-4, 2e-4, 4e-4));  // the first ones of B and C
  EXPECT_THAT(some.at("2019-06-30"), ElementsAre(3 * 1e-4, 2e-4, 4e-4));
  EXPECT_THAT(some.at("2020-01-01"), ElementsAre(3 * 1e-4, 2e-4, 0.0));
  const CostBook free = book(
      "asset,bps,date\nA,1,\nB,2,\nC,3,\nA,0,2019-01-01\nB,0,2019-01-01\n"
      "C,0,2019-01-01\n");
  EXPECT_FALSE(free.any());
}

TEST(CostBook, HasTheRatesOfNamesThatAreOnlyKnown) {
  const CostBook some = book("asset,bps,date\nA,1,\nB,2,\nC,3,\nGONE,9,\nGONE,7,2020-02-01\n");
  EXPECT_EQ(some.of_other("GONE", "2020-01-01"), 9 * 1e-4);
  EXPECT_EQ(some.of_other("GONE", "2020-02-01"), 7 * 1e-4);
  EXPECT_EQ(some.of_other("LOST", "2020-02-01"), std::nullopt);
  const CostBook later = book("asset,bps,date\nA,1,\nB,2,\nC,3,\nGONE,7,2020-02-01\n");
  EXPECT_EQ(later.of_other("GONE", "2020-01-01"), std::nullopt);
  const CostBook all({.number = 5.0, .file = {}}, kTickers, {}, "2020-01-01");
  EXPECT_EQ(all.of_other("GONE", "2020-01-01"), 5 * 1e-4);
}

TEST(CostBook, RefusesBadLinesWithFileLineAndRemedy) {
  EXPECT_THAT(fault("asset,bps\nA,1\nB,-2\nC,3\n"),
              AllOf(HasSubstr("cost-bps:3"), HasSubstr("negative"), HasSubstr("\"B\"")));
  EXPECT_THAT(fault("asset,bps\nA,1\nX,2\nC,3\n"),
              AllOf(HasSubstr("cost-bps:3"), HasSubstr("no asset \"X\""), HasSubstr("correct")));
  EXPECT_THAT(fault("asset,bps\nA,1\nC,3\n"), AllOf(HasSubstr("\"B\""), HasSubstr("add one")));
  EXPECT_THAT(fault("asset,bps\nA,1\nB,2\nC,3\nB,2\n"),
              AllOf(HasSubstr("cost-bps:5"), HasSubstr("twice"), HasSubstr("line 3")));
  EXPECT_THAT(fault("asset,bps\nA,1\nB,dear\nC,3\n"),
              AllOf(HasSubstr("cost-bps:3"), HasSubstr("dear")));
  EXPECT_THAT(fault("asset,bps\nA,1\nB,nan\nC,3\n"), HasSubstr("cost-bps:3"));
  EXPECT_THAT(fault("asset,bps\nA,1\nB,1e999\nC,3\n"), HasSubstr("cost-bps:3"));
  EXPECT_THAT(fault("asset,cost\nA,1\n"), HasSubstr("cost-bps:1"));
  EXPECT_THAT(fault("name,bps\nA,1\n"), HasSubstr("asset,bps"));
  EXPECT_THAT(fault("asset,bps,date\nA,1,\nB,1,\nC,1,2020-02-30\n"), HasSubstr("cost-bps:4"));
  EXPECT_THAT(fault("asset,bps,date\nA,1,\nB,1,\nC,1,2020-02-01\n"),
              AllOf(HasSubstr("cost-bps:4"), HasSubstr("\"C\""), HasSubstr("earlier line")));
  EXPECT_EQ(fault("asset,bps,date\nA,1,\nB,1,\nC,1,2020-02-01\n", "2020-02-01"), "");
  EXPECT_EQ(fault("asset,bps,date\nA,1,\nB,1,\nC,1,2020-02-01\n", ""), "");
}

TEST(CostBook, WhatIsNeitherNumberNorFileSaysSo) {
  EXPECT_THAT(fault("5bp"), AllOf(HasSubstr("5bp"), HasSubstr("number"), HasSubstr("file")));
}

TEST(CostBook, ReadsAFileAsItsTextWould) {
  const sharpen::testing::Folder folder;
  const std::string file = folder.file("costs.csv", "asset,bps\nA,1\nB,2\nC,3");
  EXPECT_THAT(book(file).at(""), ElementsAre(1e-4, 2e-4, 3 * 1e-4));
  const NumberOrFile contents = with_contents({.number = 0.0, .file = file});
  EXPECT_THAT(contents.file, HasSubstr("B,2"));
  EXPECT_EQ(with_contents(contents), contents);
  EXPECT_THAT(book(contents.file).at(""), ElementsAre(1e-4, 2e-4, 3 * 1e-4));
  const NumberOrFile number{.number = 5.0, .file = {}};
  EXPECT_EQ(with_contents(number), number);
  const std::string bad = folder.file("bad.csv", "asset,bps\nA,-1\n");
  EXPECT_THAT(fault(bad), HasSubstr("bad.csv:2"));
  for (const std::string& wrong :
       {bad, folder.file("binary.csv", std::string("h ;\x17\0\x01\n\0", 8))})
    try {
      with_contents({.number = 0.0, .file = wrong});
      FAIL() << wrong;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(wrong + ":"));
    }
}

}  // namespace
}  // namespace sharpen::trade
