#include "select/proof_algebra.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <cstddef>

namespace sharpen::select {

namespace {

// L^-1 in the place of L, by halves: LAPACK's own goes column by column within its blocks, at a
// third of the speed.
bool invert_triangle(double* L, int n, int ld) {
  constexpr int kByColumns = 32;
  if (n <= kByColumns) return LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', n, L, ld) == 0;
  const int top = n / 2, rest = n - top;
  double *below = L + top, *corner = L + top * (static_cast<std::ptrdiff_t>(ld) + 1);
  if (!invert_triangle(L, top, ld) || !invert_triangle(corner, rest, ld)) return false;
  cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, rest, top, -1.0, L,
              ld, below, ld);
  cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, rest, top, 1.0,
              corner, ld, below, ld);
  return true;
}

}  // namespace

void solve_lower(const ProofMatrix& L, Index n, bool transposed, double* x) {
  if (n == 0) return;
  cblas_dtrsv(CblasColMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit,
              size_of(n), L.data(), size_of(L.rows()), x, 1);
}

bool factor_lower(ProofMatrix& A, Index n) {
  return n == 0 ||
         LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size_of(n), A.data(), size_of(A.rows())) == 0;
}

bool invert_lower(ProofMatrix& A, Index n) {
  const int ld = size_of(A.rows());
  return n == 0 || (invert_triangle(A.data(), size_of(n), ld) &&
                    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', size_of(n), A.data(), ld) == 0);
}

void multiply_symmetric(const ProofMatrix& A, Index n, const ProofMatrix& X, Index columns,
                        ProofMatrix& Y) {
  const int ld = size_of(A.rows());
  cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, size_of(n), size_of(columns), 1.0, A.data(), ld,
              X.data(), ld, 0.0, Y.data(), ld);
}

}  // namespace sharpen::select
