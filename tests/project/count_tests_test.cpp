// tools/count-tests reads what ctest writes: the last line of `make test` rests on it.
#include <gtest/gtest.h>

#include <string>

#include "project/tree.hpp"

namespace sharpen::project {
namespace {

std::string count(const std::string& junit) {
  const CommandResult result =
      run_command("printf '%s' " + quoted(junit) + " | awk -f " +
                  quoted(std::string(SHARPEN_SOURCE_DIR) + "/tools/count-tests") + " 2>/dev/null");
  EXPECT_EQ(result.exit_code, 0);
  return result.output;
}

TEST(CountTests, SeparatesPassedFailedAndSkipped) {
  EXPECT_EQ(count("<testsuite tests=\"4\">\n"
                  "\t<testcase name=\"a\" status=\"run\">\n\t</testcase>\n"
                  "\t<testcase name=\"b\" status=\"fail\">\n\t\t<failure message=\"\"/>\n"
                  "\t<testcase name=\"c\" status=\"notrun\">\n"
                  "\t\t<skipped message=\"SKIP_REGULAR_EXPRESSION_MATCHED\"/>\n"
                  "\t<testcase name=\"d\" status=\"run\">\n"
                  "</testsuite>\n"),
            "2 1 1\n");
}

TEST(CountTests, CallsATestThatCouldNotRunAFailure) {
  EXPECT_EQ(count("\t<testcase name=\"x_NOT_BUILT\" status=\"notrun\">\n"
                  "\t\t<skipped message=\"Unable to find executable\"/>\n"
                  "\t<testcase name=\"y\" status=\"notrun\">\n"
                  "\t\t<skipped message=\"Fixture dependency failed\"/>\n"),
            "0 2 0\n");
}

TEST(CountTests, CountsADisabledTestAsSkipped) {
  EXPECT_EQ(count("\t<testcase name=\"x\" status=\"disabled\">\n"), "0 0 1\n");
}

TEST(CountTests, ReadsWhatPytestWritesOnOneLine) {
  EXPECT_EQ(count("<?xml version=\"1.0\"?><testsuites><testsuite name=\"pytest\" tests=\"5\">"
                  "<testcase classname=\"t\" name=\"a\" time=\"0.1\" />"
                  "<testcase classname=\"t\" name=\"b\"><failure message=\"x\">line\n"
                  "next</failure></testcase>"
                  "<testcase classname=\"t\" name=\"c\"><skipped message=\"no data\">"
                  "c.py:1</skipped></testcase>"
                  "<testcase classname=\"t\" name=\"d\"><error message=\"y\">z</error></testcase>"
                  "<testcase classname=\"t\" name=\"e\" /></testsuite></testsuites>\n"),
            "2 2 1\n");
}

TEST(CountTests, FindsNothingInAnEmptyFile) { EXPECT_EQ(count(""), "0 0 0\n"); }

}  // namespace
}  // namespace sharpen::project
