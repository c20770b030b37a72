// Random problems for tests: factor-model returns, signals on either face, Eigen views.
#pragma once

#include <Eigen/Dense>
#include <random>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::testing {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline ConstMat view(const RowMatrix& m) { return {m.data(), m.rows(), m.cols()}; }
inline Mat view(RowMatrix& m) { return {m.data(), m.rows(), m.cols()}; }
inline ConstVec view(const Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
inline Vec view(Eigen::VectorXd& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }

class Problems {
 public:
  explicit Problems(unsigned seed) : engine_(seed) {}

  double normal() { return std::normal_distribution<double>()(engine_); }
  Index below(Index n) { return std::uniform_int_distribution<Index>(0, n - 1)(engine_); }

  Eigen::VectorXd vector(Index n) {
    Eigen::VectorXd v(n);
    for (Index i = 0; i < n; ++i) v[i] = normal();
    return v;
  }
  RowMatrix matrix(Index rows, Index cols) {
    RowMatrix m(rows, cols);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) m(i, j) = normal();
    return m;
  }

  // Returns (rows, n): three factors, idiosyncratic volatilities that differ fivefold, and a
  // little drift.
  RowMatrix returns(Index rows, Index n) {
    const RowMatrix loadings = matrix(3, n);
    RowMatrix r = 0.006 * matrix(rows, 3) * loadings;
    for (Index j = 0; j < n; ++j) {
      const double sd = 0.004 * (1.0 + 4.0 * static_cast<double>(j % 7) / 6.0);
      const double drift = 0.0005 * normal();
      for (Index t = 0; t < rows; ++t) r(t, j) += drift + sd * normal();
    }
    return r;
  }

  // A signal with 1^T Sigma^-1 mu clearly positive, or clearly negative.
  Eigen::VectorXd signal(const Eigen::MatrixXd& Sigma, bool positive) {
    const Eigen::VectorXd b = Sigma.ldlt().solve(Eigen::VectorXd::Ones(Sigma.rows()));
    for (;;) {
      Eigen::VectorXd mu = 0.001 * vector(Sigma.rows());
      const double B = b.dot(mu);
      if (std::abs(B) < 0.05 * b.norm() * mu.norm()) continue;
      if ((B > 0) != positive) mu = -mu;
      return mu;
    }
  }

 private:
  std::mt19937_64 engine_;
};

// Sigma of DESIGN 2.1, plainly: sample covariance of the window, shrunk.
inline Eigen::MatrixXd naive_covariance(const RowMatrix& window, double lambda) {
  const RowMatrix centred = window.rowwise() - window.colwise().mean();
  Eigen::MatrixXd S = centred.transpose() * centred / static_cast<double>(window.rows() - 1);
  const double level = S.trace() / static_cast<double>(S.rows());
  S *= 1.0 - lambda;
  S.diagonal().array() += lambda * level;
  return S;
}

inline Eigen::MatrixXd naive_inverse_root(const Eigen::MatrixXd& Sigma) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Sigma);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal() *
         eigen.eigenvectors().transpose();
}

}  // namespace sharpen::testing
