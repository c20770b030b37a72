// The folder that a backtest wrote, whose two files the first form feed separates: any bytes give a
// run that keeps its promises, or an InputError.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "check.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::backtest {
namespace {

void check_run(std::string_view text) {
  const auto cut = text.find('\f');
  const std::string_view returns = text.substr(0, cut);
  const std::string_view metrics = cut == std::string_view::npos
                                       ? std::string_view("{\"periods_per_year\": 252}")
                                       : text.substr(cut + 1);
  const SavedRun run = parse_run(returns, "returns.csv", metrics, "metrics.json");
  SHARPEN_FUZZ_CHECK(!run.dates.empty() && run.returns.size() == run.dates.size());
  for (std::size_t t = 0; t < run.dates.size(); ++t) {
    SHARPEN_FUZZ_CHECK(t == 0 || run.dates[t - 1] < run.dates[t]);
    SHARPEN_FUZZ_CHECK(std::isfinite(run.returns[t]));
  }
  SHARPEN_FUZZ_CHECK(run.periods_per_year > 0.0 && std::isfinite(run.risk_free));
  const CommonPeriods common = common_periods(run, run);  // throws if the statistics cover nothing
  SHARPEN_FUZZ_CHECK(common.a == common.b && common.left_out_a == common.left_out_b);
  SHARPEN_FUZZ_CHECK(common.dates.size() + static_cast<std::size_t>(common.left_out_a) ==
                     run.dates.size());
}

}  // namespace
}  // namespace sharpen::backtest

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sharpen::backtest::check_run({reinterpret_cast<const char*>(data), size});
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
