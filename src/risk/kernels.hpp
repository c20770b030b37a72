// The inner loops of the risk forms. Plain pointers, no allocation, no dependence on alignment.
//
// Packed lower matrices are stored by blocks of four rows: block r holds rows 4r..4r+3, each of
// 4r+4 doubles (zero right of the diagonal), one after the other. np = n rounded up to a
// multiple of 4; rows n..np-1 are zero. Vectors that meet a packed matrix have np entries.
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::risk {

constexpr Index padded(Index n) { return (n + 3) / 4 * 4; }
constexpr Index packed_size(Index n) { return padded(n) / 4 * (padded(n) / 4 + 1) * 8; }
constexpr Index packed_row(Index i) {  // offset of row i, entry 0
  const Index r = i / 4;
  return 8 * r * (r + 1) + (i - 4 * r) * (4 * r + 4);
}

struct Kernels {
  // z = P x and a = P^T z.
  void (*lower_mul)(const double* P, Index np, const double* x, double* z);
  void (*lower_mul_t)(const double* P, Index np, const double* z, double* a);
  // a = P^T P x in one pass over P; returns |P x|^2.
  double (*gram_mul)(const double* P, Index np, const double* x, double* a);
  // out = (P + P^T) x: a symmetric matrix is packed with its diagonal halved.
  void (*sym_mul)(const double* P, Index np, const double* x, double* out);
  // q_t = sum_j R_tj x_j and out_j = sum_t v_t R_tj, R (rows, cols) row-major.
  void (*rows_dot)(const double* R, Index rows, Index cols, Index stride, const double* x,
                   double* q);
  void (*rows_combine)(const double* R, Index rows, Index cols, Index stride, const double* v,
                       double* out);
};

extern const Kernels kPortableKernels, kV3Kernels;

// The best set this processor runs.
const Kernels& kernels();

}  // namespace sharpen::risk
