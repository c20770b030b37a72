// Ctrl-C: every command ends soon, with exit code 1, and leaves nothing half-written.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "sharpen/base/new_file.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using testing::Folder;
using testing::start_program;

using Clock = std::chrono::steady_clock;

class Interrupting : public ::testing::Test {
 protected:
  // Half a second is promised; tests run beside others.
  static constexpr double kMostSeconds = 2.0;

  std::string prices(Index assets, Index days) const {
    const std::string file = folder_.path(std::to_string(assets) + ".csv");
    market::write_panel(market::simulate({.assets = assets, .days = days, .seed = 3}), file);
    return file;
  }

  // Whether SIGINT has a handler; true of a program that is gone.
  static bool catches(pid_t child) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    std::string line;
    while (std::getline(status, line))
      if (line.starts_with("SigCgt:"))
        return std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1;
    return true;
  }

  // wait_ms: from when signals are caught.
  static void expect_end(const std::vector<std::string>& arguments, int wait_ms) {
    const pid_t child = start_program(arguments);
    ASSERT_GT(child, 0);
    while (!catches(child) && waitpid(child, nullptr, WNOHANG) == 0) usleep(200);
    usleep(static_cast<useconds_t>(wait_ms) * 1000);
    ASSERT_EQ(kill(child, SIGINT), 0);
    const auto sent = Clock::now();
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - sent).count(), kMostSeconds)
        << arguments[0];
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1)
        << arguments[0] << " after " << wait_ms << " ms: " << status;
  }

  const Folder folder_;
};

TEST_F(Interrupting, SlowEndsARelaxation) {
  const std::string file = prices(400, 130);
  expect_end({"solve", "--prices", file, "--optimizer", "sdr", "--sdr-gap", "1e-9"}, 600);
  // A walk is asked between decisions and within them.
  expect_end({"backtest", "--prices", file, "--optimizer", "sdr", "--sdr-gap", "1e-9", "--out",
              folder_.path("out")},
             900);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
}

TEST_F(Interrupting, SlowEndsACertificate) {
  expect_end({"solve", "--prices", prices(500, 130), "--certify", "--sdr-gap", "1e-9"}, 600);
}

TEST_F(Interrupting, SlowEndsALargeSimulation) {
  const std::string out = folder_.path("large.csv");
  expect_end({"simulate", "--assets", "3000", "--days", "6000", "--out", out}, 300);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path("")));
}

TEST_F(Interrupting, SlowEndsWithTheSameCodeFromTheStart) {
  const std::string file = prices(400, 130);
  for (const int wait_ms : {0, 5, 20, 60, 120})
    expect_end({"backtest", "--prices", file, "--optimizer", "sdr", "--sdr-gap", "1e-9"}, wait_ms);
}

TEST_F(Interrupting, SlowEndsAWaitForAFolderThatAnotherProgramHasLocked) {
  const std::string file = prices(5, 200), out = folder_.path("out");
  const std::vector<std::string> flags = {"backtest", "--prices", file, "--optimizer",
                                          "equal",    "--out",    out};
  std::filesystem::create_directory(out);
  const PathLock lock(out, PathLock::If::free);
  ASSERT_TRUE(lock.held());
  expect_end(flags, 1500);
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

// Shells start work in the background so: Ctrl-C is for what stands in the foreground.
TEST_F(Interrupting, ASignalThatTheCallerIgnoresIsIgnored) {
  const auto before = signal(SIGINT, SIG_IGN);
  const pid_t child = start_program(
      {"simulate", "--assets", "300", "--days", "2000", "--out", folder_.path("simulated.csv")});
  signal(SIGINT, before);
  ASSERT_GT(child, 0);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    kill(child, SIGINT);
    usleep(1000);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace sharpen
