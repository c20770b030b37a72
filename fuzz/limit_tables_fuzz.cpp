// The tables that limits refer to: any bytes are groups or coefficients that are written back to
// the same text, or holdings; or an InputError. The first byte says of what.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "check.hpp"
#include "layer/limit_files.hpp"
#include "sharpen/base/error.hpp"

namespace {

using namespace sharpen::layer;

void read_table(unsigned kind, std::string_view text) {
  if (kind == 0) {
    const std::string written = write_groups(parse_groups(text, "groups.csv"));
    SHARPEN_FUZZ_CHECK(write_groups(parse_groups(written, "again.csv")) == written);
  } else if (kind == 1) {
    const std::string written = write_coefficients(parse_coefficients(text, "rows.csv"));
    SHARPEN_FUZZ_CHECK(write_coefficients(parse_coefficients(written, "again.csv")) == written);
  } else {
    for (const auto& [asset, weight] : parse_holdings(text, "holdings.csv"))
      SHARPEN_FUZZ_CHECK(!asset.empty() && std::isfinite(weight));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read_table(data[0] % 3, {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
