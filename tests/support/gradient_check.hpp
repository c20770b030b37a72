// Gradients against finite differences. Ridders' method: central differences at shrinking steps,
// extrapolated to step zero, with an estimate of its own error, so that a tolerance can be tight
// where the function is smooth and a check that has no digits is reported as such.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

#include "sharpen/base/view.hpp"

namespace sharpen::testing {

struct Derivative {
  double value = 0.0;
  double error = std::numeric_limits<double>::infinity();
};

// d/dh f(h) at 0, starting from step h0.
inline Derivative ridders(const std::function<double(double)>& f, double h0) {
  constexpr int kRows = 12;
  constexpr double kShrink = 1.6;
  Eigen::MatrixXd table(kRows, kRows);
  Derivative best;
  double h = h0;
  for (int i = 0; i < kRows; ++i, h /= kShrink) {
    table(0, i) = (f(h) - f(-h)) / (2.0 * h);
    double factor = kShrink * kShrink;
    for (int j = 1; j <= i; ++j, factor *= kShrink * kShrink) {
      table(j, i) = (table(j - 1, i) * factor - table(j - 1, i - 1)) / (factor - 1.0);
      const double error = std::max(std::abs(table(j, i) - table(j - 1, i)),
                                    std::abs(table(j, i) - table(j - 1, i - 1)));
      if (error <= best.error) best = {table(j, i), error};
    }
    if (i > 0 && std::abs(table(i, i) - table(i - 1, i - 1)) >= 2.0 * best.error) break;
  }
  return best;
}

struct GradientReport {
  bool ok = true;
  double worst = 0.0;         // of |numeric - analytic| / max(|analytic|_2, floor)
  double worst_digits = 0.0;  // of the numeric derivative's own relative error
  std::string log;            // a line per entry that is off
};

// analytic (n) against the derivatives of f at x along every axis. h0 (n): first steps. floor: the
// size below which a gradient is rounding of f, not signal.
inline GradientReport check_gradient(const std::function<double(const Eigen::VectorXd&)>& f,
                                     const Eigen::VectorXd& x, const Eigen::VectorXd& analytic,
                                     const Eigen::VectorXd& h0, double tolerance,
                                     double floor = std::numeric_limits<double>::min()) {
  GradientReport report;
  std::ostringstream log;
  const double scale = std::max(analytic.norm(), floor);
  for (Index i = 0; i < x.size(); ++i) {
    const Derivative numeric = ridders(
        [&](double h) {
          Eigen::VectorXd moved = x;
          moved[i] += h;
          return f(moved);
        },
        h0[i]);
    const double off = std::abs(numeric.value - analytic[i]) / scale;
    report.worst = std::max(report.worst, off);
    report.worst_digits = std::max(report.worst_digits, numeric.error / scale);
    if (off <= tolerance) continue;  // NaN is off
    report.ok = false;
    log << "  entry " << i << ": analytic " << analytic[i] << ", numeric " << numeric.value
        << " (+- " << numeric.error << ")\n";
  }
  report.log = log.str();
  return report;
}

}  // namespace sharpen::testing
