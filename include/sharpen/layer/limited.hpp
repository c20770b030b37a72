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
//   a direction w = w1 / |w1|_1 without net position:
//              dL_dmu = P (g - (g^T w) sign(w)) / |w1|_1
//   and, with q(g) = g - Sigma x - A^T rho of that solution, for the bound l of a name that rests
//   there and m = mu less the costs that are paid:
//     utility  dL_dl = q(g)
//     return   dL_dl = q(g - (g^T w1) / (w1^T Sigma w) Sigma w)
//     sharpe   dL_dl = q(g + (g^T w1) / (return of w0) (2 Sigma w0 - theta m))
//   and for Sigma, as dw = -P dSigma w + w1 dtheta, with x = dL_dmu / theta in
//   covariance_gradient.hpp's terms:
//     utility  dL_dSigma = -sym(x w^T)
//     return   dL_dSigma = -sym(x w^T) - 1/2 (g^T w1) / (w1^T Sigma w) w w^T, from
//              2 w^T Sigma dw = -w^T dSigma w
//     sharpe   dL_dSigma = -sym(x w^T), from d theta = w^T dSigma w0 / (return of w0): w0 has least
//              risk, so that |w0|^2 changes by dSigma alone
//   a direction: dL_dSigma = -sym(dL_dmu w1^T). What is added to the diagonal of Sigma counts as
//   the rest of it does, except in the second term of `return`.
// Under a soft mask p, Sigma is replaced by Sigma + diag(d), d = (1/p^2 - 1) diag(Sigma), except in
// the risk that `return` is held to: with v = P^-1 w that is the restriction of reoptimize.hpp.
// That risk need not grow with theta, so that a few problems have several answers; which one is
// found depends on the start.
#pragma once

#include <memory>

#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

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

// The same as a status and a note.
Outcome outcome_of(LimitedEnd end);

class CovarianceSums;
struct ActiveSet;
struct LimitTable;
struct ExchangeTable;

// Where a solution was found: what its vjp needs, and a start for the next one that is like it.
class LimitedState {
 public:
  LimitedState();
  ~LimitedState();
  LimitedState(LimitedState&&) noexcept;
  LimitedState& operator=(LimitedState&&) noexcept;

  void forget() { end = LimitedEnd::infeasible; }  // the next one starts anew, in the same memory
  void start_from(const LimitedState& other);

  LimitedEnd end = LimitedEnd::infeasible;
  std::unique_ptr<ActiveSet> set;  // of a solution if `end` says that there was one
};

// Limits as a solver reads them, for n assets; copies share what is large.
class PreparedLimits {
 public:
  // Throws InputError for settings and limits that are not in order. `rows`: as if there were so
  // many at least, so that one solver can use limits of several lengths.
  PreparedLimits(const ObjectiveSettings& objective, const Limits& limits, Index n, Index rows = 0);

 private:
  friend class LimitedSolver;
  std::shared_ptr<const LimitTable> table_;
};

// Solves with memory set up once. Not for several threads at once.
class LimitedSolver {
 public:
  // Throws InputError for settings and limits that are not in order.
  LimitedSolver(const ObjectiveSettings& objective, const Limits& limits, Index n);
  LimitedSolver(const ObjectiveSettings& objective, const PreparedLimits& limits);
  ~LimitedSolver();
  LimitedSolver(LimitedSolver&&) noexcept;

  // What the next solutions are held to: limits of the same objective, n and number of rows. Then,
  // in the place of theirs, bounds (n each, or empty) and holdings (n). Values that are not in
  // order are an outcome of forward;
  // shapes that are not throw InputError.
  void use(const PreparedLimits& limits);
  void set_bounds(ConstVec lower, ConstVec upper);
  void set_holdings(ConstVec holdings);
  void set_risk_aversion(double gamma);  // > 0, in the place of the objective's
  void exempt_first_purchase();          // who holds nothing is free of turnover
  ConstVec lower() const;
  ConstVec upper() const;

  // w (n) for sample s of `risk` from mu (n); `more` (n) is d, or empty. Starts from `state` if
  // that holds one, and leaves its own there. w is NaN if there is no solution.
  LimitedEnd forward(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                     LimitedState& state, Vec w);
  // dL_dmu (n), dL_dmore (n, or empty) and dL_dlower (n, or empty) from dL_dw (n), for what forward
  // saw; zero for ends that are flagged. dL_dSigma, but for what it does by way of `more`, is added
  // to `sums`; where the end is flagged it is that of the present theta.
  void vjp(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more, const LimitedState& state,
           ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore, Vec dL_dlower = {},
           CovarianceSums* sums = nullptr);

  // The same without a state, under bounds (n) in the place of the limits' own.
  LimitedEnd forward_within(const risk::Risk& risk, Index s, ConstVec mu, ConstVec lower,
                            ConstVec upper);

  // From the last solution on: other bounds for asset i, and the optimum then. Quick, and right to
  // rounding; forward starts anew, under the bounds of the limits. Not after a vjp, which takes the
  // place of the last solution; risk, mu and more must be there still.
  bool bound(Index i, double lower, double upper);  // false if the limits cannot hold together then
  bool allow(Index i, bool allowed);                // the bounds of the limits, or held to nothing
  LimitedEnd again();
  // The bounds that the limits have for asset i.
  double lower(Index i) const;
  double upper(Index i) const;
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
  void solution(Vec w) const;           // as forward gives it
  void covariances(Vec Sigma_w) const;  // Sigma times that
  // Whether no limit has a say in it, but that the net position is 1, or not negative: then it is
  // a closed form (tangent.hpp).
  bool is_unlimited() const;
  // Whether that it is not negative has, so that it is 0.
  bool is_neutral() const;
  double gain_above(Index i) const;
  double gain_below(Index i) const;
  // What the objective loses about without asset i, up to the same factor.
  double loss_without(Index i);
  // What it would be worth about with one name less and another one more, both in the table, which
  // this fills in (layer/exchange_table.hpp). Names that come have no weight yet.
  void exchanges(ExchangeTable& table);
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
