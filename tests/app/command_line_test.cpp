// What the program does with its arguments: help, versions, wrong usage, configuration, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "project/tree.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using ::testing::StartsWith;

TEST(Program, PrintsHelpForItselfAndForACommand) {
  const Finished top = run_program({"--help"});
  EXPECT_EQ(top.exit_code, 0);
  EXPECT_THAT(top.out, HasSubstr("solve"));
  const Finished solve = run_program({"solve", "--help"});
  EXPECT_EQ(solve.exit_code, 0);
  for (const char* flag : {"--prices", "--shrinkage", "-k,--k", "--periods-per-year", "--explain"})
    EXPECT_THAT(solve.out, HasSubstr(flag));
  EXPECT_EQ(solve.err, "");
}

TEST(Program, NamesVersionCompilerAndBlas) {
  EXPECT_THAT(run_program({"--version"}).out, StartsWith("sharpen "));
  const Finished run = run_program({"--version", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer["schema_version"], 1);
  for (const char* key : {"version", "compiler", "build_type"})
    EXPECT_FALSE(answer[key].get<std::string>().empty()) << key;
  EXPECT_THAT(answer["blas"].get<std::string>(), HasSubstr("OpenBLAS"));
}

TEST(Program, SuggestsWhatMayHaveBeenMeant) {
  expect_refused({}, "no command given; see sharpen --help");
  expect_refused({"slove"}, "unknown command slove; did you mean solve?");
  expect_refused({"zebra"}, "unknown command zebra; see sharpen --help");
  expect_refused({"--versoin"}, "unknown option --versoin; did you mean --version?");
  expect_refused({"-x"}, "unknown option -x; see sharpen --help");
  expect_refused({"solve", "--optimzer", "swap"},
                     "unknown option --optimzer; did you mean --optimizer?");
  expect_refused({"solve", "--optimzer=swap"},
                     "unknown option --optimzer; did you mean --optimizer?");
  expect_refused({"solve", "--demo", "stray"},
                     "unexpected argument stray; see sharpen solve --help");
  expect_refused({"solve", "--demo", "a\x1b[2Jb"},
                     "unexpected argument a\\x1b[2Jb; see sharpen solve --help");
  expect_refused({"--json", "solve", "--demo"},
                     "--json goes after the command: sharpen solve --json");
}

TEST(Program, RefusesMissingRepeatedAndEmptyValues) {
  expect_refused({"solve", "--prices"}, "--prices needs a value: FILE");
  expect_refused({"solve", "--demo", "-k", "3", "-k", "5"}, "--k is given more than once");
  expect_refused({"solve", "--prices", ""},
                     "prices = '' is empty; give a FILE, or leave it out");
  expect_refused({"solve", "--demo", "--config", ""},
                     "config = '' is empty; give a FILE, or leave it out");
  expect_refused({"solve", "--demo", "--json=banana"},
                     "json = banana is neither true nor false");
}

TEST(Program, RefusesValuesOutsideTheirBounds) {
  const auto refuse = [](const std::string& flag, const std::string& value,
                         const std::string& message) {
    expect_refused({"solve", "--demo", flag, value}, message);
  };
  refuse("-k", "0", "k = 0 is outside [1, n]");
  refuse("-k", "-1", "k = -1 is outside [1, n]");
  refuse("-k", "13", "k = 13 is outside [1, 12]; there are 12 assets");
  refuse("-k", "0%", "k = 0% is outside (0%, 100%]");
  refuse("-k", "101%", "k = 101% is outside (0%, 100%]");
  refuse("-k", "-5%", "k = -5% is outside (0%, 100%]");
  refuse("-k", "2.5", "k = 2.5 is neither a whole number such as 20 nor a share such as 10%");
  refuse("--shrinkage", "1.5", "shrinkage = 1.5 is outside [0, 1]");
  refuse("--shrinkage", "-0.1", "shrinkage = -0.1 is outside [0, 1]");
  refuse("--shrinkage", "nan", "shrinkage = nan is outside [0, 1]");
  refuse("--lookback", "1", "lookback = 1 is outside [2, inf)");
  refuse("--offset", "0", "offset = 0 is outside (0, inf)");
  refuse("--target-volatility", "-1", "target-volatility = -1 is outside (0, inf)");
  refuse("--periods-per-year", "0", "periods-per-year = 0 is outside (0, inf)");
  refuse("--threads", "-1", "threads = -1 is outside [0, 1024]");
  refuse("--optimizer", "swop",
         "optimizer = swop is not one of oscar, symmetric, greedy, swap, pairs, exact, mssrm, mssrm-long, sdr, "
         "equal; "
         "did you mean swap?");
  refuse("--form", "low-rank=",
         "form = low-rank= is not one of auto, dense, low-rank; did you "
         "mean low-rank?");
}

TEST(Program, RefusesSettingsThatContradictEachOther) {
  const std::string sources =
      "--prices FILE, --returns FILE, --moments FILE, --mean FILE with --cov FILE, or --demo";
  expect_refused({"solve"}, "nothing to solve; give " + sources);
  expect_refused({"solve", "--prices", "a", "--returns", "b"},
                     "--prices and --returns cannot go together; give one of " + sources);
  expect_refused({"solve", "--mean", "a"},
                     "--mean alone is not enough; give --mean FILE and --cov FILE");
  expect_refused({"solve", "--cov", "a"},
                     "--cov alone is not enough; give --mean FILE and --cov FILE");
  expect_refused({"solve", "--prices", "a", "--gross"},
                     "--gross has no meaning here; it goes with --returns");
  expect_refused({"solve", "--moments", "a", "--from", "2020"},
                     "--from has no meaning here; it goes with --prices or --returns");
  expect_refused({"solve", "--moments", "a", "--lookback", "all"},
                     "--lookback has no meaning here; it goes with --prices or --returns");
  expect_refused({"solve", "--demo", "--format", "orlib"},
                     "--format has no meaning here; it goes with --moments");
  expect_refused({"solve", "--moments", "a", "--form", "low-rank"},
                     "form = low-rank needs a window of returns; given moments are dense");
  expect_refused({"solve", "--demo", "--net", "any", "--sizing", "budget"},
                     "net = any cannot go with sizing = budget, which divides by the net "
                     "position; use sizing gross or volatility");
}

TEST(Program, FailsLoudlyWhenItsAnswerCannotBeWritten) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"solve", "--demo"},
                                                    {"solve", "--demo", "--json"},
                                                    {"--help"},
                                                    {"--version"},
                                                    {"solve", "--demo", "--print-config"}}) {
    const Finished full = run_program(arguments, "/dev/full");
    EXPECT_EQ(full.exit_code, 1) << arguments.back();
    EXPECT_THAT(full.err, StartsWith("sharpen: error: cannot write to standard output: "));
    const Finished closed = run_program(arguments, "closed");
    EXPECT_EQ(closed.exit_code, 1) << arguments.back();
    EXPECT_THAT(closed.err, StartsWith("sharpen: error: cannot write to standard output: "));
  }
}

TEST(Config, FlagsWinOverTheFileWhichWinsOverDefaults) {
  const Folder folder;
  const std::string file =
      folder.file("my.toml", "demo = true\njson = true\nk = 3\noptimizer = \"greedy\"\n");
  const auto from_file = nlohmann::json::parse(run_program({"solve", "--config", file}).out);
  EXPECT_EQ(from_file["k"], 3);
  EXPECT_EQ(from_file["optimizer"], "greedy");
  EXPECT_EQ(from_file["sizing"], "gross");
  const auto with_flag =
      nlohmann::json::parse(run_program({"solve", "-k", "2", "--config", file}).out);
  EXPECT_EQ(with_flag["k"], 2);
  EXPECT_EQ(with_flag["optimizer"], "greedy");
  EXPECT_THAT(run_program({"solve", "--config", file, "--json=false"}).out,
              HasSubstr("3 of 12 assets by greedy"));
}

TEST(Config, PrintedSettingsReadBackToTheSameSettingsAndAnswer) {
  const Folder folder;
  const std::vector<std::string> flags = {"solve",       "--demo",
                                          "-k",          "25%",
                                          "--shrinkage", "0.3",
                                          "--lookback",  "all",
                                          "--sizing",    "volatility",
                                          "--net",       "any",
                                          "--tickers",   "ALDER,BIRCH,CEDAR,DELTA,EMBER",
                                          "--from",      "2024-03",
                                          "--json"};
  std::vector<std::string> printing = flags;
  printing.push_back("--print-config");
  const Finished printed = run_program(printing);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  const std::string file = folder.file("printed.toml", printed.out);
  EXPECT_EQ(run_program({"solve", "--config", file, "--print-config"}).out, printed.out);
  const Finished direct = run_program(flags);
  ASSERT_EQ(direct.exit_code, 0) << direct.err;
  EXPECT_EQ(run_program({"solve", "--config", file}).out, direct.out);
}

TEST(Config, PrintedDefaultsOfTheDemoReadBackToTheSameAnswer) {
  const Folder folder;
  const std::string file =
      folder.file("demo.toml", run_program({"solve", "--demo", "--print-config"}).out);
  EXPECT_EQ(run_program({"solve", "--config", file}).out, run_program({"solve", "--demo"}).out);
}

TEST(Config, NamesFileLineAndKeyOfAMistake) {
  const Folder folder;
  const std::string file = folder.file("my.toml", "demo = true\nshrinkge = 0.1\n");
  expect_refused({"solve", "--config", file},
                     file +
                         ":2: shrinkge is not a setting of this command; did you mean "
                         "shrinkage?");
  const std::string other = folder.file("other.toml", "\n\nprices = \"p.csv\"\n");
  expect_refused(
      {"solve", "--demo", "--config", other},
      "prices (" + other +
          ":3) and --demo cannot go together; give one of "
          "--prices FILE, --returns FILE, --moments FILE, --mean FILE with --cov FILE, "
          "or --demo");
  expect_refused({"solve", "--config", folder.path("none.toml")},
                     folder.path("none.toml") +
                         ": cannot open the configuration file: No such file or directory; check "
                         "the path and its permissions");
  const std::string table = folder.file("table.toml", "[solve]\nk = 3\n");
  expect_refused({"solve", "--config", table},
                     table +
                         ":1: solve is a table; put the keys at the top level, without a "
                         "[header]");
}

TEST(Config, TooDeepIsRefusedAndNoCrash) {
  const testing::Folder folder;
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1\n", "[" + key + "]\n", "[[" + key + "]]\n"})
    for (const char* command : {"solve", "study"}) {
      const Finished run = run_program({command, "--config", folder.file("c.toml", text)});
      EXPECT_EQ(run.exit_code, 2);
      EXPECT_THAT(run.err, HasSubstr("c.toml:1: a key of more than 8 parts; "));
    }
}

// OpenBLAS, which cannot have its buffers, would ask for them for ever. With less than the first of
// these the program cannot be loaded.
TEST(Program, EndsUnderALimitOfTheAddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more than any limit";
#endif
  const Folder folder;
  const std::string prices = folder.path("p.csv");
  ASSERT_EQ(run_program({"simulate", "--assets", "8", "--days", "400", "--out", prices}).exit_code,
            0);
  int answers = 0;
  for (int kilobytes = 100'000; kilobytes <= 400'000; kilobytes += 20'000)
    for (const std::string& command :
         {std::string("--version"), std::string("solve --demo --threads 2"),
          "backtest --framework dfl -k 2 --ensemble 1 --epochs 1 --hidden 8 --prices " + prices}) {
      const project::CommandResult run =
          project::run_command("ulimit -v " + std::to_string(kilobytes) + " && timeout 30 " +
                               SHARPEN_BINARY + " " + command + " 2>&1");
      if (run.exit_code == 0) {
        ++answers;
      } else {
        EXPECT_THAT(run.output,
                    ::testing::AnyOf(HasSubstr("allow 400 MB"), HasSubstr("not enough memory")))
            << kilobytes << " " << command << " " << run.exit_code;
      }
    }
  EXPECT_GT(answers, 30);
}

TEST(OptionsPage, IsWhatTheProgramPrints) {
  EXPECT_EQ(run_program({"--print-options-md"}).out,
            testing::text_of(SHARPEN_SOURCE_DIR "/docs/options.md"));
}

TEST(JsonPage, IsWhatTheProgramPrints) {
  EXPECT_EQ(run_program({"--print-json-md"}).out,
            testing::text_of(SHARPEN_SOURCE_DIR "/docs/json.md"))
      << "run: sharpen --print-json-md > docs/json.md";
}

}  // namespace
}  // namespace sharpen
