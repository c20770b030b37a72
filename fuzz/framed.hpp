// Binary files end in a checksum, which would keep a fuzzer out: the frame of the body is put
// right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/binary_file.hpp"

namespace sharpen {

// The same body under the right magic (of eight bytes), version, length and checksum.
inline std::string framed(std::string bytes, std::string_view magic, std::uint32_t version = 1) {
  constexpr std::size_t kLeast = 24;
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  if (bytes.size() < kLeast) bytes.resize(kLeast);
  bytes.replace(0, magic.size(), magic);
  put(8, version, 4);
  put(12, bytes.size(), 8);
  put(bytes.size() - 4, checksum(bytes), 4);
  return bytes;
}

}  // namespace sharpen
