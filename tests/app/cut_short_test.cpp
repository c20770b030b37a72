// The program ended or refused at every step with which it changes files: what is left is one
// result, whole, or says that it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backtest/panels.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using testing::Surroundings;
using testing::text_of;

constexpr int kKilled = 128 + SIGKILL;

// "CALLS:N:WHAT" as app/faults.cpp has it; "" for no fault.
Surroundings with_fault(const std::string& fault, const std::string& folder = ".") {
  Surroundings out{.folder = folder, .variables = {"LD_PRELOAD=" SHARPEN_FAULTS}};
  if (!fault.empty()) out.variables.push_back("SHARPEN_FAULT=" + fault);
  return out;
}

class CutShort : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer must be loaded first";
#endif
  }
  // Names in a folder, hidden ones included, but for those of `known`.
  static std::vector<std::string> others(const std::string& folder,
                                         const std::vector<std::string>& known) {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder))
      if (const std::string name = entry.path().filename().string();
          std::ranges::find(known, name) == known.end())
        out.push_back(name);
    return out;
  }

  Folder folder_;
  std::string returns_ =
      folder_.file("panel.csv", market::panel_csv(backtest::testing::random_panel(40, 4, 71)));
};

using Files = std::map<std::string, std::string>;

Files files_of(const std::string& folder) {
  Files out;
  for (const char* name : {"returns.csv", "weights.csv", "trades.csv", "weights_last.csv",
                           "positions.csv", "benchmark.csv", "metrics.json"})
    if (fs::exists(folder + "/" + name)) out[name] = text_of(folder + "/" + name);
  return out;
}

struct Place {
  const char* name;
  bool foreign, stood_in, exchange;
};

class ReplacedRun : public CutShort, public ::testing::WithParamInterface<Place> {
 protected:
  std::vector<std::string> backtest(const std::string& lookback, std::vector<std::string> more) {
    std::vector<std::string> flags = {"backtest",
                                      "--returns",
                                      returns_,
                                      "--lookback",
                                      lookback,
                                      "--threads",
                                      "1",
                                      "--replications",
                                      "100",
                                      "--out",
                                      GetParam().stood_in ? "." : out_};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  Finished run(const std::vector<std::string>& flags, const std::string& fault) {
    Surroundings surroundings = with_fault(fault, GetParam().stood_in ? out_ : ".");
    if (!GetParam().exchange) surroundings.variables.emplace_back("SHARPEN_NO_EXCHANGE=1");
    return run_program(flags, "", surroundings);
  }
  // The folder as it is before the run that is cut short.
  void put_back(const Files& files) {
    fs::remove_all(out_);
    fs::create_directory(out_);
    for (const auto& [name, text] : files) folder_.file("mx/" + name, text);
    if (GetParam().foreign) folder_.file("mx/notes.txt", "keep me");
  }
  // One of the two results, or one that every reader refuses.
  void expect_whole_or_refused(const Files& before, const Files& after) {
    const Files found = files_of(out_);
    if (GetParam().foreign) {
      EXPECT_EQ(text_of(out_ + "/notes.txt"), "keep me");
    }
    if (found == before || found == after) {
      EXPECT_NO_THROW(backtest::read_run(out_));
      return;
    }
    EXPECT_TRUE(
        json::parse(text_of(out_ + "/metrics.json"), nullptr, false).contains("incomplete"));
    const Finished compared = run_program({"compare", out_, out_});
    EXPECT_EQ(compared.exit_code, 2);
    EXPECT_THAT(compared.err, AllOf(HasSubstr("the result is not whole"),
                                    HasSubstr("run the same sharpen backtest --out again")));
  }

  std::string out_ = folder_.path("mx");
  std::vector<std::string> force_ =
      GetParam().foreign ? std::vector<std::string>{"--force"} : std::vector<std::string>{};
};

TEST_P(ReplacedRun, IsTheOldTheNewOrSaysThatItIsNeither) {
  fs::create_directory(out_);
  ASSERT_EQ(run(backtest("10", {"--benchmark", "A1"}), "").exit_code, 0);
  const Files before = files_of(out_);
  const std::vector<std::string> replace = backtest("12", force_);
  put_back(before);
  ASSERT_EQ(run(replace, "").exit_code, 0);
  const Files after = files_of(out_);
  ASSERT_EQ(before.size(), 7u);
  ASSERT_EQ(after.size(), 6u);
  for (const std::string what : {"kill", "5"}) {  // 5: EIO
    int code = -1;
    for (int step = 0; code != 0; step += what == "kill" ? 1 : 3) {
      SCOPED_TRACE(what + " at step " + std::to_string(step));
      ASSERT_LT(step, 40);
      put_back(before);
      code = run(replace, "rename,renameat2,mkdir:" + std::to_string(step) + ":" + what).exit_code;
      ASSERT_THAT(code, ::testing::AnyOf(0, what == "kill" ? kKilled : 1));
      expect_whole_or_refused(before, after);
    }
  }
}

TEST_P(ReplacedRun, IsMendedByTheNextRunWhichLeavesNothingBehind) {
  fs::create_directory(out_);
  ASSERT_EQ(run(backtest("10", {"--benchmark", "A1"}), "").exit_code, 0);
  const Files before = files_of(out_);
  const std::vector<std::string> replace = backtest("12", force_);
  const std::string calls = "rename,renameat2,remove,unlinkat,rmdir,write:";
  for (int step = 3;; step += 3) {
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_LT(step, 60);
    put_back(before);
    if (run(replace, calls + std::to_string(step) + ":kill").exit_code == 0) break;
    const Finished again = run(replace, "");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(files_of(out_).size(), 6u);
    EXPECT_THAT(others(folder_.path(""), {"panel.csv", "mx"}), ::testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(, ReplacedRun,
                         ::testing::Values(Place{"BesideOtherFiles", true, false, true},
                                           Place{"InTheFolderOneStandsIn", false, true, true},
                                           Place{"WhereNothingIsExchanged", false, false, false},
                                           Place{"WhereNamesAreExchanged", false, false, true}),
                         [](const auto& place) { return std::string(place.param.name); });

// Somebody else's folder of such a name, one whose run is not over, and what somebody put into one.
TEST_F(CutShort, OnlyWhatKilledRunsHaveLeftIsRemoved) {
  const std::string out = folder_.path("mx");
  const std::vector<std::string> flags = {"backtest", "--returns", returns_, "--lookback",
                                          "10",       "--out",     out};
  fs::create_directory(folder_.path(".mx.backup"));
  folder_.file(".mx.backup/returns.csv", "mine");
  for (const char* name : {"alive1", "theirs", "dead01"}) {
    fs::create_directory(folder_.path(std::string(".mx.sharpen-") + name));
    folder_.file(std::string(".mx.sharpen-") + name + "/returns.csv", "half");
  }
  folder_.file(".mx.sharpen-theirs/notes.txt", "mine");
  const PathLock alive(folder_.path(".mx.sharpen-alive1"), PathLock::If::free);
  ASSERT_TRUE(alive.held());
  EXPECT_EQ(run_program(flags).exit_code, 0);
  EXPECT_THAT(
      others(folder_.path(""), {"panel.csv", "mx"}),
      ::testing::UnorderedElementsAre(".mx.backup", ".mx.sharpen-alive1", ".mx.sharpen-theirs"));
  EXPECT_EQ(text_of(folder_.path(".mx.backup/returns.csv")), "mine");
  EXPECT_EQ(text_of(folder_.path(".mx.sharpen-alive1/returns.csv")), "half");
  EXPECT_EQ(text_of(folder_.path(".mx.sharpen-theirs/notes.txt")), "mine");
}

// Where nothing can be moved from beside it (18: EXDEV), or nothing be made there (13: EACCES).
TEST_F(CutShort, AMountPointOrAFolderWhoseParentIsClosedIsWrittenTo) {
  const std::string out = folder_.path("mx");
  const auto backtest = [&](const char* lookback, const char* fault) {
    Surroundings surroundings = with_fault(fault);
    surroundings.variables.emplace_back("SHARPEN_NO_EXCHANGE=1");
    return run_program({"backtest", "--returns", returns_, "--lookback", lookback, "--out", out},
                       "", surroundings);
  };
  for (const char* fault : {"rename:0:18", "mkdir:0:13", "mkdir:0:30"}) {
    fs::remove_all(out);
    fs::create_directory(out);
    for (const char* lookback : {"10", "12"}) {
      ASSERT_EQ(backtest(lookback, "").exit_code, 0);
      const Files expected = files_of(out);
      fs::remove_all(out + "/returns.csv");
      const Finished run = backtest(lookback, fault);
      EXPECT_EQ(run.exit_code, 0) << fault << run.err;
      EXPECT_EQ(files_of(out), expected);
      EXPECT_THAT(others(out, {"returns.csv", "weights.csv", "trades.csv", "weights_last.csv",
                               "positions.csv", "metrics.json"}),
                  ::testing::IsEmpty());
    }
  }
  // What a killed run has left in it neither hinders nor stays.
  ASSERT_EQ(backtest("10", "rename:1+:kill").exit_code, kKilled);
  EXPECT_EQ(backtest("10", "").exit_code, 0);
  EXPECT_THAT(others(folder_.path(""), {"panel.csv", "mx"}), ::testing::IsEmpty());
}

TEST_F(CutShort, AFileThatIsReplacedLeavesNoOther) {
  const std::string out = folder_.file("prices.csv", "old");
  const std::vector<std::string> flags = {"simulate", "--assets", "3", "--days",
                                          "30",       "--out",    out};
  ASSERT_EQ(run_program(flags, "", with_fault("rename:0:kill")).exit_code, kKilled);
  EXPECT_EQ(text_of(out), "old");
  EXPECT_EQ(run_program(flags).exit_code, 0);
  EXPECT_THAT(others(folder_.path(""), {"panel.csv", "prices.csv"}), ::testing::IsEmpty());
}

TEST_F(CutShort, MemoryThatEndsIsAnErrorAndNoCrash) {
  for (const std::string number : {"20", "1000", "12600"}) {
    const Finished run = run_program({"backtest", "--returns", returns_, "--lookback", "10"}, "",
                                     with_fault("malloc:" + number + "+:12"));
    EXPECT_EQ(run.exit_code, 1) << number << run.err;
    EXPECT_THAT(run.err, HasSubstr("sharpen: error: not enough memory"));
  }
}

class CutShortTraining : public CutShort {
 protected:
  std::vector<std::string> train(std::vector<std::string> more = {}) {
    std::vector<std::string> flags = {
        "train", "--returns",    returns_, "--lookback", "10", "--hidden", "4", "--batch",
        "8",     "--epochs",     "3",      "--ensemble", "2",  "-k",       "2", "--threads",
        "1",     "--validation", "0.3",    "--horizon",  "1",  "--memory", "2", "--train-block",
        "8",     "--out",        model_};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  std::string model_ = folder_.path("m.sharpen");
};

TEST_F(CutShortTraining, IsOnTheDiskBeforeItIsReliedOn) {
  Surroundings surroundings = with_fault("");
  surroundings.variables.push_back("SHARPEN_CALLS=" + folder_.path("calls"));
  ASSERT_EQ(run_program(train(), "", surroundings).exit_code, 0);
  std::istringstream calls(text_of(folder_.path("calls")));
  bool bytes = true, names = true;  // are on the disk
  int files = 0;
  for (std::string call, path; calls >> call && std::getline(calls, path);) {
    if (call == "fsync") bytes = names = true;
    if (call == "write" || call == "unlinkat") {
      EXPECT_TRUE(names) << call << path;
    }
    if (call == "write") {
      ++files;
      bytes = false;
    }
    if (call == "linkat" || call == "rename") {
      EXPECT_TRUE(bytes) << call << path;
      names = false;
    }
  }
  EXPECT_EQ(files, 7) << "two members of three epochs, and the model";
}

TEST_F(CutShortTraining, ASecondIsToldOfTheFirst) {
  fs::create_directory(model_ + ".partial");
  const PathLock first(model_ + ".partial", PathLock::If::free);
  ASSERT_TRUE(first.held());
  for (const bool resume : {false, true}) {
    const Finished second = run_program(
        train(resume ? std::vector<std::string>{"--resume"} : std::vector<std::string>{}));
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_THAT(second.err, HasSubstr("m.sharpen.partial: another process is training this model; "
                                      "wait for it, or give another --out"));
  }
}

TEST_F(CutShortTraining, ASecondByALinkIsToldOfTheFirst) {
  fs::create_directory(model_ + ".partial");
  const PathLock first(model_ + ".partial", PathLock::If::free);
  ASSERT_TRUE(first.held());
  const std::string link = folder_.path("link.sharpen");
  fs::create_symlink(model_, link);
  std::vector<std::string> arguments = train();
  *std::ranges::find(arguments, model_) = link;
  const Finished second = run_program(arguments);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("m.sharpen.partial: another process is training this model"));
}

// 17: EEXIST, and then it is gone, as when the first ends at that moment.
TEST_F(CutShortTraining, BeginsAnewWhenTheFirstEndsMeanwhile) {
  const Finished second = run_program(train(), "", with_fault("mkdir:0:17"));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(others(folder_.path(""), {"panel.csv", "m.sharpen"}), ::testing::IsEmpty());
}

TEST_F(CutShortTraining, GoesOnFromEveryStepToTheSameBytes) {
  ASSERT_EQ(run_program(train()).exit_code, 0);
  const std::string whole = text_of(model_);
  for (int step = 0;; step += 3) {
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_LT(step, 80);
    fs::remove(model_);
    const auto fault = with_fault("all:" + std::to_string(step) + ":half");
    if (run_program(train(), "", fault).exit_code == 0) break;
    const Finished again = run_program(train({"--resume"}));
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(text_of(model_), whole);
    EXPECT_THAT(others(folder_.path(""), {"panel.csv", "m.sharpen"}), ::testing::IsEmpty());
  }
}

// OpenBLAS can be told to choose the kernels of another CPU.
TEST_F(CutShortTraining, GoneOnWithOnAnotherKindOfCpuSaysSo) {
  const Surroundings other{.variables = {"OPENBLAS_CORETYPE=Nehalem"}};
  if (run_program({"--version"}).out == run_program({"--version"}, "", other).out)
    GTEST_SKIP() << "OpenBLAS has one set of kernels here";
  ASSERT_EQ(run_program(train(), "", with_fault("linkat:3:kill")).exit_code, kKilled);
  const Finished same = run_program(train({"--resume"}), "", with_fault("linkat:0:kill"));
  EXPECT_EQ(same.exit_code, kKilled);
  const Finished resumed = run_program(train({"--resume", "--json"}), "", other);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("resumed on another kind of CPU (Nehalem, "));
}

TEST_F(CutShort, AStudyFinishedOnAnotherKindOfCpuSaysSo) {
  const Surroundings other{.variables = {"OPENBLAS_CORETYPE=Nehalem"}};
  if (run_program({"--version"}).out == run_program({"--version"}, "", other).out)
    GTEST_SKIP() << "OpenBLAS has one set of kernels here";
  const auto study = [&](const char* k, const Surroundings& surroundings) {
    return run_program({"study", "--returns", returns_, "--lookback", "10", "--frameworks",
                        "rolling", "--optimizers", "greedy", "-k", k, "--out", folder_.path("s")},
                       "", surroundings);
  };
  ASSERT_EQ(study("1", {}).exit_code, 0);
  const Finished more = study("1,2", other);
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.err, HasSubstr("study.db: was begun on another kind of CPU"));
  EXPECT_THAT(study("1,2", {}).err, ::testing::Not(HasSubstr("another kind")));
}

}  // namespace
}  // namespace sharpen
