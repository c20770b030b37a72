// Checkpoints of a training: any bytes are a state to go on from, which is written back to the same
// bytes (of the newest version), but for the many ways to write NaN, or an InputError. What frames
// the body is put right, and so is whose checkpoint it is.
#include <cmath>
#include <cstdint>
#include <string>

#include "check.hpp"
#include "framed.hpp"
#include "learn/checkpoint.hpp"
#include "scratch.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::learn {
namespace {

constexpr std::uint64_t kIdentity = 0x2020202020202020;  // what spaces read as
const Shape kShape = {.inputs = 2, .hidden = {}, .outputs = 1};

void read(const Scratch& scratch, const std::string& bytes) {
  scratch.write(bytes);
  std::optional<MemberState> state;
  try {
    state = read_checkpoint(scratch.file, kIdentity, kShape);
  } catch (const InputError&) {
    return;
  }
  SHARPEN_FUZZ_CHECK(state && state->best_epoch >= 1 && state->best_epoch <= state->epoch);
  const auto size = static_cast<std::size_t>(kShape.parameters());
  SHARPEN_FUZZ_CHECK(state->best.parameters.size() == size);
  const bool finished = state->network.parameters.empty();
  SHARPEN_FUZZ_CHECK(state->adam.mean.size() == (finished ? 0 : size));
  if (bytes[8] == 1) return;
  const std::string written = checkpoint_bytes(kIdentity, *state, finished, state->cpu);
  SHARPEN_FUZZ_CHECK(written.size() == bytes.size());
  if (state->best_loss && state->best_sharpe) {
    SHARPEN_FUZZ_CHECK(written == bytes);
    return;
  }
  scratch.write(written);
  const std::optional<MemberState> again = read_checkpoint(scratch.file, kIdentity, kShape);
  SHARPEN_FUZZ_CHECK(again && checkpoint_bytes(kIdentity, *again, finished, again->cpu) == written);
}

}  // namespace
}  // namespace sharpen::learn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sharpen::Scratch kScratch;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // Others are refused by their first bytes.
  if (bytes.starts_with("SHRP")) sharpen::learn::read(kScratch, bytes);
  if (bytes.size() < 32) bytes.resize(32);
  bytes.replace(20, 8, 8, ' ');
  for (const std::uint32_t version : {1U, 2U})
    sharpen::learn::read(kScratch, sharpen::framed(bytes, "SHRPCKPT", version));
  return 0;
}
