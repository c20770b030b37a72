// Costs by asset and date: any bytes are rates that every asset has on every day, or an InputError.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::trade {
namespace {

void check_costs(const std::string& text, bool dated) {
  static const std::array<std::string, 2> kTickers = {"A", "B"};
  static const std::array<std::string, 1> kKnown = {"C"};
  static const std::array<std::string, 3> kDates = {"2019-12-31", "2020-01-02", "2020-02-03"};
  const settings::NumberOrFile bps{.number = 0.0, .file = text + "\n"};
  const CostBook book(bps, kTickers, kKnown, dated ? kDates[1] : "");
  bool any = false;
  for (const std::string& date : kDates) {
    const ConstVec rates = book.at(date);
    SHARPEN_FUZZ_CHECK(rates.size() == kTickers.size());
    for (const double rate : rates) {
      SHARPEN_FUZZ_CHECK(rate >= 0.0 && std::isfinite(rate));
      any = any || (date >= kDates[1] && rate > 0.0);
    }
    const std::optional<double> other = book.of_other(kKnown[0], date);
    SHARPEN_FUZZ_CHECK(!other || *other >= 0.0);
  }
  SHARPEN_FUZZ_CHECK(!dated || !any || book.any());
  SHARPEN_FUZZ_CHECK(book.mean_bps(kDates) >= 0.0);
}

}  // namespace
}  // namespace sharpen::trade

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    sharpen::trade::check_costs({reinterpret_cast<const char*>(data) + 1, size - 1},
                                data[0] % 2 == 1);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
