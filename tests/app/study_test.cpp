#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sharpen/market/simulate.hpp"
#include "sharpen/study/store.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using testing::start_program;

// Some seconds of work at most, in many pieces.
const std::string kStudy =
    "k = [2, 3]\nseeds = 3\nlookback = 15\nhidden = [4]\nepochs = 3\nbatch = 32\n"
    "[[market]]\nname = \"sim\"\nsimulate = { assets = 6, days = 160, seed = 1 }\n"
    "[[method]]\nframework = \"historic\"\noptimizer = \"sdr\"\nsdr-recovery = \"match\"\n"
    "sdr-match = \"monthly\"\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"mssrm\"\ntraining = \"paper\"\n"
    "[[method]]\nframework = \"dfl\"\noptimizer = \"swap\"\n"
    "[[method]]\noptimizer = \"equal\"\n";
constexpr int kCells = 2 * (1 + 3 + 3 + 3 + 1);

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_same_results(const std::string& a, const std::string& b) {
  const study::Results first = study::read_store(a), second = study::read_store(b);
  ASSERT_EQ(first.cells.size(), second.cells.size());
  for (std::size_t i = 0; i < first.cells.size(); ++i) {
    const study::Cell &x = first.cells[i], &y = second.cells[i];
    EXPECT_EQ(x.state, study::CellState::done);
    EXPECT_EQ(y.state, study::CellState::done);
    EXPECT_EQ(x.run.returns, y.run.returns) << i;
    ASSERT_EQ(x.run.weights.size(), y.run.weights.size()) << i;
    for (std::size_t w = 0; w < x.run.weights.size(); ++w)
      EXPECT_EQ(x.run.weights[w].weight, y.run.weights[w].weight) << i;
    EXPECT_TRUE(same(x.metrics.sharpe, y.metrics.sharpe)) << i;
    ASSERT_EQ(x.regret.has_value(), y.regret.has_value());
    if (x.regret) {
      EXPECT_EQ(x.regret->mean, y.regret->mean) << i;
    }
  }
}

TEST(StudyCommand, RunsAndAnswersInTextAndJson) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy), out = folder.path("out");
  const Finished first = run_program({"study", config, "--out", out, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json answer = json::parse(first.out);
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "study");
  EXPECT_EQ(answer["cells"], kCells);
  EXPECT_EQ(answer["done"], kCells);
  EXPECT_EQ(answer["failed"], 0);
  EXPECT_EQ(answer["trainings"], 3 + 6);
  EXPECT_EQ(answer["db"], out + "/study.db");
  EXPECT_GE(answer["seconds"].get<double>(), 0.0);

  const Finished again = run_program({"study", "--config", config, "--out", out});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing was left to do"));

  const Finished list = run_program({"study", "--list", "--out", out});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("22 cells: 22 done, 0 failed, 0 missing"));
  EXPECT_THAT(list.out, HasSubstr("done     sim, k = 2, pfl-oscar, seed 3"));
  const json listed = json::parse(run_program({"study", "--list", "--json", "--out", out}).out);
  EXPECT_EQ(listed["list"].size(), static_cast<std::size_t>(kCells));
  EXPECT_EQ(listed["missing"], 0);
}

TEST(StudyCommand, SlowKilledAnywhereItGoesOnToTheSameBits) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy);
  const std::string whole = folder.path("whole"), parts = folder.path("parts");
  ASSERT_EQ(run_program({"study", config, "--out", whole, "--threads", "1"}).exit_code, 0);
  int partly = 0;
  for (int wanted = 0; wanted < kCells; wanted += 2) {
    const pid_t child = start_program({"study", config, "--out", parts, "--threads", "1"});
    int done = -1;  // no store yet
    bool ended = false;
    while (done < wanted && !ended) {
      const Finished list = run_program({"study", "--list", "--json", "--out", parts});
      if (list.exit_code == 0) done = json::parse(list.out)["done"];
      ended = waitpid(child, nullptr, WNOHANG) != 0;
    }
    if (!ended) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    partly += done > 0 && done < kCells ? 1 : 0;
    // It was faster than a look at it.
    if (done == kCells && partly == 0) std::filesystem::remove_all(parts);
  }
  EXPECT_GT(partly, 0) << "no kill met a study half done";
  const Finished last = run_program({"study", config, "--out", parts});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  expect_same_results(whole + "/study.db", parts + "/study.db");
}

TEST(StudyCommand, SlowInterruptedItSaysHowToGoOn) {
  const Folder folder;
  // Long enough not to be done before the signal.
  const std::string config =
      folder.file("s.toml",
                  "seeds = 2\nlookback = 50\nframeworks = \"dfl\"\nepochs = 2000\nvalidation = 0\n"
                  "[[market]]\nsimulate = { assets = 20, days = 1000 }\n");
  const std::string out = folder.path("out");
  const pid_t child = start_program({"study", config, "--out", out});
  // While it writes, others may look, and none may write.
  Finished list;
  for (int looks = 0; looks < 6000; ++looks) {
    list = run_program({"study", "--list", "--out", out});
    if (list.exit_code == 0 || waitpid(child, nullptr, WNOHANG) != 0) break;
  }
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("2 missing"));
  const Finished second = run_program({"study", config, "--out", out});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("study.db"));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(run_program({"study", "--list", "--out", out}).exit_code, 0);
}

TEST(StudyCommand, NoticesAChangedFile) {
  const Folder folder;
  market::Panel prices = market::simulate({.assets = 5, .days = 160, .seed = 3});
  market::write_panel(prices, folder.path("p.csv"));
  const std::vector<std::string> command = {"study",        "--prices", folder.path("p.csv"),
                                            "--frameworks", "historic", "--lookback",
                                            "20",           "--out",    folder.path("out")};
  ASSERT_EQ(run_program(command).exit_code, 0);
  prices.values[3] *= 1.01;
  market::write_panel(prices, folder.path("p.csv"));
  const Finished changed = run_program(command);
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("p.csv"));
  EXPECT_THAT(changed.err, HasSubstr("--out"));
  EXPECT_THAT(changed.err, HasSubstr("--force, which sets study.db aside"));
  std::vector<std::string> afresh = command;
  afresh.push_back("--force");
  const Finished forced = run_program(afresh);
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_THAT(forced.err, HasSubstr("the study that was there is now"));
  EXPECT_EQ(run_program(command).exit_code, 0);
}

TEST(StudyCommand, SaysOnceWhatIsOddAboutAMarket) {
  const Folder folder;
  market::Panel monthly = market::simulate({.assets = 5, .days = 80, .seed = 3});
  for (Index row = 0; row < monthly.rows(); ++row) {
    const int year = 2000 + static_cast<int>(row) / 12, month = static_cast<int>(row) % 12 + 1;
    monthly.dates[static_cast<std::size_t>(row)] =
        std::to_string(year) + (month < 10 ? "-0" : "-") + std::to_string(month) + "-28";
  }
  market::write_panel(monthly, folder.path("monthly.csv"));
  const Finished run = run_program({"study", "--prices", folder.path("monthly.csv"), "--frameworks",
                                    "historic,rolling", "-k", "2,3", "--lookback", "20", "--json",
                                    "--out", folder.path("out")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json warnings = json::parse(run.out)["warnings"];
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0].get<std::string>(), HasSubstr("periods a year by the dates"));
  EXPECT_EQ(run.err, "sharpen: warning: " + warnings[0].get<std::string>() + "\n");
}

TEST(StudyCommand, SaysOnceWhatIsLikelyAMistake) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy);
  const std::string risk = "risk-free = 2 is 200 % a year; write 0.02 for 2 %";
  const std::string cost = "cost-bps = 10000 is 100 % of what is traded; write 10 for 0.1 %";
  for (const char* how : {"--dry-run", "--retry"}) {
    const Finished run = run_program({"study", config, "--risk-free", "2", "--costs", "10000",
                                      "--seeds", "1", "--json", "--out", folder.path("out"), how});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(json::parse(run.out)["warnings"], json({risk, cost})) << how;
    EXPECT_EQ(run.err, "sharpen: warning: " + risk + "\nsharpen: warning: " + cost + "\n");
  }
}

TEST(StudyCommand, RetrainsWhatLearnsBesideWhatDoesNot) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy);
  const Finished run = run_program({"study", config, "--retrain", "20", "--decision", "soft",
                                    "--seeds", "1", "--json", "--out", folder.path("out")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["failed"], 0);
}

TEST(StudyCommand, RefusesAtOnceWhatNoCellCouldDo) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy), out = folder.path("out");
  for (const char* how : {"--dry-run", "--retry"}) {
    const Finished run = run_program(
        {"study", config, "--universe", "available", "--network", "joint", "--out", out, how});
    EXPECT_EQ(run.exit_code, 2) << how;
    EXPECT_THAT(run.err, HasSubstr("universe = available cannot go with network = joint, which "
                                   "needs every asset throughout; use network shared"));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(StudyCommand, TellsAnotherReadingFromAnotherFile) {
  const Folder folder;
  const auto study = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"study",
                               folder.file("s.toml",
                                           "k = 2\nlookback = 15\n[[market]]\nsimulate = { assets "
                                           "= 5, days = 140 }\n[[method]]\n"),
                               "--out", folder.path("out")});
    return run_program(more);
  };
  EXPECT_EQ(study({}).exit_code, 0);
  const Finished same = study({"--on-suspect", "careful", "--max-gap", "5"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("nothing was left to do"));
  const Finished other = study({"--on-suspect", "adjust"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("market \"simulated\" is read with other settings than when "
                                   "this study began: on-suspect = adjust, was careful"));
}

TEST(StudyCommand, GrowsAndDoesNotShrink) {
  const Folder folder;
  const auto study = [&](const std::string& text) {
    return run_program({"study",
                        folder.file("s.toml", "k = 2\nlookback = 15\n" + text +
                                                  "[[method]]\nframework = \"rolling\"\n"),
                        "--out", folder.path("out")});
  };
  const std::string a = "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 140 }\n";
  const std::string b =
      "[[market]]\nname = \"b\"\nsimulate = { assets = 5, days = 140, seed = 7 }\n";
  EXPECT_EQ(study(a).exit_code, 0);
  EXPECT_EQ(study(a + b).exit_code, 0);
  const Finished less = study(b);
  EXPECT_EQ(less.exit_code, 2);
  EXPECT_THAT(less.err, HasSubstr("holds market \"a\", which is not in what is asked for now"));
  EXPECT_THAT(less.err, HasSubstr("--out"));
}

TEST(StudyCommand, AFailedCellIsNamedAndTheExitCodeSaysSo) {
  const Folder folder;
  const std::string config =
      folder.file("s.toml",
                  "seeds = 1\nlookback = 15\nhidden = [\"4\"]\nepochs = 3\n"
                  "[[market]]\nsimulate = { assets = 5, days = 140 }\n"
                  "[[method]]\nname = \"wild\"\nframework = \"pfl\"\nlearning-rate = 1e30\n"
                  "[[method]]\noptimizer = \"equal\"\n");
  const std::string out = folder.path("out");
  const Finished run = run_program({"study", config, "--out", out});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("1 of 2 cells failed"));
  EXPECT_THAT(run.err, HasSubstr("--retry"));
  const Finished list = run_program({"study", "--list", "--out", out});
  EXPECT_THAT(list.out, HasSubstr("failed   simulated, k = 10%, wild, seed 1: the training"));
  EXPECT_THAT(list.out, HasSubstr("done     simulated, k = 10%, equal"));
}

TEST(StudyCommand, TakesRepeatedFlags) {
  const Folder folder;
  std::uint64_t seed = 0;
  for (const std::string name : {"a.csv", "b.csv", "c.csv"})
    market::write_panel(market::simulate({.assets = 4, .days = 140, .seed = ++seed}),
                        folder.path(name));
  const Finished run = run_program(
      {"study", "--prices", folder.path("a.csv") + "," + folder.path("b.csv"), "--prices",
       folder.path("c.csv"), "--frameworks", "historic", "--optimizers", "oscar", "-k", "1,2", "-k",
       "75%", "--dry-run", "--lookback", "20", "--json", "--out", folder.path("out")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["action"], "dry-run");
  EXPECT_EQ(answer["cells"], 9);
  EXPECT_EQ(answer["missing"], 9);
  EXPECT_EQ(answer["trainings"], 0);
  EXPECT_TRUE(answer["minutes"].is_number());
  EXPECT_TRUE(answer["gigabytes"].is_number());
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST(StudyCommand, PrintsAConfigurationThatIsTheSameStudy) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy);
  const Finished first = run_program({"study", config, "--print-config", "--costs", "5"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Finished again = run_program({"study", folder.file("t.toml", first.out), "--print-config"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
}

TEST(StudyCommand, RefusesWhatWouldCountTwice) {
  const Folder folder;
  for (const std::string name : {"a.csv", "b.csv"})
    market::write_panel(market::simulate({.assets = 4, .days = 140}), folder.path(name));
  const auto run = [&](const std::string& prices, const std::string& k) {
    return run_program({"study", "--prices", prices, "--frameworks", "historic", "-k", k,
                        "--dry-run", "--lookback", "20"});
  };
  const Finished twins = run(folder.path("a.csv") + "," + folder.path("b.csv"), "2");
  EXPECT_EQ(twins.exit_code, 2);
  EXPECT_THAT(twins.err,
              HasSubstr("market b: is the same data, read in the same way, as market a"));
  const Finished names = run(folder.path("a.csv"), "2,50%");
  EXPECT_EQ(names.exit_code, 2);
  EXPECT_THAT(names.err, HasSubstr("market a: k = 2 and k = 50% are both 2 of its 4 assets"));
}

TEST(StudyCommand, SaysWhatToDoInstead) {
  const Folder folder;
  const std::string market = "[[market]]\nsimulate = { assets = 5, days = 140 }\n";
  const auto said = [&](const std::string& text, const std::vector<std::string>& flags) {
    std::vector<std::string> command = {"study", folder.file("s.toml", text), "--print-config"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Finished run = run_program(command);
    EXPECT_EQ(run.exit_code, 2) << text;
    return run.err;
  };
  EXPECT_THAT(said(market, {"--seeds", "5-1"}), HasSubstr("write 1-5"));
  EXPECT_THAT(said(market, {"--seeds", "100000000"}), HasSubstr("give fewer"));
  EXPECT_THAT(said(market, {"--frameworks", "foo"}),
              HasSubstr("is not one of rolling, historic, pfl, dfl\n"));
  EXPECT_THAT(said(market + "name = \"\"\n", {}), HasSubstr("s.toml:3: name = \"\" is empty"));
  EXPECT_THAT(said(market + "name = \"a\\u0000b\"\n", {}), HasSubstr("has a NUL character"));
  EXPECT_THAT(said(market + "[[method]]\nzzzzzz = 1\n", {}),
              HasSubstr("the settings of `sharpen backtest --help`"));
  EXPECT_THAT(said("ensemble = [1, 2]\n" + market + "[[method]]\n", {}),
              HasSubstr("give one number"));
  const Finished list = run_program({"study", "--list"});
  EXPECT_EQ(list.exit_code, 2);
  EXPECT_THAT(list.err, HasSubstr("give --out DIR"));
}

TEST(StudyCommand, ForceOverAFileThatIsNoStudySaysSo) {
  const Folder folder;
  std::filesystem::create_directory(folder.path("out"));
  folder.file("out/study.db", "hello");
  const std::string config = folder.file(
      "s.toml",
      "k = 2\nlookback = 15\nensemble = 1\n[[market]]\nsimulate = { assets = 5, days = 140 }\n"
      "[[method]]\n");
  const Finished run = run_program({"study", config, "--out", folder.path("out"), "--force"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the file that was there is now"));
  EXPECT_THAT(run.out, HasSubstr("1 cell and 0 trainings in"));
}

TEST(StudyCommand, RefusesFoldersItCannotUse) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy);
  const Finished file = run_program({"study", config, "--out", config});
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.err, HasSubstr("is a file, not a folder"));
  const Finished list = run_program({"study", "--list", "--out", folder.path("none")});
  EXPECT_EQ(list.exit_code, 2);
  EXPECT_THAT(list.err, HasSubstr("there is no study"));
}

// No folder is closed to root, so the program runs as nobody there.
TEST(StudyCommand, AFolderThatMayNotBeWrittenIsNamed) {
  constexpr uid_t kNobody = 65534;
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy), out = folder.path("closed");
  const std::string said = folder.path("said");
  ASSERT_EQ(chmod(std::filesystem::path(config).parent_path().c_str(), 0755), 0);
  ASSERT_EQ(mkdir(out.c_str(), 0555), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(said.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(127);
    execl(SHARPEN_BINARY, "sharpen", "study", config.c_str(), "--out", out.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 127) GTEST_SKIP() << "nobody may not run the program here";
  EXPECT_THAT(WEXITSTATUS(status), ::testing::AnyOf(1, 2));
  EXPECT_THAT(testing::text_of(said), HasSubstr("closed"));
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST(StudyCommand, AFullDiskLeavesWhatIsDone) {
  const Folder folder;
  const std::string config = folder.file("s.toml", kStudy), out = folder.path("out");
  const std::string whole = folder.path("whole");
  ASSERT_EQ(run_program({"study", config, "--out", whole}).exit_code, 0);
  const rlim_t most = std::filesystem::file_size(whole + "/study.db") * 2 / 3;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few = {most, most};
    setrlimit(RLIMIT_FSIZE, &few);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    execl(SHARPEN_BINARY, "sharpen", "study", config.c_str(), "--out", out.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const Finished rest = run_program({"study", config, "--out", out});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  expect_same_results(whole + "/study.db", out + "/study.db");
}

}  // namespace
}  // namespace sharpen
