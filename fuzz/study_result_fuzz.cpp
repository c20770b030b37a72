// Results, tasks and markets that come from another machine: any bytes are one of them, which is
// written back to bytes that read as the same, or an InputError. What frames the body is put right,
// and so is the program that it comes from; of results also what frames what was found.
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

// Frame, program and format, as this program writes them.
std::string head() { return to_bytes(Result{}).substr(0, 20 + 4 + program().size() + 4); }

std::string with_head(std::string_view body, std::string_view magic) {
  return framed(head().append(body).append(4, ' '), magic);
}

void read_all(std::string_view body, std::string_view magic) {
  const std::string bytes = with_head(body, magic);
  read(bytes, result_from_bytes);
  read(bytes, task_from_bytes);
  read(bytes, market_from_bytes);
}

// The bytes of what was found, in a result that is fine but for them: they have a frame of their
// own, which is put right, too.
void read_found(std::string_view body, char kind, std::string_view magic) {
  const std::string found = framed(std::string(20, ' ').append(body).append(4, ' '), magic);
  std::string result(4 + 4 + 4 + 8, '\0');  // no task, no failure, no BLAS, no time
  result.push_back(kind);
  for (int i = 0; i < 4; ++i) result.push_back(static_cast<char>(found.size() >> (8 * i)));
  read(with_head(result + found, "SHRPRSLT"), result_from_bytes);
}

}  // namespace
}  // namespace sharpen::study

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::study;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes, result_from_bytes);
  read(bytes, task_from_bytes);
  for (const std::string_view magic : {"SHRPRSLT", "SHRPTASK", "SHRPMRKT"}) read_all(bytes, magic);
  read_found(bytes, 1, "SHRPKEPT");
  read_found(bytes, 2, "SHRPSRUN");
  read_found(bytes, 3, "SHRPCELL");
  return 0;
}
