#include "base/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "base/file_position.hpp"

namespace sharpen {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;
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
    fail_at({name},
            fmt::format("unpacks to more than {} bytes, which do not fit into memory; split "
                        "the file by dates or tickers",
                        most));
  if (unpacked > kAlwaysFine && unpacked / kMostRatio > packed)
    fail_at({name}, fmt::format("unpacks to more than {} times its size, which no table of prices "
                                "does; unpack it yourself if you trust it",
                                kMostRatio));
}

}  // namespace

void gunzip(std::string_view packed, std::string_view name, std::size_t most,
            const std::function<void(std::string_view)>& take) {
  if (packed.empty()) fail_at({name}, "is empty; copy or download it again");
  if (packed.substr(0, 2) != "\x1f\x8b")
    fail_at({name}, "is not gzip although its name ends in .gz; rename it");
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<char> block(kBlock);
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
    stream.avail_out = static_cast<uInt>(kBlock);
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    const std::size_t got = kBlock - stream.avail_out;
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
