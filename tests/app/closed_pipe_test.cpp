// `sharpen ... | head`: the reader has what it wanted, and nothing has failed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/program.hpp"

namespace sharpen {
namespace {

using testing::Folder;
using testing::text_of;

// The exit code with standard output in a pipe that nobody reads; standard error goes to a file.
int run_into_closed_pipe(std::vector<std::string> arguments, const std::string& err) {
  arguments.insert(arguments.begin(), SHARPEN_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return -1;
  close(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ClosedPipe, EndsTheProgramQuietly) {
  const Folder folder;
  const std::string err = folder.path("err");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", "--assets", "2", "--days", "9"},
        {"solve", "--demo", "--json"},
        {"--help"}}) {
    EXPECT_EQ(run_into_closed_pipe(arguments, err), 0) << arguments.front();
    EXPECT_EQ(text_of(err), "") << arguments.front();
  }
}

TEST(ClosedPipe, KeepsTheFilesOfTheAnswer) {
  const Folder folder;
  const std::string out = folder.path("prices.csv");
  EXPECT_EQ(run_into_closed_pipe({"simulate", "--assets", "2", "--days", "9", "--out", out},
                                 folder.path("err")),
            0);
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST(ClosedPipe, DoesNotHideAMistake) {
  const Folder folder;
  const std::string err = folder.path("err");
  EXPECT_EQ(run_into_closed_pipe({"simulate", "--assets", "0"}, err), 2);
  EXPECT_EQ(text_of(err), "sharpen: error: assets = 0 is outside [1, 100000]\n");
}

}  // namespace
}  // namespace sharpen
