// Descriptions of studies: any bytes are a grid that is written back to the same text, or an
// InputError.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/grid.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  study::Grid grid;
  try {
    settings::Values values(settings::study);
    values.read_toml(text, "fuzz.toml");
    grid = study::grid_of(values, text, "fuzz.toml");
  } catch (const InputError&) {
    return 0;
  }
  settings::Values again(settings::study);
  again.read_toml(grid.toml, "again.toml");
  const study::Grid same = study::grid_of(again, grid.toml, "again.toml");
  SHARPEN_FUZZ_CHECK(same.toml == grid.toml);
  SHARPEN_FUZZ_CHECK(same.methods.size() == grid.methods.size());
  SHARPEN_FUZZ_CHECK(same.seeds == grid.seeds);
  SHARPEN_FUZZ_CHECK(same.ks == grid.ks);
  return 0;
}
