#include "base/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/file_position.hpp"
#include "base/gzip.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

[[noreturn]] void fail_reading(const std::string& name, int error) {
  const std::string reason = std::generic_category().message(error);
  fail_at({name}, fmt::format("cannot be read: {}; check the path and its permissions", reason));
}

[[noreturn]] void fail_too_large(const std::string& name, std::size_t bytes) {
  fail_at({name}, fmt::format("{} bytes or more do not fit into memory; split the file by dates "
                              "or tickers",
                              bytes));
}

std::size_t read_block(int fd, char* out, std::size_t most, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(fd, out, most);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_reading(name, errno);
  }
}

}  // namespace

std::size_t most_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{1} << 34;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 2;
}

void TextFile::grow(std::size_t capacity) {
  char* grown = static_cast<char*>(std::realloc(data_.get(), capacity));
  if (!grown) throw std::bad_alloc();
  static_cast<void>(data_.release());
  data_.reset(grown);
  capacity_ = capacity;
}

TextFile::TextFile(const std::filesystem::path& file) {
  const bool packed = file.extension() == ".gz";
  load(file, packed);
  if (packed) unpack(file.string());
}

void TextFile::unpack(const std::string& name) {
  TextFile text;
  try {
    gunzip(this->text(), name, most_memory(), [&](std::string_view piece) {
      if (text.capacity_ - text.size_ < piece.size()) text.grow(2 * text.capacity_ + piece.size());
      if (!piece.empty()) std::memcpy(text.data_.get() + text.size_, piece.data(), piece.size());
      text.size_ += piece.size();
    });
  } catch (const std::bad_alloc&) {
    fail_too_large(name, text.size_);
  }
  *this = std::move(text);
}

void TextFile::load(const std::filesystem::path& file, bool packed) {
  const std::string name = file.string();
  if (name.empty()) throw InputError("the file name is empty; name the file to read");
  const Descriptor descriptor(name.c_str());
  if (descriptor.get() < 0) fail_reading(name, errno);
  struct stat info {};
  if (::fstat(descriptor.get(), &info) != 0) fail_reading(name, errno);
  if (S_ISDIR(info.st_mode)) fail_at({name}, "is a directory; name a file in it");

  const std::size_t most = most_memory();
  const std::size_t expected =
      S_ISREG(info.st_mode) ? static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)) : 0;
  if (expected > most) fail_too_large(name, expected);
  try {
    grow(expected + kBlock);  // room for the read that finds the end
    for (;;) {
      if (capacity_ - size_ < kBlock) grow(2 * capacity_);
      const std::size_t got = read_block(descriptor.get(), data_.get() + size_, kBlock, name);
      if (got == 0) return;
      const bool binary = !packed && std::memchr(data_.get() + size_, 0, got) != nullptr;
      size_ += got;
      if (size_ > most) fail_too_large(name, size_);
      if (binary) return;
    }
  } catch (const std::bad_alloc&) {
    fail_too_large(name, std::max(expected, size_));
  }
}

}  // namespace sharpen
