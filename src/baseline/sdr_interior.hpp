// The relaxation by a primal-dual interior point method, for few assets.
//
// With Y_ij = P_ij - N_ij off the diagonal, P, N >= 0, and s the slack of the l1 constraint:
//   max mu^T Y mu   tr(Sigma Y) = 1,  (kappa - 1) tr Y - sum (P + N) - s = 0,  Y_off = P - N
//   min theta       S = theta Sigma - mu mu^T - nu (kappa - 1) I - V >= 0 (PSD),
//                   a = nu + V >= 0,  b = nu - V >= 0,  nu >= 0
// and the complementary pairs (Y, S), (P, a), (N, b), (s, nu). Mehrotra's predictor and corrector
// with the direction of Helmberg, Rendl, Vanderbei and Wolkowicz, Kojima, Shindoh and Hara, and
// Monteiro: dY = c S^-1 - Y - sym(Y dS S^-1). Eliminating all but (theta, nu, V) leaves a dense
// positive definite system of n (n - 1) / 2 + 2 unknowns. Both starting points are feasible and
// stay so. [Helmberg et al. 1996, SIAM J. Optim. 6; Todd 2001, Acta Numerica 10]
#pragma once

#include "baseline/sdr_bracket.hpp"

namespace sharpen::baseline {

class InteriorPoint {
 public:
  explicit InteriorPoint(Index n);

  // Improves `bracket` until its gap is at most `gap`, the steps run out, or rounding stops
  // progress. Returns the steps taken.
  Index run(const ScaledProblem& problem, double gap, Index max_iterations, Bracket& bracket);

 private:
  // An element of the space of (Y, P, N, s) or of (S, a, b, nu).
  struct Primal {
    Matrix Y, P, N;
    double s = 0.0;
  };
  struct Dual {
    double theta = 0.0, nu = 0.0;
    Matrix V, S;
  };

  void start();
  bool factor_iterates();
  bool assemble();
  void direction(double c, bool correct);
  double primal_step() const;
  double dual_step() const;
  double complementarity(double primal_step, double dual_step) const;
  void advance(double primal_step, double dual_step);
  // sym(Y M S^-1) in `out`.
  void apply(const Matrix& Y, const Matrix& M, Matrix& out);
  void slack_change(double dtheta, double dnu, const Matrix& dV, Matrix& dS) const;

  const ScaledProblem* problem_ = nullptr;
  Index n_, pairs_;
  Primal x_, dx_, second_;  // second_: the corrector's products of the predictor's steps
  Dual y_, dy_;
  Matrix L_Y_, L_S_, S_inverse_, system_, product_, K_Sigma_, K_I_;
  Vector rhs_;
  mutable Matrix scratch_;
  mutable Spectrum spectrum_;
};

}  // namespace sharpen::baseline
