#include "baseline/sdr_algebra.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::baseline {

namespace {

constexpr Index kFew = 7;

}  // namespace

void mirror_lower(Matrix& A) {
  for (Index j = 0; j < A.cols(); ++j)
    for (Index i = j + 1; i < A.rows(); ++i) A(j, i) = A(i, j);
}

void symmetrize(Matrix& A) {
  for (Index j = 0; j < A.cols(); ++j)
    for (Index i = j + 1; i < A.rows(); ++i) A(i, j) = A(j, i) = 0.5 * (A(i, j) + A(j, i));
}

void multiply(const Matrix& A, const Matrix& B, Matrix& C) {
  const int n = order_of(A);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, A.data(), n, B.data(), n,
              0.0, C.data(), n);
}

bool factor_in_place(Matrix& A) {
  const int n = order_of(A);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, A.data(), n) != 0) return false;
  for (Index j = 0; j < n; ++j)
    if (!(A(j, j) > 0.0 && std::isfinite(A(j, j)))) return false;
  return true;
}

void invert_factor(const Matrix& L, Matrix& inverse) {
  const int n = order_of(L);
  inverse = L;
  LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, inverse.data(), n);
  mirror_lower(inverse);
}

void divide_by_factor(const Matrix& L, Matrix& A) {
  const int n = order_of(L);
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, n, 1.0, L.data(),
              n, A.data(), n);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1.0, L.data(),
              n, A.data(), n);
  symmetrize(A);
}

Spectrum::Spectrum(Index n)
    : n_(static_cast<int>(n)),
      value_(n),
      diagonal_(n),
      off_(n),
      d_(n),
      e_(n),
      tau_(n),
      top_(n),
      work_(at(1 + 6 * n + 2 * n * n + 64 * n)),
      integers_(at(16 + 10 * n)),
      support_(at(2 * n)) {}

// Few vectors come one by one; from about a seventh of them on, all at once is quicker.
bool Spectrum::reduce(Matrix& A, Index expected) {
  const int work = static_cast<int>(work_.size());
  if (!A.allFinite()) return false;
  if (LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', n_, A.data(), n_, diagonal_.data(), off_.data(),
                          tau_.data(), work_.data(), work) != 0)
    return false;
  have_vectors_ = false;
  if (kFew * expected > n_) return tridiagonal_vectors();
  value_ = diagonal_;
  e_ = off_;
  return LAPACKE_dsterf_work(n_, value_.data(), e_.data()) == 0;
}

bool Spectrum::tridiagonal_vectors() {
  if (Z_.cols() < n_) Z_.resize(n_, n_);
  value_ = diagonal_;
  e_ = off_;
  have_vectors_ = LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'I', n_, value_.data(), e_.data(),
                                      Z_.data(), n_, work_.data(), static_cast<int>(work_.size()),
                                      integers_.data(), static_cast<int>(integers_.size())) == 0;
  return have_vectors_;
}

bool Spectrum::values(Matrix& A) { return reduce(A); }

bool Spectrum::largest(Matrix& A, double& value) {
  if (!reduce(A)) return false;
  value = value_[n_ - 1];
  return true;
}

bool Spectrum::vectors(Matrix& A) {
  if (!A.allFinite()) return false;
  return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n_, A.data(), n_, value_.data(),
                             work_.data(), static_cast<int>(work_.size()), integers_.data(),
                             static_cast<int>(integers_.size())) == 0;
}

bool Spectrum::top_vectors(Matrix& A, Index count) {
  const int r = static_cast<int>(count), work = static_cast<int>(work_.size());
  if (!have_vectors_ && kFew * count > n_ && !tridiagonal_vectors()) return false;
  if (Z_.cols() < count) Z_.resize(n_, count);
  double* top = Z_.data() + (have_vectors_ ? static_cast<Index>(n_ - r) * n_ : 0);
  if (!have_vectors_) {
    d_ = diagonal_;
    e_ = off_;
    lapack_int found = 0;
    lapack_logical high_accuracy = 1;
    if (LAPACKE_dstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n_, d_.data(), e_.data(), 0.0, 0.0,
                            n_ - r + 1, n_, &found, top_.data(), top, n_, r, support_.data(),
                            &high_accuracy, work_.data(), work, integers_.data(),
                            static_cast<int>(integers_.size())) != 0 ||
        found != r)
      return false;
  }
  if (LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'N', n_, r, A.data(), n_, tau_.data(), top,
                          n_, work_.data(), work) != 0)
    return false;
  std::copy(top, top + count * n_, A.data());
  return true;
}

}  // namespace sharpen::baseline
