// Products of row-major matrices on one thread, for float and double: thin names over CBLAS.
// beta is 0 (C is overwritten, whatever it held) or 1 (C grows).
#pragma once

#include <cblas.h>

#include "sharpen/base/view.hpp"

namespace sharpen::learn {

// The calls themselves. C (m, n) = op(A) op(B) + beta C with k terms per entry.
inline void call_gemm(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, Index m, Index n, Index k,
                      const float* A, Index lda, const float* B, Index ldb, float beta, float* C,
                      Index ldc) {
  cblas_sgemm(CblasRowMajor, a, b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0F, A, static_cast<int>(lda), B, static_cast<int>(ldb), beta, C,
              static_cast<int>(ldc));
}
inline void call_gemm(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, Index m, Index n, Index k,
                      const double* A, Index lda, const double* B, Index ldb, double beta,
                      double* C, Index ldc) {
  cblas_dgemm(CblasRowMajor, a, b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0, A, static_cast<int>(lda), B, static_cast<int>(ldb), beta, C,
              static_cast<int>(ldc));
}

// C (m, n) = A (m, k) B (k, n) + beta C.
template <class Real>
void multiply(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasNoTrans, CblasNoTrans, C.rows, C.cols, A.cols, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// C (m, n) = A (m, k) B^T, B (n, k), + beta C.
template <class Real>
void multiply_nt(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasNoTrans, CblasTrans, C.rows, C.cols, A.cols, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// C (m, n) = A^T B + beta C, A (k, m), B (k, n).
template <class Real>
void multiply_tn(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasTrans, CblasNoTrans, C.rows, C.cols, A.rows, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// The lower triangle of C (m, m) = A A^T, A (m, k); what lies above it is left alone.
inline void lower_gram(BasicMat<const float> A, BasicMat<float> C) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, static_cast<int>(C.rows),
              static_cast<int>(A.cols), 1.0F, A.data, static_cast<int>(A.stride), 0.0F, C.data,
              static_cast<int>(C.stride));
}
inline void lower_gram(BasicMat<const double> A, BasicMat<double> C) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, static_cast<int>(C.rows),
              static_cast<int>(A.cols), 1.0, A.data, static_cast<int>(A.stride), 0.0, C.data,
              static_cast<int>(C.stride));
}

// The columns first .. first + count - 1.
template <class T>
BasicMat<T> middle_cols(BasicMat<T> A, Index first, Index count) {
  return {A.data + first, A.rows, count, A.stride};
}

}  // namespace sharpen::learn
