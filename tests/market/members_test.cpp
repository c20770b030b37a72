// Who is a member when: against the same in plain words, and what a file must not say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sharpen/base/error.hpp"
#include "sharpen/market/members.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kDates = {"2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07"};
const std::vector<std::string> kTickers = {"A", "B"};

std::vector<char> states(const std::string& text, const std::vector<std::string>& dates = kDates) {
  return MemberBook(text).states(dates, kTickers, {});
}

std::string message(const std::string& text) {
  try {
    const MemberBook book(text);
    book.states(kDates, kTickers, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Members, CountFromTheirDateOnUntilTheyLeave) {
  // Rows: before the first date, then at the end of each.
  const std::vector<char> expected = {1, 0, 1, 0, 1, 1, 0, 1, 1, 1};
  EXPECT_EQ(states("date,ticker,member\n2019-12-31,A,in\n2020-01-03,B,in\n2020-01-04,A,out\n"
                   "2020-01-07,A,in\n"),
            expected);
  EXPECT_EQ(states("2020-01-07,A,IN\n2019-12-31,A,in\n2020-01-03,B,in\n2020-01-04,A,out\n"),
            expected)
      << "without a header, in any order";
  EXPECT_EQ(
      states("what;symbol;date\nin;A;20191231\nin;B;20200103\nout;A;20200104\nin;A;20200107\n"),
      expected)
      << "columns in any order";
  EXPECT_EQ(states("date,A,B\n2019-12-31,1,0\n2020-01-03,1,1\n2020-01-05,0,1\n2020-01-07,1,1\n"),
            expected)
      << "as states";
}

TEST(Members, MayBeCalledInOrOut) {
  const MemberBook book("date,OUT,IN\n2019-12-31,1,0\n2020-01-03,0,1\n");
  EXPECT_EQ(book.states(kDates, std::vector<std::string>{"IN", "OUT"}, {}),
            (std::vector<char>{0, 1, 0, 1, 1, 0, 1, 0, 1, 0}));
}

TEST(Members, SayInOrOut) {
  for (const char* file :
       {"2020-01-02,A,maybe\n2020-01-03,B,in\n", "date,ticker,member\n2020-01-02,A,maybe\n"})
    EXPECT_THAT(message(file), HasSubstr("\"maybe\" says neither that A joins nor that it leaves: "
                                         "write in or out"))
        << file;
}

TEST(Members, OfMonthsCountAmongDaysWhenTheMonthIsOver) {
  EXPECT_EQ(states("2020-01,A,in\n2020-02,A,out\n",
                   {"2019-12-31", "2020-01-02", "2020-01-31", "2020-02-03", "2020-03-02"}),
            (std::vector<char>{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(
      states("date,A,B\n2019-12,0,1\n2020-01,1,0\n", {"2020-01-30", "2020-01-31", "2020-02-03"}),
      (std::vector<char>{0, 1, 0, 1, 0, 1, 1, 0}))
      << "as states";
  EXPECT_EQ(states("2020-01-20,A,in\n", {"2019-12", "2020-01"}),
            (std::vector<char>{0, 0, 0, 0, 1, 0}))
      << "known at the end of the month";
}

TEST(Members, AreTheSameInPlainWords) {
  std::mt19937 random(5);
  std::vector<std::string> dates, tickers;
  for (int t = 0; t < 60; ++t)
    dates.push_back(fmt::format("2021-{:02}-{:02}", 1 + t / 28, 1 + t % 28));
  for (int j = 0; j < 7; ++j) tickers.push_back(fmt::format("T{}", j));
  for (int round = 0; round < 50; ++round) {
    // Every day the state of a ticker changes with one chance in eight.
    std::vector<std::string> lines;
    std::map<std::string, std::map<std::string, bool>> by_day;  // date, ticker: the state
    std::map<std::string, bool> now;
    for (const std::string& date : dates)
      for (const std::string& ticker : tickers) {
        if (random() % 8 == 0) {
          now[ticker] = !now[ticker];
          lines.push_back(fmt::format("{},{},{}", date, ticker, now[ticker] ? "in" : "out"));
        }
        by_day[date][ticker] = now[ticker];
      }
    std::shuffle(lines.begin(), lines.end(), random);
    std::string text = "date,ticker,change\n";
    for (const std::string& line : lines) text += line + "\n";
    const std::vector<char> found = MemberBook(text).states(dates, tickers, {});
    for (std::size_t t = 0; t < dates.size(); ++t)
      for (std::size_t j = 0; j < tickers.size(); ++j)
        ASSERT_EQ(found[(t + 1) * tickers.size() + j] != 0, by_day[dates[t]][tickers[j]]);
    // As a panel of states.
    Panel wide{dates, tickers, {}};
    for (const std::string& date : dates)
      for (const std::string& ticker : tickers) wide.values.push_back(by_day[date][ticker] ? 1 : 0);
    EXPECT_EQ(MemberBook(panel_csv(wide)).states(dates, tickers, {}), found);
  }
}

TEST(Members, MustJoinAndLeaveInTurn) {
  EXPECT_EQ(message("2020-01-02,A,in\n2020-01-06,A,in\n"),
            "members:2: \"A\" joins on 2020-01-06 and is a member since 2020-01-02 (members:1): "
            "memberships overlap; add the line on which it left in between, or take one out");
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01-03,A,out\n2020-01-06,A,out\n"),
              HasSubstr("members:3: \"A\" leaves on 2020-01-06 and has left on 2020-01-03"));
  EXPECT_THAT(message("2020-01-02,A,out\n"), HasSubstr("has not joined before"));
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01-02,A,out\n"),
              HasSubstr("members:2: \"A\" has two lines on 2020-01-02, this one and members:1"));
}

TEST(Members, RefuseWhatTheyCannotRead) {
  EXPECT_THAT(message("2020-01-02,A,in\n2020-02-30,B,in\n"),
              HasSubstr("members:2: \"2020-02-30\" is not in the calendar"));
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01,B,in\n"), HasSubstr("write all alike"));
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01-03,B,maybe\n"), HasSubstr("write in or out"));
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01-03,B\n"), HasSubstr("members:2: 2 fields"));
  EXPECT_THAT(message("2020-01-02,A,in\n2020-01-03,,in\n"), HasSubstr("is empty"));
  EXPECT_THAT(message("date,A,B\n2020-01-02,1,0.5\n"),
              HasSubstr("members: 0.5 for ticker B on 2020-01-02; write 1 where"));
  EXPECT_THAT(message("date,A,B\n2020-01-02,1,\n"), HasSubstr("no value for ticker B"));
  EXPECT_THAT(message("2020-01-02,X,in\n2020-01-02,Y,in\n"),
              HasSubstr("members is about other tickers: none of its own, such as \"X\", is in the "
                        "panel, whose names are A, B"));
  try {
    const MemberBook book("no/such/file.csv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("members = no/such/file.csv is no file that is there"));
  }
}

TEST(Members, SayWhatTheyLeaveOut) {
  const MemberBook book("2020-01-02,A,in\n2020-01-02,GONE,in\n");
  const std::vector<std::string> found = book.warnings(kDates, kTickers, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0], HasSubstr("1 of the 2 members of members has no prices here (GONE)"));
  EXPECT_THAT(found[1], HasSubstr("1 of 2 assets is never a member by members"));
  const std::vector<std::string> dropped = {"GONE"};
  EXPECT_EQ(book.warnings(kDates, kTickers, dropped).size(), 1u) << "it was left out of the panel";
}

TEST(Members, MustBeKnownOnTheFirstDecision) {
  const MemberBook book("2020-01-06,A,in\n");
  const std::vector<char> all = book.states(kDates, kTickers, {});
  const auto refused = [&](std::size_t row) {
    try {
      book.check_first(kDates[row], std::span(all).subspan((row + 1) * 2, 2));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(1), HasSubstr("says nothing before 2020-01-06, and the first decision is "
                                    "made at the end of 2020-01-03"));
  EXPECT_EQ(refused(2), "");
  const std::vector<char> nobody = {0, 0};
  EXPECT_THROW(book.check_first(kDates[3], nobody), InputError);
}

}  // namespace
}  // namespace sharpen::market
