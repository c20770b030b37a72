// A decision that sees what is held.
//
// With s the signal (memory.hpp), w0 the portfolio that would be held if trading were free, and
// gamma the risk aversion of which w0 is best, the rule `cost` holds
//   argmax s^T w - gamma/2 w^T Sigma w - kappa^T |w - v|,   kappa_i = c_i / (S H),
// at most k names, net position and limits as w0 has them; S the Sharpe ratio per period that the
// signal is believed to have, H the periods that a position lasts. Leaving a name costs, too.
// The rule `band` chooses names as if those held gained (1 + eta) times as much, and moves a weight
// only by what exceeds 30 % of its target, then back to the net position and the limits.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/solve/optimizer.hpp"
#include "sharpen/solve/registry.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::trade {

// What a decision knows of the account, for the n assets of its problem.
struct Standing {
  ConstVec holdings = {};            // (n) weights before the trade; empty: nothing is held
  ConstVec costs = {};               // (n) c per unit traded; empty: none
  std::span<const char> fixed = {};  // (n) not 0: cannot be traded now; empty: all can
  // Positions that cannot be traded, either, in assets that the problem does not have: they count
  // among the k names, the net position and the gross exposure.
  struct Outside {
    Index names = 0;
    double net = 0.0, gross = 0.0;
  } outside = {};
};

// Why a name is traded, or is not although the ideal would: what the trade alone adds to the
// expected return over the horizon, and what it costs, both in shares of wealth. With
// u(w) = s^T w - gamma/2 w^T Sigma w the gain is
//   S H (u(w) - u(w with this name as it was held))    of a trade that is done,
//   S H (u(w with this name at its ideal) - u(w))      of one that is not,
// where the name's signal includes what a unit of net position is worth if that is held to a bound.
// A name that makes room for another one, or that other limits push, may gain less than it costs.
struct TradeReason {
  Index asset = 0;
  double from = 0.0, to = 0.0, ideal = 0.0;  // weights: held, decided, if trading were free
  double gain = 0.0, cost = 0.0;             // of the trade, or of the one to the ideal
  bool done = false;
};

// One thread at a time; memory is kept from decision to decision, results are not.
class Trader {
 public:
  // Throws InputError for a rule that the optimizer has no ear for.
  Trader(const Ruling& ruling, const solve::OptimizerInfo& optimizer,
         const solve::OptimizerSettings& settings, double periods_per_year);
  ~Trader();
  Trader(Trader&&) noexcept;

  // From the optimizer's own answer to `problem`. With the rule none, or without costs with the
  // rule cost, that is the answer, bit for bit, unless it would trade fixed names. Else a problem
  // that could not be solved (invalid_input) keeps what is held; so does one without a signal and
  // without a memory of one. Names that are not traded keep their bits. At most k names, or those
  // that are fixed. Overwrites `out`, which is not `ideal`.
  void decide(const solve::Problem& problem, const solve::Answer& ideal, const Standing& standing,
              solve::Answer& out);

  // Of `decided`, which decide() gave for the same: names that are traded, and those that are left
  // as they are although the ideal has another weight; by asset. Empty if there is no signal.
  // unit > 0: s = mu / unit, 1 where the problem's mu is the signal already. A decision by the rule
  // none or band is the same for mu of any size, the gain is that of s.
  std::vector<TradeReason> reasons(const solve::Problem& problem, const solve::Answer& ideal,
                                   const Standing& standing, const solve::Answer& decided,
                                   double unit = 1.0);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sharpen::trade
