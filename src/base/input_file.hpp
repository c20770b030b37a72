// Files that are read: regular ones, pipes and devices alike.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace sharpen {

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

}  // namespace sharpen
