// Cleaning: what each mode does, gaps and universes, and the suspects that the real data are known
// to hold.
#include "sharpen/market/cleaning.hpp"
#include "sharpen/base/error.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calm_panels.hpp"
#include "input_files.hpp"

namespace sharpen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

// ---- dirt

TEST(Cleaned, ListsTheFirstOfEachRuleAndCountsAll) {
  Panel panel = calm(3, 6000);
  for (Index t = 0; t < 6000; ++t)
    for (Index j = 0; j < 3; ++j) at(panel, t, j) = (t + j) % 2 == 0 ? 100.0 : 1000.0;
  for (const OnSuspect mode : {OnSuspect::report, OnSuspect::adjust, OnSuspect::drop_day}) {
    const Cleaned cleaned = clean(panel, {.on_suspect = mode});
    const Index prints = cleaned.found[index_of(Rule::print)].found;
    EXPECT_GT(prints, 8900);
    EXPECT_EQ(std::ranges::count(cleaned.findings, Rule::print, &Finding::rule), kMostFindings);
    EXPECT_EQ(cleaned.findings[999].ticker, "T0") << "the first ones";
    EXPECT_EQ(cleaned.suspects() - prints,
              static_cast<Index>(cleaned.findings.size()) - kMostFindings);
    EXPECT_THAT(cleaned.left_out(),
                ElementsAre(std::pair<std::string_view, Index>("print", prints - kMostFindings)));
    EXPECT_THAT(summary(cleaned, {}).back(),
                HasSubstr(fmt::format("and {} more", cleaned.suspects() - 5)));
  }
}

// ---- modes

class Modes : public ::testing::Test {
 protected:
  Modes() {
    panel_ = calm(8, 100);
    original_ = panel_;
  }
  Cleaned cleaned(OnSuspect mode) const { return clean(panel_, {.on_suspect = mode}); }
  Panel panel_, original_;
};

TEST_F(Modes, ReportChangesNothing) {
  scale_from(panel_, 60, 1, 0.5);
  at(panel_, 20, 2) = -1.0;
  EXPECT_EQ(cleaned(OnSuspect::report).panel, panel_);
}

TEST_F(Modes, AdjustDividesEarlierPricesByTheWholeRatio) {
  scale_from(panel_, 60, 1, 1.0 / 4);  // exact
  scale_from(panel_, 30, 2, 8.0);
  const Cleaned result = cleaned(OnSuspect::adjust);
  EXPECT_EQ(result.findings[0].done, "divides earlier prices by 4");
  EXPECT_EQ(result.findings[1].done, "multiplies earlier prices by 8");
  Panel expected = original_;
  scale_from(expected, 0, 1, 1.0 / 4);
  scale_from(expected, 0, 2, 8.0);
  EXPECT_EQ(result.panel, expected);
}

// In one pass, however many splits there are (tools/bounds). The products of such ratios, 3^k and
// 2^m, share no factor, and would not fit into a double.
TEST_F(Modes, AdjustsEveryPriceByAllTheSplitsAfterIt) {
  constexpr Index rows = 60000, between = 20;
  panel_ = calm(2, rows);
  const auto today = [](Index t) { return 100.0 + 0.01 * static_cast<double>(t % 7); };
  double level = 1.0;
  for (Index t = rows - 1; t >= 0; --t) {
    at(panel_, t, 1) = level * today(t);
    if (t % between == 0) level *= level < 1.0 ? 3.0 : 0.5;
  }
  const Cleaned result = cleaned(OnSuspect::adjust);
  EXPECT_EQ(result.found[index_of(Rule::split)].found, rows / between - 1);
  for (Index t = 0; t < rows; ++t)
    ASSERT_NEAR(result.panel.matrix()(t, 1) / today(t), 1.0, 1e-11) << t;
}

TEST_F(Modes, AdjustCarriesTheLastPriceOverPrintsAndPricesThatAreNone) {
  at(panel_, 20, 1) *= 10;
  at(panel_, 30, 2) = 0.0;
  at(panel_, 31, 2) = -5.0;
  Panel expected = original_;
  at(expected, 20, 1) = at(expected, 19, 1);
  at(expected, 30, 2) = at(expected, 31, 2) = at(expected, 29, 2);
  EXPECT_EQ(cleaned(OnSuspect::adjust).panel, expected);
}

TEST_F(Modes, DropAssetNamesTheFirstReason) {
  scale_from(panel_, 60, 1, 0.5);
  at(panel_, 20, 1) *= 10;
  at(panel_, 30, 5) = 0.0;
  const Cleaned result = cleaned(OnSuspect::drop_asset);
  ASSERT_EQ(result.dropped.size(), 2u);
  EXPECT_EQ(result.dropped[0].ticker, "T1");
  EXPECT_EQ(result.dropped[0].reason, "print on " + date(panel_, 20));
  EXPECT_EQ(result.dropped[1].ticker, "T5");
  EXPECT_EQ(result.dropped[1].reason, "nonpositive on " + date(panel_, 30));
  EXPECT_THAT(result.panel.tickers, ElementsAre("T0", "T2", "T3", "T4", "T6", "T7"));
  EXPECT_EQ(result.panel.rows(), 100);
}

TEST_F(Modes, DropDayLeavesOutRowsThatAreWrongInThemselves) {
  at(panel_, 20, 1) *= 10;
  at(panel_, 30, 2) = 0.0;
  for (Index j = 0; j < 8; ++j) at(panel_, 40, j) = at(panel_, 39, j);
  const Cleaned result = cleaned(OnSuspect::drop_day);
  EXPECT_THAT(result.dropped_days,
              ElementsAre(date(panel_, 20), date(panel_, 30), date(panel_, 40)));
  EXPECT_EQ(result.panel.rows(), 97);
  // The next return spans the row: the prices beside it are as they were.
  EXPECT_EQ(result.panel.matrix()(20, 1), original_.matrix()(21, 1));
  EXPECT_EQ(result.panel.matrix()(19, 1), original_.matrix()(19, 1));
  EXPECT_THAT(found_in(result.panel), IsEmpty());
}

TEST_F(Modes, DropDayTakesTheMoveOfASplitOutOfEveryReturn) {
  scale_from(panel_, 60, 1, 0.5);
  const Panel before = simple_returns(panel_);
  const Cleaned result = cleaned(OnSuspect::drop_day);
  EXPECT_THAT(result.dropped_days, ElementsAre(date(panel_, 60)));
  const Panel after = simple_returns(result.panel);
  ASSERT_EQ(after.rows(), before.rows() - 1);
  for (Index t = 0; t < after.rows(); ++t)
    for (Index j = 0; j < 8; ++j)
      EXPECT_NEAR(after.matrix()(t, j), before.matrix()(t < 59 ? t : t + 1, j), 1e-14);
}

// Leaving out the row for the print alone would move the split into the next return.
TEST_F(Modes, DropDayTakesTheMoveOutOfTheReturnThatSpansItsRow) {
  for (const bool print_first : {true, false}) {
    panel_ = original_;
    const Index printed = print_first ? 1 : 6, split = print_first ? 6 : 1;
    at(panel_, 60, printed) *= 10;
    scale_from(panel_, 60, split, 0.5);
    const Cleaned result = cleaned(OnSuspect::drop_day);
    EXPECT_THAT(result.dropped_days, ElementsAre(date(panel_, 60), date(panel_, 61)));
    const Panel before = simple_returns(original_), after = simple_returns(result.panel);
    for (Index t = 0; t < after.rows(); ++t)
      for (Index j = 0; j < 8; ++j)
        EXPECT_NEAR(after.matrix()(t, j), before.matrix()(t < 59 ? t : t + 2, j), 1e-14);
    EXPECT_THAT(found_in(result.panel), IsEmpty());
  }
  // Rows left out one after the other: the move waits for the next price.
  panel_ = original_;
  at(panel_, 60, 1) *= 10;
  at(panel_, 61, 1) *= 10;
  scale_from(panel_, 60, 6, 0.5);
  EXPECT_THAT(cleaned(OnSuspect::drop_day).dropped_days,
              ElementsAre(date(panel_, 60), date(panel_, 61), date(panel_, 62)));
  // A row of its own needs no other.
  panel_ = original_;
  at(panel_, 59, 1) *= 10;
  scale_from(panel_, 60, 6, 0.5);
  EXPECT_THAT(cleaned(OnSuspect::drop_day).dropped_days,
              ElementsAre(date(panel_, 59), date(panel_, 60)));
}

TEST_F(Modes, DropDayLeavesOutTheReturnsOfFrozenRowsForEverybody) {
  for (Index t = 30; t < 45; ++t) at(panel_, t, 4) = at(panel_, 29, 4);
  const Panel before = simple_returns(panel_);
  const Cleaned result = cleaned(OnSuspect::drop_day);
  EXPECT_EQ(result.dropped_days.size(), 15u);
  const Panel after = simple_returns(result.panel);
  ASSERT_EQ(after.rows(), before.rows() - 15);
  for (Index t = 0; t < after.rows(); ++t)
    for (Index j = 0; j < 8; ++j)
      EXPECT_NEAR(after.matrix()(t, j), before.matrix()(t < 29 ? t : t + 15, j), 1e-13);
  EXPECT_EQ(result.panel.matrix()(84, 4), panel_.matrix()(99, 4)) << "the latest prices stay";
}

TEST_F(Modes, DropDayLeavesNoAssetWithoutAnyPrice) {
  // T7 has one price, on the day of T1's split.
  for (Index t = 0; t < 100; ++t)
    if (t != 60) at(panel_, t, 7) = kMissing;
  scale_from(panel_, 60, 1, 0.5);
  const Cleaned result =
      clean(panel_, {.universe = Universe::available, .on_suspect = OnSuspect::drop_day});
  ASSERT_EQ(result.dropped.size(), 1u);
  EXPECT_EQ(result.dropped[0].ticker, "T7");
  EXPECT_EQ(result.dropped[0].reason, "no value in these dates");
}

TEST_F(Modes, DropDayLeavesThePricesOfAssetsThatAreNotThereThatDay) {
  for (Index t = 50; t < 100; ++t) at(panel_, t, 3) = kMissing;
  for (Index t = 0; t < 61; ++t) at(panel_, t, 4) = kMissing;
  scale_from(panel_, 60, 1, 0.5);
  const Cleaned result =
      clean(panel_, {.universe = Universe::available, .on_suspect = OnSuspect::drop_day});
  ASSERT_EQ(result.panel.rows(), 99);
  for (Index t = 0; t < 50; ++t) EXPECT_EQ(result.panel.matrix()(t, 3), original_.matrix()(t, 3));
  for (Index t = 60; t < 99; ++t)
    EXPECT_EQ(result.panel.matrix()(t, 4), original_.matrix()(t + 1, 4));
}

TEST_F(Modes, AdjustTreatsSeveralSuspectsOfOneAssetTogether) {
  scale_from(panel_, 60, 1, 1.0 / 4);
  scale_from(panel_, 30, 1, 2.0);  // a reverse split
  at(panel_, 20, 1) *= 100;
  at(panel_, 45, 1) = 0.0;
  at(panel_, 80, 1) *= 0.01;
  Panel expected = original_;
  scale_from(expected, 0, 1, 0.5);
  for (const Index t : {20, 45, 80}) at(expected, t, 1) = at(expected, t - 1, 1);
  const Cleaned result = cleaned(OnSuspect::adjust);
  EXPECT_EQ(result.panel, expected);
  EXPECT_EQ(result.suspects(), 5);
}

TEST_F(Modes, AdjustCarriesOverAPrintWhateverTheLongestGap) {
  for (Index t = 20; t < 23; ++t) at(panel_, t, 1) *= 10;
  at(panel_, 21, 1) = kMissing;
  const Cleaned one = clean(panel_, {.max_gap = 1, .on_suspect = OnSuspect::adjust});
  EXPECT_THAT(one.dropped, IsEmpty());
  for (Index t = 20; t < 23; ++t) EXPECT_EQ(one.panel.matrix()(t, 1), original_.matrix()(19, 1));
  EXPECT_EQ(one.panel.matrix()(23, 1), original_.matrix()(23, 1));
  const Cleaned none = clean(panel_, {.max_gap = 0, .on_suspect = OnSuspect::adjust});
  ASSERT_EQ(none.dropped.size(), 1u);
  EXPECT_EQ(none.dropped[0].reason, "gap of 1 row from " + date(panel_, 21));
}

TEST_F(Modes, AdjustOfAPrintInReturnsLeavesTheOtherReturnsAlone) {
  at(panel_, 20, 2) *= 10;
  Panel returns = as_returns(panel_, PanelKind::returns);
  const Cleaned result =
      clean(returns, {.kind = PanelKind::returns, .on_suspect = OnSuspect::adjust});
  const Panel expected = simple_returns(original_);
  EXPECT_EQ(result.panel.matrix()(19, 2), 0.0);
  EXPECT_NEAR(1.0 + result.panel.matrix()(20, 2),
              (1.0 + expected.matrix()(19, 2)) * (1.0 + expected.matrix()(20, 2)), 1e-13);
  for (const Index t : {18, 21}) EXPECT_EQ(result.panel.matrix()(t, 2), returns.matrix()(t, 2));
  // A missing return on the way is none.
  at(panel_, 21, 2) *= 10;
  returns = as_returns(panel_, PanelKind::returns);
  at(returns, 20, 2) = kMissing;
  const Cleaned holed =
      clean(returns, {.kind = PanelKind::returns, .on_suspect = OnSuspect::adjust});
  EXPECT_EQ(holed.panel.matrix()(20, 2), 0.0);
  EXPECT_NEAR(1.0 + holed.panel.matrix()(21, 2),
              (1.0 + returns.matrix()(19, 2)) * (1.0 + returns.matrix()(21, 2)), 1e-13);
}

TEST_F(Modes, ErrorNamesTheFirstSuspect) {
  EXPECT_EQ(error_of([&] { return cleaned(OnSuspect::error); }), "");
  scale_from(panel_, 60, 3, 0.5);
  at(panel_, 30, 5) = 0.0;
  EXPECT_EQ(error_of([&] { return cleaned(OnSuspect::error); }),
            "the panel has 2 suspects, the first of them: ticker T3, " + date(panel_, 60) +
                ", split (a 2-for-1 split that the prices are not adjusted for?); look at the list "
                "of sharpen doctor, then choose another --on-suspect, or leave out tickers or "
                "dates");
}

TEST_F(Modes, HandleReturnsAsTheyHandlePrices) {
  scale_from(panel_, 60, 1, 1.0 / 3);
  at(panel_, 20, 2) *= 10;
  for (const PanelKind kind : {PanelKind::returns, PanelKind::gross_returns})
    for (const OnSuspect mode : {OnSuspect::report, OnSuspect::adjust, OnSuspect::drop_asset}) {
      const Panel direct = simple_returns(clean(panel_, {.on_suspect = mode}).panel);
      const Panel by_returns = simple_returns(
          clean(as_returns(panel_, kind), {.kind = kind, .on_suspect = mode}).panel, kind);
      ASSERT_EQ(direct.tickers, by_returns.tickers);
      ASSERT_EQ(direct.dates, by_returns.dates);
      for (std::size_t i = 0; i < direct.values.size(); ++i)
        EXPECT_NEAR(direct.values[i], by_returns.values[i],
                    1e-12 * (1 + std::abs(direct.values[i])));
    }
  const Cleaned dropped = clean(as_returns(panel_, PanelKind::returns),
                                {.kind = PanelKind::returns, .on_suspect = OnSuspect::drop_day});
  EXPECT_THAT(dropped.dropped_days,
              ElementsAre(date(panel_, 20), date(panel_, 21), date(panel_, 60)));
}

TEST(NonPositive, PricesHaveNoReturns) {
  Panel panel = calm(3, 30);
  at(panel, 12, 1) = -2.5;
  EXPECT_EQ(error_of([&] { return simple_returns(panel); }),
            "the price -2.5 of ticker T1 on " + date(panel, 12) +
                " is not positive and has no return; correct it, or give --on-suspect adjust, "
                "drop-asset or drop-day");
}

// ---- gaps and universes

// One asset whose prices are given, beside one that is complete.
Panel with_gaps(const std::vector<double>& prices) {
  Panel panel = calm(2, static_cast<Index>(prices.size()));
  for (std::size_t t = 0; t < prices.size(); ++t) at(panel, static_cast<Index>(t), 1) = prices[t];
  return panel;
}

constexpr double gap = kMissing;

TEST(Gaps, InsideCarryTheLastPriceUpToTheBound) {
  const Panel panel = with_gaps({1, gap, 1.5, gap, gap, 2, 3});
  const Cleaned two = clean(panel, {.max_gap = 2});
  for (Index t = 0; t < 7; ++t)
    EXPECT_EQ(two.panel.matrix()(t, 1),
              (std::vector<double>{1, 1, 1.5, 1.5, 1.5, 2, 3})[static_cast<std::size_t>(t)]);
  ASSERT_EQ(two.findings.size(), 1u);
  EXPECT_EQ(two.findings[0].rule, Rule::gap);
  EXPECT_EQ(two.findings[0].size, 3.0);
  EXPECT_EQ(two.findings[0].first_date, panel.dates[1]);
  EXPECT_EQ(two.findings[0].last_date, panel.dates[4]);
  EXPECT_EQ(two.findings[0].done, "carries the last price over 2 gaps");
  const Cleaned one = clean(panel, {.max_gap = 1});
  EXPECT_THAT(one.panel.tickers, ElementsAre("T0"));
  ASSERT_EQ(one.dropped.size(), 1u);
  EXPECT_EQ(one.dropped[0].reason, "gap of 2 rows from " + panel.dates[3]);
  EXPECT_THAT(clean(panel, {.max_gap = 0}).panel.tickers, ElementsAre("T0"));
}

// Nobody knows at its beginning how long a gap will be: up to the bound all look alike.
TEST(Gaps, ThatAreLongLeaveAndReturnWhereTheUniverseIsWhatIsAvailable) {
  const Panel panel = with_gaps({1, 2, gap, gap, gap, gap, 3, 4, gap, 5});
  const auto settings = [](Index max_gap) {
    return CleaningSettings{
        .universe = Universe::available, .max_gap = max_gap, .on_suspect = OnSuspect::report};
  };
  const auto column = [](const Cleaned& cleaned) {
    std::vector<double> out;
    for (Index t = 0; t < cleaned.panel.rows(); ++t) out.push_back(cleaned.panel.matrix()(t, 1));
    return out;
  };
  const Cleaned cleaned = clean(panel, settings(2));
  EXPECT_THAT(cleaned.dropped, IsEmpty());
  EXPECT_THAT(column(cleaned), ElementsAre(1, 2, 2, 2, IsNan(), IsNan(), 3, 4, 4, 5));
  const auto found_gap = std::ranges::find(cleaned.findings, Rule::gap, &Finding::rule);
  ASSERT_NE(found_gap, cleaned.findings.end());
  EXPECT_EQ(found_gap->done, "leaves after " + panel.dates[1] + ", returns on " + panel.dates[6]);
  EXPECT_EQ(cleaned.halts.runs, (std::vector<Halt>{{1, 2, 3, true}, {1, 8, 8, true}}));
  const Panel ended = with_gaps({1, 2, gap, gap, gap, gap, gap, gap, gap, gap});
  const std::vector<double> end = column(clean(ended, settings(2)));
  EXPECT_THAT(std::vector<double>(end.begin(), end.begin() + 6),
              ElementsAre(1, 2, 2, 2, IsNan(), IsNan()));
  EXPECT_THAT(column(clean(panel, settings(0))),
              ElementsAre(1, 2, IsNan(), IsNan(), IsNan(), IsNan(), 3, 4, IsNan(), 5));
}

TEST(Gaps, AtTheEndsDropTheAssetUnlessTheUniverseIsWhatIsAvailable) {
  const Panel panel = with_gaps({gap, gap, 2, gap, 3, gap, gap});
  const Cleaned complete = clean(panel, {.max_gap = 1});
  EXPECT_THAT(complete.panel.tickers, ElementsAre("T0"));
  EXPECT_EQ(complete.dropped[0].reason, "starts on " + panel.dates[2]);
  EXPECT_THAT(found(complete),
              ElementsAre("T1 starts " + panel.dates[0], "T1 gap " + panel.dates[3],
                          "T1 ends " + panel.dates[5]));
  const Cleaned available = clean(panel, {.universe = Universe::available, .max_gap = 1});
  EXPECT_THAT(available.dropped, IsEmpty());
  EXPECT_EQ(available.findings[0].done, "enters on " + panel.dates[2]);
  EXPECT_EQ(available.findings[2].done, "leaves after " + panel.dates[4]);
  const Panel returns = simple_returns(available.panel);
  std::vector<double> column;
  for (Index t = 0; t < returns.rows(); ++t) column.push_back(returns.matrix()(t, 1));
  EXPECT_THAT(column, ElementsAre(IsNan(), IsNan(), 0.0, 0.5, 0.0, IsNan()));
}

// A last cell that is not there yet, or a first one that never was, drops nothing.
TEST(Gaps, AtTheEdgesOfThePanelAreCarriedUpToTheBound) {
  const Panel panel = with_gaps({gap, 1, 1.1, 1.2, 1.3, gap, gap});
  const Cleaned cleaned = clean(panel, {.max_gap = 2});
  ASSERT_THAT(cleaned.dropped, IsEmpty());
  for (Index t = 0; t < 7; ++t)
    EXPECT_EQ(cleaned.panel.matrix()(t, 1),
              (std::vector<double>{1, 1, 1.1, 1.2, 1.3, 1.3, 1.3})[static_cast<std::size_t>(t)]);
  EXPECT_EQ(cleaned.findings[0].done, "carries the first price back");
  EXPECT_EQ(cleaned.findings[1].done, "carries the last price");
  EXPECT_EQ(cleaned.carried_cells, 3);
  EXPECT_EQ(cleaned.halts.runs, (std::vector<Halt>{{1, 0, 0, true}, {1, 5, 6, true}}));
  EXPECT_EQ(clean(panel, {.max_gap = 1}).dropped[0].reason, "ends on " + panel.dates[4]);
  EXPECT_EQ(clean(panel, {.max_gap = 0}).dropped[0].reason, "starts on " + panel.dates[1]);
  // What is available has not begun before its first price, but may be waited for at the end.
  const Cleaned available = clean(panel, {.universe = Universe::available, .max_gap = 2});
  EXPECT_THAT(available.panel.matrix()(0, 1), IsNan());
  EXPECT_EQ(available.panel.matrix()(6, 1), 1.3);
}

TEST(Gaps, OfReturnsHaveNoReturn) {
  Panel panel{{"2024-01", "2024-02", "2024-03"}, {"A"}, {0.1, gap, 0.2}};
  EXPECT_THAT(clean(panel, {.kind = PanelKind::returns}).panel.values, ElementsAre(0.1, 0.0, 0.2));
  panel.values = {1.1, gap, 1.2};
  EXPECT_THAT(clean(panel, {.kind = PanelKind::gross_returns}).panel.values,
              ElementsAre(1.1, 1.0, 1.2));
}

TEST(Gaps, MayLeaveNothing) {
  const Panel panel{{"2024-01-02", "2024-01-03"}, {"A", "B"}, {gap, gap, gap, 2}};
  const Cleaned cleaned = clean(panel, {.max_gap = 0});
  EXPECT_EQ(cleaned.panel.n(), 0);
  EXPECT_EQ(cleaned.dropped[0].reason, "no value in these dates");
  EXPECT_EQ(cleaned.dropped[1].reason, "starts on 2024-01-03");
  EXPECT_EQ(clean(panel, {.universe = Universe::available}).panel.n(), 1);
}

TEST(Cleaning, RefusesANegativeGap) {
  EXPECT_EQ(error_of([] { return clean(calm(2, 5), {.max_gap = -1}); }),
            "max-gap = -1 is outside [0, 10000]");
}

TEST(Cleaning, SumsUpInAFewLines) {
  Panel panel = with_gaps({gap, 2, 2.1, 2.2, 2.1, 2.2, 2.3});
  scale_from(panel, 4, 0, 0.5);
  EXPECT_THAT(
      plain(summary(clean(panel, {.max_gap = 0}), {})),
      ElementsAre("1 of 2 assets are left out, decided with hindsight: T1 (starts on 2000-01-02)",
                  "1 suspect (on-suspect = careful: halt 1, decided with hindsight; sharpen "
                  "doctor lists them): T0 split 2000-01-05"));
  EXPECT_THAT(summary(clean(calm(3, 50), {}), {}), IsEmpty());
}

// Any panel: the result keeps its promises in every mode.
RC_GTEST_PROP(Cleaning, LeavesACompletePanelOrOneWithEndsOnly, ()) {
  const auto n = *rc::gen::inRange<Index>(1, 6);
  const auto rows = *rc::gen::inRange<Index>(1, 40);
  Panel panel = calm(n, rows);
  for (double& value : panel.values) {
    const int fate = *rc::gen::inRange(0, 20);
    if (fate < 4) value = kMissing;
    if (fate == 4) value *= 10;
    if (fate == 5) value = 100;
    if (fate == 6) value = -value;
    if (fate == 7) value /= 3;
  }
  CleaningSettings settings;
  settings.universe = *rc::gen::elementOf(std::vector{Universe::complete, Universe::available});
  settings.max_gap = *rc::gen::inRange<Index>(0, 4);
  settings.on_suspect = *rc::gen::elementOf(std::vector<SuspectRules>{{},
                                                                      OnSuspect::report,
                                                                      OnSuspect::adjust,
                                                                      OnSuspect::missing,
                                                                      OnSuspect::halt,
                                                                      OnSuspect::drop_asset,
                                                                      OnSuspect::drop_day});
  const Cleaned cleaned = clean(panel, settings);
  const Panel& out = cleaned.panel;
  RC_ASSERT(out.values.size() == out.dates.size() * out.tickers.size());
  RC_ASSERT(out.tickers.size() + cleaned.dropped.size() == panel.tickers.size());
  RC_ASSERT(out.dates.size() + cleaned.dropped_days.size() == panel.dates.size());
  for (Index j = 0; j < out.n(); ++j) {
    for (Index t = 0; t < out.rows(); ++t) {
      const bool missing = std::isnan(out.matrix()(t, j));
      RC_ASSERT(!missing || settings.universe == Universe::available);
      const bool may_be_negative = settings.on_suspect == SuspectRules(OnSuspect::report);
      RC_ASSERT(missing || may_be_negative || out.matrix()(t, j) > 0.0);
    }
  }
}

// ---- real data

class RealData : public ::testing::Test {
 protected:
  Cleaned cleaned(const char* file, const std::string& from = "0001") {
    Panel panel = read_panel(real_data(file), PanelKind::prices, Cells::raw);
    return clean(select_dates(panel, from, std::nullopt), {});
  }
  static std::vector<std::string> found_by(const Cleaned& cleaned, Rule rule) {
    std::vector<std::string> out;
    for (const Finding& finding : cleaned.findings)
      if (finding.rule == rule)
        out.push_back(fmt::format("{} {} {:.0f}", finding.ticker, finding.first_date,
                                  finding.size < 1 ? 1 / finding.size : finding.size));
    return out;
  }
};

TEST_F(RealData, NikkeiHasExactlyThreeSplits) {
  SHARPEN_SKIP_WITHOUT(real_data("nikkei225_2014_2025.csv"));
  const Cleaned nikkei = cleaned("nikkei225_2014_2025.csv");
  EXPECT_THAT(found_by(nikkei, Rule::split),
              ElementsAre("3697 2025-01-22 15", "9009 2024-12-24 3", "9147 2024-12-24 3"));
  EXPECT_EQ(nikkei.suspects(), 3);
  EXPECT_EQ(nikkei.panel.n(), 213);
  EXPECT_EQ(nikkei.dropped.size(), 11u);
}

TEST_F(RealData, FtseHasACrashThatLooksLikeASplitAndFrozenPrices) {
  SHARPEN_SKIP_WITHOUT(real_data("ftse100_2000_2023.csv"));
  const Cleaned ftse = cleaned("ftse100_2000_2023.csv");
  const auto crash = std::find_if(ftse.findings.begin(), ftse.findings.end(), [](const Finding& f) {
    return f.ticker == "NWG.L" && f.first_date == "2009-01-19";
  });
  ASSERT_NE(crash, ftse.findings.end());
  EXPECT_TRUE(crash->may_be_real);
  EXPECT_THAT(crash->question, HasSubstr("It may be a real crash"));
  EXPECT_THAT(found_by(ftse, Rule::frozen), ::testing::Contains("BDEV.L 2001-10-04 110"));
  EXPECT_EQ(ftse.panel.n(), 64);  // the 29 missing cells are short gaps
  const Cleaned late = cleaned("ftse100_2000_2023.csv", "2010");
  EXPECT_EQ(late.suspects(), 2);
  EXPECT_THAT(found_by(late, Rule::holiday), ElementsAre(" 2011-04-29 21", " 2017-07-11 6"));
}

TEST_F(RealData, AreJudgedAsTheyAreKnown) {
  SHARPEN_SKIP_WITHOUT(real_data("sp500_20_1990_2022.csv"));
  const Cleaned sp500 = cleaned("sp500_20_1990_2022.csv");
  EXPECT_THAT(found_by(sp500, Rule::frozen), ::testing::Contains("RRC 1990-01-03 68"));
  EXPECT_EQ(sp500.panel.n(), 20);
  SHARPEN_SKIP_WITHOUT(real_data("us_liquid_2016_2025.csv"));
  const Cleaned us = cleaned("us_liquid_2016_2025.csv");
  EXPECT_THAT(found_by(us, Rule::frozen), ::testing::Contains("QUBT 2016-01-05 286"));
  EXPECT_THAT(found_by(us, Rule::print), ElementsAre("QUBT 2018-07-03 200"));
  EXPECT_THAT(found_by(us, Rule::split), ::testing::Contains("QXO 2024-07-30 5"));
  std::set<std::string> assets;
  for (const Finding& finding : us.findings) assets.insert(finding.ticker);
  EXPECT_THAT(assets, ElementsAre("IBRX", "LUMN", "MARA", "PCG", "QUBT", "QXO"));
}

}  // namespace
}  // namespace sharpen::market
