// A whole text file in memory, unpacked if its name ends in .gz. Regular files, pipes and devices
// alike; what cannot be read, or would not fit into memory, is an InputError.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace sharpen {

class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& file);

  // Stops after the first block that holds a NUL byte: no text has one, an endless device may.
  std::string_view text() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  TextFile() = default;
  void load(const std::filesystem::path& file, bool packed);
  void unpack(const std::string& name);
  void grow(std::size_t capacity);

  std::unique_ptr<char, Free> data_;  // not initialised before it is read into
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sharpen
