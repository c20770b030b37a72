// What cleaning suspects: each rule on a panel made for it, and close to its bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calm_panels.hpp"

namespace sharpen::market {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Suspects, AreNoneInACalmMarket) {
  EXPECT_THAT(found_in(calm(20, 600)), IsEmpty());
  EXPECT_THAT(found_in(calm(1, 600)), IsEmpty());
  EXPECT_THAT(found_in(as_returns(calm(5, 600), PanelKind::returns), PanelKind::returns),
              IsEmpty());
}

TEST(Suspects, SplitsAreWholeRatiosThatStay) {
  for (const Index n : {1, 4, 30})
    for (const double ratio : {1.0 / 2, 1.0 / 3, 1.0 / 10, 1.0 / 50, 2.0, 5.0, 100.0}) {
      Panel panel = calm(n, 100);
      scale_from(panel, 60, n - 1, ratio);
      const Cleaned cleaned = clean(panel, {});
      ASSERT_THAT(found(cleaned), ElementsAre(fmt::format("T{} split {}", n - 1, date(panel, 60))))
          << ratio;
      const Finding& split = cleaned.findings[0];
      EXPECT_EQ(split.ratio, std::lround(std::max(ratio, 1.0 / ratio)));
      EXPECT_NEAR(split.size / ratio, 1.0, 0.06);
      EXPECT_EQ(split.column, n - 1);
      EXPECT_EQ(split.first_row, 60);
      EXPECT_EQ(split.last_row, 60);
      EXPECT_FALSE(split.may_be_real);
      EXPECT_THAT(split.done, HasSubstr("earlier prices by"));
    }
}

TEST(Suspects, ASplitMayComeInTheFirstOrLastRowsAndOverAGap) {
  for (const Index t : {1, 2, 98, 99}) {
    Panel panel = calm(5, 100);
    scale_from(panel, t, 2, 0.25);
    EXPECT_THAT(found_in(panel), ElementsAre("T2 split " + date(panel, t))) << t;
  }
  Panel panel = calm(5, 100);
  scale_from(panel, 50, 2, 0.25);
  at(panel, 49, 2) = at(panel, 48, 2) = kMissing;
  EXPECT_THAT(found_in(panel),
              ElementsAre("T2 split " + date(panel, 50), "T2 gap " + date(panel, 48)));
}

TEST(Suspects, AMoveThatTheMarketSharesIsNoSplit) {
  Panel panel = calm(12, 100);
  for (Index j = 0; j < 12; ++j) scale_from(panel, 60, j, 0.5);
  EXPECT_THAT(found_in(panel), IsEmpty());
  Panel two = calm(2, 100);
  for (Index j = 0; j < 2; ++j) scale_from(two, 60, j, 0.5);
  EXPECT_THAT(found_in(two), IsEmpty());
}

TEST(Suspects, AHalvedPriceThatComesBackIsAJumpAndNoSplit) {
  Panel panel = calm(12, 100);
  at(panel, 60, 3) *= 0.5;
  EXPECT_THAT(found_in(panel),
              ElementsAre("T3 jump " + date(panel, 60), "T3 jump " + date(panel, 61)));
}

TEST(Suspects, ACrashInARestlessMarketIsAskedAbout) {
  Panel panel = calm(12, 100);
  Random random(3);
  double level = 100.0;
  for (Index t = 0; t < 100; ++t)
    at(panel, t, 3) = (level *= std::exp(0.06 * (t % 2 == 0 ? 1 : -1) + 0.01 * random.normal()));
  scale_from(panel, 61, 3, std::exp(0.06) / 3.0);
  const Cleaned cleaned = clean(panel, {});
  ASSERT_THAT(found(cleaned), ElementsAre("T3 split " + date(panel, 61)));
  EXPECT_TRUE(cleaned.findings[0].may_be_real);
  EXPECT_THAT(cleaned.findings[0].question,
              StartsWith("a 3-for-1 split that the prices are not adjusted for? It may be a real "
                         "crash: the asset moves "));
}

TEST(Suspects, JumpsHaveNoWholeRatio) {
  for (const double factor : {1.0 / 1.9, 1.0 / 2.45, 2.45, 4.5, 7.5}) {
    Panel panel = calm(6, 100);
    scale_from(panel, 60, 1, factor);
    EXPECT_THAT(found_in(panel), ElementsAre("T1 jump " + date(panel, 60))) << factor;
  }
  Panel ordinary = calm(6, 100);
  scale_from(ordinary, 60, 1, 1.5);
  EXPECT_THAT(found_in(ordinary), IsEmpty());
}

TEST(Suspects, PrintsComeBackWithinAWeek) {
  for (const double factor : {10.0, 0.1, 100.0, 0.001})
    for (const Index days : {1, 2, 5}) {
      Panel panel = calm(6, 100);
      for (Index t = 60; t < 60 + days; ++t) at(panel, t, 1) *= factor;
      const Cleaned cleaned = clean(panel, {});
      ASSERT_THAT(found(cleaned), ElementsAre("T1 print " + date(panel, 60))) << factor << days;
      EXPECT_EQ(cleaned.findings[0].last_date, date(panel, 59 + days));
      EXPECT_NEAR(cleaned.findings[0].size / factor, 1.0, 0.06);
    }
}

TEST(Suspects, FrozenRunsAreTenEqualRows) {
  for (const Index run : {9, 10, 40}) {
    Panel panel = calm(6, 100);
    for (Index t = 30; t < 30 + run; ++t) at(panel, t, 4) = at(panel, 29, 4);
    const Cleaned cleaned = clean(panel, {});
    if (run < 10) {
      EXPECT_THAT(found(cleaned), IsEmpty());
      continue;
    }
    ASSERT_THAT(found(cleaned), ElementsAre("T4 frozen " + date(panel, 30)));
    EXPECT_EQ(cleaned.findings[0].size, static_cast<double>(run));
    EXPECT_EQ(cleaned.findings[0].last_date, date(panel, 29 + run));
  }
}

TEST(Suspects, HolidaysAreRowsWhereNearlyNobodyMoves) {
  for (const Index moving : {0, 4, 5}) {
    Panel panel = calm(12, 100);
    for (Index j = moving; j < 12; ++j) at(panel, 40, j) = at(panel, 39, j);
    if (moving == 5) {
      EXPECT_THAT(found_in(panel), IsEmpty());
    } else {
      EXPECT_THAT(found_in(panel), ElementsAre("holiday " + date(panel, 40))) << moving;
    }
  }
  Panel empty = calm(12, 100);  // a row without any price
  for (Index j = 0; j < 12; ++j) at(empty, 40, j) = kMissing;
  EXPECT_EQ(clean(empty, {}).suspects(), 1);
  Panel pair = calm(2, 100);
  for (Index j = 0; j < 2; ++j) at(pair, 40, j) = at(pair, 39, j);
  EXPECT_THAT(found_in(pair), IsEmpty());
}

TEST(Suspects, AFrozenAssetMakesNoHoliday) {
  Panel panel = calm(12, 100);
  for (Index j = 0; j < 11; ++j)
    for (Index t = 30; t < 60; ++t) at(panel, t, j) = at(panel, 29, j);
  const Cleaned cleaned = clean(panel, {});
  EXPECT_EQ(cleaned.findings.size(), 11u);
  for (const Finding& finding : cleaned.findings) EXPECT_EQ(finding.rule, Rule::frozen);
}

// Prices that go up and down by the same share every row, so that bounds can be hit closely.
Panel swinging(Index n, double share) {
  Panel panel = calm(n, 100);
  for (Index t = 0; t < 100; ++t)
    for (Index j = 0; j < n; ++j) at(panel, t, j) = t % 2 == 0 ? 100.0 : 100.0 * (1.0 + share);
  return panel;
}

std::vector<std::string> rules_in(const Panel& panel) {
  std::vector<std::string> out;
  for (const Finding& finding : clean(panel, {}).findings) out.emplace_back(name(finding.rule));
  return out;
}

TEST(Suspects, PrintsHaveTheBoundsThatAreDocumented) {
  const auto rules = [](double factor, Index days, double back) {
    Panel panel = swinging(3, 0.002);
    for (Index t = 60; t < 60 + days; ++t) at(panel, t, 1) *= factor;
    scale_from(panel, 60 + days, 1, back);
    return rules_in(panel);
  };
  EXPECT_THAT(rules(8.2, 2, 1.0), ElementsAre("print"));
  EXPECT_THAT(rules(7.8, 2, 1.0), ElementsAre("jump", "jump"));
  EXPECT_THAT(rules(10.0, 5, 1.0), ElementsAre("print"));
  EXPECT_THAT(rules(10.0, 6, 1.0), Not(Contains("print")));
  // A quarter of log 10 is log 1.78.
  EXPECT_THAT(rules(10.0, 2, 1.7), ElementsAre("print"));
  EXPECT_THAT(rules(10.0, 2, 1.85), Not(Contains("print")));
}

TEST(Suspects, JumpsHaveTheBoundsThatAreDocumented) {
  const auto rules = [](double share, double factor) {
    Panel panel = swinging(3, share);
    scale_from(panel, 60, 1, factor * (1.0 + share));  // row 59 is up
    return rules_in(panel);
  };
  // Swings of 4 % are 5.8 % as a deviation, of 5 % 7.2 %: ten times is exp 0.58 and exp 0.72.
  EXPECT_THAT(rules(0.04, 1.88), ElementsAre("jump"));
  EXPECT_THAT(rules(0.05, 1.88), IsEmpty());
  EXPECT_THAT(rules(0.2, 4.3), ElementsAre("jump")) << "beyond x4 whatever is usual";
  EXPECT_THAT(rules(0.2, 3.5), IsEmpty());
}

TEST(Suspects, AMarketThatFallsHalfAsFarExplainsAFall) {
  for (const double fall : {0.75, 0.65}) {
    Panel panel = swinging(12, 0.002);
    for (Index j = 0; j < 12; ++j) scale_from(panel, 60, j, j == 3 ? 0.5 : fall);
    // log 0.75 is less than half of log 0.5, log 0.65 is more.
    if (fall == 0.75) {
      const Cleaned cleaned = clean(panel, {});
      EXPECT_THAT(found(cleaned), ElementsAre("T3 split " + date(panel, 60)));
      EXPECT_TRUE(cleaned.findings[0].may_be_real);
      EXPECT_THAT(cleaned.findings[0].question, HasSubstr("the market moves -25.1 % that day"));
    } else {
      EXPECT_THAT(found_in(panel), IsEmpty());
    }
  }
}

TEST(Suspects, ASplitInARestlessAssetMayBeRealAndOneAfterAFreezeIsACorporateAction) {
  const auto question = [](double share, bool frozen) {
    Panel panel = swinging(3, share);
    for (Index t = 40; frozen && t < 60; ++t) at(panel, t, 1) = at(panel, 39, 1);
    scale_from(panel, 60, 1, (1.0 + share) / 3.0);  // row 59 is up
    const Cleaned cleaned = clean(panel, {});
    for (const Finding& finding : cleaned.findings)
      if (finding.rule == Rule::split) return finding.question;
    return std::string("none");
  };
  EXPECT_THAT(question(0.01, true),
              AllOf(HasSubstr("A corporate action is more likely than a move of the market: for 20 "
                              "rows before there was no change"),
                    Not(HasSubstr("It may be"))));
  EXPECT_THAT(question(0.025, false), HasSubstr("the asset moves 3.7 % in an ordinary period"));
  EXPECT_THAT(question(0.015, false), Not(HasSubstr("It may be")));
}

TEST(Suspects, AHolidayAmongTenAssetsAndAmongNine) {
  const auto rules = [](Index n, Index moving) {
    Panel panel = calm(n, 100);
    for (Index j = moving; j < n; ++j) at(panel, 40, j) = at(panel, 39, j);
    return rules_in(panel);
  };
  EXPECT_THAT(rules(10, 3), ElementsAre("holiday"));
  EXPECT_THAT(rules(10, 4), IsEmpty());
  EXPECT_THAT(rules(9, 0), ElementsAre("holiday"));
  EXPECT_THAT(rules(9, 1), IsEmpty());
  EXPECT_THAT(rules(3, 0), ElementsAre("holiday"));
}

TEST(Suspects, AreTheSameInReturns) {
  Panel panel = calm(6, 100);
  scale_from(panel, 60, 1, 1.0 / 3);
  at(panel, 20, 2) *= 10;
  for (Index t = 30; t < 45; ++t) at(panel, t, 4) = at(panel, 29, 4);
  for (const PanelKind kind : {PanelKind::returns, PanelKind::gross_returns})
    EXPECT_THAT(found_in(as_returns(panel, kind), kind),
                ElementsAre("T1 split " + date(panel, 60), "T2 print " + date(panel, 20),
                            "T4 frozen " + date(panel, 30)));
}

TEST(Suspects, AreFoundWhereNumbersAreExtreme) {
  Panel panel = calm(3, 50);
  at(panel, 20, 0) = 1e300;
  at(panel, 21, 0) = 1e-300;
  at(panel, 22, 1) = 5e-324;
  const Cleaned cleaned = clean(panel, {});
  EXPECT_GE(cleaned.suspects(), 2);
  Panel one_row{{"2024-01-02"}, {"A", "B"}, {1.0, kMissing}};
  EXPECT_THAT(found_in(one_row), ElementsAre("B no-value 2024-01-02"));
}

}  // namespace
}  // namespace sharpen::market
