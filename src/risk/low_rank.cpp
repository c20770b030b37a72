#include "risk/low_rank.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "risk/kernels.hpp"

namespace sharpen::risk {

namespace {

constexpr Index kTile = 8;       // rows of U gathered at a time by submatrix
constexpr Index kColumns = 256;  // columns scaled at a time by restrict_to
// Shrinkage at which, and below which, a solve needs one refinement, and two.
constexpr double kRefineFrom = 1e-2, kRefineTwiceFrom = 1e-3;

}  // namespace

Index LowRankRisk::scratch_size() const {
  return n() + 2 * Tp_ + std::max({n(), 2 * kTile * T_, kColumns * T_});
}

// q_t = c (R_t - mean) m.
void LowRankRisk::project(Index s, ConstVec m, double* q, Index first) const {
  kernels_.rows_dot(window(s) + first, T_, static_cast<Index>(m.size()), returns_.stride, m.data(),
                    q);
  const double shift = dot(ConstVec{mean(s) + first, m.size()}, m);
  for (Index t = 0; t < T_; ++t) q[t] = c_ * (q[t] - shift);
}

// out_j = c sum_t (R_tj - mean_j) v_t.
void LowRankRisk::expand(Index s, const double* v, Vec out, Index first) const {
  kernels_.rows_combine(window(s) + first, T_, static_cast<Index>(out.size()), returns_.stride, v,
                        out.data());
  const double total = sum(ConstVec{v, at(T_)});
  const double* mu = mean(s) + first;
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = c_ * (out[j] - mu[j] * total);
}

void LowRankRisk::gather(Index s, Index j, double* u) const {
  const double* r = window(s) + j;
  for (Index t = 0; t < T_; ++t) u[t] = c_ * (r[t * returns_.stride] - mean(s)[j]);
}

void LowRankRisk::mul_spectral(Index s, const double* factors, double* q, double* v) const {
  kernels_.rows_dot(eigenvectors(s), T_, T_, T_, q, v);
  for (Index t = 0; t < T_; ++t) q[t] = factors[t] * v[t];
  kernels_.rows_combine(eigenvectors(s), T_, T_, T_, q, v);
}

// out = (m - U v) / delta with v = M^-1 q, q = U^T m; q and v hold Tp doubles.
void LowRankRisk::woodbury(Index s, ConstVec m, Vec out, double* q, double* v) const {
  project(s, m, q);
  if (parts_.root) {
    mul_spectral(s, inverse_factors(s), q, v);
  } else {
    std::fill(q + T_, q + Tp_, 0.0);
    kernels_.sym_mul(inverse(s), Tp_, q, v);
  }
  expand(s, v, out);
  const double delta = fact(s).delta;
  for (std::size_t j = 0; j < size(); ++j) out[j] = (m[j] - out[j]) / delta;
}

double LowRankRisk::solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  Vec r = scratch.first(size());
  double* q = scratch.data() + n();
  double* v = q + Tp_;
  woodbury(s, m, out, q, v);
  // m - U v cancels where delta is small beside U U^T: steps of iterative refinement.
  const int steps = shrinkage_ > kRefineFrom ? 0 : shrinkage_ > kRefineTwiceFrom ? 1 : 2;
  for (int step = 0; step < steps; ++step) {
    Vec correction = scratch.subspan(size() + 2 * at(Tp_), size());
    project(s, out, q);
    expand(s, q, r);
    for (std::size_t j = 0; j < size(); ++j) r[j] = m[j] - fact(s).delta * out[j] - r[j];
    woodbury(s, r, correction, q, v);
    for (std::size_t j = 0; j < size(); ++j) out[j] += correction[j];
    project(s, out, v);
  }
  return fact(s).delta * dot(out, out) + dot({v, at(T_)}, {v, at(T_)});
}

void LowRankRisk::root_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  double* q = scratch.data();
  double* v = q + Tp_;
  project(s, m, q);
  mul_spectral(s, root_factors(s), q, v);
  expand(s, v, out);
  const double inverse_root = 1.0 / std::sqrt(fact(s).delta);
  for (std::size_t j = 0; j < size(); ++j) out[j] = m[j] * inverse_root - out[j];
}

void LowRankRisk::apply(Index s, ConstVec w, Vec out, Vec scratch) const {
  double* q = scratch.data();
  project(s, w, q);
  expand(s, q, out);
  for (std::size_t j = 0; j < size(); ++j) out[j] += fact(s).delta * w[j];
}

LowRankRisk::Block LowRankRisk::block(Index s, Index i) const {
  const bool last = i + 1 == blocks();
  const Index first = last ? head() : i * kBlock;
  const Index count = last ? n() - first : std::min(kBlock, head() - first);
  return {first, count, W(s) + head() * Tp_ + i * packed_size(kBlock), last};
}

// z_J = L_JJ^-1 (m_J - U_J h) with h = sum over the blocks I before J of W_I^T z_I.
void LowRankRisk::lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  double* h = scratch.data();
  double* more = h + Tp_;
  double* x = more + Tp_;
  double* z = x + std::max(kBlock, Tp_);
  std::fill(h, h + Tp_, 0.0);
  for (Index i = 0; i < blocks(); ++i) {
    const Block J = block(s, i);
    std::fill(x, x + padded(J.count), 0.0);
    if (i > 0) expand(s, h, {x, at(J.count)}, J.first);
    for (Index j = 0; j < J.count; ++j) x[j] = m[at(J.first + j)] - x[j];
    kernels_.lower_mul(J.inverse, padded(J.count), x, z);
    std::copy(z, z + J.count, out.data() + J.first);
    if (J.last) break;
    kernels_.rows_combine(W(s) + J.first * Tp_, J.count, Tp_, Tp_, z, more);
    for (Index t = 0; t < T_; ++t) h[t] += more[t];
  }
}

// v_J = L_JJ^-T (g_J - W_J h) with h = sum over the blocks I after J of U_I^T v_I.
void LowRankRisk::lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const {
  double* h = scratch.data();
  double* more = h + Tp_;
  double* x = more + Tp_;
  double* v = x + std::max(kBlock, Tp_);
  std::fill(h, h + Tp_, 0.0);
  for (Index i = blocks() - 1; i >= 0; --i) {
    const Block J = block(s, i);
    std::fill(x, x + padded(J.count), 0.0);
    if (!J.last) kernels_.rows_dot(W(s) + J.first * Tp_, J.count, Tp_, Tp_, h, x);
    for (Index j = 0; j < J.count; ++j) x[j] = g[at(J.first + j)] - x[j];
    kernels_.lower_mul_t(J.inverse, padded(J.count), x, v);
    std::copy(v, v + J.count, out.data() + J.first);
    if (i == 0) break;
    project(s, {v, at(J.count)}, more, J.first);
    for (Index t = 0; t < T_; ++t) h[t] += more[t];
  }
}

void LowRankRisk::column(Index s, Index j, Vec out, Vec scratch) const {
  double* u = scratch.data();
  gather(s, j, u);
  expand(s, u, out);
  out[at(j)] = diagonal(s)[at(j)];
}

// Tile by tile, so that each row of U is gathered once per tile and not once per entry.
void LowRankRisk::submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const {
  const auto k = static_cast<Index>(K.size());
  double* rows = scratch.data();
  double* cols = rows + kTile * T_;
  const auto gather_tile = [&](Index first, double* u) {
    const Index count = std::min(kTile, k - first);
    for (Index i = 0; i < count; ++i) gather(s, K[at(first + i)], u + i * T_);
    return count;
  };
  for (Index a = 0; a < k; a += kTile) {
    const Index height = gather_tile(a, rows);
    for (Index b = 0; b <= a; b += kTile) {
      const Index width = gather_tile(b, cols);
      for (Index i = 0; i < height; ++i)
        for (Index j = 0; j < width && b + j <= a + i; ++j)
          out(a + i, b + j) = out(b + j, a + i) =
              dot({rows + i * T_, at(T_)}, {cols + j * T_, at(T_)});
    }
  }
  for (Index a = 0; a < k; ++a) out(a, a) = diagonal(s)[at(K[at(a)])];
}

// F(p) = E + P U U^T P with E = delta p^2 + (1 - p^2) D. factor = E (n), then the Cholesky factor
// of I + U^T P E^-1 P U (T, T), row-major lower.
bool LowRankRisk::restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const {
  double* E = factor.data();
  double* S = E + n();
  const double delta = fact(s).delta;
  const double* D = diagonal(s).data();
  for (std::size_t j = 0; j < size(); ++j) {
    const double p2 = p[j] * p[j];
    E[j] = delta * p2 + (1.0 - p2) * D[j];
  }
  std::fill(S, S + T_ * T_, 0.0);
  for (Index t = 0; t < T_; ++t) S[t * T_ + t] = 1.0;

  double* X = scratch.data() + n() + 2 * Tp_;  // (T, width): U^T P E^(-1/2), a strip of columns
  double* scale = scratch.data();              // (n): p / sqrt(E) times c
  for (std::size_t j = 0; j < size(); ++j) scale[j] = c_ * p[j] / std::sqrt(E[j]);
  const auto T = static_cast<int>(T_);
  for (Index first = 0; first < n(); first += kColumns) {
    const Index width = std::min(kColumns, n() - first);
    const double* mu = mean(s) + first;
    for (Index t = 0; t < T_; ++t) {
      const double* r = window(s) + t * returns_.stride + first;
      for (Index i = 0; i < width; ++i) X[t * width + i] = (r[i] - mu[i]) * scale[first + i];
    }
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, T, static_cast<int>(width), 1.0, X,
                static_cast<int>(width), 1.0, S, T);
  }
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', T, S, T) == 0;
}

void LowRankRisk::restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                                   Vec scratch) const {
  const double* E = factor.data();
  const double* S = E + n();
  Vec x = scratch.first(size());
  double* q = scratch.data() + n();
  for (std::size_t j = 0; j < size(); ++j) x[j] = p[j] * v[j] / E[j];
  project(s, x, q);
  const auto T = static_cast<int>(T_);
  cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, T, S, T, q, 1);
  cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, T, S, T, q, 1);
  expand(s, q, out);
  for (std::size_t j = 0; j < size(); ++j) out[j] = (v[j] - p[j] * out[j]) / E[j];
}

}  // namespace sharpen::risk
