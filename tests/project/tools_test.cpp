// The scripts that count: tools/size measures the code, and .ci/run adds up what make counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "project/tree.hpp"
#include "support/files.hpp"

namespace sharpen::project {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// A tree with one script of the project in it.
class Planted {
 public:
  explicit Planted(const std::string& script) : script_(script) {
    fs::create_directories(fs::path(folder_.path(script)).parent_path());
    fs::copy_file(fs::path(SHARPEN_SOURCE_DIR) / script, folder_.path(script));
  }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    folder_.file(name, text);
  }
  CommandResult run() const {
    return run_command("cd " + quoted(folder_.path("")) + " && git init -q . && git add . && ./" +
                       script_ + " 2>&1");
  }

 private:
  testing::Folder folder_;
  std::string script_;
};

class Size : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_command("command -v python3 && command -v git").exit_code != 0)
      GTEST_SKIP() << "no python3 or git here: nothing is measured";
    tree_.file("docs/options.md",
               "| `--optimizer NAME` | `swap`, `sdr` | `swap` | how |\n"
               "| `--k N` | 1 | – | names |\n| `--net X` | x | – | sum |\n");
  }
  Planted tree_{"tools/size"};
};

TEST_F(Size, FindsAnEmptyTreeSmall) {
  tree_.file("src/a.cpp", "int f() { return 1; }\n");
  const CommandResult found = tree_.run();
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("bench: size_core_lines 1 <=36500 ok\n"));
  EXPECT_THAT(found.output, HasSubstr("bench: size_longest_function 1 <=60 ok\n"));
  EXPECT_THAT(found.output, HasSubstr("bench: size_compared_names 0 <=0 ok\n"));
  EXPECT_THAT(found.output, EndsWith("bench: size_setting_lists 0 <=0 ok\n"));
}

TEST_F(Size, MeasuresTheLongestFunctionOfEitherLanguage) {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "  g(\"}\");  // }\n";
  tree_.file("src/a.cpp",
             "namespace n {\nclass A {\n  A() : a_{1}, b_(2) {\n" + lines + "  }\n};\n}\n");
  EXPECT_THAT(tree_.run().output, HasSubstr("bench: size_longest_function 62 <=60 short\n"));
  std::string python;
  for (int i = 0; i < 70; ++i) python += "    g()\n";
  tree_.file("python/sharpen/a.py",
             "def f():\n    \"\"\"Long.\n\n    Said.\n    \"\"\"\n" + python);
  EXPECT_THAT(tree_.run().output, HasSubstr("bench: size_longest_function 71 <=60 short\n"));
}

TEST_F(Size, LeavesTablesAsLongAsTheyAre) {
  std::string rows = "Rows table() {\n";
  for (int i = 0; i < 500; ++i) rows += "  row(\"k\", \"net\", \"optimizer\");\n";
  tree_.file("src/a_table.cpp", rows + "}\n");
  tree_.file("src/b.cpp", "const int kB[] = {\n1};\nint f() {\n  return 1;\n}\n");
  const CommandResult found = tree_.run();
  EXPECT_THAT(found.output, HasSubstr("bench: size_longest_file 5 <=450 ok\n"));
  EXPECT_THAT(found.output, HasSubstr("bench: size_longest_function 3 <=60 ok\n"));
  EXPECT_THAT(found.output, HasSubstr("bench: size_setting_lists 0 <=0 ok\n"));
}

TEST_F(Size, CountsComparedNamesAndListsOfSettings) {
  tree_.file("app/a.cpp",
             "bool f(X o) { return o == \"swap\" || o == n::Optimizer::sdr; }  // o == \"sdr\"\n"
             "const char* const kList[] = {\"k\", \"net\", \"optimizer\"};\n"
             "const char* const kNone[] = {\"k\", \"net\", \"date\", \"price\"};\n"
             "const char* g(bool b) { return b ? \"swap\" : \"sdr\"; }\n"
             "using enum n::Framework;\n"
             "std::string optimizer = \"swap\";\n");
  tree_.file("python/sharpen/a.py", "NAMES = (\"k\", 'net', \"optimizer\")\n");
  tree_.file("src/solve/registry.cpp", "bool f(X o) { return o == \"swap\"; }\n");
  tree_.file("src/a/rows.cpp", "row(\"swap\");\n");
  const CommandResult found = tree_.run();
  EXPECT_THAT(found.output, HasSubstr("bench: size_compared_names 4 <=0 short\n"));
  EXPECT_THAT(found.output, HasSubstr("bench: size_setting_lists 2 <=0 short\n"));
  EXPECT_THAT(found.output, HasSubstr("app/a.cpp:2: k, net, optimizer\n"));
}

// make test and make slow that print what they are told, and end as they are told.
std::string makefile(const std::string& test, const std::string& slow) {
  return "test:\n\t@" + test + "\nslow:\n\t@" + slow + "\n";
}

TEST(ContinuousIntegration, CountsOverTestAndSlow) {
  Planted tree(".ci/run");
  tree.file("Makefile",
            makefile("echo 3 passed, 0 failed, 1 skipped", "echo 2 passed, 0 failed, 0 skipped"));
  const CommandResult found = tree.run();
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.output, EndsWith("\n5 passed, 0 failed, 1 skipped\n"));
}

TEST(ContinuousIntegration, FailsWithEither) {
  const std::string good = "echo 3 passed, 0 failed, 1 skipped";
  const std::string bad = "echo 2 passed, 1 failed, 0 skipped; exit 1";
  for (const auto& [test, slow] : {std::pair(good, bad), std::pair(bad, good)}) {
    Planted tree(".ci/run");
    tree.file("Makefile", makefile(test, slow));
    const CommandResult found = tree.run();
    EXPECT_EQ(found.exit_code, 1);
    EXPECT_THAT(found.output, EndsWith("\n5 passed, 1 failed, 1 skipped\n"));
  }
  Planted tree(".ci/run");
  tree.file("Makefile", makefile("exit 1", good));
  const CommandResult found = tree.run();
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_THAT(found.output, EndsWith("\n3 passed, 1 failed, 1 skipped\n"));
}

}  // namespace
}  // namespace sharpen::project
