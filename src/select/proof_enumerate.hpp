// All supports of a node one by one, where there are few.
//
// Depth first over the residual problem, names in the order of their shares s: a branch ends where
// c + (shares of the names taken and the best to come) is not above the value to beat. The last two
// names are tried for all pairs at once, from the residual of those before.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "select/kernels.hpp"
#include "select/proof_bound.hpp"

namespace sharpen::select {

class ProofEnumeration {
 public:
  explicit ProofEnumeration(const ProofProblem& problem);

  // Supports of the node of `bound` whose value (of mu - G lambda, plus 2 g^T lambda) is above
  // `beat`. False if there is more to do than `work` pairs, or more is found than can be kept.
  // Where values are exact (no rows), only the best is kept.
  bool run(const ProofBound& bound, double beat, double work);
  // Positions in the node's names; one after the other, each choose() long.
  std::span<const Index> found(Index which) const;
  Index count() const { return static_cast<Index>(found_.size()) / std::max<Index>(choose_, 1); }
  double best() const { return best_; }  // of what is dismissed or found, from above

 private:
  struct Level {
    ProofMatrix S;  // (n, n), below the diagonal
    ProofVector mu, variance;
  };
  bool descend(Index level, Index from, double value, double additive);
  bool pairs(const Level& at_level, Index from, double value, double additive);
  bool singles(const Level& at_level, Index from, double value);
  bool keep(double value, Index a, Index b);

  const ProofProblem& problem_;
  const Kernels& kernels_;
  Index n_ = 0, choose_ = 0;
  std::vector<Level> levels_;
  std::vector<Index> order_, taken_, found_;
  std::vector<double> s_, before_, gain_;  // shares, their running sums, gains of a row
  double beat_ = 0.0, best_ = 0.0, work_ = 0.0;
};

}  // namespace sharpen::select
