// Mean and deviation of a sample, in one place so that metrics and resampling agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

struct Sample {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double squares = std::numeric_limits<double>::quiet_NaN();  // sum of (x - mean)^2
};

// Two passes, and sums from the first value on: digits are kept however far the mean is from
// zero, and equal values have no deviation at all. NaN for nothing.
inline Sample sample(ConstVec x) {
  if (x.empty()) return {};
  double sum = 0.0;
  for (const double value : x) sum += value - x[0];
  Sample out{.mean = x[0] + sum / static_cast<double>(x.size()), .squares = 0.0};
  for (const double value : x) out.squares += (value - out.mean) * (value - out.mean);
  return out;
}

// The deviation with divisor n - ddof; NaN for n <= ddof, 0 where it is only the rounding of the
// values (equal returns less an equal rate differ in their last digits); NaN if it overflows.
inline double deviation(const Sample& s, ConstVec x, int ddof) {
  const double degrees = static_cast<double>(x.size()) - ddof;
  if (!(degrees > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  double largest = 0.0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  const double sd = std::sqrt(s.squares / degrees);
  if (!std::isfinite(sd)) return std::numeric_limits<double>::quiet_NaN();
  return sd <= 16.0 * std::numeric_limits<double>::epsilon() * largest ? 0.0 : sd;
}

// Of two series of the same length; NaN where one of them does not vary.
inline double correlation(ConstVec a, ConstVec b) {
  const Sample sa = sample(a), sb = sample(b);
  if (!(deviation(sa, a, 1) > 0.0 && deviation(sb, b, 1) > 0.0))
    return std::numeric_limits<double>::quiet_NaN();
  double together = 0.0;
  for (std::size_t t = 0; t < a.size(); ++t) together += (a[t] - sa.mean) * (b[t] - sb.mean);
  return std::clamp(together / std::sqrt(sa.squares) / std::sqrt(sb.squares), -1.0, 1.0);
}

// a / b where b > 0, else NaN.
inline double ratio(double a, double b) {
  return b > 0.0 ? a / b : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace sharpen::backtest
