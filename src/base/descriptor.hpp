// A file descriptor for reading, closed at the end of its scope.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace sharpen {

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

}  // namespace sharpen
