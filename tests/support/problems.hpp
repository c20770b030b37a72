// Random problems for tests: factor-model returns, signals on either face, Eigen views.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <memory>
#include <random>

#include "sharpen/base/view.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::testing {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

  Eigen::VectorXd vector(Index n);
  RowMatrix matrix(Index rows, Index cols);

  // Returns (rows, n): three factors, idiosyncratic volatilities that differ fivefold, and a
  // little drift.
  RowMatrix returns(Index rows, Index n);

  // A signal with 1^T Sigma^-1 mu clearly positive, or clearly negative.
  Eigen::VectorXd signal(const Eigen::MatrixXd& Sigma, bool positive);

 private:
  std::mt19937_64 engine_;
};

// A risk model that is Sigma as it is.
std::unique_ptr<risk::Risk> risk_of(const RowMatrix& Sigma);

// Sigma of risk.hpp, plainly: sample covariance of the window, shrunk.
Eigen::MatrixXd naive_covariance(const RowMatrix& window, double lambda);

}  // namespace sharpen::testing
