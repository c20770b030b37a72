// Every public header compiles on its own, twice in one file, with every warning an error.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "project/tree.hpp"

namespace sharpen::project {
namespace {

// Compiles a file of just this text against the public headers; the output is the compiler's.
CommandResult compile(const std::string& text) {
  return run_command("printf '%s' " + quoted(text) + " | " + quoted(SHARPEN_CXX_COMPILER) +
                     " -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Wpedantic -Werror -I " +
                     quoted(std::string(SHARPEN_SOURCE_DIR) + "/include") + " -x c++ - 2>&1");
}

std::vector<std::string> public_headers() {
  std::vector<std::string> headers;
  for (const SourceFile& file : sources_under("include"))
    headers.push_back(file.path.substr(std::string("include/").size()));
  return headers;
}

class PublicHeader : public ::testing::TestWithParam<std::string> {};

TEST_P(PublicHeader, SlowCompilesAlone) {
  const std::string line = "#include \"" + GetParam() + "\"\n";
  const CommandResult result = compile(line + line);
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Tree, PublicHeader, ::testing::ValuesIn(public_headers()),
                         [](const auto& header) {
                           std::string name = header.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(PublicHeaderCheck, FailsForAHeaderThatForgetsAnInclude) {
  const CommandResult result = compile("inline std::string planted() { return {}; }\n");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.output.find("std"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace sharpen::project
