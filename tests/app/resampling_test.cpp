// The bootstrap behind `sharpen backtest` and `sharpen compare`: its flags, and how it is stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "backtest/panels.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using backtest::testing::random_panel;
using nlohmann::json;
using ::testing::EndsWith;
using testing::Finished;
using testing::Folder;
using testing::run_program;
using testing::text_of;

class Resampling : public ::testing::Test {
 protected:
  std::vector<std::string> flags(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"backtest", "--returns", file_, "--optimizer", "equal", "--min-history", "20"});
    return more;
  }
  json answer(std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Finished run = run_program(flags(std::move(more)));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }
  void expect_refused(std::vector<std::string> more, const std::string& message) const {
    testing::expect_refused(flags(std::move(more)), message);
  }

  Folder folder_;
  std::string file_ = folder_.file("returns.csv", market::panel_csv(random_panel(80, 6, 71)));
};

TEST_F(Resampling, TheBacktestTakesReplicationsAndBlock) {
  const json plain = answer({});
  EXPECT_EQ(plain["replications"], 10000);
  const json few = answer({"--replications", "40", "--block", "7"});
  EXPECT_EQ(few["replications"], 40);
  EXPECT_EQ(few["bootstrap_block"], 7.0);
  EXPECT_EQ(few["sharpe"], plain["sharpe"]);
  EXPECT_NE(few["sharpe_ci"], plain["sharpe_ci"]);
  EXPECT_EQ(answer({"--replications", "10000"})["sharpe_ci"], plain["sharpe_ci"]);
}

TEST_F(Resampling, ABlockMustFitThePeriodsOfTheStatistics) {
  EXPECT_EQ(answer({"--block", "60", "--replications", "10"})["bootstrap_block"], 60.0);
  expect_refused({"--block", "61"}, "block = 61 is outside [1, 60], the number of periods");
  expect_refused({"--block", "31", "--stats-from", "51"},
                 "block = 31 is outside [1, 30], the number of periods");
  EXPECT_EQ(answer({"--block", "80", "--stats-from", "1"})["bootstrap_block"], 80.0);
  expect_refused({"--replications", "0"}, "replications = 0 is outside [1, 10000000]");
}

// Ruin ends the run before the block's length is reached: that is no mistake of the user's.
TEST_F(Resampling, RuinMakesDoWithShorterBlocks) {
  const json ruined = answer({"--cost-bps", "20000", "--block", "50", "--replications", "10"});
  EXPECT_EQ(ruined["ruin"], true);
  const json before = answer(
      {"--cost-bps", "20000", "--block", "30", "--stats-from", "41", "--replications", "10"});
  EXPECT_EQ(before["ruin"], true);
  EXPECT_EQ(before["n_periods"], 0);
}

// Starts the program, interrupts it after a while, and gives its exit code (-1 if it was killed).
int interrupted_after(int wait_ms, std::vector<std::string> arguments, const std::string& err) {
  arguments.insert(arguments.begin(), SHARPEN_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  usleep(static_cast<useconds_t>(wait_ms) * 1000);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// On a busy machine the signal may come before the program listens to it.
int interrupted(const std::vector<std::string>& arguments, const std::string& err) {
  int code = -1;
  for (const int wait_ms : {300, 1000, 4000, 10000})
    if (code < 0) code = interrupted_after(wait_ms, arguments, err);
  return code;
}

// Ten million replications would take minutes. Progress may be told before the error.
TEST_F(Resampling, SlowCtrlCStopsIt) {
  const std::string a = folder_.path("a"), b = folder_.path("b"), err = folder_.path("err");
  ASSERT_EQ(run_program(flags({"--out", a})).exit_code, 0);
  ASSERT_EQ(run_program(flags({"--out", b, "--cost-bps", "5", "--rebalance", "7"})).exit_code, 0);
  EXPECT_EQ(interrupted({"compare", a, b, "--replications", "10000000"}, err), 1);
  EXPECT_THAT(text_of(err), EndsWith("sharpen: error: interrupted\n"));
  const std::string c = folder_.path("c");
  EXPECT_EQ(interrupted(flags({"--out", c, "--replications", "10000000"}), err), 1);
  EXPECT_THAT(text_of(err), EndsWith("sharpen: error: interrupted; nothing was written\n"));
  EXPECT_FALSE(std::filesystem::exists(c));
}

}  // namespace
}  // namespace sharpen
