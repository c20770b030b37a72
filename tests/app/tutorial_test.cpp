// The pages do what they show: their commands run, one after the other, in an empty folder, and
// what they are said to print is what they print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "project/tree.hpp"
#include "support/program.hpp"

namespace sharpen::project {
namespace {

using ::testing::HasSubstr;

std::string page_called(const std::string& name) {
  return testing::text_of(SHARPEN_SOURCE_DIR "/" + name);
}

// The text of every block that begins with ``` and the word.
std::vector<std::string> blocks_of(const std::string& page, const std::string& word) {
  std::vector<std::string> blocks;
  const std::string open = "\n```" + word + "\n", close = "\n```\n";
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    const std::size_t end = page.find(close, at);
    if (end == std::string::npos) break;
    blocks.push_back(page.substr(at, end - at + 1));
    at = end;
  }
  return blocks;
}

// With the program in the path.
CommandResult run_in(const testing::Folder& folder, const std::string& commands) {
  const std::string program = std::filesystem::path(SHARPEN_BINARY).parent_path().string();
  return run_command("cd " + quoted(folder.path("")) + " && PATH=" + quoted(program) +
                     ":$PATH bash -euc " + quoted(commands) + " 2>&1");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(Readme, ShowsWhatItsCommandPrints) {
  const std::string page = page_called("README.md");
  const std::string command = "build/release/bin/sharpen solve --demo --explain\n```\n\n```text\n";
  const std::size_t at = page.find(command);
  ASSERT_NE(at, std::string::npos);
  const std::string shown = page.substr(at + command.size());
  EXPECT_EQ(shown.substr(0, shown.find("```")),
            testing::run_program({"solve", "--demo", "--explain"}).out);
}

// Its three commands, on a market of which the latest prices are today's.
TEST(PredictPage, SlowRuns) {
  const testing::Folder folder;
  const CommandResult made = run_in(folder, R"(
    sharpen simulate --assets 12 --days 260 --seed 5 --out prices.csv
    echo asset,weight > weights.csv; echo "$(head -1 prices.csv | cut -d, -f2),0.5" >> weights.csv
    days=$(tail -n +2 prices.csv | wc -l); head -1 prices.csv > latest.csv
    tail -n +2 prices.csv | cut -d, -f2- | while read -r row; do
      days=$((days - 1)); echo "$(date -u -d "-$days days" +%F),$row"
    done >> latest.csv)");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const CommandResult run = run_in(folder, blocks_of(page_called("docs/predict.md"), "").at(0));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  for (const char* file : {"model.sharpen", "next.csv", "trades.csv"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(file))) << file;
}

// Dirt of several kinds, and the commands as a newcomer types them.
TEST(CleaningPage, GoesFromADirtyFileToABacktest) {
  const testing::Folder folder;
  const CommandResult made = run_in(folder, R"(
    sharpen simulate --assets 20 --days 260 --seed 7 --out clean.csv
    awk -F, -v OFS=, 'NR > 160 { $4 /= 3 } NR == 90 { $6 = 0 } NR == 100 { $7 *= 100 }
                      NR > 120 && NR < 140 { $8 = 50 } NR > 1 && NR < 60 { $12 = "" }
                      NR == 261 { $9 = "" } 1' clean.csv > prices.csv)");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto blocks = blocks_of(page_called("docs/cleaning.md"), "sh");
  ASSERT_GE(blocks.size(), 2u);
  for (const std::string& block : blocks) {
    const CommandResult run = run_in(folder, block);
    ASSERT_EQ(run.exit_code, 0) << block << run.output;
  }
  EXPECT_THAT(testing::text_of(folder.path("decisions.toml")), HasSubstr("action = \"adjust\""));
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/metrics.json")));
}

// A day as written, on a market whose last close is today's.
TEST(OrdersPage, SlowDayRuns) {
  const testing::Folder folder;
  const CommandResult made = run_in(folder, R"(
    sharpen simulate --assets 20 --days 320 --seed 6 --out made.csv
    days=$(tail -n +2 made.csv | wc -l); head -1 made.csv > prices.csv
    tail -n +2 made.csv | cut -d, -f2- | while read -r row; do
      days=$((days - 1)); echo "$(date -u -d "-$days days" +%F),$row"
    done >> prices.csv)");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto blocks = blocks_of(page_called("docs/orders.md"), "sh");
  ASSERT_EQ(blocks.size(), 3u);
  for (const std::string& block : blocks) {
    const CommandResult run = run_in(folder, block);
    ASSERT_EQ(run.exit_code, 0) << block << run.output;
  }
  EXPECT_THAT(testing::text_of(folder.path("next/orders.csv")),
              HasSubstr("asset,side,shares,price,value,cost,reason"));
  // By itself: the script, with a market and a broker that are there, and with one that is not.
  const std::string script =
      replaced(blocks_of(page_called("docs/orders.md"), "bash").at(0), "/home/me/book", ".");
  folder.file("day.sh", script);
  folder.file("broker.sh", "#!/bin/sh\ncat next/positions.csv\n");
  folder.file("download.sh", "#!/bin/sh\n");
  const CommandResult by_itself = run_in(folder, "chmod +x *.sh; ./day.sh; cat day.err day.txt");
  EXPECT_EQ(by_itself.exit_code, 0) << by_itself.output;
  EXPECT_THAT(by_itself.output, HasSubstr("before the orders and"));
  folder.file("download.sh", "#!/bin/sh\necho no market >&2; exit 1\n");
  const CommandResult fails =
      run_in(folder,
             "before=$(cat next/orders.csv); ./day.sh && exit 1; cat day.err\n"
             "[ \"$before\" = \"$(cat next/orders.csv)\" ]");
  EXPECT_EQ(fails.exit_code, 0) << fails.output;
  EXPECT_EQ(fails.output, "no market\n");
  // What the page says of the run and of the model's place.
  const CommandResult goes_on =
      run_in(folder, "sharpen predict --continue run --prices prices.csv --out-dir other");
  EXPECT_EQ(goes_on.exit_code, 0) << goes_on.output;
  EXPECT_THAT(goes_on.output, HasSubstr("before the orders and"));
}

TEST(LimitsPage, ExampleRuns) {
  const testing::Folder folder;
  const CommandResult run = run_in(folder, blocks_of(page_called("docs/limits.md"), "sh").at(0));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("limits     kept; best by sharpe"));
  EXPECT_THAT(run.output, HasSubstr("costs in Sharpe"));
  EXPECT_THAT(run.output, HasSubstr("70 ok"));
}

// The demo whole. Of the paper's study, which takes hours, what it would take; its other commands
// on the demo's file.
TEST(StudyPage, SlowRuns) {
  const testing::Folder folder;
  const CommandResult made = run_in(folder,
                                    "for m in nikkei ftse; do sharpen simulate --assets 20 --days "
                                    "400 --seed ${#m} --out $m.csv; done");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  std::string block = blocks_of(page_called("docs/study.md"), "").at(0);
  block = replaced(block, "ftse.csv --out studies/paper", "ftse.csv --dry-run");
  block = replaced(block, "studies/paper", "study-demo");
  const CommandResult run = run_in(folder, block);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr(" 0 failed, 0 missing"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("report.html")));
}

TEST(Tutorial, SlowRunsFromPricesToReport) {
  const std::string page = page_called("docs/tutorial.md");
  const auto blocks = blocks_of(page, "sh");
  ASSERT_GE(blocks.size(), 10u);
  const testing::Folder folder;
  for (const std::string& block : blocks) {
    const CommandResult run = run_in(folder, block);
    ASSERT_EQ(run.exit_code, 0) << block << run.output;
  }
  // What section 6 says of the day after.
  const std::string flags = "--previous weights.csv --out next.csv";
  ASSERT_THAT(page, HasSubstr("`" + flags + "`"));
  const CommandResult after =
      run_in(folder,
             "sharpen predict --model dfl.sharpen --prices prices.csv --decisions decisions.toml "
             "--asof 2024-08-01 " +
                 flags);
  EXPECT_EQ(after.exit_code, 0) << after.output;
  EXPECT_THAT(after.output, HasSubstr("turnover"));
  for (const char* file : {"decisions.toml", "runs/dfl/metrics.json", "dfl.sharpen", "trades.csv",
                           "study/study.db", "report.html", "report.txt"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(file))) << file;
  // The figures that the page shows and that no network takes part in.
  const CommandResult doctor = run_command("cd " + quoted(folder.path("")) + " && " +
                                           quoted(SHARPEN_BINARY) + " doctor prices.csv");
  EXPECT_THAT(page, HasSubstr(doctor.output));
}

}  // namespace
}  // namespace sharpen::project
