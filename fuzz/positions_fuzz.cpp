// Accounts as a broker lists them: any bytes are positions by name and cash, written as they were
// read, or an InputError.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/trade/positions.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::trade;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Positions held = parse_positions(text, "positions.csv");
    std::set<std::string> names;
    for (const Holding& holding : held.holdings) {
      SHARPEN_FUZZ_CHECK(!holding.asset.empty() && names.insert(holding.asset).second);
      SHARPEN_FUZZ_CHECK(std::isfinite(holding.amount));
    }
    SHARPEN_FUZZ_CHECK(std::isfinite(held.cash));
    const std::string written = positions_csv(held);
    SHARPEN_FUZZ_CHECK(positions_csv(parse_positions(written, "again.csv")) == written);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
