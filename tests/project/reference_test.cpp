// The reference of the C++ library: tools/doxygen-comments turns plain comments into Doxygen's, and
// Doxygen has nothing to complain of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "project/tree.hpp"
#include "support/files.hpp"

namespace sharpen::project {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRoot = SHARPEN_SOURCE_DIR;

std::string filtered(const std::string& header) {
  const testing::Folder folder;
  const CommandResult result =
      run_command("awk -f " + quoted(kRoot + "/tools/doxygen-comments") + " " +
                  quoted(folder.file("planted.hpp", header)) + " 2>&1");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return result.output;
}

TEST(DoxygenComments, DescribeTheFileTheDeclarationAndWhatStandsBefore) {
  const std::string text = filtered(
      "// The problem:\n//   max mu^T w\n#pragma once\n\n// A section.\n\nnamespace n {\n\n"
      "// What it is.\nstruct S {\n  int k = 1;  // in [1, n]\n              // or so\n};\n\n"
      "}  // namespace n\n");
  EXPECT_THAT(text, HasSubstr("The problem:\n\\verbatim\n  max mu^T w\n\\endverbatim\n*/\n"));
  EXPECT_THAT(text, HasSubstr("/** \\file "));
  EXPECT_THAT(text, HasSubstr("\n// A section.\n"));
  EXPECT_THAT(text, HasSubstr("/** \nWhat it is.\n*/\nstruct S {\n"));
  EXPECT_THAT(text, HasSubstr("int k = 1;  ///< in [1, n]\n              ///< or so\n"));
  EXPECT_THAT(text, HasSubstr("\n}  // namespace n\n"));
}

TEST(DoxygenComments, OfSeveralFunctionsBelongToEach) {
  const std::string text = filtered(
      "// A file.\n\n// One for both.\nint f(int a,\n      int b);\nint g();\n\nint h();\n"
      "\n// For one.\nint i();\n");
  EXPECT_THAT(text, HasSubstr("///@{\nint f(int a,\n      int b);\nint g();\n///@}\n\nint h();\n"));
  EXPECT_THAT(text, HasSubstr("For one.\n*/\nint i();\n"));
}

TEST(DoxygenComments, EscapeWhatIsNoMarkup) {
  const std::string text =
      filtered("// A file.\n\n// <g, v> is 5 % of \\xNN; a * b @ #{d} & `a<b>*`.\nint f();\n");
  EXPECT_THAT(text,
              HasSubstr("\n&lt;g, v&gt; is 5 \\% of \\\\xNN; a \\* b \\@ \\#{d} \\& `a<b>*`.\n"));
}

TEST(Reference, SlowBuildsWithoutWarnings) {
  if (run_command("command -v doxygen").exit_code != 0)
    GTEST_SKIP() << "no doxygen here: the reference is not built";
  const testing::Folder folder;
  const CommandResult built =
      run_command(quoted(kRoot + "/tools/docs") + " " + quoted(folder.path("docs")) + " 2>&1");
  ASSERT_EQ(built.exit_code, 0) << built.output;
  EXPECT_THAT(built.output, Not(HasSubstr("warning")));
  const std::string risk =
      testing::text_of(folder.path("docs/cpp/classsharpen_1_1risk_1_1Risk.html"));
  EXPECT_THAT(risk, HasSubstr("the symmetric root (its own transpose)"));
  const std::string top_k = testing::text_of(folder.path("docs/cpp/soft__topk_8hpp.html"));
  EXPECT_THAT(top_k, HasSubstr("Newton runs on G(u) = log S_out - log S_in"));
}

}  // namespace
}  // namespace sharpen::project
