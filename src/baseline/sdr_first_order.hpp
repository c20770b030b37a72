// The relaxation by over-relaxed primal-dual hybrid gradients, for many assets.
//
// With R = Sigma^(-1/2), m = R mu and X = R^-1 Y R^-1 the problem is the saddle point
//   max over X PSD, tr X = 1;  min over W in C   <m m^T + R W R, X>,
//   C = { W : |W_ij| <= nu off the diagonal, W_ii = nu (kappa - 1), nu >= 0 },
// so that the PSD cone and the trace are one projection of eigenvalues onto the simplex, the l1
// constraint is one projection onto C, and every W gives the bound lambda_max(m m^T + R W R).
//   W+ = P_C(W - sigma R X R),  X+ = P(X + tau (m m^T + R (2 W+ - W) R)),
//   (X, W) += rho (X+ - X, W+ - W),  tau sigma = lambda_min(Sigma)^2.
// [Chambolle and Pock 2011, J. Math. Imaging Vis. 40; over-relaxed: Condat 2013, J. Optim. Theory
// Appl. 158]
#pragma once

#include "baseline/sdr_bracket.hpp"

namespace sharpen::baseline {

class FirstOrder {
 public:
  explicit FirstOrder(Index n);

  // Improves `bracket` until its gap is at most `gap` or the steps run out; starts from the
  // solution of the last run, unless that was forgotten. Returns the steps taken.
  Index run(const ScaledProblem& problem, double gap, Index max_iterations, Bracket& bracket);
  void forget() { warm_ = false; }

 private:
  bool whiten();
  void start();
  bool step();
  void project_dual();
  bool project_primal();
  void relax();
  void rebalance();
  bool check(double gap, Bracket& bracket);
  void remember();
  // R M R in `out`.
  void whitened(const Matrix& M, Matrix& out);

  const ScaledProblem* problem_ = nullptr;
  Index n_;
  double kappa1_ = 0.0;    // kappa - 1
  double omega_ = 1.0;     // tau = omega lambda_min, sigma = lambda_min / omega
  double smallest_ = 0.0;  // lambda_min(Sigma)
  double nu_ = 0.0;
  Index rank_ = 1;                            // of X+
  Vector m_;                                  // R mu
  Matrix R_, root_;                           // Sigma^(-1/2), Sigma^(1/2)
  Matrix X_, W_, A_, G_;                      // iterates; A = R W R, G = R X R
  Matrix next_X_, next_W_, next_A_, next_G_;  // X+, W+ and their images
  Matrix best_W_;
  double best_nu_ = 0.0, best_theta_ = 0.0;
  Matrix scratch_, factor_, image_;
  Spectrum spectrum_;
  std::vector<double> projected_;  // eigenvalues on the simplex

  bool warm_ = false;
  Matrix warm_Y_, warm_W_;
  double warm_omega_ = 1.0;
};

}  // namespace sharpen::baseline
