// Portfolios that are held already: any bytes are weights by name, or an InputError.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "check.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::backtest;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::set<std::string> names;
    for (const NamedWeight& held : parse_portfolio(text, "weights.csv")) {
      SHARPEN_FUZZ_CHECK(!held.asset.empty() && names.insert(held.asset).second);
      SHARPEN_FUZZ_CHECK(std::isfinite(held.weight));
    }
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
