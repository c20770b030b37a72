#include "risk/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpen::risk {

double window_moments(ConstMat window, Vec mean, Vec variance) {
  const Index T = window.rows;
  const std::size_t n = mean.size();
  std::fill(mean.begin(), mean.end(), 0.0);
  std::fill(variance.begin(), variance.end(), 0.0);
  for (Index t = 0; t < T; ++t) {
    const double* r = window.row(t).data();
    for (std::size_t j = 0; j < n; ++j) mean[j] += r[j];
  }
  for (double& m : mean) m /= static_cast<double>(T);
  double raw = 0.0;  // the uncentred sum of squares: what rounding is relative to
  for (Index t = 0; t < T; ++t) {
    const double* r = window.row(t).data();
    for (std::size_t j = 0; j < n; ++j) {
      const double x = r[j] - mean[j];
      variance[j] += x * x;
      raw += r[j] * r[j];
    }
  }
  double trace = 0.0;
  for (double& v : variance) {
    v /= static_cast<double>(T - 1);
    trace += v;
  }
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  const double rounding = 64.0 * kEps * 64.0 * kEps * raw;
  if (!std::isfinite(trace) || !(trace > rounding)) return std::numeric_limits<double>::quiet_NaN();
  return trace;
}

}  // namespace sharpen::risk
