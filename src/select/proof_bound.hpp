// An upper bound on V(K) over all supports K that a node of the tree allows (proof_problem.hpp).
//
// With the names F fixed in eliminated, Sigma and mu stand for what remains of the free names R.
// For any u, any d > 0 with Q = Sigma - diag(d) positive definite, and any lambda >= 0,
//
//   V(K) <= c + sum over K \ F of s_i,   c = c_F + m^T Q^-1 m + 2 g^T lambda,   s_i = u_i^2 / d_i,
//
// where m = mu - G lambda - u: split 2 (mu - G lambda)^T y - y^T Sigma y into its (m, Q) and its
// (u, diag(d)) part and maximise each by itself. y_i >= 0 leaves max(u_i, 0)^2 / d_i.
// The smallest c + (sum of the k largest s_i) is a convex problem,
//
//   min  c + sum_i (omega_i - tau) + k tau   s.t.  omega_i d_i >= q_i^2,  omega_i >= tau,  q_i =
//   u_i
//                                                  (q_i >= u_i where one-sided),  lambda >= 0,
//
// followed along its central path by Newton's method: the objective times t, less the logarithms of
// det Q, omega_i d_i - q_i^2, omega_i - tau, q_i - u_i and lambda_r. Every point on the way is a
// bound, and the estimate z_i of how far asset i is held comes with it.
#pragma once

#include <span>
#include <vector>

#include "select/proof_problem.hpp"

namespace sharpen::select {

// A strictly feasible point, over the names that are not eliminated.
struct ProofPoint {
  std::vector<double> u, d, omega, q;  // (names); q only counts where one-sided
  std::vector<double> lambda;          // (p)
  double tau = 0.0;
  double t = 0.0;  // of the path
};

class ProofBound {
 public:
  explicit ProofBound(const ProofProblem& problem);

  // Names that are in, and those that may come. Where names are one-sided, what is in stays among
  // the names of the point, in front of the others; elsewhere it is eliminated. False if the
  // elimination breaks down.
  bool begin(std::span<const Index> in, std::span<const Index> open);
  // A point of this node; `from` must be one, or cold() makes one.
  bool start(const ProofPoint& from);
  bool cold();
  // The bound that counts no names: all that may come do. Needs begin() anew afterwards.
  double of_all();
  // One Newton step for the path's t. False if it cannot be made; the point is then as it was.
  bool step();

  // Of the present point.
  double bound() const { return bound_; }
  double constant() const { return bound_ - top_; }  // c, rounding included
  double share(Index a) const { return s_[at(a)]; }  // s_a
  double held(Index a) const;                        // z_a
  // What speaks for a decision on name a: its part in Q's own portfolio, as far as it is open.
  double urgency(Index a) const { return x_[a] * x_[a] * held(a) * (1.0 - held(a)); }
  double decrement() const { return decrement_; }    // squared, of the last step
  double gap() const { return degree_ / point_.t; }  // on the path, to the smallest bound there is
  const ProofPoint& point() const { return point_; }
  void raise(double factor) { point_.t *= factor; }

  // The names of the point: those that count always, then those of which `choose` count.
  Index names() const { return n_; }
  Index always() const { return always_; }
  Index choose() const { return choose_; }
  // The residual problem, for the enumeration of supports: rows and columns as names().
  double residual(Index a, Index b) const { return S_(a, b); }
  double residual_mu(Index a) const { return v_[a]; }  // of mu - G lambda
  double value_in() const { return value_in_; }  // V of the names eliminated, for mu - G lambda

 private:
  // Derivatives of one name's terms, with omega and q eliminated.
  struct Local {
    double uu, ud, dd;              // curvature in (u, d)
    double ut, dt;                  // between these and tau
    double gu, gd;                  // gradient
    double gw, rw, wq, wd, inv_v2;  // for omega's own step
    double gq, rq, qd, qt, inv_e2;  // for q's
  };

  bool find_least_eigenvalue();
  bool factor(const double* d);
  void evaluate();
  void set_degree();
  void residual_rows();
  Local derivatives(Index a) const;
  bool assemble();
  bool solve_border();
  double longest() const;
  bool inside(double length) const;
  bool move();

  const ProofProblem& problem_;
  const Index capacity_, p_;
  Index n_ = 0, in_ = 0, always_ = 0, choose_ = 0;
  bool ranks_ = true;  // more names than may be chosen: tau counts
  std::vector<Index> in_names_, names_;
  // (capacity, capacity), top left used: what is left of Sigma, the factor of Q, its inverse, the
  // inverse of the upper block of Newton's matrix, the factor of its Schur complement.
  ProofMatrix S_, Q_, P_, N_, D_;
  ProofMatrix L_, X_;     // of the names in: factor, and L^-1 Sigma_(in, open)
  ProofMatrix Gr_, Gin_;  // (capacity, p) what is left of G; L^-1 G_in
  ProofVector v_in_, v_, m_, z_, x_;
  std::vector<double> s_, sorted_;
  double bound_ = 0.0, top_ = 0.0, value_in_ = 0.0;
  double least_eigenvalue_ = 0.0;  // of Sigma on the names of this node
  ProofPoint point_, trial_;
  double degree_ = 0.0, decrement_ = 0.0;
  std::vector<Local> local_;
  // Right-hand sides and solutions: gradient, tau, then the rows; (capacity, p + 2).
  ProofMatrix Rp_, Rd_, Yp_, Yd_, T_, border_;
  ProofVector A_, B_, border_gradient_, border_step_;
  std::vector<int> pivots_;
  double tau_gradient_ = 0.0, tau_curvature_ = 0.0;
  ProofVector du_, dd_, domega_, dq_;
};

}  // namespace sharpen::select
