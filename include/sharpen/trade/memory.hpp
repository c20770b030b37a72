// A signal with a memory.
//
// q_t = mean over the members of mu / sqrt(mu^T Sigma^-1 mu) is what they agree on, in units of the
// Sharpe ratio that they are believed to have: short where they disagree. Per unit of volatility
// that is x_t = q_t / sqrt(diag Sigma_t), and the signal is
//   s_t = sqrt(diag Sigma_t) xbar_t,   xbar_t = sum_j omega_j x_(t-j) / sum_j omega_j,
//   omega_j = (1 - 1/N)^j,   j = 0..M-1,   M = 3 N  (1 for N = 1),
// a finite filter: the same in training, backtests and predictions, and forgotten after M periods.
// A period without a direction (mu = 0) counts as zero, one that could not be computed is skipped
// with its weight, and a name that was not there has x = 0.
#pragma once

#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::trade {

class Memory {
 public:
  explicit Memory(Index periods);  // N >= 1

  Index rows() const { return static_cast<Index>(weights_.size()); }  // M
  double weight(Index j) const { return weights_[at(j)]; }            // omega_j

  // signal (n) from x (R, n), whose last row is of today and those before it of the periods before,
  // as far as there are, and variances (n) = diag Sigma of today. Rows with NaN are skipped; NaN if
  // all are, or if today is.
  void signal(ConstMat x, ConstVec variances, Vec out) const;

 private:
  std::vector<double> weights_;  // (M)
};

}  // namespace sharpen::trade
