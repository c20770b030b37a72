// Decisions, written down: files of them, what they do, what happens to them when the panel grows,
// and rules by kind beside them.
#include "sharpen/market/decisions.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calm_panels.hpp"
#include "decided_panels.hpp"
#include "input_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Dirt of every kind at known places, beside the panel it was put into.
class Dirt : public ::testing::Test {
 protected:
  Dirt() {
    clean_ = calm(14, 400);
    dirty_ = clean_;
    scale_from(dirty_, 200, 1, 0.25);  // a split,
    scale_from(dirty_, 100, 2, 8.0);   // a reverse split
    scale_from(clean_, 0, 1, 0.25);    // the latest prices are what they are
    scale_from(clean_, 0, 2, 8.0);
    for (const Index t : {150, 151}) at(dirty_, t, 3) *= 100;  // prints
    at(dirty_, 50, 4) = 0.0;
    at(dirty_, 51, 4) = -1.0;
    for (Index t = 250; t < 266; ++t) at(dirty_, t, 5) = at(dirty_, 249, 5);
    scale_from(dirty_, 350, 6, 2.5);  // a spin-off, say
    scale_from(clean_, 0, 6, 2.5);
    at(dirty_, 399, 7) = kMissing;
    at(dirty_, 0, 8) = kMissing;
    for (Index t = 120; t < 123; ++t) at(dirty_, t, 9) = kMissing;
    for (Index t = 300; t < 330; ++t) at(dirty_, t, 10) = kMissing;
    add_holiday(279);
  }

  // A row more, on which nobody moves, under a date between two others.
  void add_holiday(Index after) {
    const auto row = dirty_.dates.begin() + after + 1;
    holiday_ = date(dirty_, after);
    // calm() has months of 28 days.
    holiday_.replace(8, 2, "29");
    ASSERT_LT(date(dirty_, after), holiday_);
    ASSERT_LT(holiday_, date(dirty_, after + 1));
    dirty_.dates.insert(row, holiday_);
    const auto begin = dirty_.values.begin() + after * dirty_.n();
    const std::vector<double> before(begin, begin + dirty_.n());
    dirty_.values.insert(begin + dirty_.n(), before.begin(), before.end());
  }

  Panel clean_, dirty_;
  std::string holiday_;
};

TEST_F(Dirt, ComesOutAsTheCleanPanelWhereThatIsPossible) {
  const std::string jump = date(dirty_, 351);
  std::string text = proposed(dirty_);
  const std::string kept = fmt::format("from = \"{}\"\nto = \"{}\"\naction = \"keep\"", jump, jump);
  ASSERT_THAT(text, HasSubstr(kept));
  // What a person knows: the jump was no return, and T10 was suspended.
  text.replace(
      text.find(kept), kept.size(),
      fmt::format("from = \"{}\"\nto = \"{}\"\naction = \"adjust\"\nratio = 0.4", jump, jump));
  const auto suspended = text.find("rule = \"gap\"");
  ASSERT_NE(suspended, std::string::npos) << text;
  text.replace(text.find("keep", suspended), 4, "halt");
  const Cleaned result = decided(dirty_, text);
  EXPECT_THAT(result.undecided, IsEmpty());
  EXPECT_THAT(result.dropped, IsEmpty());
  EXPECT_THAT(result.dropped_days, ElementsAre(holiday_));
  // Prices that are nowhere in the file: the last one is carried, and nothing is traded.
  Panel expected = clean_;
  const auto carry = [&](Index j, Index first, Index last) {
    for (Index t = first; t <= last; ++t) at(expected, t, j) = at(expected, first - 1, j);
  };
  carry(3, 150, 151);
  carry(4, 50, 51);
  carry(5, 250, 265);
  carry(7, 399, 399);
  at(expected, 0, 8) = at(expected, 1, 8);
  carry(9, 120, 122);
  carry(10, 300, 329);
  EXPECT_THAT(differences(result.panel, expected), IsEmpty());
  EXPECT_EQ(result.halts.runs, (std::vector<Halt>{{3, 150, 151, true},
                                                  {4, 50, 51, true},
                                                  {5, 250, 265, false},
                                                  {7, 399, 399, true},
                                                  {8, 0, 0, true},
                                                  {9, 120, 122, true},
                                                  {10, 300, 329, false}}));
}

TEST_F(Dirt, DecidedOnTwiceIsDecidedOnOnce) {
  std::string text = proposed(dirty_);
  const std::string ratio = "action = \"adjust\"\nratio = 0.4";
  const std::string jump =
      fmt::format("from = \"{0}\"\nto = \"{0}\"\naction = ", date(dirty_, 351));
  ASSERT_NE(text.find(jump), std::string::npos);
  text.replace(text.find(jump), jump.size() + 6, jump.substr(0, jump.size() - 9) + ratio);
  text += decision("", "T11", date(dirty_, 20), "missing") +
          decision("", "T11", date(dirty_, 30), "halt") +
          decision("", "", date(dirty_, 40), "drop-day") + decision("", "T12", "", "drop-asset");
  for (const Universe universe : {Universe::complete, Universe::available}) {
    const CleaningSettings settings{.universe = universe};
    const Cleaned once = decided(dirty_, text, settings);
    EXPECT_EQ(once.panel.rows(), 399);
    const Panel written = as_written(once);
    const Cleaned twice = decided(written, text, settings);
    EXPECT_THAT(twice.dropped, IsEmpty());
    EXPECT_EQ(as_written(twice).dates, written.dates);
    EXPECT_EQ(as_written(twice).tickers, written.tickers);
    for (const auto& [a, b] :
         {std::pair(as_written(twice), written), std::pair(twice.panel, once.panel)})
      for (std::size_t i = 0; i < a.values.size(); ++i)
        ASSERT_TRUE(a.values[i] == b.values[i] ||
                    (std::isnan(a.values[i]) && std::isnan(b.values[i])));
  }
}

// Ten new days: what was decided on is as it was, bit by bit, and what is new is listed.
TEST_F(Dirt, DecisionsStillApplyWhenThePanelGrows) {
  Panel longer = calm(14, 410);
  Panel shorter = longer;
  shorter.dates.resize(400);
  shorter.values.resize(400 * 14);
  for (Panel* panel : {&shorter, &longer}) {
    scale_from(*panel, 200, 1, 0.25);
    at(*panel, 50, 4) = 0.0;
    for (Index t = 385; t < 400; ++t) at(*panel, t, 5) = at(*panel, 384, 5);
  }
  for (Index t = 400; t < 405; ++t) at(longer, t, 5) = at(longer, 384, 5);  // still frozen
  scale_from(longer, 404, 2, 1.0 / 16);                                     // new
  const std::string text = proposed(shorter);
  const Cleaned before = decided(shorter, text), after = decided(longer, text);
  EXPECT_THAT(before.undecided, IsEmpty());
  ASSERT_THAT(after.undecided, SizeIs(1));
  EXPECT_EQ(after.undecided[0].ticker, "T2");
  EXPECT_EQ(after.undecided[0].rule, Rule::split);
  EXPECT_THAT(plain(summary(after, {})).back(),
              HasSubstr("1 suspect without a decision, handled by on-suspect = careful"));
  for (Index t = 0; t < 400; ++t)
    for (Index j = 0; j < 14; ++j) {
      if (j != 2) {
        ASSERT_EQ(after.panel.matrix()(t, j), before.panel.matrix()(t, j)) << t << " " << j;
      }
    }
  EXPECT_EQ(before.halts.runs.back(), (Halt{5, 385, 399, false}));
  EXPECT_EQ(after.halts.runs.back(), (Halt{5, 385, 404, false}));
  // Proposals are added to what was decided, whose words stay.
  const std::string kept = "# mine\n" + text;
  const Proposal more = propose(longer, "panel.csv", after, {.decisions = kept}, kept);
  EXPECT_EQ(more.decisions, 1);
  // Only where the panel ends is another day.
  std::string expected = kept;
  const std::string ends = fmt::format("\nto = \"{}\"\n", date(shorter, 399));
  ASSERT_NE(expected.find(ends), std::string::npos);
  expected.replace(expected.find(ends), ends.size(),
                   fmt::format("\nto = \"{}\"\n", date(longer, 409)));
  const auto tickers = expected.find(", \"T4\"");
  ASSERT_NE(tickers, std::string::npos);
  EXPECT_THAT(more.text, StartsWith(expected.substr(0, tickers)));
  EXPECT_THAT(more.text, HasSubstr(expected.substr(expected.find("[[decision]]"))));
  EXPECT_THAT(read_decisions(more.text).tickers, ::testing::Contains("T2"));
  EXPECT_THAT(decided(longer, more.text).undecided, IsEmpty());
}

TEST(Decisions, SayWhatIsDone) {
  Panel panel = calm(14, 100);
  const Panel original = panel;
  scale_from(panel, 60, 1, 0.5);
  at(panel, 20, 2) = 0.0;
  const std::string day = date(panel, 60);
  const auto tried = [&](const std::string& action, const std::string& more = "") {
    return decided(panel, decision("split", "T1", day, action, more));
  };
  EXPECT_EQ(tried("keep").panel.matrix()(59, 1), original.matrix()(59, 1));
  EXPECT_EQ(tried("adjust").panel.matrix()(59, 1), 0.5 * original.matrix()(59, 1));
  EXPECT_NEAR(tried("adjust", "ratio = 1.8").panel.matrix()(59, 1), original.matrix()(59, 1) / 1.8,
              1e-12);
  EXPECT_EQ(tried("drop-asset").panel.n(), 13);
  EXPECT_THAT(tried("drop-day").dropped_days, ElementsAre(day));
  EXPECT_EQ(tried("keep").found[index_of(Rule::split)].undecided, 0);
  EXPECT_EQ(tried("keep").found[index_of(Rule::nonpositive)].undecided, 1) << "nobody said so";
  // Ratios that do not explain the move are not applied.
  const Cleaned other = decided(panel, decision("", "T3", day, "adjust", "ratio = 3"));
  EXPECT_EQ(other.panel.matrix()(59, 3), original.matrix()(59, 3));
  // One for an asset comes before one for all.
  const Cleaned both =
      decided(panel, decision("split", "", "", "drop-asset") + decision("split", "T1", "", "keep"));
  EXPECT_EQ(both.panel.n(), 14);
  EXPECT_THAT(both.unused, ElementsAre(0));
  // Without a rule: whether something is found there or not.
  const Cleaned halted = decided(panel, decision("", "T5", date(panel, 7), "halt"));
  EXPECT_EQ(halted.halts.runs.back(), (Halt{5, 7, 7, false}));
  const Cleaned gone = decided(panel, decision("", "T5", date(panel, 7), "missing"));
  EXPECT_EQ(gone.panel.matrix()(7, 5), original.matrix()(6, 5));
}

TEST(Decisions, OfGapsCarryThePriceOverASuspension) {
  Panel panel = calm(12, 60);
  for (Index t = 20; t < 40; ++t) at(panel, t, 3) = kMissing;
  EXPECT_EQ(clean(panel, {}).panel.n(), 11);
  const Cleaned halted = decided(panel, decision("gap", "T3", date(panel, 20), "halt"));
  EXPECT_EQ(halted.panel.n(), 12);
  EXPECT_EQ(halted.panel.matrix()(39, 3), panel.matrix()(19, 3));
  EXPECT_EQ(halted.halts.runs, (std::vector<Halt>{{3, 20, 39, false}}));
  EXPECT_THAT(decided(panel, decision("gap", "T3", date(panel, 20), "drop-day")).dropped_days,
              SizeIs(20));
}

TEST(Decisions, ForWhatIsNotThereAreRefused) {
  Panel panel = calm(12, 60);
  const auto refused = [&](const std::string& text) {
    return error_of([&] { return decided(panel, "\n" + text); });
  };
  EXPECT_EQ(refused("[[decision]]\ntickers = [\"T33\"]\naction = \"keep\"\n"),
            "decisions:2: the panel has no ticker \"T33\"; did you mean T3?");
  EXPECT_THAT(refused(decision("", "T3", "2031-01-01", "missing")),
              HasSubstr("the panel has no row on 2031-01-01; it runs from 2000-01-01 to"));
  EXPECT_THAT(refused(decision("", "T3", "2000-01-31", "missing")),
              HasSubstr("the panel has no row on 2000-01-31; it runs from"));
  EXPECT_THAT(refused(decision("", "T3", "2000-02-30", "missing")),
              HasSubstr("from = \"2000-02-30\" is not in the calendar; write YYYY-MM-DD"));
  EXPECT_THAT(refused(decision("splits", "T3", "", "keep")),
              HasSubstr("rule = splits is not one of nonpositive, print, split, jump, frozen, "
                        "holiday, gap; did you mean split?"));
  EXPECT_THAT(refused(decision("split", "T3", "", "drop")),
              HasSubstr("action = drop is not one of adjust, missing, halt, drop-day, drop-asset, "
                        "keep"));
  EXPECT_THAT(refused(decision("split", "T3", "", "missing")),
              HasSubstr("action = missing has no meaning for rule = split; choose another"));
  EXPECT_THAT(refused(decision("jump", "T3", "", "adjust")), HasSubstr("needs a ratio here"));
  EXPECT_THAT(refused(decision("split", "T3", "", "adjust", "ratio = -2")),
              HasSubstr("ratio = -2 must be a positive number other than 1"));
  EXPECT_THAT(refused(decision("split", "T3", "", "keep", "ratio = 2")),
              HasSubstr("ratio has no meaning here"));
  EXPECT_THAT(refused("[[decision]]\nrule = \"split\"\n"), HasSubstr("a decision without action"));
  EXPECT_THAT(refused("[[decision]]\naction = \"keep\"\nticker = \"A\"\n"),
              HasSubstr("ticker is not a key of a decision; did you mean tickers?"));
  EXPECT_THAT(refused("action = \"keep\"\n"), HasSubstr("begin each decision with [[decision]]"));
  EXPECT_THAT(refused("[[decision]]\naction = \"missing\"\n"),
              HasSubstr("a decision about everything"));
  EXPECT_THAT(refused("[[decision]\n"), HasSubstr("not valid TOML"));
  EXPECT_THAT(refused(decision("split", "T3", "2000-01-03", "keep") +
                      decision("split", "T3", "2000-01-03", "adjust")),
              HasSubstr("adjust for \"T3\" (split) crosses keep of line 3: both decide on the same "
                        "dates"));
  EXPECT_THAT(refused("[[decision]]\nfrom = \"2000-01-09\"\nto = \"2000-01-03\"\naction = "
                      "\"drop-day\"\n"),
              HasSubstr("from = 2000-01-09 is after to = 2000-01-03; exchange them"));
  EXPECT_THAT(error_of([] { return read_decisions("none.toml"); }),
              HasSubstr("none.toml: cannot be read"));
}

TEST(Decisions, OfManySuspectsAreOneForTheRuleAndOthersForExceptions) {
  Panel panel = calm(80, 300);
  for (Index j = 0; j < 80; ++j) scale_from(panel, 20 + 3 * j, j, 0.5);
  const std::string text = proposed(panel);
  const Decisions decisions = read_decisions(text);
  EXPECT_LT(decisions.all.size(), 5u) << text;
  EXPECT_THAT(decided(panel, text).undecided, IsEmpty());
  EXPECT_EQ(decided(panel, text).panel, clean(panel, {}).panel);
}

// More splits than are listed, all but one of them in calm markets: a crash of the last asset,
// which no list has, is not decided on with the others.
TEST(Decisions, OfMoreSuspectsThanAreListedOverruleNothing) {
  constexpr Index kAssets = 40, kRows = 800;
  Panel panel = calm(kAssets, kRows);
  for (Index j = 0; j + 1 < kAssets; ++j)
    for (Index t = 40 + j % 5; t + 40 < kRows; t += 25) scale_from(panel, t, j, 0.5);
  constexpr Index kCrash = 401;
  for (Index t = 300; t < 500; ++t)  // up and down by 12 %, but for the day of the crash
    if ((t % 2 == 0) == (t >= kCrash)) at(panel, t, kAssets - 1) *= 1.12;
  scale_from(panel, kCrash, kAssets - 1, 0.5);
  const Cleaned as_it_is = clean(panel, {});
  const RuleCount& splits = as_it_is.found[index_of(Rule::split)];
  ASSERT_GT(splits.found, kMostFindings);
  ASSERT_GT(splits.handled[static_cast<std::size_t>(OnSuspect::report)], 0) << "the crash";
  const std::string text = proposed(panel);
  EXPECT_THAT(text, HasSubstr("# split: "));
  EXPECT_EQ(decided(panel, text).panel, as_it_is.panel);
}

// An older decision about a day inside a run of unchanged prices does not cross the one for the
// run.
TEST(Decisions, BehindOthersCrossNone) {
  Panel panel = calm(12, 200);
  for (Index t = 60; t < 90; ++t) at(panel, t, 3) = at(panel, 59, 3);
  const std::string mine = decision("frozen", "T3", date(panel, 70), "keep");
  const Proposal more = propose(panel, "p.csv", decided(panel, mine), {}, mine);
  EXPECT_EQ(more.decisions, 1);
  EXPECT_THAT(decided(panel, more.text).undecided, IsEmpty()) << more.text;
}

// ---- rules by kind

SuspectRules rules(const std::string& text) {
  settings::Values values(settings::doctor);
  values.set_flag("on-suspect", text);
  CleaningSettings out;
  settings::fill(values, out);
  return out.on_suspect;
}

TEST(SuspectRules, AreReadByKindOrForAllKinds) {
  using enum OnSuspect;
  EXPECT_EQ(rules("careful"), SuspectRules());
  EXPECT_EQ(rules("drop-day"), SuspectRules(drop_day));
  EXPECT_EQ(rules("drop-asset").said[index_of(Rule::holiday)], report) << "no asset to drop";
  const SuspectRules some =
      rules("split=adjust,nonpositive=missing,frozen=halt,holiday=drop-day,jump=report");
  EXPECT_EQ(some.said[index_of(Rule::split)], adjust);
  EXPECT_EQ(some.said[index_of(Rule::frozen)], halt);
  EXPECT_FALSE(some.said[index_of(Rule::print)]) << "carefully";
  const SuspectRules base = rules("report,split=adjust");
  EXPECT_EQ(base.said[index_of(Rule::split)], adjust);
  EXPECT_EQ(base.said[index_of(Rule::holiday)], report);
  for (const char* text : {"careful", "adjust", "split=adjust,jump=halt", "report,split=adjust"})
    EXPECT_EQ(rules(name(rules(text))), rules(text)) << text;
  const auto refused = [](const std::string& text) {
    return error_of([&] { return rules(text); });
  };
  EXPECT_EQ(
      refused("splt=adjust"),
      "--on-suspect = splt=adjust: splt is not a kind of suspects: nonpositive, print, split, "
      "jump, frozen, holiday; did you mean split?");
  EXPECT_THAT(refused("split=ajust"), HasSubstr("did you mean adjust?"));
  EXPECT_THAT(refused("holiday=drop-asset"), HasSubstr("has no meaning for kind holiday"));
  EXPECT_THAT(refused("split=adjust,split=report"), HasSubstr("split is said twice"));
  EXPECT_THAT(refused("split=adjust,report"), HasSubstr("a word for all kinds comes first"));
}

// ---- what each defect was

// A halt that ends in a jump is more likely a corporate action than a crash.
TEST(Suspects, AfterAHaltAJumpIsMoreLikelyACorporateAction) {
  for (const bool blank : {false, true}) {
    Panel panel = calm(12, 100);
    for (Index t = 40; t < 60; ++t) at(panel, t, 3) = blank ? kMissing : at(panel, 39, 3);
    scale_from(panel, 60, 3, 0.4);
    const Cleaned cleaned = clean(panel, {});
    const auto jump = std::ranges::find(cleaned.findings, Rule::jump, &Finding::rule);
    ASSERT_NE(jump, cleaned.findings.end());
    EXPECT_FALSE(jump->may_be_real);
    EXPECT_THAT(jump->question, HasSubstr("A corporate action is more likely than a move of the "
                                          "market: for 20 rows before there was no change"));
  }
}

// An asset that the universe leaves out takes no day of the others with it, nor their prices.
TEST(Suspects, OfAssetsThatAreLeftOutCostNothing) {
  Panel panel = calm(12, 200);
  for (Index t = 0; t < 50; ++t) at(panel, t, 3) = kMissing;
  scale_from(panel, 120, 3, 0.3);
  const Cleaned cleaned = clean(panel, {.on_suspect = OnSuspect::drop_day});
  EXPECT_THAT(cleaned.dropped, SizeIs(1));
  EXPECT_THAT(cleaned.dropped_days, IsEmpty());
  Panel others = panel;
  others.tickers.erase(others.tickers.begin() + 3);
  for (Index t = 199; t >= 0; --t) others.values.erase(others.values.begin() + t * 12 + 3);
  EXPECT_EQ(cleaned.panel, others);
  EXPECT_EQ(cleaned.findings[0].done, "nothing: the asset is left out");
}

// Days that are taken out leave a split between the prices before and after them.
TEST(DaysDecidedOn, LeaveSplitsToTheirKind) {
  Panel panel = calm(12, 200);
  scale_from(panel, 100, 3, 0.5);
  for (const char* action : {"missing", "halt", "drop-day"})
    for (const char* ticker : {"T3", ""}) {
      if (action == std::string("drop-day") && *ticker != '\0') continue;
      const Cleaned cleaned =
          decided(panel, decision("", ticker, panel.dates[100], action), {.allow_loss = {100.0}});
      for (Index t = 1; t < cleaned.panel.rows(); ++t)
        EXPECT_NEAR(cleaned.panel.matrix()(t, 3) / cleaned.panel.matrix()(t - 1, 3), 1.0, 0.15)
            << action << " " << t;
    }
}

// A decision about all gaps is none about the time before an asset was listed or after it left.
TEST(GapsDecidedOn, AreThoseBetweenPrices) {
  Panel panel = calm(12, 200);
  for (Index t = 0; t < 50; ++t) at(panel, t, 3) = kMissing;
  for (Index t = 150; t < 200; ++t) at(panel, t, 4) = kMissing;
  for (Index t = 90; t < 110; ++t) at(panel, t, 5) = kMissing;
  const CleaningSettings available{.universe = Universe::available};
  const Cleaned cleaned = decided(panel, decision("gap", "", "", "halt"), available);
  EXPECT_THAT(cleaned.dropped, IsEmpty());
  EXPECT_TRUE(std::isnan(cleaned.panel.matrix()(0, 3)));
  EXPECT_TRUE(std::isnan(cleaned.panel.matrix()(199, 4))) << "it has left";
  EXPECT_EQ(cleaned.panel.matrix()(109, 5), at(panel, 89, 5));
  EXPECT_EQ(decided(panel, decision("gap", "", "", "drop-asset"), available).panel.n(), 11);
}

// Nor do they make a holiday of a day on which the others trade.
TEST(Suspects, HolidaysAreThoseOfTheAssetsThatStay) {
  Panel panel = calm(40, 200);
  for (Index j = 10; j < 40; ++j)
    for (Index t = 100; t < 120; ++t) at(panel, t, j) = kMissing;
  const Cleaned cleaned = clean(panel, {});
  EXPECT_EQ(cleaned.panel.n(), 10);
  EXPECT_THAT(cleaned.dropped_days, IsEmpty());
}

TEST(Losses, AreNotWhatTheUniverseDropsAnyway) {
  Panel panel = calm(12, 200);
  for (const Index j : {3, 4, 5}) {
    for (Index t = 0; t < 50; ++t) at(panel, t, j) = kMissing;
    scale_from(panel, 120, j, 2.3);
  }
  const CleaningSettings settings{.on_suspect = OnSuspect::drop_asset};
  EXPECT_EQ(error_of([&] { refuse_loss(clean(panel, settings), settings); }), "");
  EXPECT_EQ(clean(panel, settings).panel.n(), 9);
}

TEST(Losses, BeyondFivePercentMustBeAllowed) {
  Panel panel = calm(12, 100);
  const auto refused = [&](const CleaningSettings& settings) {
    return error_of([&] { refuse_loss(clean(panel, settings), settings); });
  };
  for (Index t = 10; t < 70; t += 10) at(panel, t, 2) *= 10;
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({.on_suspect = OnSuspect::drop_day}),
            "cleaning would take out 6 of 100 rows, 6.0 % (print 6), and --allow-loss allows 5%: "
            "choose another --on-suspect or decision (sharpen doctor shows what each leaves), or "
            "give --allow-loss 6%");
  EXPECT_EQ(refused({.on_suspect = OnSuspect::drop_day, .allow_loss = {6.0}}), "");
  EXPECT_THAT(refused({.on_suspect = OnSuspect::drop_asset}),
              HasSubstr("1 of 12 names that the universe keeps, 8.3 %"));
  EXPECT_EQ(refused({.on_suspect = OnSuspect::drop_asset, .allow_loss = {9.0}}), "");
  // What the universe asks for is no loss, what a choice makes of it is.
  for (Index t = 0; t < 50; ++t)
    for (Index j = 6; j < 12; ++j) at(panel, t, j) = kMissing;
  EXPECT_EQ(refused({}), "");
  EXPECT_THAT(refused({.max_gap = 0, .on_suspect = OnSuspect::missing}),
              HasSubstr("1 of 6 names that the universe keeps"));
}

TEST(Examined, SaysWhatEachChoiceLeavesAndWhichDatesKeepMostNames) {
  Panel panel = calm(12, 100);
  for (Index t = 0; t < 30; ++t)
    for (Index j = 6; j < 10; ++j) at(panel, t, j) = kMissing;
  for (Index t = 0; t < 45; ++t) at(panel, t, 10) = kMissing;
  scale_from(panel, 80, 2, 0.5);
  const Examined examined = examine(panel, {}, {});
  const auto choice = [&](std::string_view word) {
    return *std::ranges::find(examined.choices, word, &Choice::on_suspect);
  };
  EXPECT_EQ(choice("careful").rows, 100);
  EXPECT_EQ(choice("drop-day").rows, 99);
  EXPECT_EQ(choice("drop-asset").names, 6);
  EXPECT_EQ(choice("report").names, 7);
  ASSERT_THAT(examined.ranges, SizeIs(3));
  EXPECT_EQ(examined.ranges[0].names, 7);
  EXPECT_EQ(examined.ranges[1].names, 11);
  EXPECT_EQ(examined.ranges[1].from, date(panel, 25)) << "gaps at the start are carried";
  EXPECT_EQ(examined.ranges[2].names, 12);
  EXPECT_EQ(examined.ranges[2].from, date(panel, 40));
}

TEST(Runs, OfLikeFindingsAreOne) {
  Panel panel = calm(30, 100);
  for (Index j = 0; j < 30; ++j)
    for (Index t = 40; t < 43; ++t) at(panel, t, j) = 0.0;
  const Cleaned cleaned = clean(panel, {.on_suspect = OnSuspect::missing});
  EXPECT_EQ(cleaned.found[index_of(Rule::nonpositive)].found, 30);
  ASSERT_THAT(cleaned.runs, SizeIs(2));
  EXPECT_EQ(cleaned.runs[0].count, 30);
  EXPECT_EQ(cleaned.runs[1].first.rule, Rule::holiday);
  EXPECT_EQ(cleaned.runs[1].first.last_row - cleaned.runs[1].first.first_row, 2);
}

}  // namespace
}  // namespace sharpen::market
