// The pages of --help: complete, grouped, wrapped, and found however they are asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::run_program;
using ::testing::StartsWith;

std::string page(const std::vector<std::string>& arguments) {
  const Finished run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

TEST(Help, ListsEverySettingOfEveryCommand) {
  for (const settings::CommandInfo& info : settings::commands()) {
    const std::string text = page({std::string(info.name), "--help"});
    for (const settings::Setting& setting : settings::table()) {
      const std::string flag = "--" + std::string(setting.name) +
                               (setting.placeholder.empty() ? "" : " ") +
                               std::string(setting.placeholder) + " ";
      // Commands may have rows of their own under one name.
      const bool taken =
          std::ranges::any_of(settings::table(), [&](const settings::Setting& other) {
            return other.name == setting.name && other.placeholder == setting.placeholder &&
                   (other.commands & info.command) != 0;
          });
      EXPECT_EQ(
          text.find("  " + flag) != std::string::npos || text.find("," + flag) != std::string::npos,
          taken)
          << info.name << " " << flag;
    }
    EXPECT_THAT(text, HasSubstr("--version "));
    EXPECT_THAT(text, HasSubstr("-h,--help "));
    EXPECT_THAT(text, HasSubstr("\nExample: sharpen " + std::string(info.name) + " "));
  }
}

TEST(Help, FitsIntoAHundredColumns) {
  std::vector<std::vector<std::string>> pages = {{"--help"}};
  for (const settings::CommandInfo& info : settings::commands())
    pages.push_back({std::string(info.name), "--help"});
  for (const auto& arguments : pages) {
    std::istringstream lines(page(arguments));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), 100u) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(Help, GroupsTheOptionsOfSolve) {
  const std::string text = page({"solve", "--help"});
  std::size_t last = 0;
  for (const char* part :
       {"\nUsage: sharpen solve [OPTIONS]\n", "\nExample: ", "\nInput:\n", "  --prices FILE ",
        "\nWindow:\n", "  --lookback N|all ", "\nPortfolio:\n", "  -k,--k N|P% ",
        "\nOutput and running:\n", "  --json ", "  --threads N "}) {
    const std::size_t at = text.find(part, last);
    ASSERT_NE(at, std::string::npos) << part << " is missing or out of order";
    last = at;
  }
}

TEST(Help, ShowsTheDefaultOfTheCommand) {
  EXPECT_THAT(page({"solve", "--help"}), HasSubstr("volatility, gross [gross]"));
  EXPECT_THAT(page({"backtest", "--help"}), HasSubstr("volatility, gross [volatility]"));
}

TEST(Help, TheWordHelpGivesTheSamePages) {
  const std::string whole = page({"--help"});
  EXPECT_THAT(whole, HasSubstr("Example: sharpen solve --demo --explain\n"));
  for (const settings::CommandInfo& info : settings::commands()) {
    EXPECT_THAT(whole, HasSubstr("\n  " + std::string(info.name) + " "));
    EXPECT_EQ(page({"help", std::string(info.name)}), page({std::string(info.name), "--help"}));
  }
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"help"}, {"help", "help"}, {"help", "--help"}, {"-h"}})
    EXPECT_EQ(page(arguments), whole);
}

TEST(Help, RefusesWhatItDoesNotKnow) {
  const auto error = [](const std::vector<std::string>& arguments) {
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_EQ(error({"help", "slove"}),
            "sharpen: error: unknown command slove; did you mean solve?\n");
  EXPECT_EQ(error({"help", "zebra"}),
            "sharpen: error: unknown command zebra; see sharpen --help\n");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"help", "--json"}, {"help", "solve", "--json"}, {"help", "help", "--json"}})
    EXPECT_EQ(error(arguments),
              "sharpen: error: unexpected argument --json; write sharpen help, or sharpen help "
              "COMMAND\n");
}

TEST(Version, IsGivenAfterACommandToo) {
  EXPECT_EQ(page({"solve", "--version"}), page({"--version"}));
  EXPECT_EQ(page({"doctor", "--version", "--json"}), page({"--version", "--json"}));
  EXPECT_EQ(page({"solve", "--version", "--json=false"}), page({"--version"}));
  EXPECT_THAT(page({"solve", "--demo", "--version=false"}), StartsWith("4 of 12 assets"));
}

TEST(ShortFlags, TakeTheirValueInEveryForm) {
  const std::string answer = page({"solve", "--demo", "-k", "3"});
  EXPECT_EQ(page({"solve", "--demo", "-k=3"}), answer);
  EXPECT_EQ(page({"solve", "--demo", "-k3"}), answer);
  EXPECT_EQ(page({"solve", "--demo", "--k=3"}), answer);
  EXPECT_EQ(page({"solve", "-k=25%", "--demo"}), answer);
  EXPECT_EQ(run_program({"solve", "--demo", "-k="}).err,
            "sharpen: error: --k needs a value: N|P%\n");
  EXPECT_EQ(run_program({"-k=3"}).err, "sharpen: error: unknown option -k; see sharpen --help\n");
}

}  // namespace
}  // namespace sharpen
