// What every bootstrap does: draw periods, and read an interval off the replications.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/vec.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/random.hpp"

namespace sharpen::backtest {

// Calls visit(t) for the n periods of one resample of the stationary bootstrap: blocks start at any
// period and go on, after the last period with the first, for a geometric number of periods with
// mean `block`.
template <class Visit>
void for_each_stationary(std::size_t n, double block, Random& random, Visit visit) {
  const double log_go_on = block > 1.0 ? std::log1p(-1.0 / block) : 0.0;
  for (std::size_t t = 0; t < n;) {
    std::size_t at = random.below(n);
    // P(more than m periods) = (1 - 1/block)^m, inverted.
    const double length =
        block > 1.0 ? std::floor(std::log(random.uniform_open()) / log_go_on) + 1.0 : 1.0;
    const auto left = static_cast<double>(n - t);
    for (const std::size_t end = t + static_cast<std::size_t>(std::min(length, left)); t < end;
         ++t) {
      visit(at);
      at = at + 1 == n ? 0 : at + 1;
    }
  }
}

// The stream of replication i. Ten million of them take minutes, and whoever waits may have seen
// enough.
inline Random replication(const BootstrapSettings& settings, Index i) {
  if (settings.stop && settings.stop()) throw Interrupted();
  return Random(settings.seed, static_cast<std::uint64_t>(i));
}

// The middle `level` of the replications, which are sorted on the way. Those that say nothing (NaN)
// count beyond both ends.
inline Interval percentile_interval(std::vector<double>& values, double level) {
  const auto known =
      std::partition(values.begin(), values.end(), [](double value) { return !std::isnan(value); });
  std::sort(values.begin(), known);
  const double tail = 0.5 * (1.0 - level) * static_cast<double>(values.size() + 1);
  const auto cut = static_cast<std::ptrdiff_t>(std::max(1.0, std::floor(tail + 1e-9)));
  const std::ptrdiff_t inside = cut - (values.end() - known);
  if (inside < 1) return {-kInfinity, kInfinity};
  return {values[at(inside - 1)], *(known - inside)};
}

}  // namespace sharpen::backtest
