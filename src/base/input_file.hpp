// Files that are read: regular ones, pipes and devices alike; and where in them an error is.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sharpen/base/text.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen {

inline constexpr std::size_t kBlock = std::size_t{1} << 20;  // bytes read at once

// Messages about a place in a file read
//   FILE:LINE:COLUMN: what is wrong, at line LINE, column COLUMN (ticker, date); what to do
// and are valid, printable UTF-8 whatever the file holds.
struct FilePosition {
  std::string_view file;
  Index line = 0;    // from 1; 0: the whole file
  Index column = 0;  // field number, from 1; 0: the whole line
};

// "line L, column C", leaving out a column of 0.
std::string spelled(const FilePosition& position);

// Throws InputError("FILE:LINE:COLUMN: message"), leaving out what is 0.
[[noreturn]] void fail_at(const FilePosition& position, const std::string& message);

// A file descriptor for reading, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }  // negative: it could not be opened, and errno says why

 private:
  int fd_;
};

// What cannot be opened or read is an InputError in the name of the file.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& file);

  const std::string& name() const { return name_; }

  // Where the size is known beforehand.
  bool is_regular() const { return S_ISREG(info_.st_mode); }
  std::size_t size() const {
    return info_.st_size > 0 ? static_cast<std::size_t>(info_.st_size) : 0;
  }

  // Reads up to `most` bytes and says how many; 0 at the end only.
  std::size_t read(char* out, std::size_t most) const;

 private:
  [[noreturn]] void fail(int error) const;

  std::string name_;
  Descriptor descriptor_;
  struct stat info_ {};
};

// Half the memory of the machine: the most bytes a file may have, and the most its numbers may.
std::size_t most_memory();

// A whole text file in memory, unpacked if its name ends in .gz. What cannot be read, or would not
// fit into memory, is an InputError.
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

// Unpacking of gzip, bounded: a small file that unpacks to an absurd size is refused.
// Unpacks all members of a gzip file in memory and hands the text over piece by piece. More than
// `most` bytes in all, or more than 64 MiB at over 200 times the packed size, is an InputError in
// the name of the file; so is text that is damaged, cut off or not gzip at all.
void gunzip(std::string_view packed, std::string_view name, std::size_t most,
            const std::function<void(std::string_view)>& take);

}  // namespace sharpen
