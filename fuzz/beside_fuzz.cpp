// Panels beside the prices, by their first byte: a benchmark, or what can be traded. Any bytes are
// a return, or a yes or no, for what the prices are of, or an InputError.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backtest/benchmark.hpp"
#include "backtest/tradable.hpp"
#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::backtest {
namespace {

const market::Panel& returns() {
  static const market::Panel kReturns = market::parse_panel(
      "date,A,B\n2020-01-02,0.01,0.02\n2020-01-03,0,0.01\n2020-01-06,0.02,0\n2020-01-07,0,0\n",
      "returns.csv", market::PanelKind::returns);
  return kReturns;
}

void check_benchmark(const std::string& text) {
  market::Panel panel = returns();
  const Benchmark benchmark = take_benchmark(text, panel);
  SHARPEN_FUZZ_CHECK(panel.n() == returns().n() && !benchmark.name.empty());
  SHARPEN_FUZZ_CHECK(benchmark.returns.size() == panel.dates.size());
  for (const double value : benchmark.returns)
    SHARPEN_FUZZ_CHECK(std::isnan(value) || value >= -1.0);
}

void check_tradable(const std::string& text) {
  static const std::array<std::string, 2> kOthers = {"C", "D"};
  BacktestSettings settings;
  settings.account.tradable = text;
  const std::vector<char> frozen = frozen_names(settings, returns(), 0);
  SHARPEN_FUZZ_CHECK(frozen.size() == returns().values.size());
  const std::vector<char> then = frozen_at(text, returns(), 1);
  SHARPEN_FUZZ_CHECK(std::equal(then.begin(), then.end(), frozen.begin() + returns().n()));
  SHARPEN_FUZZ_CHECK(frozen_others(text, kOthers, returns().dates[1]).size() == kOthers.size());
}

}  // namespace
}  // namespace sharpen::backtest

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text = std::string(reinterpret_cast<const char*>(data) + 1, size - 1) + "\n";
  try {
    if (data[0] % 2 == 0)
      sharpen::backtest::check_benchmark(text);
    else
      sharpen::backtest::check_tradable(text);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
