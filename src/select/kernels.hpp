// The inner loops of forward selection and of the exchange search.
//
// A blocked matrix (rows, n) keeps kWidth = 32 columns together: block b holds columns 32b to
// 32b+31 of every row, row after row, and room for `capacity` rows. All work on one column touches
// one block, so one pass over a matrix larger than the cache can do several things to it.
// Vectors have 32 * blocks entries; what lies beyond n is inert (zero, or barred).
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::select {

constexpr Index kWidth = 32;
constexpr Index block_count(Index n) { return (n + kWidth - 1) / kWidth; }

struct Blocked {
  double* data = nullptr;
  Index capacity = 0;  // rows for which there is room
  Index rows = 0;
  Index blocks = 0;

  double* block(Index b) const { return data + b * capacity * kWidth; }
  Blocked only(Index b) const { return {block(b), capacity, rows, 1}; }
  double& operator()(Index s, Index j) const { return block(j / kWidth)[s * kWidth + j % kWidth]; }
};

// What remains of every column once it is regressed on the support K.
struct Residuals {
  double* rm = nullptr;  // of the signal
  double* r1 = nullptr;  // of the ones vector
  double* rv = nullptr;  // of the variance

  Residuals from(Index column) const { return {rm + column, r1 + column, rv + column}; }
};

// Replaces asset i = K[row] by asset j in W = Sigma_KK^-1 Sigma_K,: and in the residuals. With
// i gone, q, o and v are the residuals of j, and w_s its coefficients on the others.
struct Exchange {
  Index row = 0;
  const double* column = nullptr;      // Sigma e_j
  const double* cross = nullptr;       // (rows) Sigma_sj, s in K with i
  const double* drop = nullptr;        // (rows) H_si / H_ii; 1 for s = row
  const double* load = nullptr;        // (rows) w_s; -1 for s = row
  double lift = 0.0;                   // W_ij / H_ii
  double h = 0.0, gm = 0.0, g1 = 0.0;  // 1, alpha_i, eta_i over H_ii
  double q = 0.0, o = 0.0, v = 0.0;
};

// Screens all exchanges K[s] -> j: with p = (rm_j - t r1_j) + W_sj g_s and
// d = rv_j + bar_j + W_sj^2 h_s, a block is of interest if p^2 > bound_s d anywhere in it.
struct Screen {
  const double* bar = nullptr;    // 0, or huge for columns that may not enter
  const double* g = nullptr;      // (rows)
  const double* h = nullptr;      // (rows)
  const double* bound = nullptr;  // (rows) > 0
  double t = 0.0;
};

struct Kernels {
  // out -= a^T G.
  void (*project)(const Blocked& G, const double* a, double* out);
  // G = L^-1 G, L (rows, rows) row-major lower; then rm -= z^T G, r1 -= u^T G, rv -= G_s^2.
  void (*forward)(const Blocked& G, const double* L, const double* z, const double* u,
                  const Residuals& residuals);
  // G = L^-T G, given U = L^T row-major.
  void (*backward)(const Blocked& G, const double* U);
  // From block `first` on: apply `exchange` (unless null) to a block, then screen it. Returns
  // the first block of interest, which is already exchanged, or the number of blocks.
  Index (*sweep)(const Blocked& W, const Residuals& residuals, const Exchange* exchange,
                 const Screen& screen, Index first);
  // gain_b = (m_b - c_b r m_a)^2 / (v_b - c_b^2 r) for b < count: what name b adds to a, of
  // covariance c_b with it and inverse variance r; huge where no variance is left. Returns the
  // largest.
  double (*pairs)(const double* c, const double* m, const double* v, double r, double m_a,
                  Index count, double* gain);
};

extern const Kernels kPortableKernels, kV3Kernels;

// The best set this processor runs.
const Kernels& kernels();

}  // namespace sharpen::select
