#include "risk/cholesky.hpp"

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpen::risk {

namespace {

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

bool cholesky_in_place(double* A, Index n, ConstVec diagonal) {
  return lapack_factor(A, n) &&
         pivots_hold(A, n, 0.0, [&](Index j) { return diagonal[static_cast<std::size_t>(j)]; });
}

double cholesky_with_jitter(ConstMat Sigma, double* L, bool singular) {
  const Index n = Sigma.rows;
  double trace = 0.0;
  for (Index j = 0; j < n; ++j) trace += Sigma(j, j);
  constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();
  if (!(trace > 0.0) || !std::isfinite(trace)) return kFailed;

  double jitter = singular ? kEps * trace : 0.0;
  for (int attempt = singular ? 1 : 0; attempt <= kMostJitters; ++attempt) {
    for (Index j = 0; j < n; ++j) {
      // Symmetric: row j from the diagonal on is column j of the lower triangle.
      std::copy(&Sigma(j, j), &Sigma(j, j) + (n - j), L + j * n + j);
      L[j * n + j] += jitter;
    }
    if (lapack_factor(L, n) && pivots_hold(L, n, jitter, [&](Index j) { return Sigma(j, j); }))
      return jitter;
    jitter = attempt == 0 ? kEps * trace : 10.0 * jitter;
  }
  return kFailed;
}

}  // namespace sharpen::risk
