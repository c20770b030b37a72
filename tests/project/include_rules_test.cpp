#include "project/include_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "project/tree.hpp"

namespace sharpen::project {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(IncludeRules, AllowLeftwardIncludesAndTheOwnFolder) {
  EXPECT_THAT(include_violations({
                  {"include/sharpen/base/view.hpp", "#include <span>\n"},
                  {"include/sharpen/risk/risk.hpp", "#include \"sharpen/base/view.hpp\"\n"},
                  {"src/risk/packed.hpp", ""},
                  {"src/base/lanes.hpp", ""},
                  {"src/risk/dense.cpp",
                   "#include \"sharpen/risk/risk.hpp\"\n#include <cblas.h>\n"
                   "#include \"risk/packed.hpp\"\n#include \"packed.hpp\"\n"
                   "#include \"base/lanes.hpp\"\n"},
              }),
              IsEmpty());
}

TEST(IncludeRules, FindAPublicIncludeThatPointsRight) {
  EXPECT_THAT(
      include_violations({
          {"include/sharpen/select/select.hpp", ""},
          {"src/risk/dense.cpp", "// a comment\n  #  include <sharpen/select/select.hpp>\n"},
      }),
      ElementsAre("src/risk/dense.cpp:2: is in risk and includes sharpen/select/select.hpp, "
                  "which lies to its right"));
}

TEST(IncludeRules, FindAPrivateIncludeThatPointsRight) {
  EXPECT_THAT(include_violations({
                  {"src/layer/work.hpp", ""},
                  {"src/base/status.cpp", "#include \"layer/work.hpp\"\n"},
              }),
              ElementsAre(HasSubstr("is in base and includes layer/work.hpp")));
}

TEST(IncludeRules, FindAThirdPartyHeaderInAPublicHeader) {
  EXPECT_THAT(include_violations({
                  {"include/sharpen/base/log.hpp", "#include <string>\n#include <fmt/core.h>\n"},
              }),
              ElementsAre(HasSubstr("include/sharpen/base/log.hpp:2: is a public header and "
                                    "includes fmt/core.h")));
}

TEST(IncludeRules, FindAPrivateHeaderInAPublicHeader) {
  EXPECT_THAT(include_violations({
                  {"src/base/lanes.hpp", ""},
                  {"include/sharpen/base/log.hpp", "#include \"base/lanes.hpp\"\n"},
              }),
              ElementsAre(HasSubstr("is a public header and includes base/lanes.hpp")));
}

TEST(IncludeRules, FindAPrivateHeaderInTheProgram) {
  EXPECT_THAT(
      include_violations({
          {"src/risk/packed.hpp", ""},
          {"app/solve.hpp", ""},
          {"app/solve.cpp",
           "#include \"solve.hpp\"\n#include <CLI/CLI.hpp>\n#include \"risk/packed.hpp\"\n"},
      }),
      ElementsAre("app/solve.cpp:3: belongs to the program and includes the private header "
                  "risk/packed.hpp"));
}

TEST(IncludeRules, FindPathsThatClimb) {
  EXPECT_THAT(include_violations({{"app/main.cpp", "#include \"../src/risk/packed.hpp\"\n"}}),
              ElementsAre(HasSubstr("write the path from include/ or src/")));
}

TEST(IncludeRules, FindAnIncludeHiddenInAMacro) {
  EXPECT_THAT(include_violations({{"src/base/status.cpp", "#include SOME_HEADER\n"}}),
              ElementsAre(HasSubstr("src/base/status.cpp:1: includes a macro")));
}

TEST(IncludeRules, FindAFolderWithoutAPlaceInTheOrder) {
  EXPECT_THAT(include_violations({
                  {"src/misc/thing.cpp", ""},
                  {"src/thing.cpp", ""},
              }),
              ElementsAre(HasSubstr("src/misc/thing.cpp: is in a folder"),
                          HasSubstr("src/thing.cpp: is in a folder")));
}

TEST(IncludeRules, FindAPublicHeaderThatDoesNotExist) {
  EXPECT_THAT(include_violations({{"app/main.cpp", "#include \"sharpen/risk/gone.hpp\"\n"}}),
              ElementsAre(HasSubstr("sharpen/risk/gone.hpp, which is not in include/")));
}

TEST(IncludeRules, AreKeptByThisTree) {
  std::vector<SourceFile> files;
  for (const char* folder : {"include", "src", "app"}) {
    const auto found = sources_under(folder);
    files.insert(files.end(), found.begin(), found.end());
  }
  ASSERT_GT(files.size(), 8u) << "the tree was not found under " << SHARPEN_SOURCE_DIR;
  EXPECT_THAT(include_violations(files), IsEmpty());
}

}  // namespace
}  // namespace sharpen::project
