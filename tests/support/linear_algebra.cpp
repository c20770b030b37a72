#include "support/linear_algebra.hpp"

#include <Eigen/Dense>

namespace sharpen::testing {

Eigen::VectorXd solve_spd(const Eigen::MatrixXd& Sigma, const Eigen::VectorXd& x) {
  return Sigma.llt().solve(x);
}

Eigen::MatrixXd lower_factor(const Eigen::MatrixXd& Sigma) { return Sigma.llt().matrixL(); }

Eigen::MatrixXd inverse_root(const Eigen::MatrixXd& Sigma) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Sigma);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal() *
         eigen.eigenvectors().transpose();
}

Eigen::VectorXd solve_lower(const Eigen::MatrixXd& L, const Eigen::VectorXd& x) {
  return L.triangularView<Eigen::Lower>().solve(x);
}

Eigen::VectorXd solve_lower_t(const Eigen::MatrixXd& L, const Eigen::VectorXd& x) {
  return L.transpose().triangularView<Eigen::Upper>().solve(x);
}

}  // namespace sharpen::testing
