#include "base/input_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/file_position.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen {

InputFile::InputFile(const std::filesystem::path& file)
    : name_(file.string()), descriptor_(name_.c_str()) {
  if (name_.empty()) throw InputError("the file name is empty; name the file to read");
  if (descriptor_.get() < 0 || ::fstat(descriptor_.get(), &info_) != 0) fail(errno);
  if (S_ISDIR(info_.st_mode)) fail_at({name_}, "is a directory; name a file in it");
}

std::size_t InputFile::read(char* out, std::size_t most) const {
  for (;;) {
    const ssize_t got = ::read(descriptor_.get(), out, most);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(errno);
  }
}

void InputFile::fail(int error) const {
  fail_at({name_}, fmt::format("cannot be read: {}; check the path and its permissions",
                               std::generic_category().message(error)));
}

std::size_t most_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{1} << 34;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 2;
}

}  // namespace sharpen
