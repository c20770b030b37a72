// What is not ours in the folders that commands write to stays, and stays as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/program.hpp"

namespace sharpen {
namespace {

namespace fs = std::filesystem;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

class ForeignFiles : public ::testing::Test {
 protected:
  ForeignFiles() : prices(folder.path("prices.csv")) {
    EXPECT_EQ(
        run_program({"simulate", "--assets", "4", "--days", "150", "--out", prices}).exit_code, 0);
  }
  Finished train(const std::string& out) const {
    return run_program({"train", "--prices", prices, "--framework", "pfl", "--hidden", "4",
                        "--epochs", "1", "-k", "2", "--lookback", "20", "--out", out, "--resume"});
  }
  Finished backtest(const std::string& out, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"backtest", "--prices", prices, "--lookback", "30", "--min-history",
                               "30", "-k", "2", "--out", out});
    return run_program(more);
  }

  const Folder folder;
  const std::string prices;
};

TEST_F(ForeignFiles, BesideCheckpointsStay) {
  const std::string model = folder.path("m.model");
  fs::create_directory(model + ".partial");
  folder.file("m.model.partial/thesis.txt", "mine");
  folder.file("m.model.partial/member-list.txt", "mine");
  const Finished run = train(model);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(fs::exists(model + ".partial/thesis.txt"));
  EXPECT_TRUE(fs::exists(model + ".partial/member-list.txt"));
  EXPECT_FALSE(fs::exists(model + ".partial/member-1"));
}

TEST_F(ForeignFiles, ALinkInPlaceOfCheckpointsIsRefused) {
  fs::create_directory(folder.path("elsewhere"));
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("m.model.partial"));
  const Finished run = train(folder.path("m.model"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is a link"));
  EXPECT_TRUE(fs::is_symlink(folder.path("m.model.partial")));
}

TEST_F(ForeignFiles, OfTheNamesOfAResultStayWhereThereWasNone) {
  const std::string out = folder.path("out");
  fs::create_directory(out);
  folder.file("out/benchmark.csv", "mine");
  folder.file("out/notes", "mine");
  const Finished run = backtest(out, {"--force"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(fs::exists(out + "/metrics.json"));
  EXPECT_TRUE(fs::exists(out + "/notes"));
  EXPECT_TRUE(fs::exists(out + "/benchmark.csv"));
}

TEST_F(ForeignFiles, APrivateFolderStaysPrivate) {
  const std::string out = folder.path("private");
  ASSERT_EQ(::mkdir(out.c_str(), 0700), 0);
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(backtest(out).exit_code, 0);
    struct stat found {};
    ASSERT_EQ(::stat(out.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0700U);
  }
}

}  // namespace
}  // namespace sharpen
