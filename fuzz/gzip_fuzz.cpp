// Unpacking: any bytes give at most the bytes allowed, or an InputError.
#include <cstdint>
#include <string_view>

#include "base/input_file.hpp"
#include "check.hpp"
#include "sharpen/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = std::size_t{1} << 17;
  std::size_t total = 0;
  try {
    sharpen::gunzip({reinterpret_cast<const char*>(data), size}, "fuzz.gz", kMost,
                    [&](std::string_view piece) { total += piece.size(); });
  } catch (const sharpen::InputError&) {
  }
  SHARPEN_FUZZ_CHECK(total <= kMost);
  return 0;
}
