// docs/tutorial.md does what it shows: its commands run, one after the other, in an empty folder.
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

// The text of every block that begins with ```sh.
std::vector<std::string> shell_blocks(const std::string& page) {
  std::vector<std::string> blocks;
  const std::string open = "\n```sh\n", close = "\n```\n";
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    const std::size_t end = page.find(close, at);
    if (end == std::string::npos) break;
    blocks.push_back(page.substr(at, end - at + 1));
    at = end;
  }
  return blocks;
}

TEST(Tutorial, SlowRunsFromPricesToReport) {
  const std::string page = testing::text_of(SHARPEN_SOURCE_DIR "/docs/tutorial.md");
  const auto blocks = shell_blocks(page);
  ASSERT_GE(blocks.size(), 10u);
  const testing::Folder folder;
  const std::string program = std::filesystem::path(SHARPEN_BINARY).parent_path().string();
  for (const std::string& block : blocks) {
    const CommandResult run =
        run_command("cd " + quoted(folder.path("")) + " && PATH=" + quoted(program) +
                    ":$PATH bash -euc " + quoted(block) + " 2>&1");
    ASSERT_EQ(run.exit_code, 0) << block << run.output;
  }
  for (const char* file : {"clean.csv", "runs/dfl/metrics.json", "dfl.sharpen", "trades.csv",
                           "study/study.db", "report.html", "report.txt"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(file))) << file;
  // The figures that the page shows and that no network takes part in.
  const CommandResult doctor = run_command("cd " + quoted(folder.path("")) + " && " +
                                           quoted(SHARPEN_BINARY) + " doctor prices.csv");
  EXPECT_THAT(page, HasSubstr(doctor.output.substr(0, doctor.output.find("\n\ncleaned"))));
}

}  // namespace
}  // namespace sharpen::project
