// Results, tasks and markets that come from another machine: any bytes are one of them, which is
// written back to bytes that read as the same, or an InputError. What frames the body is put right,
// and so is the program that it comes from.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.hpp"
#include "framed.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/task.hpp"

namespace sharpen::study {
namespace {

template <class Read>
void read(const std::string& bytes, const Read& from_bytes) {
  std::string written;
  try {
    written = to_bytes(from_bytes(bytes));
  } catch (const InputError&) {
    return;
  }
  SHARPEN_FUZZ_CHECK(to_bytes(from_bytes(written)) == written);
}

// The body in the frame of its kind, and of this program.
template <class Read>
void read_framed(std::string_view body, std::string_view magic, const Read& from_bytes) {
  static const std::string kHead = to_bytes(Result{}).substr(0, 20 + 4 + program().size());
  constexpr std::uint32_t kVersion = 2;
  read(framed(std::string(kHead).append(body).append(4, ' '), magic, kVersion), from_bytes);
}

}  // namespace
}  // namespace sharpen::study

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::study;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with("SHRP")) {  // others are refused by their first bytes
    read(bytes, result_from_bytes);
    read(bytes, task_from_bytes);
    read(bytes, market_from_bytes);
  }
  read_framed(bytes, "SHRPRSLT", result_from_bytes);
  read_framed(bytes, "SHRPTASK", task_from_bytes);
  read_framed(bytes, "SHRPMRKT", market_from_bytes);
  return 0;
}
