// sharpen doctor: what it lists, in words and in JSON, what it writes, and its exit codes; and the
// cleaning flags of the other commands.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sharpen/base/text.hpp"
#include "sharpen/market/panel.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_program;

class Doctor : public ::testing::Test {
 protected:
  // Four assets over 30 days. B splits 2-for-1 on the 20th day; C has a print on the 10th, a hole
  // on the 5th; D starts on the 8th. What is given replaces a cell.
  std::string prices(const std::string& cell_of_a = "") {
    std::string text = "date,A,B,C,D\n";
    for (int t = 1; t <= 30; ++t) {
      const double wave = 1 + 0.01 * std::sin(2.0 * t) + 0.001 * t;
      text += fmt::format("2024-01-{:02},", t);
      text += t == 15 && !cell_of_a.empty() ? cell_of_a : fmt::format("{:.4f}", 20 * wave);
      text += fmt::format(",{:.4f}", (t < 20 ? 50 : 25) / wave);
      text += t == 5 ? "," : fmt::format(",{:.4f}", (t == 10 ? 300 : 30) * (2 - wave));
      text += t < 8 ? ",\n" : fmt::format(",{:.4f}\n", 40 * wave * wave);
    }
    return folder_.file("prices.csv", text);
  }
  static json doctor(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"doctor", "--json"});
    const Finished run = run_program(flags);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return json::parse(run.out, nullptr, false);
  }
  static std::vector<std::string> found(const json& answer) {
    std::vector<std::string> out;
    for (const json& finding : answer["findings"])
      out.push_back((finding["ticker"].is_null() ? "-" : finding["ticker"].get<std::string>()) +
                    " " + finding["rule"].get<std::string>() + " " +
                    finding["date"].get<std::string>());
    return out;
  }
  static void expect_refused(std::vector<std::string> arguments, const std::string& message) {
    testing::expect_refused(std::move(arguments), HasSubstr(message));
  }
  testing::Folder folder_;
};

TEST_F(Doctor, SumsUpWhatItFindsAndListsItOnDemand) {
  const Finished run = run_program({"doctor", prices()});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  const auto after_panel = run.out.find("complete ");
  ASSERT_NE(after_panel, std::string::npos);
  EXPECT_THAT(run.out, HasSubstr("4 assets"));
  EXPECT_EQ(run.out.substr(after_panel),
            "complete   2 of 4 assets; 8 missing cells: gap 1 asset, starts 1 asset\n"
            "suspects   2, in 2 assets; a suspect is a question, not a verdict\n"
            "  rule   found  assets                 worst  what is done\n"
            "  print      1       1  C 2024-01-10 x 9.823        adjust\n"
            "  split      1       1  B 2024-01-20 / 2.011        adjust\n"
            "most       B 1, C 1\n"
            "leaves     names x rows by --on-suspect: careful 3 x 30, report 3 x 30, adjust 3\n"
            "           x 30, missing 3 x 30, halt 3 x 30, drop-asset 1 x 30, drop-day 3 x 28\n"
            "dates      --from 2024-01-03 keeps 4 of 4 names complete (all dates 3), 28 of 30\n"
            "           rows\n"
            "cleaned    3 of 4 assets, 30 of 30 rows, all of it decided with hindsight\n"
            "           (--universe complete --max-gap 5 --on-suspect careful)\n"
            "next       --details lists them; --decide FILE proposes a decision for each\n");
  const Finished details = run_program({"doctor", prices(), "--details"});
  EXPECT_THAT(
      details.out,
      HasSubstr(
          "\n"
          "  ticker        date     size   rule                    what is done    by\n"
          "  C       2024-01-10  x 9.823  print  carries the last price over it  kind\n"
          "  B       2024-01-20  / 2.011  split     divides earlier prices by 2  kind\n"
          "\n"
          "  B 2024-01-20: a 2-for-1 split that the prices are not adjusted for?\n"
          "\n"
          "  ticker                      date  missing    rule                       what is "
          "done\n"
          "  C                     2024-01-05    1 row     gap  carries the last price over 1 "
          "gap\n"
          "  D       2024-01-01 to 2024-01-07   7 rows  starts                    drops the "
          "asset\n"));
}

// Whatever the panel, and whatever is asked for besides.
TEST_F(Doctor, ItsSummaryFitsAScreen) {
  std::string text = "date";
  const std::string longest = "THE-VERY-LONG-NAME-OF-A-SHARE-CLASS-OF-SOME-COMPANY-";
  for (int j = 0; j < 60; ++j) text += fmt::format(",{}{}", longest, j);
  for (int t = 0; t < 400; ++t) {
    text += fmt::format("\n{}-{:02}-{:02}", 2000 + t / 336, 1 + t / 28 % 12, 1 + t % 28);
    for (int j = 0; j < 60; ++j) {
      double price = (100 + j) * (1 + 0.01 * std::sin(7.0 * t + j) + 0.001 * std::sin(3.0 * t * j));
      if (j == 1 && t >= 200) price /= 3;
      if (j == 2 && t >= 200) price *= 2.7;
      if (j == 3 && t % 40 == 7) price *= 100;
      if (j == 4 && t > 100 && t < 150) price = 50;
      if (t % 50 == 30) price = 100 + j;
      if (t % 50 == 31) price = 100 + j;
      if (t == 222) price = 0;
      const bool missing = (j > 50 && t < 150) || (j > 45 && t > 300) || (j == 10 && t % 3 == 0) ||
                           (j == 11 && t > 50 && t < 80) || j == 12;
      text += missing ? "," : fmt::format(",{:.6f}", price);
    }
  }
  const std::string file = folder_.file(std::string(150, 'p') + ".csv", text + "\n");
  const std::string decisions = folder_.path("decisions.toml");
  ASSERT_EQ(run_program({"doctor", file, "--to", "2000-06", "--decide", decisions}).exit_code, 0);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {},
           {"--on-suspect", "drop-day"},
           {"--on-suspect",
            "nonpositive=missing,print=adjust,split=adjust,jump=report,frozen=halt,"
            "holiday=drop-day"},
           {"--decisions", decisions, "--decide", folder_.path("more.toml")}}) {
    std::vector<std::string> arguments = {"doctor", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = run_program(arguments);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    std::istringstream lines(run.out);
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) EXPECT_LE(display_width(line), 80u) << line;
    EXPECT_LE(count, 24) << run.out;
    EXPECT_GE(count, 14) << run.out;
  }
}

// From a dirty file to a backtest, the way docs/cleaning.md has it.
TEST_F(Doctor, ProposesDecisionsThatEveryCommandTakes) {
  const std::string file = prices("0"), decisions = folder_.path("decisions.toml");
  const json proposed = doctor({file, "--decide", decisions});
  EXPECT_EQ(proposed["decide"], decisions);
  EXPECT_EQ(proposed["proposed"], 3);
  const json decided = doctor({file, "--decisions", decisions});
  for (const json& finding : decided["findings"]) {
    if (finding["suspect"]) {
      EXPECT_EQ(finding["decided"], true) << finding;
    }
  }
  EXPECT_THAT(decided["summary"]["rules"][0]["undecided"], 0);
  const std::vector<std::string> panel = {"--prices", file, "--decisions", decisions};
  const auto runs = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), panel.begin(), panel.end());
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  };
  runs({"solve", "-k", "1", "--lookback", "15"});
  runs({"backtest", "-k", "1", "--lookback", "15", "--out", folder_.path("run")});
  runs({"study", "-k", "1", "--frameworks", "rolling", "--lookback", "15", "--seeds", "1", "--out",
        folder_.path("study")});
  expect_refused({"doctor", file, "--decide", folder_.path("x"), "--out", folder_.path("./x")},
                 "are the same file");
  // What somebody wrote is never written over, but added to.
  expect_refused({"doctor", file, "--decide", decisions}, "is there already");
  const std::string before = testing::text_of(decisions);
  const Finished again =
      run_program({"doctor", file, "--decisions", decisions, "--decide", decisions});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("0 decisions proposed"));
  EXPECT_EQ(testing::text_of(decisions), before);
}

TEST_F(Doctor, RefusesDecisionsAboutWhatIsNotThere) {
  const auto with = [&](const std::string& text) {
    return std::vector<std::string>{
        "solve", "--prices", prices(), "-k", "1", "--decisions", folder_.file("d.toml", text)};
  };
  expect_refused(with("[[decision]]\ntickers = [\"E\"]\naction = \"halt\"\n"),
                 folder_.path("d.toml") + ":1: the panel has no ticker \"E\"");
  expect_refused(with("[[decision]]\nfrom = 2025-01-01\nto = 2025-01-01\naction = \"drop-day\"\n"),
                 "d.toml:1: the panel has no row on 2025-01-01; it runs from 2024-01-01 to "
                 "2024-01-30");
  expect_refused(with("[[decision]]\naction = \"burn\"\n"),
                 "d.toml:2: action = burn is not one of");
  expect_refused({"backtest", "--prices", prices(), "--decisions", folder_.path("none.toml")},
                 "none.toml: cannot be read");
}

// What a decision does not do is said, by the doctor and by others.
TEST_F(Doctor, SpeaksOfDecisionsThatDoNothing) {
  const std::string idle =
      folder_.file("d.toml",
                   "[[decision]]\nrule = \"split\"\ntickers = [\"B\"]\nfrom = \"2024-01-21\"\n"
                   "to = \"2024-01-21\"\naction = \"keep\"\n");
  const std::string words =
      "1 decision found nothing to act on, as in a panel that they have cleaned already; else "
      "correct assets, dates or rules: " +
      folder_.path("d.toml") + ":1 (keep, split of B on 2024-01-21)";
  const json answer = doctor({prices(), "--decisions", idle});
  EXPECT_THAT(answer["warnings"], ElementsAre(words));
  EXPECT_THAT(answer["unused_decisions"], ElementsAre(0));
  EXPECT_THAT(run_program({"doctor", prices(), "--decisions", idle}).out,
              HasSubstr("decisions  1 without anything to act on; the first:"));
  const Finished solve = run_program({"solve", "--json", "--prices", prices(), "--lookback", "15",
                                      "-k", "1", "--decisions", idle});
  ASSERT_EQ(solve.exit_code, 0) << solve.err;
  EXPECT_THAT(json::parse(solve.out)["warnings"], ::testing::Contains(words));
  // A file without any decision yet: what is found is new.
  const std::string none = folder_.file("none.toml", "[panel]\nfile = \"p.csv\"\n");
  EXPECT_THAT(run_program({"doctor", prices(), "--decisions", none}).out,
              HasSubstr("new        2 suspects without a decision, the first: B split"));
}

TEST_F(Doctor, SaysWhichDecisionKeepsWhatHasNoReturn) {
  const std::string keep =
      folder_.file("d.toml", "\n[[decision]]\nrule = \"nonpositive\"\naction = \"keep\"\n");
  const std::string message =
      "the price 0 of ticker A on 2024-01-15 is not positive and has no return; correct it, or "
      "change the decision at " +
      folder_.path("d.toml") + ":2, which keeps it, to missing, halt, drop-asset or drop-day";
  expect_refused({"solve", "--prices", prices("0"), "--decisions", keep}, message);
  expect_refused({"doctor", prices("0"), "--decisions", keep, "--out", folder_.path("c.csv")},
                 message);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("c.csv")));
}

TEST_F(Doctor, TakesSharesAndCareAsTheyAreWritten) {
  EXPECT_EQ(doctor({prices(), "--allow-loss", "0%"})["allow_loss"], 0.0);
  EXPECT_EQ(doctor({prices(), "--on-suspect", "report,split=careful"})["findings"][0]["how"],
            "adjust");
  expect_refused({"doctor", prices(), "--allow-loss", "0.05"},
                 "--allow-loss = 0.05: write a share from 0% to 100%, such as 10%");
  expect_refused({"doctor", prices(), "--on-suspect", "foo"}, "foo is not one of careful, report");
}

// A wrong price of today is not bought at.
TEST_F(Doctor, AndSolveDoNotTrustTheLastRow) {
  std::string text = testing::text_of(prices());
  const auto last = text.rfind("2024-01-30,");
  const auto end = text.find(',', last + 11);
  text.replace(last + 11, end - last - 11,
               fmt::format("{}", 10 * std::stod(text.substr(last + 11, end - last - 11))));
  const std::string file = folder_.file("last.csv", text);
  const json answer = doctor({file});
  EXPECT_EQ(answer["findings"][0]["rule"], "split");
  EXPECT_EQ(answer["findings"][0]["how"], "halt");
  const Finished solve =
      run_program({"solve", "--json", "--prices", file, "--lookback", "15", "-k", "1"});
  ASSERT_EQ(solve.exit_code, 0) << solve.err;
  EXPECT_THAT(json::parse(solve.out)["warnings"],
              ::testing::Contains(HasSubstr("cannot be traded on 2024-01-30 (halted, or without a "
                                            "price of that day): A")));
}

TEST_F(Doctor, AnswersInJson) {
  const json answer = doctor({prices()});
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "doctor");
  EXPECT_EQ(answer["kind"], "prices");
  EXPECT_EQ(answer["assets"], 4);
  EXPECT_EQ(answer["rows"], 30);
  EXPECT_EQ(answer["from"], "2024-01-01");
  EXPECT_EQ(answer["to"], "2024-01-30");
  EXPECT_EQ(answer["complete_assets"], 2);
  EXPECT_EQ(answer["missing_cells"], 8);
  EXPECT_EQ(answer["suspects"], 2);
  EXPECT_EQ(answer["decided_with_hindsight"], true);
  EXPECT_THAT(found(answer), ElementsAre("B split 2024-01-20", "C print 2024-01-10",
                                         "C gap 2024-01-05", "D starts 2024-01-01"));
  EXPECT_EQ(answer["summary"]["rules"][0]["rule"], "print");
  EXPECT_EQ(answer["summary"]["rules"][1]["handled"]["adjust"], 1);
  EXPECT_EQ(answer["summary"]["worst_assets"][0]["ticker"], "B");
  EXPECT_EQ(answer["summary"]["choices"][0]["on_suspect"], "careful");
  EXPECT_EQ(answer["summary"]["date_ranges"][0]["names"], 3);
  EXPECT_EQ(answer["summary"]["date_ranges"][1]["from"], "2024-01-03");
  const json& split = answer["findings"][0];
  EXPECT_EQ(split["ratio"], 2);
  EXPECT_NEAR(split["size"].get<double>(), 0.5, 0.01);
  EXPECT_EQ(split["suspect"], true);
  EXPECT_EQ(split["may_be_real"], false);
  EXPECT_EQ(split["done"], "divides earlier prices by 2");
  EXPECT_EQ(split["how"], "adjust");
  EXPECT_EQ(split["decided"], false);
  EXPECT_EQ(split["modes"]["adjust"], "divides earlier prices by 2");
  EXPECT_FALSE(answer["findings"][2].contains("modes"));
  EXPECT_EQ(answer["cleaned"]["assets"], 3);
  EXPECT_EQ(answer["cleaned"]["dropped"][0]["ticker"], "D");
  EXPECT_EQ(answer["cleaned"]["dropped"][0]["reason"], "starts on 2024-01-08");
  EXPECT_TRUE(answer["out"].is_null());
  EXPECT_THAT(answer["warnings"], IsEmpty());
}

void collect_leaf_keys(const json& value, const std::string& prefix, std::set<std::string>& keys) {
  if (value.is_array())
    for (const json& item : value) collect_leaf_keys(item, prefix + "[]", keys);
  if (!value.is_object()) return;
  for (const auto& [key, item] : value.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    // Of counts by the name of what is done.
    if (!item.is_object() && !name.starts_with("summary.rules[].handled.")) keys.insert(name);
    collect_leaf_keys(item, name, keys);
  }
}

TEST_F(Doctor, EveryJsonKeyIsDocumented) {
  const std::string page = testing::text_of(std::string(SHARPEN_SOURCE_DIR) + "/docs/json.md");
  const auto start = page.find("## sharpen doctor --json");
  ASSERT_NE(start, std::string::npos);
  const std::string section = page.substr(start, page.find("\n## ", start + 1) - start);
  std::set<std::string> keys;
  collect_leaf_keys(doctor({prices(), "--on-suspect", "drop-day", "--out", folder_.path("c.csv"),
                            "--allow-loss", "10%"}),
                    "", keys);
  for (const std::string& key : keys) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
  EXPECT_GT(keys.size(), 30u);
}

TEST_F(Doctor, WritesThePanelItCleaned) {
  const std::string out = folder_.path("clean.csv");
  const json answer = doctor({prices(), "--on-suspect", "adjust", "--out", out});
  EXPECT_EQ(answer["out"], out);
  const market::Panel panel = market::read_panel(out, market::PanelKind::prices);
  EXPECT_THAT(panel.tickers, ElementsAre("A", "B", "C"));
  EXPECT_EQ(panel.rows(), 30);
  const json again = doctor({out, "--out", folder_.path("again.csv")});
  EXPECT_EQ(again["suspects"], 0);
  EXPECT_THAT(again["findings"], IsEmpty());
  EXPECT_EQ(testing::text_of(out), testing::text_of(folder_.path("again.csv")));
  const Finished text = run_program({"doctor", prices(), "--out", out});
  EXPECT_THAT(text.out, HasSubstr("written    " + out + "\n"));
}

TEST_F(Doctor, WithUniverseAvailableWritesTheGapsAtTheEnds) {
  const std::string out = folder_.path("clean.csv");
  const json answer = doctor({prices(), "--universe", "available", "--out", out});
  EXPECT_EQ(answer["cleaned"]["assets"], 4);
  EXPECT_EQ(answer["universe"], "available");
  EXPECT_EQ(doctor({out})["missing_cells"], 7);
}

TEST_F(Doctor, TakesDatesAndTickersBeforeItLooks) {
  EXPECT_THAT(found(doctor({prices(), "--from", "2024-01-21"})), IsEmpty());
  EXPECT_THAT(found(doctor({prices(), "--tickers", "A,D"})), ElementsAre("D starts 2024-01-01"));
  EXPECT_THAT(found(doctor({prices(), "--max-gap", "0", "--tickers", "C"})),
              ElementsAre("C print 2024-01-10", "C gap 2024-01-05"));
}

TEST_F(Doctor, EndsWellWhateverItFinds) {
  EXPECT_THAT(found(doctor({prices("0")})), ::testing::Contains("A nonpositive 2024-01-15"));
  EXPECT_THAT(found(doctor({prices("-3.5")})), ::testing::Contains("A nonpositive 2024-01-15"));
  const std::string hole = folder_.file("hole.csv", "date,A\n2024-01-01,\n2024-01-02,1\n");
  const json answer = doctor({hole, "--max-gap", "0"});
  EXPECT_EQ(answer["cleaned"]["assets"], 0);
  EXPECT_EQ(answer["cleaned"]["rows"], 2);
  EXPECT_EQ(run_program({"doctor", hole}).exit_code, 0);
  EXPECT_EQ(doctor({folder_.file("one.csv", "date,A\n2024-01-01,1\n")})["suspects"], 0);
}

TEST_F(Doctor, RefusesWhatItCannotRead) {
  expect_refused({"doctor"}, "no panel given; give --prices FILE or --returns FILE");
  expect_refused({"doctor", folder_.path("none.csv")},
                 folder_.path("none.csv") + ": cannot be read: No such file or directory");
  expect_refused({"doctor", folder_.file("bad.csv", "date,A\n2024-01-01,x\n")},
                 folder_.path("bad.csv") + ":2:2: \"x\" is not a number, at line 2, column 2");
  expect_refused({"doctor", prices(), "--returns", prices()},
                 "--prices and --returns cannot go together; give one of --prices FILE and "
                 "--returns FILE");
  expect_refused({"doctor", prices(), "--gross"},
                 "--gross has no meaning here; it goes with "
                 "--returns");
  expect_refused({"doctor", prices(), "stray"}, "unexpected argument stray");
  expect_refused({"doctor", prices(), "--max-gap", "-1"}, "max-gap = -1 is outside [0, 10000]");
  expect_refused({"doctor", prices(), "--universe", "all"},
                 "universe = all is not one of complete, available");
}

TEST_F(Doctor, WithErrorRefusesAPanelWithSuspects) {
  expect_refused({"doctor", prices(), "--on-suspect", "error"},
                 folder_.path("prices.csv") +
                     ": the panel has 2 suspects, the first of them: ticker B, 2024-01-20, split");
  EXPECT_EQ(doctor({prices(), "--on-suspect", "error", "--tickers", "A,D"})["suspects"], 0);
}

TEST_F(Doctor, LeavesNothingBehindWhenItCannotWrite) {
  const std::string file = prices();
  expect_refused({"doctor", file, "--out", folder_.path("no/clean.csv")},
                 folder_.path("no/clean.csv") +
                     ": cannot be written: No such file or directory; "
                     "check the folder and its permissions");
  expect_refused({"doctor", folder_.file("hole.csv", "date,A\n2024-01-01,\n2024-01-02,1\n"),
                  "--out", folder_.path("clean.csv"), "--max-gap", "0"},
                 "cleaning leaves no asset");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("clean.csv")));
}

TEST_F(Doctor, KnowsReturnsWhenItSeesThem) {
  std::string gross = "date,A\n", simple = "date,A\n";
  for (int t = 10; t < 30; ++t) {
    gross += fmt::format("2024-01-{},{}\n", t, 1 + 0.03 * std::sin(5.0 * t));
    simple += fmt::format("2024-01-{},{}\n", t, 0.03 * std::sin(5.0 * t));
  }
  EXPECT_THAT(doctor({folder_.file("g.csv", gross)})["warnings"],
              ElementsAre("the values look like gross returns 1 + r: give --returns FILE --gross"));
  EXPECT_THAT(doctor({folder_.file("s.csv", simple)})["warnings"],
              ElementsAre("the values look like returns: give --returns FILE"));
  EXPECT_EQ(doctor({"--returns", folder_.path("g.csv"), "--gross"})["kind"], "gross returns");
  EXPECT_THAT(doctor({"--returns", folder_.path("s.csv")})["findings"], IsEmpty());
}

// Every second price is ten times the one before: as many findings as cells, half a megabyte.
TEST_F(Doctor, SumsUpWhatIsTooMuchToList) {
  std::string text = "date";
  for (int j = 0; j < 100; ++j) text += fmt::format(",A{}", j);
  for (int t = 0; t < 1200; ++t) {
    text += fmt::format("\n{}-{:02}-{:02}", 2000 + t / 336, 1 + t / 28 % 12, 1 + t % 28);
    for (int j = 0; j < 100; ++j) text += (t + j) % 2 == 0 ? ",100" : ",1000";
  }
  const std::string file = folder_.file("dirt.csv", text + "\n");
  const Finished run = run_program({"doctor", file, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_LT(run.out.size(), 4'000'000u);
  const json answer = json::parse(run.out);
  EXPECT_GT(answer["suspects"], 59'000);
  ASSERT_TRUE(answer["findings_left_out"].contains("print")) << answer["findings_left_out"];
  std::size_t all = answer["findings"].size();
  for (const json& more : answer["findings_left_out"]) all += more.get<std::size_t>();
  EXPECT_EQ(answer["suspects"], all);
  const Finished words = run_program({"doctor", file});
  EXPECT_LT(words.out.size(), 2'000u);
  const Finished details = run_program({"doctor", file, "--details"});
  EXPECT_THAT(details.out, HasSubstr("lists the first 1000 of each"));
  EXPECT_LT(details.out.size(), 300'000u);
  const std::string out = folder_.path("run");
  ASSERT_EQ(
      run_program({"backtest", "--prices", file, "--optimizer", "equal", "--out", out}).exit_code,
      0);
  const std::string metrics = testing::text_of(out + "/metrics.json");
  EXPECT_LT(metrics.size(), 2'000'000u);
  EXPECT_EQ(json::parse(metrics)["cleaning"]["findings_left_out"], answer["findings_left_out"]);
}

TEST_F(Doctor, ShowsTickersAsText) {
  const std::string file =
      folder_.file("odd.csv", "date,\"<script>\",\"=1+1\"\n2024-01-01,1,\n2024-01-02,1,2\n");
  EXPECT_EQ(run_program({"doctor", file}).exit_code, 0);
  EXPECT_EQ(doctor({file})["findings"][0]["ticker"], "=1+1");
}

// ---- the same flags elsewhere

TEST_F(Doctor, AndSolveCleanAlike) {
  const auto solve = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"solve", "--json", "--prices", prices(), "--lookback", "15", "-k", "1"});
    const Finished run = run_program(flags);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  };
  const json plain = solve({});
  EXPECT_EQ(plain["n"], 3);
  EXPECT_THAT(plain["warnings"],
              ElementsAre("1 of 4 assets are left out, decided with hindsight: D (starts on "
                          "2024-01-08)",
                          "the last price is carried over 1 missing cell of C",
                          "2 suspects (on-suspect = careful: adjust 2, decided with hindsight; "
                          "sharpen doctor lists them): B split 2024-01-20, C print 2024-01-10"));
  EXPECT_EQ(solve({"--universe", "available"})["n"], 4);
  EXPECT_EQ(solve({"--exclude", "A,D"})["n"], 2);
  EXPECT_EQ(solve({"--on-suspect", "drop-asset", "--allow-loss", "70%"})["n"], 1);
  expect_refused({"solve", "--prices", prices(), "--on-suspect", "drop-asset"},
                 "cleaning would take out 2 of 3 names that the universe keeps, 66.7 % (print 1, "
                 "split 1), and --allow-loss allows 5%");
  expect_refused({"solve", "--prices", prices(), "--exclude", "E"},
                 "the panel has no ticker \"E\"");
  const std::string cleaned = folder_.path("clean.csv");
  doctor({prices(), "--on-suspect", "adjust", "--out", cleaned});
  const json direct = solve({"--on-suspect", "adjust"});
  const Finished from_file =
      run_program({"solve", "--json", "--prices", cleaned, "--lookback", "15", "-k", "1"});
  EXPECT_EQ(json::parse(from_file.out)["sharpe"], direct["sharpe"]);
}

TEST_F(Doctor, AndSolveRefuseWhatHasNoReturns) {
  expect_refused(
      {"solve", "--prices", prices("0"), "--lookback", "all", "--on-suspect", "report"},
      folder_.path("prices.csv") +
          ": the price 0 of ticker A on 2024-01-15 is not positive and has no return; correct "
          "it, or give --on-suspect adjust, drop-asset or drop-day");
  EXPECT_EQ(
      run_program({"solve", "--prices", prices("0"), "--lookback", "all", "--on-suspect", "adjust"})
          .exit_code,
      0);
  expect_refused(
      {"solve", "--prices", prices(), "--tickers", "D"},
      "cleaning leaves no asset (for example D: starts on 2024-01-08); give other dates, "
      "--universe available, a larger --max-gap or another --on-suspect: sharpen doctor "
      "shows what each does");
  expect_refused(
      {"solve", "--prices", prices(), "--universe", "available", "--lookback", "all", "--tickers",
       "D"},
      "no asset has returns throughout the window of 29 rows; give a shorter --lookback");
  expect_refused({"solve", "--demo", "--max-gap", "3"},
                 "--max-gap has no meaning here; it goes with --prices or --returns");
}

// ---- real data

TEST_F(Doctor, KnowsTheSuspectsOfTheRealData) {
  if (testing::data_folder().empty())
    GTEST_SKIP() << "the test data are not here; set SHARPEN_TEST_DATA to their folder";
  const auto splits = [](const json& answer) {
    std::vector<std::string> out;
    for (const json& finding : answer["findings"])
      if (finding["rule"] == "split")
        out.push_back(finding["ticker"].get<std::string>() + " " +
                      finding["date"].get<std::string>());
    return out;
  };
  EXPECT_THAT(splits(doctor({testing::data_folder() + "/nikkei225_2014_2025.csv"})),
              ElementsAre("3697 2025-01-22", "9009 2024-12-24", "9147 2024-12-24"));
  for (const char* file : {"ff25", "ff49", "ff100"}) {
    const json answer = doctor(
        {"--returns", testing::data_folder() + "/" + file + "_monthly_gross.csv", "--gross"});
    EXPECT_EQ(answer["rows"], 623);
    EXPECT_THAT(splits(answer), IsEmpty());
  }
}

}  // namespace
}  // namespace sharpen
