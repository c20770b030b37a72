// Model files: any bytes are a model that is written back to the same model, or an InputError. A
// checksum would keep a fuzzer out, so what frames the body is put right first.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/binary_file.hpp"
#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/model.hpp"

namespace {

using namespace sharpen::learn;

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// The same body under the right magic, version, length and checksum.
std::string framed(std::string bytes) {
  constexpr std::string_view kMagic = "\x89SHARPM\n";
  constexpr std::size_t kLeast = 24;
  if (bytes.size() < kLeast) bytes.resize(kLeast);
  bytes.replace(0, kMagic.size(), kMagic);
  put(bytes, 8, 1, 4);
  put(bytes, 12, bytes.size(), 8);
  put(bytes, bytes.size() - 4, sharpen::checksum(bytes), 4);
  return bytes;
}

void parse(const std::string& bytes) {
  Model model;
  try {
    model = parse_model(bytes, "fuzz.sharpen");
  } catch (const sharpen::InputError&) {
    return;
  }
  SHARPEN_FUZZ_CHECK(model.n() >= 1 && !model.members.empty());
  const std::string written = model_bytes(model);
  SHARPEN_FUZZ_CHECK(model_bytes(parse_model(written, "again.sharpen")) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  parse(bytes);
  parse(framed(bytes));
  return 0;
}
