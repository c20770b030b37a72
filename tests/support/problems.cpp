#include "support/problems.hpp"

#include "support/linear_algebra.hpp"

namespace sharpen::testing {

Eigen::VectorXd Problems::vector(Index n) {
  Eigen::VectorXd v(n);
  for (Index i = 0; i < n; ++i) v[i] = normal();
  return v;
}

RowMatrix Problems::matrix(Index rows, Index cols) {
  RowMatrix m(rows, cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < cols; ++j) m(i, j) = normal();
  return m;
}

RowMatrix Problems::returns(Index rows, Index n) {
  const RowMatrix loadings = matrix(3, n);
  RowMatrix r = 0.006 * matrix(rows, 3) * loadings;
  for (Index j = 0; j < n; ++j) {
    const double sd = 0.004 * (1.0 + 4.0 * static_cast<double>(j % 7) / 6.0);
    const double drift = 0.0005 * normal();
    for (Index t = 0; t < rows; ++t) r(t, j) += drift + sd * normal();
  }
  return r;
}

Eigen::VectorXd Problems::signal(const Eigen::MatrixXd& Sigma, bool positive) {
  const Eigen::VectorXd b = solve_spd(Sigma, Eigen::VectorXd::Ones(Sigma.rows()));
  for (;;) {
    Eigen::VectorXd mu = 0.001 * vector(Sigma.rows());
    const double B = b.dot(mu);
    if (std::abs(B) < 0.05 * b.norm() * mu.norm()) continue;
    if ((B > 0) != positive) mu = -mu;
    return mu;
  }
}

std::unique_ptr<risk::Risk> risk_of(const RowMatrix& Sigma) {
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  return risk::from_covariance(view(Sigma), settings);
}

Eigen::MatrixXd naive_covariance(const RowMatrix& window, double lambda) {
  const RowMatrix centred = window.rowwise() - window.colwise().mean();
  Eigen::MatrixXd S = centred.transpose() * centred / static_cast<double>(window.rows() - 1);
  const double level = S.trace() / static_cast<double>(S.rows());
  S *= 1.0 - lambda;
  S.diagonal().array() += lambda * level;
  return S;
}

}  // namespace sharpen::testing
