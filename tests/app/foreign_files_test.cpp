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

TEST_F(ForeignFiles, ALinkToNoFileYetStaysAndLeadsToTheResult) {
  fs::create_directory(folder.path("elsewhere"));
  fs::create_symlink("elsewhere/clean.csv", folder.path("link.csv"));
  const Finished run = run_program({"doctor", prices, "--out", folder.path("link.csv")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(fs::is_symlink(folder.path("link.csv")));
  EXPECT_TRUE(fs::is_regular_file(folder.path("elsewhere/clean.csv")));
  fs::create_symlink("round.csv", folder.path("round.csv"));
  EXPECT_EQ(run_program({"doctor", prices, "--out", folder.path("round.csv")}).exit_code, 2);
  EXPECT_TRUE(fs::is_symlink(folder.path("round.csv")));
}

// Nothing can be added to names of 250 characters; 256 are too many for any file.
TEST_F(ForeignFiles, NamesAsLongAsTheyMayBeAreWritten) {
  const std::string file = folder.path(std::string(250, 'f')),
                    out = folder.path(std::string(250, 'd'));
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(run_program({"doctor", prices, "--out", file}).exit_code, 0);
    EXPECT_EQ(backtest(out).exit_code, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path("")), {}), 3);
}

// Before the input is looked at, which is not there.
TEST_F(ForeignFiles, WhatCannotBeWrittenIsRefusedBeforeTheWork) {
  const std::string none = folder.path("none.csv"), large(256, 'f');
  const auto refused = [&](const std::vector<std::string>& flags, const char* why) {
    const Finished run = run_program(flags);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(why));
  };
  for (const std::string& out : {folder.path("none/x.csv"), folder.path(large)}) {
    const bool is_long = out.size() > 256;
    const char* why = is_long ? ": cannot be written: File name too long; give it a shorter name"
                              : ": cannot be written: No such file or directory; check the folder";
    refused({"doctor", none, "--out", out}, why);
    refused({"predict", "--model", none, "--prices", none, "--trades", out}, why);
  }
  refused({"backtest", "--prices", none, "--out", folder.path(large)},
          "cannot be used: File name too long; choose another name");
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
