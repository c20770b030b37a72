#include "project/page_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sharpen::project {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Tree& planted() {
  static const Tree tree = {
      {"include/sharpen/layer/score.hpp", "Status score_forward(int x);\n"},
      {"tests/layer/score_test.cpp", "TEST(Score, Ranks) {\n}\nTEST_P(Each,\n       Sums) {}\n"},
      {"docs/other.md", ""}};
  return tree;
}

std::vector<std::string> faults_of(const std::string& page) {
  return PageReader(planted()).read(page).faults;
}

TEST(PageNames, ThatExistAreFound) {
  const PageReport report = PageReader(planted()).read(
      "| `layer/score.hpp`: `score_forward` | `layer/score_test.cpp`: `Score.Ranks`, `Each.Sums` "
      "|\n"
      "see `Score.Ranks` and [there](other.md#part), `sharpen solve --demo -k 3`\n"
      "```\nsharpen backtest --prices a.csv  # --no-flag of ours\n```\n");
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(report.functions, 1);
  EXPECT_EQ(report.tests, 3);
  EXPECT_EQ(report.commands, 2);
  EXPECT_EQ(report.links, 1);
}

TEST(PageNames, ThatAreMisspeltAreNamed) {
  EXPECT_THAT(faults_of("`layer/scores.hpp`"), ElementsAre("line 1: there is no file "
                                                           "layer/scores.hpp"));
  EXPECT_THAT(faults_of("\n`layer/score.hpp`: `score_forwards`"),
              ElementsAre("line 2: include/sharpen/layer/score.hpp does not name score_forwards"));
  EXPECT_THAT(faults_of("`layer/score.hpp`: `score`"),
              ElementsAre("line 1: include/sharpen/layer/score.hpp does not name score"));
  EXPECT_THAT(faults_of("`layer/score_test.cpp`: `Score.Ranks`, `Score.Sums`"),
              ElementsAre("line 1: tests/layer/score_test.cpp has no test Score.Sums"));
  EXPECT_THAT(faults_of("test `Score.Rank`"), ElementsAre("line 1: there is no test Score.Rank"));
  EXPECT_THAT(faults_of("[there](others.md)"), ElementsAre("line 1: there is no docs/others.md"));
  EXPECT_THAT(faults_of("`sharpen resolve`"),
              ElementsAre("line 1: there is no command sharpen resolve"));
  EXPECT_THAT(faults_of("```sh\nsharpen solve --optimiser swap\n```\n"),
              ElementsAre("line 2: sharpen solve does not take --optimiser"));
}

Tree this_tree() {
  namespace fs = std::filesystem;
  const fs::path root = SHARPEN_SOURCE_DIR;
  Tree tree;
  for (const char* folder : {"include", "src", "tests", "docs", "tools"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      tree[fs::relative(entry.path(), root).generic_string()] = text.str();
    }
  return tree;
}

TEST(PageNames, OfThePagesOfThisTreeExist) {
  const Tree tree = this_tree();
  PageReader reader(tree);
  for (const char* page : {"docs/paper.md", "docs/tutorial.md", "docs/statistics.md"}) {
    ASSERT_TRUE(tree.contains(page));
    EXPECT_THAT(reader.read(tree.at(page)).faults, IsEmpty()) << page;
  }
  // If the page were written in another way, nothing would be recognised and nothing checked.
  const PageReport paper = reader.read(tree.at("docs/paper.md"));
  EXPECT_GT(paper.files, 80);
  EXPECT_GT(paper.tests, 60);
  EXPECT_GT(paper.functions, 40);
  EXPECT_GT(paper.commands, 30);
  EXPECT_GT(reader.read(tree.at("docs/tutorial.md")).commands, 10);
}

// docs/cpp.md, the first page of the reference, names classes and functions in full.
TEST(PageNames, OfTheReferencesFirstPageExist) {
  const Tree tree = this_tree();
  const std::string& page = tree.at("docs/cpp.md");
  const std::regex pattern(R"(sharpen::([a-z]+)::(\w+))");
  int names = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), pattern), none; at != none; ++at) {
    const std::string folder = "include/sharpen/" + (*at)[1].str() + "/";
    EXPECT_TRUE(std::any_of(tree.begin(), tree.end(), [&](const auto& file) {
      return file.first.starts_with(folder) && PageReader::has_word(file.second, (*at)[2]);
    })) << (*at)[0];
    ++names;
  }
  EXPECT_GT(names, 10);
}

}  // namespace
}  // namespace sharpen::project
