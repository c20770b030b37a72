// Decisions once they are made: ratios, panels that grow or have been cleaned before, and what is
// said of decisions that find nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calm_panels.hpp"
#include "decided_panels.hpp"
#include "input_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/decisions.hpp"

namespace sharpen::market {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What somebody decided with a ratio is done, however small: an ordinary move may hide it.
TEST(Ratios, ThatSomebodyDecidedOnAreDividedOut) {
  for (const double ratio : {1.03, 1.05, 1.1, 1.25, 2.5, 0.4, 0.97}) {
    Panel panel = calm(30, 300);
    const Panel original = panel;
    std::string text;
    for (Index j = 0; j < 30; ++j) {
      const Index day = 40 + 7 * j;
      for (Index t = 0; t < day; ++t) at(panel, t, j) *= ratio;
      text += decision("", fmt::format("T{}", j), date(panel, day), "adjust",
                       fmt::format("ratio = {}", ratio));
    }
    const Cleaned once = decided(panel, text);
    EXPECT_THAT(differences(once.panel, original), IsEmpty()) << ratio;
    EXPECT_THAT(once.unused, IsEmpty());
    const Cleaned twice = decided(once.panel, text);
    const auto notes = plain(summary(twice, {}));
    ASSERT_FALSE(notes.empty()) << ratio;
    if (std::abs(std::log(ratio)) > 0.15) {
      EXPECT_EQ(twice.panel, once.panel) << ratio;
      EXPECT_THAT(twice.unused, SizeIs(30)) << "said, and not counted as done";
      EXPECT_THAT(notes.back(), HasSubstr("30 ratios of decisions not divided out, as they seem "
                                          "to have been already"));
    } else {
      EXPECT_THAT(notes.back(), HasSubstr("of decisions divided out though an ordinary move hides "
                                          "whether they have been already"));
    }
  }
}

TEST(Ratios, TheWrongWayRoundAreDoneAndSpokenOf) {
  Panel panel = calm(12, 100);
  const Panel original = panel;
  for (Index t = 0; t < 50; ++t) at(panel, t, 3) *= 2.5;
  const Cleaned cleaned =
      decided(panel, decision("", "T3", date(panel, 50), "adjust", "ratio = 0.4"));
  EXPECT_NEAR(cleaned.panel.matrix()(49, 3), 2.5 * panel.matrix()(49, 3), 1e-9);
  ASSERT_THAT(cleaned.findings, SizeIs(1));
  EXPECT_EQ(cleaned.findings[0].done, "divides earlier prices by 0.4");
  EXPECT_THAT(plain(summary(cleaned, {})).back(),
              AllOf(HasSubstr("1 ratio of decisions divided out that make a move larger: "
                              "decisions:2 (T3 "),
                    HasSubstr("is the ratio 2.5?")));
  // A ratio on another day is none of the move's.
  const Cleaned elsewhere =
      decided(panel, decision("", "T3", date(panel, 60), "adjust", "ratio = 2.5"));
  EXPECT_EQ(elsewhere.panel, panel);
  EXPECT_FALSE(elsewhere.findings[0].decided);
  EXPECT_THAT(plain(summary(elsewhere, {})).back(), HasSubstr("correct the date"));
}

// Whether a price comes back is not known in the last rows: what may be a wrong price is neither
// divided out nor traded until as many rows follow as a print may last.
TEST(Fresh, MovesAreNotTradedUntilTheyAreKnown) {
  for (Index after = 0; after < 8; ++after)
    for (const double factor : {10.0, 0.5, 8.5, 5.3}) {
      Panel panel = calm(12, 200);
      const Index day = 199 - after;
      scale_from(panel, day, 3, factor);
      const Cleaned cleaned = clean(panel, {});
      ASSERT_THAT(cleaned.findings, SizeIs(1));
      const bool whole = factor == 10.0 || factor == 0.5;
      EXPECT_EQ(cleaned.findings[0].rule, whole ? Rule::split : Rule::jump);
      if (after >= 5) {
        EXPECT_EQ(cleaned.findings[0].how, whole ? OnSuspect::adjust : OnSuspect::report);
        EXPECT_TRUE(cleaned.halts.empty());
        continue;
      }
      EXPECT_EQ(cleaned.findings[0].how, OnSuspect::halt);
      EXPECT_THAT(cleaned.findings[0].question, HasSubstr("is not known before 5 rows follow"));
      const bool believed = factor == 5.3;  // it may be real
      EXPECT_EQ(cleaned.halts.runs, (std::vector<Halt>{{3, day, 199, !believed}}));
      EXPECT_EQ(cleaned.panel.matrix()(199, 3), panel.matrix()(believed ? 199 : day - 1, 3));
      EXPECT_EQ(cleaned.panel.matrix()(day - 1, 3), panel.matrix()(day - 1, 3));
    }
}

// What was halted so is decided on anew when it is known.
TEST(Fresh, HaltsEndWhenItIsKnown) {
  for (const bool back : {false, true}) {
    Panel longer = calm(12, 220);
    for (Index t = 198; t < (back ? 201 : 220); ++t) at(longer, t, 3) *= 10;
    Panel shorter = longer;
    shorter.dates.resize(200);
    shorter.values.resize(200 * 12);
    const std::string text = proposed(shorter);
    EXPECT_THAT(text, HasSubstr("rule = \"split\"\ntickers = [\"T3\"]"));
    EXPECT_THAT(text, HasSubstr("action = \"halt\""));
    EXPECT_THAT(decided(shorter, text).undecided, IsEmpty());
    const Cleaned after = decided(longer, text);
    ASSERT_THAT(after.undecided, SizeIs(1));
    EXPECT_EQ(after.undecided[0].rule, back ? Rule::print : Rule::split);
    EXPECT_EQ(after.panel, clean(longer, {}).panel);
    EXPECT_THAT(after.unused, ElementsAre(0));
  }
}

// A gap after closes that did not change is a gap like others.
TEST(Gaps, AfterUnchangedClosesAreCarried) {
  Panel panel = calm(12, 60);
  for (Index t = 21; t < 26; ++t) at(panel, t, 3) = at(panel, 20, 3);
  at(panel, 26, 3) = kMissing;
  for (Index t = 40; t < 50; ++t) at(panel, t, 4) = kMissing;
  const Cleaned cleaned = clean(panel, {.universe = Universe::available});
  EXPECT_EQ(cleaned.panel.matrix()(26, 3), panel.matrix()(20, 3));
  EXPECT_EQ(cleaned.halts.runs, (std::vector<Halt>{{3, 26, 26, true}, {4, 40, 44, true}}));
  // What is written has the whole gap of the asset that leaves, and the carried price of the other.
  const Panel written = as_written(cleaned);
  EXPECT_EQ(written.matrix()(26, 3), panel.matrix()(20, 3));
  EXPECT_TRUE(std::isnan(written.matrix()(40, 4)));
  EXPECT_FALSE(std::isnan(cleaned.panel.matrix()(44, 4)));
}

TEST(Decisions, ThatAreNoneYetLeaveWhatIsNewToBeListed) {
  Panel panel = calm(12, 100);
  scale_from(panel, 60, 1, 0.5);
  const std::string text = "[panel]\nfile = \"p.csv\"\n";
  EXPECT_THAT(decided(panel, text).undecided, SizeIs(1));
  EXPECT_THAT(clean(panel, {}).undecided, IsEmpty());
}

TEST(Decisions, ThatFindNothingAreSpokenOf) {
  Panel panel = calm(12, 100);
  scale_from(panel, 60, 1, 0.5);
  const std::string elsewhere = date(panel, 61);
  const auto last = [&](const std::string& text) {
    const auto lines = plain(summary(decided(panel, text), {}));
    return lines.empty() ? "" : lines.back();
  };
  EXPECT_THAT(last(decision("split", "T1", elsewhere, "keep")),
              AllOf(HasSubstr("1 decision found nothing to act on"),
                    HasSubstr("decisions:2 (keep, split of T1 on " + elsewhere + ")")));
  EXPECT_THAT(last(decision("split", "T2", date(panel, 60), "keep")),
              HasSubstr("nothing to act on"));
  EXPECT_THAT(last(decision("holiday", "T2", date(panel, 60), "keep")),
              HasSubstr("(keep, holiday of T2 on"));
  EXPECT_THAT(last(decision("", "", "2000-01-29", "drop-day")),
              HasSubstr("about what the panel does not have: decisions:2: no row on 2000-01-29"));
  EXPECT_THAT(last(decision("split", "T1", date(panel, 60), "keep")),
              ::testing::Not(HasSubstr("act on")));
}

TEST(Decisions, OfAnotherPanelAreRefused) {
  Panel panel = calm(12, 100), other = calm(12, 100);
  for (Panel* each : {&panel, &other}) scale_from(*each, 60, 1, 0.5);
  for (std::string& ticker : other.tickers) ticker = "U" + ticker;
  EXPECT_THAT(error_of([&] { return decided(panel, proposed(other)); }),
              HasSubstr("is about another panel: none of its tickers, such as \"UT1\", is in this "
                        "one, which has T0, T1, T10, ...; give the decisions of this panel"));
}

// Assets and days that a file takes out itself are gone when it is applied to what it left.
TEST(Decisions, ByHandAppliedToWhatTheyLeftChangeNothing) {
  Panel panel = calm(12, 100);
  for (Index t = 30; t < 45; ++t) at(panel, t, 2) = at(panel, 29, 2);
  for (const std::string& text :
       {decision("frozen", "T2", "", "missing"), decision("", "T2", "", "drop-asset"),
        decision("frozen", "", "", "drop-asset") + decision("frozen", "T2", date(panel, 1), "keep"),
        decision("", "", date(panel, 30), "drop-day") +
            decision("", "T2", date(panel, 30), "missing")}) {
    const Cleaned once = decided(panel, text, {.allow_loss = {50.0}});
    EXPECT_LT(once.panel.values.size(), panel.values.size()) << text;
    Panel written = as_written(once);
    written.left_out.clear();  // a file knows nothing of them
    const Cleaned twice = decided(written, text, {.allow_loss = {50.0}});
    EXPECT_THAT(differences(twice.panel, once.panel), IsEmpty());
    EXPECT_THAT(plain(decision_notes(twice)),
                ::testing::Contains(HasSubstr("about what the panel does not have")))
        << text;
  }
}

// --decisions F --decide F says what the panel is now; every other word stays.
TEST(Proposals, BringThePanelUpToDate) {
  Panel panel = calm(12, 100);
  scale_from(panel, 60, 1, 0.5);
  const std::string day = date(panel, 60);
  const std::string mine =
      "# mine\n[panel]  # p\nto = \"2000-02-01\"  # ends\nfile = \"alt\u00e9.csv\"\n\n" +
      decision("", "T4", "", "drop-asset", "reason = \"why \u00e9 not\"");
  const Proposal more = propose(panel, "p.csv", decided(panel, mine), {}, mine);
  EXPECT_EQ(more.decisions, 1);
  EXPECT_THAT(more.text, StartsWith(fmt::format(
                             "# mine\n[panel]  # p\nto = \"{}\"  # ends\nfile = \"p.csv\"\nfrom = "
                             "\"2000-01-01\"\ntickers = [\"T1\", \"T4\", \"T0\", \"T2\", \"T3\", "
                             "\"T5\", \"T6\"]\n\n",
                             date(panel, 99))));
  EXPECT_THAT(more.text, HasSubstr("reason = \"why \u00e9 not\""));
  const Cleaned once = decided(panel, more.text);
  EXPECT_EQ(decided(as_written(once), more.text).panel, once.panel);
  const Proposal again = propose(panel, "p.csv", once, {}, more.text);
  EXPECT_EQ(again.text, more.text);
  // One without [panel] gets it.
  const std::string hand = decision("", "T4", "", "drop-asset");
  EXPECT_EQ(read_decisions(propose(panel, "p.csv", decided(panel, hand), {}, hand).text).last_date,
            date(panel, 99));
}

}  // namespace
}  // namespace sharpen::market
