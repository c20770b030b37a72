// Signals by date: any bytes are a panel that covers the decisions of a backtest, or an InputError.
// The first byte says whether gaps are allowed.
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "check.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen {
namespace {

const market::Panel& returns() {
  static const market::Panel kReturns =
      market::parse_panel("date,A,B\n2020-01-02,0.01,0.02\n2020-01-03,0,0.01\n2020-01-06,0.02,0\n",
                          "returns.csv", market::PanelKind::returns);
  return kReturns;
}

void check(std::string_view text, bool gaps_allowed) {
  const market::Panel signal =
      market::parse_panel(text, "signal.csv", market::PanelKind::prices, market::Cells::raw);
  constexpr std::array<Index, 2> kDecisions = {0, 1};
  const backtest::GivenSignal given(signal, returns(), kDecisions,
                                    [&](Index, Index) { return gaps_allowed; });
  for (const Index row : kDecisions)
    for (Index asset = 0; asset < returns().n(); ++asset)
      SHARPEN_FUZZ_CHECK(gaps_allowed || given.has(row, asset));
}

}  // namespace
}  // namespace sharpen

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    sharpen::check({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0] % 2 == 1);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
