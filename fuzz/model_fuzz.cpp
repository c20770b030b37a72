// Model files: any bytes are a model that is written back to the same model, or an InputError. What
// frames the body is put right.
#include <cstdint>
#include <string>

#include "check.hpp"
#include "framed.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/model.hpp"

namespace {

using namespace sharpen::learn;

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
  parse(sharpen::framed(bytes, "\x89SHARPM\n"));
  return 0;
}
