// The problem that branch and bound works on:
//
//   max over K, |K| <= k, of V(K),   V(K) = max 2 mu^T y - y^T Sigma y   over y on K with
//                                           G^T y <= g,   y_i >= 0 for i that are one-sided.
//
// Without rows and signs V(K) = C(K), the square of the best Sharpe ratio on K; a row that is
// homogeneous (g = 0) keeps that meaning.
//
// All rounding is paid for once, here: Sigma is the true covariance less a margin,
//   Sigma = Sigma_true - theta diag(Sigma_true),
// with theta larger than the backward error of any elimination over at most n columns. What an
// elimination of this Sigma computes is therefore exact for a matrix between this one and the true
// one, and V only grows as Sigma shrinks: computed values bound the true ones from above.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::select {

using ProofMatrix = Eigen::MatrixXd;
using ProofVector = Eigen::VectorXd;

struct ProofProblem {
  Index n = 0, k = 0;
  ProofMatrix Sigma;            // (n, n), both triangles
  ProofVector mu;               // (n)
  ProofMatrix G;                // (n, p)
  ProofVector g;                // (p)
  std::vector<char> equality;   // (p) G_r^T y = g_r: its multiplier has either sign
  std::vector<char> one_sided;  // (n)
  std::vector<Index> names;     // that may be held at all, ascending
  bool any_one_sided = false;
  double least_eigenvalue = 0.0;  // of Sigma, from below; <= 0: only choices of few names count
  // What V is in units of.
  double value_unit = 1.0, root_unit = 1.0;  // the second is the root of the first
  double smallest = 0.0;                     // values closer than this to each other count as equal

  Index p() const { return G.cols(); }
};

// What the limits ask for, as far as multipliers can say it.
struct ProofRows {
  ProofMatrix G;               // (n, p), in the units of the weights
  ProofVector g;               // (p)
  std::vector<char> equality;  // (p)
  std::vector<int> sign;       // (n) 1: not below zero, -1: not above, 0: either; empty: all 0
  std::vector<char> absent;    // (n) cannot be held; empty: none
  std::vector<std::string> dropped;  // limits that the bound leaves out
};

// net >= 0 alone, or nothing.
ProofRows rows_of_net(Index n, bool net_positive);
// Of limits under an objective. `gamma` scales from weights to y = gamma w, for objectives that
// have a scale; for `sharpe` rows are homogeneous. At most k names are held.
ProofRows rows_of_limits(const layer::Limits& limits, layer::Objective objective, double gamma,
                         Index n, Index k);

// A bound on the least eigenvalue of Sigma (n, n) from below.
double least_eigenvalue(const ProofMatrix& Sigma);

// Reads (mu, Sigma) in units that are powers of two, so that nothing is rounded.
void read_problem(const risk::Risk& risk, Index sample, ConstVec mu, const ProofRows& rows, Index k,
                  ProofProblem& out);

// How an objective is read off V, the largest 2 mu^T y - y^T Sigma y, with y = gamma w:
//   sharpe   sqrt(V);  utility  V / (2 gamma);  return  (V + gamma^2 sigma^2) / (2 gamma),
// for any gamma > 0: that of the portfolio makes it tight.
struct ProofReading {
  layer::Objective objective = layer::Objective::sharpe;
  double gamma = 1.0, sigma = 0.0;
  double root = 1.0, unit = 1.0;  // of the problem's units; `unit`, the square, may underflow

  double value_of(double V) const;  // rounded up
  double V_of(double value) const;
  double on_V(double gap, double value) const;  // a relative gap of the objective, as one of V
  double offset() const;
};

}  // namespace sharpen::select
