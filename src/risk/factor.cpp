#include "risk/factor.hpp"

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpen::risk {

namespace {

// A price that grows by the same factor every period has returns that differ by the rounding of
// two prices and of their ratio near 1: some 2 eps, whatever the growth. Next to a mean of 1e-6 a
// period that is a share of 4e-10. A price of 9 digits cannot move by less than 1e-9 of itself, nor
// by so small a share of its mean: cash whose returns of 1e-4 differ by 1e-6 has 1e-2.
constexpr double kNoise = 1e-9;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kPivot = 10.0 * kEps;  // times n
constexpr int kMostJitters = 12;

bool pivots_hold(const double* L, Index n, double diagonal_shift, auto&& diagonal_at) {
  for (Index j = 0; j < n; ++j) {
    const double pivot = L[j * n + j] * L[j * n + j];
    // Written so that NaN fails.
    if (!(pivot >= static_cast<double>(n) * kPivot * (diagonal_at(j) + diagonal_shift)))
      return false;
    if (!(pivot > 0.0)) return false;
  }
  return true;
}

bool lapack_factor(double* A, Index n) {
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', static_cast<lapack_int>(n), A,
                             static_cast<lapack_int>(n)) == 0;
}

}  // namespace

std::optional<double> window_moments(ConstMat window, Vec mean, Vec variance) {
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
  // The mean of T equal returns is off by up to T eps, too.
  const double rounding = std::max(kNoise, 4.0 * static_cast<double>(T) * kEps);
  double trace = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double level = rounding * mean[j];
    const double floor = level * level * static_cast<double>(T);
    // Where both overflow there is no telling: infinity makes the sample invalid.
    if (std::isfinite(variance[j]) && variance[j] <= floor) variance[j] = 0.0;
    variance[j] /= static_cast<double>(T - 1);
    trace += variance[j];
  }
  if (!std::isfinite(trace) || !(trace > 0.0)) return std::nullopt;
  return trace;
}

bool cholesky_in_place(double* A, Index n, ConstVec diagonal) {
  return lapack_factor(A, n) && pivots_hold(A, n, 0.0, [&](Index j) { return diagonal[at(j)]; });
}

std::optional<double> cholesky_with_jitter(ConstMat Sigma, double* L, bool singular,
                                           const Stop& stop) {
  const Index n = Sigma.rows;
  double trace = 0.0;
  for (Index j = 0; j < n; ++j) trace += Sigma(j, j);
  if (!(trace > 0.0) || !std::isfinite(trace)) return std::nullopt;

  double jitter = singular ? kEps * trace : 0.0;
  for (int attempt = singular ? 1 : 0; attempt <= kMostJitters; ++attempt) {
    ask(stop);
    for (Index j = 0; j < n; ++j) {
      // Symmetric: row j from the diagonal on is column j of the lower triangle.
      std::copy(&Sigma(j, j), &Sigma(j, j) + (n - j), L + j * n + j);
      L[j * n + j] += jitter;
    }
    if (lapack_factor(L, n) && pivots_hold(L, n, jitter, [&](Index j) { return Sigma(j, j); }))
      return jitter;
    jitter = attempt == 0 ? kEps * trace : 10.0 * jitter;
  }
  return std::nullopt;
}

}  // namespace sharpen::risk
