// Configuration files of every command: any bytes are settings that --print-config writes back to
// the same settings, or an InputError. The first byte chooses the command.
#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::settings;
  if (size == 0) return 0;
  const auto known = commands();
  const Command command = known[data[0] % known.size()].command;
  Values values(command);
  try {
    values.read_toml({reinterpret_cast<const char*>(data) + 1, size - 1}, "fuzz.toml");
  } catch (const sharpen::InputError&) {
    return 0;
  }
  const std::string written = values.to_toml();
  Values again(command);
  again.read_toml(written, "again.toml");
  SHARPEN_FUZZ_CHECK(again.to_toml() == written);
  return 0;
}
