// Times 10,000 bootstrap replications of 2,000 days, for the interval of one Sharpe ratio and for
// the paired test of two, after checking both against large-sample theory.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "measure.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/random.hpp"

namespace {

using namespace sharpen;

constexpr Index kDays = 2000;
constexpr double kRho = 0.7;

// Independent normal pairs with correlation kRho and Sharpe ratios of about 0.08 and 0.05 a day.
struct Runs {
  std::vector<double> a, b;
};

Runs runs() {
  Random random(1);
  Runs out;
  for (Index t = 0; t < kDays; ++t) {
    const double x = random.normal(), y = random.normal();
    out.a.push_back(0.01 * (x + 0.08));
    out.b.push_back(0.02 * (kRho * x + std::sqrt(1.0 - kRho * kRho) * y + 0.05));
  }
  return out;
}

bool near(double value, double expected, double share) {
  return std::abs(value - expected) <= share * std::abs(expected);
}

}  // namespace

int main() {
  const Runs data = runs();
  const Threads threads(2);
  const backtest::BootstrapSettings settings = {.replications = 10000, .seed = 7};

  const backtest::SharpeInterval interval = sharpe_interval(data.a, settings, threads);
  const backtest::SharpeMoments moments = backtest::sharpe_moments(data.a);
  const double error = std::sqrt(moments.sharpe_variance());
  bench::require(near(interval.standard_error, error, 0.1) &&
                     near(interval.high - interval.low, 2 * 1.96 * error, 0.1),
                 "the interval is not the one of normal theory");
  const backtest::SharpeDifference paired = sharpe_difference(data.a, data.b, settings, threads);
  const double theory = std::sqrt((2 - 2 * kRho) / kDays);
  bench::require(near(paired.standard_error, theory, 0.1), "the paired standard error is wrong");
  const double normal_p =
      2 * backtest::normal_cdf(-std::abs(paired.difference) / paired.standard_error);
  bench::require(std::abs(paired.p_value - normal_p) < 0.03, "the paired p-value is wrong");

  const std::vector<double> seconds =
      bench::alternate({[&] { sharpe_interval(data.a, settings, threads); },
                        [&] { sharpe_difference(data.a, data.b, settings, threads); },
                        [&] {
                          backtest::BootstrapSettings single = settings;
                          single.block = 1;
                          sharpe_interval(data.a, single, threads);
                        }},
                       5, bench::Clock::wall);
  fmt::print(
      "10,000 replications of {} days, two threads: interval {:.3f} s (mean block {:.1f}), "
      "with blocks of one {:.3f} s, paired test {:.3f} s (block {})\n",
      kDays, seconds[0], interval.block, seconds[2], seconds[1], paired.block);
  // Blocks of one draw most random numbers: the slowest case is the one that counts.
  bench::at_most("bootstrap_10000x2000_s", std::max(seconds[0], seconds[2]), 2.0);
  bench::at_most("paired_test_10000x2000_s", seconds[1], 2.0);
  return 0;
}
