// Runs the program in a process of its own. Only tests/app may: the other folders are built, and
// run, without the program.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.hpp"

namespace sharpen::testing {

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

// Where the program runs, and variables of its environment, "NAME=value".
struct Surroundings {
  std::string folder = ".";
  std::vector<std::string> variables = {};
};

// `stdout_path` replaces standard output; "" keeps it, "closed" closes it.
inline Finished run_program(std::vector<std::string> arguments, const std::string& stdout_path = "",
                            Surroundings surroundings = {}) {
  const Folder folder;
  const std::string out = stdout_path.empty() ? folder.path("out") : stdout_path;
  const std::string err = folder.path("err");
  arguments.insert(arguments.begin(), SHARPEN_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    for (std::string& variable : surroundings.variables) putenv(variable.data());
    if (chdir(surroundings.folder.c_str()) != 0) _exit(127);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(err_file, STDERR_FILENO);
    if (stdout_path == "closed") {
      close(STDOUT_FILENO);
    } else {
      dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = stdout_path.empty() ? text_of(out) : "",
          .err = text_of(err)};
}

// Wrong input: exit code 2, nothing on standard output, and the error "sharpen: error: MESSAGE\n".
inline void expect_refused(std::vector<std::string> arguments,
                           const ::testing::Matcher<const std::string&>& message) {
  const Finished run = run_program(std::move(arguments));
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_EQ(run.out, "");
  constexpr std::string_view kBegin = "sharpen: error: ", kEnd = "\n";
  ASSERT_TRUE(run.err.starts_with(kBegin) && run.err.ends_with(kEnd)) << run.err;
  EXPECT_THAT(run.err.substr(kBegin.size(), run.err.size() - kBegin.size() - kEnd.size()), message);
}

// What a run that prints JSON answers.
inline nlohmann::json answer_of(const std::vector<std::string>& flags) {
  const Finished run = run_program(flags);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out, nullptr, false);
}

// Starts the program and does not wait; what it prints is lost.
inline pid_t start_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), SHARPEN_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace sharpen::testing
