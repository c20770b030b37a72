// Files of decisions: any bytes are decisions that clean a panel to one that keeps its promises, or
// an InputError.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/decisions.hpp"

namespace sharpen::market {
namespace {

// Twelve assets over sixty days, a split, a print, a zero, a frozen price and gaps among them.
Panel small_panel() {
  Panel panel;
  for (int j = 0; j < 12; ++j) panel.tickers.push_back("T" + std::to_string(j));
  for (int t = 0; t < 60; ++t) {
    const std::string day = std::to_string(1 + t % 28);
    panel.dates.push_back("2024-0" + std::to_string(1 + t / 28) + (day.size() < 2 ? "-0" : "-") +
                          day);
    for (int j = 0; j < 12; ++j) {
      double price = 100.0 + j + std::sin(1.3 * t + j);
      if (j == 1 && t >= 30) price /= 2;
      if (j == 2 && t == 20) price *= 10;
      if (j == 3 && t == 25) price = 0;
      if (j == 4 && t >= 30 && t < 45) price = 50;
      if (j == 5 && (t < 3 || (t > 40 && t < 50))) price = std::nan("");
      panel.values.push_back(price);
    }
  }
  return panel;
}

void check_decisions(const std::string& text) {
  static const Panel panel = small_panel();
  const Decisions decisions = read_decisions(text + "\n");
  check_known(decisions, panel);
  for (const Universe universe : {Universe::complete, Universe::available}) {
    const CleaningSettings settings{.universe = universe};
    const Cleaned cleaned = clean(panel, settings, decisions);
    const Panel& out = cleaned.panel;
    SHARPEN_FUZZ_CHECK(out.tickers.size() + cleaned.dropped.size() == panel.tickers.size());
    SHARPEN_FUZZ_CHECK(out.dates.size() + cleaned.dropped_days.size() == panel.dates.size());
    if (universe == Universe::complete)
      for (const double value : out.values) SHARPEN_FUZZ_CHECK(!std::isnan(value));
    for (const Halt& halt : cleaned.halts.runs)
      SHARPEN_FUZZ_CHECK(halt.asset < out.n() && halt.first <= halt.last && halt.last < out.rows());
    static_cast<void>(summary(cleaned, settings));
    static_cast<void>(propose(panel, "fuzz.csv", cleaned, settings, text + "\n"));
  }
}

}  // namespace
}  // namespace sharpen::market

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sharpen::market::check_decisions({reinterpret_cast<const char*>(data), size});
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
