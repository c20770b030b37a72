// V of one support from above, under rows and signs: the smallest of the bounds that multipliers
// give,
//   min  |L^-1 (mu - G lambda + nu)|^2 + 2 g^T lambda   lambda, nu >= 0,   Sigma_KK = L L^T,
// by an active set (Lawson and Hanson 1974, chapter 23). Unlike a central path it ends where the
// limits have no interior on these names, and multipliers may be as large as one likes.
#pragma once

#include <span>
#include <vector>

#include "select/proof_problem.hpp"

namespace sharpen::select {

class ProofLeaf {
 public:
  explicit ProofLeaf(const ProofProblem& problem) : problem_(problem) {}

  // Infinite where rounding leaves nothing.
  double bound(std::span<const Index> K);

 private:
  bool set_up(std::span<const Index> K);
  void minimize();
  bool solve_passive();
  bool step_back();
  double certified(std::span<const Index> K) const;

  const ProofProblem& problem_;
  Index k_ = 0, m_ = 0;
  double least_eigenvalue_ = 0.0;
  ProofMatrix L_, A_;  // (k, k); (k, m) columns of unit length
  ProofVector c_, h_, z_, residual_, gradient_, passive_z_;
  std::vector<double> length_;  // (m) of the columns before
  std::vector<Index> column_;   // (m) its row of G, or p + its position in K
  std::vector<char> passive_, free_;
  std::vector<Index> order_;
};

}  // namespace sharpen::select
