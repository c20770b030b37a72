// The best portfolio under limits, and its derivative.
//
//   sharpe   max (mu^T w - kappa^T |w - h|) / sqrt(w^T Sigma w),  1^T w = 1
//   return   max mu^T w - kappa^T |w - h|,    w^T Sigma w <= sigma^2
//   utility  max mu^T w - kappa^T |w - h| - gamma / 2 w^T Sigma w
//
// All three lie on one path: the optima of theta (mu^T w - costs) - 1/2 w^T Sigma w, piecewise
// linear in theta. utility is the one at theta = 1 / gamma. On a segment w = w0 + theta w1, where
// w0 and w1 are Sigma-orthogonal, the Sharpe ratio is largest at theta = |w0|^2 / (return of w0),
// and the risk is sigma at the root of |w0|^2 + theta^2 |w1|^2 = sigma^2.
//   vjp, with P g the x of [Sigma_FF A^T; A 0] [x; .] = [g; 0] on the free assets F and active
//   rows:
//     utility  dL_dmu = theta P g
//     return   dL_dmu = theta P (g - (g^T w1) / (w1^T Sigma w) Sigma w)
//     sharpe   dL_dmu = theta (P g - (g^T w1) / (return of w0) w0)
// Under a soft mask p, Sigma is replaced by Sigma + diag(d), d = (1/p^2 - 1) diag(Sigma), except in
// the risk that `return` is held to: with v = P^-1 w that is the restriction of reoptimize.hpp.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

enum class Objective { sharpe, expected_return, utility };
constexpr std::array<std::string_view, 3> names(Objective) {
  return {"sharpe", "return", "utility"};
}

struct ObjectiveSettings {
  Objective kind = Objective::sharpe;
  double volatility = 0.10;    // sigma > 0 per period, for return
  double risk_aversion = 1.0;  // gamma > 0, for utility

  void validate() const;  // throws InputError naming field and value
};

enum class LimitedEnd {
  ok,
  neutral,        // sharpe: no portfolio of net position 1 is best; the direction, of gross 1
  nothing_earns,  // sharpe: no portfolio earns; the one of least risk
  below_risk,     // return: the largest return has less risk than allowed
  above_risk,     // return: the limits force a larger risk; the least
  infeasible,     // the limits cannot hold together
  not_converged,
  invalid_input,  // a signal that is not finite, a risk model that cannot be used
};

// Whether there are weights.
constexpr bool is_solved(LimitedEnd end) { return end < LimitedEnd::infeasible; }

struct ActiveSet;

// Where a solution was found: what its vjp needs, and a start for the next one that is like it.
class LimitedState {
 public:
  LimitedState();
  ~LimitedState();
  LimitedState(LimitedState&&) noexcept;
  LimitedState& operator=(LimitedState&&) noexcept;

  LimitedEnd end = LimitedEnd::infeasible;
  std::unique_ptr<ActiveSet> set;
};

// Solves with memory set up once. Not for several threads at once.
class LimitedSolver {
 public:
  // Throws InputError for settings and limits that are not in order.
  LimitedSolver(const ObjectiveSettings& objective, const Limits& limits, Index n);
  ~LimitedSolver();
  LimitedSolver(LimitedSolver&&) noexcept;

  // w (n) for sample s of `risk` from mu (n); `more` (n) is d, or empty. Starts from `state` if
  // that holds one, and leaves its own there. w is NaN if there is no solution.
  LimitedEnd forward(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                     LimitedState& state, Vec w);
  // dL_dmu (n) and dL_dmore (n, or empty) from dL_dw (n), for what forward saw.
  void vjp(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more, const LimitedState& state,
           ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore);

  // From the last solution on: asset i held to nothing, or allowed again, and the optimum then.
  // Quick, and right to rounding; forward starts anew, with every asset allowed. Not after a vjp,
  // which takes the place of the last solution; risk, mu and more must be there still.
  bool allow(Index i, bool allowed);  // false if the limits cannot hold together any more
  LimitedEnd again();
  // Whether the bounds of asset i leave room for holding it, and for selling it short.
  bool may_exceed_zero(Index i) const;
  bool may_undercut_zero(Index i) const;
  bool must_be_held(Index i) const;  // they exclude zero

  // Of the last solution: what it is worth (the Sharpe ratio, the return after costs, the utility),
  // its weights (n), and what the objective would gain per unit more of an asset, and less (n),
  // up to a common factor; none gains by either while the limits allow it.
  double value() const;
  double risk() const;  // sqrt(w^T Sigma w)
  ConstVec weights() const;
  void solution(Vec w) const;  // as forward gives it
  double gain_above(Index i) const;
  double gain_below(Index i) const;
  // What the objective loses about without asset i, up to the same factor.
  double loss_without(Index i);
  // Changes of assets and rows on its way.
  Index steps() const;
  // Of the optimum of theta (mu^T w - costs) - 1/2 w^T Sigma w that it is: theta and the
  // multipliers of the rows, gross and turnover last.
  double theta() const;
  ConstVec multipliers() const;
  // Of limits that cannot hold together: multipliers by which every w between its bounds makes the
  // sum of rows larger than their limits allow.
  ConstVec proof() const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sharpen::layer
