// What is proved about one relaxation (sdr.hpp): the best feasible primal point and the best
// certified dual point so far, in scaled units.
#pragma once

#include <limits>
#include <vector>

#include "baseline/sdr_algebra.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::baseline {

using Real = long double;  // what is proved is computed in it
inline constexpr Real kRealUnit = std::numeric_limits<Real>::epsilon() / 2.0L;  // of rounding

// The problem with Sigma and mu divided by powers of two, which is exact, so that the mean variance
// and the value of the greedy portfolio are near 1. Sharpe^2 = unit * scaled Sharpe^2.
struct ScaledProblem {
  explicit ScaledProblem(Index n) : Sigma(n, n), mu(n), greedy(n), full(n), balance(n) {}

  // False if a number is not finite, a variance not positive, or Sigma not positive definite.
  bool set(ConstMat Sigma_given, ConstVec mu_given, double kappa_given);

  Index n() const { return mu.size(); }

  Stop stop;  // asked by whoever works on the problem
  double kappa = 1.0;
  Matrix Sigma;
  Vector mu;
  double sigma_unit = 1.0, mu_unit = 1.0;  // what Sigma and mu were divided by
  double unit = 1.0;                       // mu_unit^2 / sigma_unit
  Vector greedy;              // of unit risk, at most floor(kappa) names: y y^T is feasible
  double greedy_value = 0.0;  // (mu^T greedy)^2
  Index best_single = 0;      // of the largest mu_i^2 / Sigma_ii
  Vector full;                // Sigma^-1 mu
  Matrix L;                   // Cholesky factor of Sigma, lower triangle
  Vector balance;             // powers of two near 1 / sqrt(Sigma_ii)

 private:
  bool choose_units(ConstMat Sigma_given, ConstVec mu_given);
  void select_greedily();
};

class Bracket {
 public:
  explicit Bracket(Index n);

  // Starts again, from the greedy portfolio.
  void begin(const ScaledProblem& problem);

  // Y PSD (n, n), known up to a factor. Where it breaks sum |Y_ij| <= kappa tr Y, its small rows
  // are cut, and what is left is mixed with its own diagonal or with the greedy portfolio, as keeps
  // most; the best point is kept.
  void offer_primal(const Matrix& Y);
  // nu, V (n, n; the diagonal is not read) and a theta near the least one that is feasible with
  // them; kept if a theta below the present bound can be proved. True if it was.
  bool offer_dual(double nu, const Matrix& V, double theta);
  // A value known in closed form.
  void set_dual(double theta, double nu, const Matrix& V);

  double primal() const { return primal_; }
  double dual() const { return dual_; }
  double gap() const { return dual_ > primal_ ? (dual_ - primal_) / dual_ : 0.0; }

  const Matrix& Y() const { return Y_; }
  const Matrix& V() const { return V_; }
  double nu() const { return nu_; }

 private:
  struct Sums;    // over the rows and columns of some assets
  struct Repair;  // of a point that is not feasible
  Repair repair(const Sums& sums) const;
  void keep_primal(const Matrix& Y, const Repair& repair);
  bool slack_is_positive(double theta, double nu, const Matrix& V);

  const ScaledProblem* problem_ = nullptr;
  double primal_ = 0.0, dual_ = std::numeric_limits<double>::infinity(), nu_ = 0.0;
  Matrix Y_, V_;
  std::vector<long double> slack_;
  std::vector<Index> order_;  // assets by falling Y_ii
};

}  // namespace sharpen::baseline
