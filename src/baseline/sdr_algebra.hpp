// Dense linear algebra on Eigen storage through BLAS and LAPACK: Eigen's own kernels are built for
// every x86-64, OpenBLAS chooses for the machine. Matrices are square, (n, n), column-major;
// symmetric ones have both triangles.
#pragma once

#include <cblas.h>
#include <lapacke.h>

#include <Eigen/Core>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::baseline {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

inline int order_of(const Matrix& A) { return static_cast<int>(A.rows()); }

void mirror_lower(Matrix& A);
// A becomes (A + A^T) / 2.
void symmetrize(Matrix& A);

// C = A B, C another matrix than A and B.
void multiply(const Matrix& A, const Matrix& B, Matrix& C);

// The lower triangle of A becomes its Cholesky factor L; false if A is not positive definite.
bool factor_in_place(Matrix& A);
// inverse = (L L^T)^-1.
void invert_factor(const Matrix& L, Matrix& inverse);
// A becomes L^-1 A L^-T, for symmetric A.
void divide_by_factor(const Matrix& L, Matrix& A);

// Spectra of symmetric matrices of one size, with the memory they need. Every method destroys A
// and is false where LAPACK gives up, which it does on numbers that are not finite.
class Spectrum {
 public:
  explicit Spectrum(Index n);

  bool values(Matrix& A);   // ascending, in value()
  bool vectors(Matrix& A);  // A becomes the eigenvectors, its columns in the order of value()
  bool largest(Matrix& A, double& value);

  // Like values(), but keeps what top_vectors needs; `expected` is a guess at how many vectors will
  // be asked for, and costs time only if wrong. Then A's first `count` columns become eigenvectors
  // of the `count` largest eigenvalues, ascending.
  bool reduce(Matrix& A, Index expected = 1);
  bool top_vectors(Matrix& A, Index count);

  const Vector& value() const { return value_; }

 private:
  bool tridiagonal_vectors();

  int n_;
  bool have_vectors_ = false;  // Z holds all eigenvectors of the tridiagonal matrix
  Vector value_, diagonal_, off_, d_, e_, tau_, top_;
  Matrix Z_;
  std::vector<double> work_;
  std::vector<lapack_int> integers_, support_;
};

}  // namespace sharpen::baseline
