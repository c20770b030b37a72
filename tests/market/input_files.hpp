// What the market tests share: the message of an InputError, files that vanish with the test,
// and the real data, which are not part of the tree.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sharpen/base/error.hpp"

namespace sharpen::market {

// The message of the InputError that `call` throws; "" if it throws none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content) {
    std::string pattern = (std::filesystem::temp_directory_path() / "sharpen-XXXXXX").string();
    const int descriptor = ::mkstemp(pattern.data());
    if (descriptor < 0) throw std::runtime_error("no scratch file");
    ::close(descriptor);
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path real_data(std::string_view file) {
  const char* folder = std::getenv("SHARPEN_TEST_DATA");
  const std::filesystem::path root =
      folder ? std::filesystem::path(folder)
             : std::filesystem::path(SHARPEN_SOURCE_DIR) / ".." / "shared" / "data";
  return root / file;
}

}  // namespace sharpen::market

#define SHARPEN_SKIP_WITHOUT(path)    \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << (path) << " is absent; set SHARPEN_TEST_DATA to the folder of the data"
