#include "base/input_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <vector>

#include "sharpen/base/error.hpp"

namespace sharpen {

namespace {

[[noreturn]] void fail_too_large(const std::string& name, std::size_t bytes) {
  fail_at({name},
          fmt::format("{} bytes or more do not fit into memory; split the file by dates or tickers",
                      bytes));
}

constexpr std::size_t kUnpackedBlock = std::size_t{1} << 16;
constexpr std::size_t kAlwaysFine = std::size_t{64} << 20;
// Tables of prices shrink three- to tenfold, of repeated prices perhaps a hundredfold.
constexpr std::size_t kMostRatio = 200;

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

void refuse_bomb(std::string_view name, std::size_t packed, std::size_t unpacked,
                 std::size_t most) {
  if (unpacked > most)
    fail_at({name}, fmt::format("unpacks to more than {} bytes, which do not fit into memory; "
                                "split the file by dates or tickers",
                                most));
  if (unpacked > kAlwaysFine && unpacked / kMostRatio > packed)
    fail_at({name}, fmt::format("unpacks to more than {} times its size, which no table of prices "
                                "does; unpack it yourself if you trust it",
                                kMostRatio));
}

}  // namespace

std::string spelled(const FilePosition& position) {
  std::string out = fmt::format("line {}", position.line);
  if (position.column > 0) out += fmt::format(", column {}", position.column);
  return out;
}

void fail_at(const FilePosition& position, const std::string& message) {
  std::string where = shown_file(position.file);
  if (position.line > 0) where += fmt::format(":{}", position.line);
  if (position.line > 0 && position.column > 0) where += fmt::format(":{}", position.column);
  throw InputError(where + ": " + message);
}

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

void gunzip(std::string_view packed, std::string_view name, std::size_t most,
            const std::function<void(std::string_view)>& take) {
  if (packed.empty()) fail_at({name}, "is empty; copy or download it again");
  if (packed.substr(0, 2) != "\x1f\x8b")
    fail_at({name}, "is not gzip although its name ends in .gz; rename it");
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<char> block(kUnpackedBlock);
  std::size_t unpacked = 0;
  const char* at = packed.data();
  const char* const end = at + packed.size();
  for (int state = Z_OK; at != end || state != Z_STREAM_END;) {
    if (state == Z_STREAM_END) inflateReset(&stream);  // another member follows
    // zlib wants a pointer to non-const and does not write through it.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(at));
    stream.avail_in = static_cast<uInt>(
        std::min<std::size_t>(static_cast<std::size_t>(end - at), std::numeric_limits<int>::max()));
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(kUnpackedBlock);
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    const std::size_t got = kUnpackedBlock - stream.avail_out;
    at = reinterpret_cast<const char*>(stream.next_in);
    if (state == Z_BUF_ERROR || (state == Z_OK && at == end && got == 0))
      fail_at({name}, "is cut off: the packed data end early; copy or download it again");
    if (state != Z_OK && state != Z_STREAM_END)
      fail_at({name},
              fmt::format("is damaged after {} unpacked bytes ({}); copy or download it again",
                          unpacked + got, stream.msg != nullptr ? stream.msg : "gzip"));
    unpacked += got;
    refuse_bomb(name, packed.size(), unpacked, most);
    take({block.data(), got});
  }
}

}  // namespace sharpen
