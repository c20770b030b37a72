// Files for tests: folders of their own, what stands in a file, and the real data.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

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

// The folder of real data, or "" where it is absent (tests then skip).
inline std::string data_folder() {
  const char* given = std::getenv("SHARPEN_TEST_DATA");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(SHARPEN_SOURCE_DIR) / "../shared/data";
  return std::filesystem::is_directory(folder) ? folder.string() : "";
}

}  // namespace sharpen::testing
