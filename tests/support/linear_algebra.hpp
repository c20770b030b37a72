// Plain dense linear algebra as a witness, compiled once: Eigen's decompositions are slow to
// compile, above all under sanitizers.
#pragma once

#include <Eigen/Core>

namespace sharpen::testing {

// Sigma^-1 x, the lower Cholesky factor of Sigma, and the symmetric Sigma^(-1/2).
Eigen::VectorXd solve_spd(const Eigen::MatrixXd& Sigma, const Eigen::VectorXd& x);
Eigen::MatrixXd lower_factor(const Eigen::MatrixXd& Sigma);
Eigen::MatrixXd inverse_root(const Eigen::MatrixXd& Sigma);

// L^-1 x and L^-T x, L lower triangular.
Eigen::VectorXd solve_lower(const Eigen::MatrixXd& L, const Eigen::VectorXd& x);
Eigen::VectorXd solve_lower_t(const Eigen::MatrixXd& L, const Eigen::VectorXd& x);

}  // namespace sharpen::testing
