#include "risk/dense.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>

#include "risk/factor.hpp"
#include "risk/kernels.hpp"

namespace sharpen::risk {

namespace {

constexpr double kGraded = 1e-7;  // smallest over largest eigenvalue that dsyevd is trusted with

// Packs the lower triangle of a column-major (n, n) matrix; halve_diagonal for symmetric ones.
void pack_lower(const double* A, Index n, bool halve_diagonal, double* packed) {
  std::fill(packed, packed + packed_size(n), 0.0);
  for (Index i = 0; i < n; ++i) {
    double* row = packed + packed_row(i);
    for (Index j = 0; j <= i; ++j) row[j] = A[j * n + i];
    if (halve_diagonal) row[i] *= 0.5;
  }
}

// v in the first np entries of scratch, zero-padded.
double* padded_copy(ConstVec v, Index np, Vec scratch) {
  double* x = scratch.data();
  std::copy(v.begin(), v.end(), x);
  std::fill(x + v.size(), x + np, 0.0);
  return x;
}

void copy_out(const double* x, Vec out) { std::copy(x, x + out.size(), out.begin()); }

}  // namespace

DenseRisk::Work::Work(Index n)
    : Sigma(at(n * n)), L(at(n * n)), eigenvalues(at(n)), one(at(padded(n))) {
  std::fill(one.begin(), one.begin() + n, 1.0);
}

DenseRisk::DenseRisk(Index n, Index samples, Parts parts)
    : n_(n),
      np_(padded(n)),
      packed_(packed_size(n)),
      per_sample_(packed_ * (parts.root ? 3 : 2) + 2 * np_),
      parts_(parts),
      kernels_(kernels()),
      store_(at(per_sample_ * samples)),
      facts_(at(samples)) {
  parts_.lower = true;  // solves need L^-1 anyway
}

void DenseRisk::set(Index s, Work& work, const Stop& stop, bool singular) {
  set_invalid(s);
  Fact& fact = facts_[at(s)];
  const std::optional<double> jitter =
      cholesky_with_jitter({work.Sigma.data(), n_, n_}, work.L.data(), singular, stop);
  if (!jitter) return;
  ask(stop);
  for (Index j = 0; j < n_; ++j) work.Sigma[at(j * n_ + j)] += *jitter;

  double* P = store_.data() + s * per_sample_;
  double* b = P + per_sample_ - 2 * np_;
  double* D = b + np_;
  const auto size = static_cast<lapack_int>(n_);
  if (LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', size, work.L.data(), size) != 0) return;
  pack_lower(work.L.data(), n_, false, P);
  pack_lower(work.Sigma.data(), n_, true, P + packed_);
  for (Index j = 0; j < n_; ++j) D[j] = work.Sigma[at(j * n_ + j)];
  if (parts_.root && !set_root(s, work, stop)) return;

  fact.A = kernels_.gram_mul(P, np_, work.one.data(), b);
  fact.jitter = *jitter;
  if (std::isfinite(fact.A) && fact.A > 0.0) fact.status = Status::ok;
}

void DenseRisk::set_invalid(Index s) { facts_[at(s)] = Fact{}; }

// The eigenvectors of Sigma into work.Sigma and its eigenvalues, by one-sided Jacobi on the
// Cholesky factor: right to relative precision where assets differ by many orders of magnitude
// in variance, at several times the cost.
bool DenseRisk::graded_eigenvectors(Index s, Work& work) const {
  const auto size = static_cast<lapack_int>(n_);
  double* L = work.Sigma.data();
  std::fill(L, L + n_ * n_, 0.0);
  for (Index i = 0; i < n_; ++i)
    for (Index j = 0; j <= i; ++j) L[j * n_ + i] = sigma_entry(s, i, j);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, L, size) != 0) return false;
  double* e = work.eigenvalues.data();
  double statistics[6] = {1.0, 0, 0, 0, 0, 0};
  if (LAPACKE_dgesvj(LAPACK_COL_MAJOR, 'L', 'U', 'N', size, size, L, size, e, 0, nullptr, size,
                     statistics) != 0)
    return false;
  for (Index j = 0; j < n_; ++j) e[j] = std::pow(statistics[0] * e[j], 2);
  return true;
}

// Sigma = Q diag(e) Q^T, root = (Q diag(e^-1/4)) (Q diag(e^-1/4))^T. Uses up work.Sigma.
bool DenseRisk::set_root(Index s, Work& work, const Stop& stop) {
  const auto size = static_cast<lapack_int>(n_);
  double* Q = work.Sigma.data();
  double* e = work.eigenvalues.data();
  ask(stop);
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, Q, size, e) != 0) return false;
  ask(stop);
  // Ascending, and right to eps times the largest only.
  if (!(e[0] > kGraded * e[n_ - 1]) && !graded_eigenvectors(s, work)) return false;
  for (Index j = 0; j < n_; ++j) {
    if (!(e[j] > 0.0)) return false;
    cblas_dscal(size, 1.0 / std::sqrt(std::sqrt(e[j])), Q + j * n_, 1);
  }
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, size, size, 1.0, Q, size, 0.0, work.L.data(),
              size);
  pack_lower(work.L.data(), n_, true, store_.data() + s * per_sample_ + 2 * packed_);
  return true;
}

double DenseRisk::solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  const double* x = padded_copy(m, np_, scratch);
  double* a = scratch.data() + np_;
  const double C = kernels_.gram_mul(inverse(s), np_, x, a);
  copy_out(a, out);
  return C;
}

void DenseRisk::lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  const double* x = padded_copy(m, np_, scratch);
  kernels_.lower_mul(inverse(s), np_, x, scratch.data() + np_);
  copy_out(scratch.data() + np_, out);
}

void DenseRisk::lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const {
  const double* z = padded_copy(g, np_, scratch);
  kernels_.lower_mul_t(inverse(s), np_, z, scratch.data() + np_);
  copy_out(scratch.data() + np_, out);
}

void DenseRisk::root_solve(Index s, ConstVec m, Vec out, Vec scratch) const {
  const double* x = padded_copy(m, np_, scratch);
  kernels_.sym_mul(root(s), np_, x, scratch.data() + np_);
  copy_out(scratch.data() + np_, out);
}

void DenseRisk::apply(Index s, ConstVec w, Vec out, Vec scratch) const {
  const double* x = padded_copy(w, np_, scratch);
  kernels_.sym_mul(sigma(s), np_, x, scratch.data() + np_);
  copy_out(scratch.data() + np_, out);
}

double DenseRisk::sigma_entry(Index s, Index i, Index j) const {
  if (i == j) return 2.0 * sigma(s)[packed_row(i) + i];
  return sigma(s)[packed_row(std::max(i, j)) + std::min(i, j)];
}

void DenseRisk::column(Index s, Index j, Vec out, Vec) const {
  const double* row = sigma(s) + packed_row(j);
  std::copy(row, row + j, out.begin());
  out[at(j)] = 2.0 * row[j];
  for (Index i = j + 1; i < n_; ++i) {
    row += 4 * (i / 4) + (i % 4 == 0 ? 0 : 4);  // on to row i
    out[at(i)] = row[j];
  }
}

void DenseRisk::submatrix(Index s, std::span<const Index> K, Mat out, Vec) const {
  const auto k = static_cast<Index>(K.size());
  for (Index a = 0; a < k; ++a)
    for (Index b = 0; b < k; ++b) out(a, b) = sigma_entry(s, K[at(a)], K[at(b)]);
}

// F(p) has Sigma's own diagonal, and p_i p_j Sigma_ij off it.
bool DenseRisk::restrict_to(Index s, ConstVec p, Vec factor, Vec) const {
  double* F = factor.data();
  for (Index i = 0; i < n_; ++i) {
    // Row i of the packed lower triangle fills row i of the column-major upper one, so F is
    // factored as its transpose: LAPACK sees the upper triangle.
    const double* row = sigma(s) + packed_row(i);
    const double pi = p[at(i)];
    double* out = F + i * n_;
    for (Index j = 0; j < i; ++j) out[j] = pi * p[at(j)] * row[j];
    out[i] = 2.0 * row[i];
  }
  const auto size = static_cast<lapack_int>(n_);
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, F, size) == 0;
}

void DenseRisk::restricted_solve(Index, ConstVec, ConstVec factor, ConstVec v, Vec out, Vec) const {
  std::copy(v.begin(), v.end(), out.begin());
  const auto size = static_cast<int>(n_);
  cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, size, factor.data(), size,
              out.data(), 1);
  cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, size, factor.data(), size,
              out.data(), 1);
}

}  // namespace sharpen::risk
