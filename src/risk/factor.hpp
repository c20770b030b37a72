// What both forms are set up with, so that they agree on delta, on the diagonal and on what counts
// as a window without risk: the moments of a window, and Cholesky factors with a strict pivot rule
// and the jitter that rescues near-singular matrices. Matrices are column-major with their lower
// triangle used.
#pragma once

#include <optional>

#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::risk {

// mean (n) and variance (n), divisor T - 1, of the columns of window (T, n); exactly 0 for a
// column that is constant up to the rounding of its mean. Returns the sum of the variances, none
// where that is zero or not finite.
std::optional<double> window_moments(ConstMat window, Vec mean, Vec variance);

// Factors the lower triangle of A (n, n) in place. `diagonal` is the diagonal of A before. Not
// only LAPACK's word counts: a pivot below 10 n eps A_jj is a failure too (n eps alone lets one
// rank-deficient covariance in sixty pass).
bool cholesky_in_place(double* A, Index n, ConstVec diagonal);

// L (n, n) = the factor of Sigma + jitter I for the smallest jitter tried that works: 0, then
// eps * trace growing tenfold at most 12 times. Returns the jitter, none where none of them works
// or the trace is zero or not finite. Sigma (n, n) has both triangles. L holds n * n doubles;
// only its lower triangle is meaningful. `singular`: known to be, do not try without jitter. Throws
// Interrupted between two tries.
std::optional<double> cholesky_with_jitter(ConstMat Sigma, double* L, bool singular = false,
                                           const Stop& stop = {});

}  // namespace sharpen::risk
