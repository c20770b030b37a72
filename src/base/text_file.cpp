#include "base/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/file_position.hpp"
#include "base/gzip.hpp"
#include "base/input_file.hpp"

namespace sharpen {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

[[noreturn]] void fail_too_large(const std::string& name, std::size_t bytes) {
  fail_at({name}, fmt::format("{} bytes or more do not fit into memory; split the file by dates "
                              "or tickers",
                              bytes));
}

}  // namespace

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
  const InputFile input(file);
  const std::string& name = input.name();
  const std::size_t most = most_memory();
  const std::size_t expected = input.is_regular() ? input.size() : 0;
  if (expected > most) fail_too_large(name, expected);
  try {
    grow(expected + kBlock);  // room for the read that finds the end
    for (;;) {
      if (capacity_ - size_ < kBlock) grow(2 * capacity_);
      const std::size_t got = input.read(data_.get() + size_, kBlock);
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
