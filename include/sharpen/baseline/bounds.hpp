// Upper bounds on the Sharpe ratio of every portfolio of at most k names. Each is
// valid for any signs and any net position, and accounts for its own rounding.
//
//   sdp          sqrt of the dual value of the semidefinite relaxation at kappa = k (sdr.hpp).
//   perspective  Sigma = diag(d) + G with d > 0 and G PSD. For every x (n),
//                  Sharpe^2 <= x^T G x + sum of the k largest (mu_i - (G x)_i)^2 / d_i,
//                because C_K = min_x x^T G x + sum_(i in K) (mu_i - (G x)_i)^2 / d_i. Convex in x;
//                d is delta of the low-rank form, or as large as a Cholesky factor of Sigma -
//                diag(d) proves it may be.
//   branch       what branch and bound has proved when it ends (select/proof.hpp): the best
//                portfolio's own Sharpe ratio, if it comes that far.
// Which of the first two is smaller depends on the data.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/layer/sizing.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/proof.hpp"

namespace sharpen::baseline {

enum class Bound { best, sdp, perspective, branch };
constexpr std::array<std::string_view, 4> names(Bound) {
  return {"best", "sdp", "perspective", "branch"};
}
constexpr std::string_view name(Bound bound) { return name_of(bound); }

struct BoundSettings {
  Index k = 1;
  Bound bound = Bound::best;
  double shrinkage = 0.0;  // lambda of the risk model where it is known, else 0
  SdrSettings sdr;
  select::ProofSettings proof = {};  // for branch
  // For branch: what portfolios keep besides, in weights whose sum is 1; null: nothing.
  const layer::Limits* limits = nullptr;
  const Threads* threads = nullptr;  // for branch; null: one
  Stop stop = {};                    // once it says so, Interrupted is thrown

  static constexpr Index kMostForBranch = 2000;

  void validate(Index n) const;  // throws InputError naming field, value and bound
};

struct SharpeBound {
  // ok; no_signal (mu = 0: the bound is 0); not_converged (valid, but its gap was not reached, or
  // infinite because nothing was proved); invalid_input (NaN).
  Status status = Status::invalid_input;
  double sharpe = 0.0;      // no portfolio of at most k names has a larger Sharpe ratio
  Bound from = Bound::sdp;  // not best
  // Relative, on Sharpe^2: how far the relaxation itself may be below; of branch, what it found.
  double gap = 0.0;
};

// None if the proof is about another objective.
std::optional<SharpeBound> bound_of(const select::Proof& proof);

// The root of value >= 0, rounded up: as an upper bound on Sharpe^2 becomes one on Sharpe.
double root_above(double value);

// `best` is the smallest; where branch and bound has proved the best portfolio, it is that one, and
// beyond 600 assets the semidefinite bound is not asked. Branch and bound is for up to 2000. The
// perspective bound needs no matrix (n, n) for more than 2000 assets in the low-rank form with a
// known shrinkage > 0, and one otherwise. Never throws for the values of mu.
SharpeBound sharpe_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                               const BoundSettings& settings);

// The same where the net position may not be negative.
//
// For every y with 1^T y >= 0 and every s >= 0, mu^T y <= (mu + s 1)^T y. So any bound for the
// signal mu + s 1 holds for those portfolios under mu. With s = -B/A where B < 0 (the t = 0 face,
// tangent.hpp) it is exact for k = n, and much smaller than the bound for mu, whose best portfolios
// are net short.
//
// No portfolio of at most k names that `net` allows has a larger Sharpe ratio. The smaller of the
// bounds for mu and for mu + s 1, which accounts for the rounding of that sum. Up to 600 assets;
// beyond that the bound for mu.
SharpeBound net_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                            const BoundSettings& settings);

}  // namespace sharpen::baseline
