// Upper bounds on the Sharpe ratio of every portfolio of at most k names. Each is
// valid for any signs and any net position, and accounts for its own rounding.
//
//   sdp          sqrt of the dual value of the semidefinite relaxation at kappa = k (sdr.hpp).
//   perspective  Sigma = diag(d) + G with d > 0 and G PSD. For every x (n),
//                  Sharpe^2 <= x^T G x + sum of the k largest (mu_i - (G x)_i)^2 / d_i,
//                because C_K = min_x x^T G x + sum_(i in K) (mu_i - (G x)_i)^2 / d_i. Convex in x;
//                d is delta of the low-rank form, or as large as a Cholesky factor of Sigma -
//                diag(d) proves it may be.
// Which one is smaller depends on the data.
#pragma once

#include <array>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::baseline {

enum class Bound { best, sdp, perspective };
inline constexpr std::array<Named<Bound>, 3> kBounds = {
    {{Bound::best, "best"}, {Bound::sdp, "sdp"}, {Bound::perspective, "perspective"}}};
constexpr const auto& names(Bound) { return kBounds; }

std::string_view name(Bound bound);

struct BoundSettings {
  Index k = 1;
  Bound bound = Bound::best;
  double shrinkage = 0.0;  // lambda of the risk model where it is known, else 0
  SdrSettings sdr;

  void validate(Index n) const;  // throws InputError naming field, value and bound
};

struct SharpeBound {
  // ok; no_signal (mu = 0: the bound is 0); not_converged (valid, but its gap was not reached, or
  // infinite because nothing was proved); invalid_input (NaN).
  Status status = Status::invalid_input;
  double sharpe = 0.0;      // no portfolio of at most k names has a larger Sharpe ratio
  Bound from = Bound::sdp;  // sdp or perspective
  double gap = 0.0;         // relative, on Sharpe^2: how far the relaxation itself may be below
};

// The root of value >= 0, rounded up: as an upper bound on Sharpe^2 becomes one on Sharpe.
double root_above(double value);

// `best` is the smaller of the two; beyond 600 assets it is the perspective bound alone. That one
// needs no matrix (n, n) for more than 2000 assets in the low-rank form with a known shrinkage > 0,
// and one otherwise. Never throws for the values of mu.
SharpeBound sharpe_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                               const BoundSettings& settings);

}  // namespace sharpen::baseline
