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
  for (Index t = 0; t < T; ++t) {
    const double* r = window.row(t).data();
    for (std::size_t j = 0; j < n; ++j) {
      const double x = r[j] - mean[j];
      variance[j] += x * x;
    }
  }
  // The mean of T equal returns is off by up to T eps: what that leaves is no variance.
  const double rounding = 4.0 * static_cast<double>(T) * std::numeric_limits<double>::epsilon();
  double trace = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double level = rounding * mean[j];
    const double floor = level * level * static_cast<double>(T);
    // Where both overflow there is no telling: infinity makes the sample invalid.
    if (std::isfinite(variance[j]) && variance[j] <= floor) variance[j] = 0.0;
    variance[j] /= static_cast<double>(T - 1);
    trace += variance[j];
  }
  if (!std::isfinite(trace) || !(trace > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  return trace;
}

}  // namespace sharpen::risk
