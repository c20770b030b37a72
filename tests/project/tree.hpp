// The files of the source tree, and the commands that tests run on them.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "project/include_rules.hpp"

namespace sharpen::project {

// Every .hpp and .cpp under one folder of the tree, sorted by path; none if it does not exist.
inline std::vector<SourceFile> sources_under(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path root = SHARPEN_SOURCE_DIR;
  std::vector<SourceFile> files;
  if (!fs::exists(root / folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
    const auto extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".hpp" && extension != ".cpp")) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    files.push_back({fs::relative(entry.path(), root).generic_string(), text.str()});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

struct CommandResult {
  int exit_code = -1;
  std::string output;  // stdout; add 2>&1 to the command for both
};

inline CommandResult run_command(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  CommandResult result;
  std::array<char, 4096> buffer;
  for (std::size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    result.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// One word for the shell, whatever it contains.
inline std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace sharpen::project
