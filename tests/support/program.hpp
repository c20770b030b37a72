// Runs the program in a process of its own, and keeps files for it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sharpen::testing {

// A folder that is there as long as the object.
class Folder {
 public:
  Folder() {
    std::string path = ::testing::TempDir() + "sharpen-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and gives its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};

// `stdout_path` replaces standard output; "" keeps it, "closed" closes it.
inline Finished run_program(std::vector<std::string> arguments,
                            const std::string& stdout_path = "") {
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

// The folder of real data, or "" where it is absent (tests then skip).
inline std::string data_folder() {
  const char* given = std::getenv("SHARPEN_TEST_DATA");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(SHARPEN_SOURCE_DIR) / "../shared/data";
  return std::filesystem::is_directory(folder) ? folder.string() : "";
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
