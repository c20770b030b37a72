// Decision time under limits: portfolios of at most k assets, best by an objective
// (layer/limited.hpp).
#pragma once

#include <memory>
#include <span>

#include "sharpen/layer/limits.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::select {

// Selects and solves for n assets. Limits may differ from run to run; what was set up for the last
// ones serves those that are equal.
//
// oscar and symmetric take the k largest of |L^T y| and |Sigma^(1/2) y|, y the best portfolio of
// any number of names, and among them those whose bounds exclude zero; where the limits cannot
// hold on these names, they answer as greedy does. Without limits these scores are those of
// select.hpp. Where the limits are not felt, the weights are those of a Selector to the bit: with
// volatility sizing for `return`, y / 1^T y for sharpe, y sqrt(C) / gamma for utility.
class LimitedSelector {
 public:
  // Of the settings, k, optimizer and objective count; sizing does not. Throws InputError for
  // settings that are not in order.
  LimitedSelector(const SelectSettings& settings, Index n);
  ~LimitedSelector();
  LimitedSelector(LimitedSelector&&) noexcept;

  // Overwrites `out`. The limits are all there are: that the net position be positive is a row of
  // them, or follows from the objective sharpe. Never throws for the values of mu; throws
  // InputError for limits that are not in order, and what Selector::run throws for.
  //   outcome  ok, with a note; neutral_face: a direction of gross 1; no_signal: holding nothing
  //            is best; infeasible: what breaks the limits least, by outcome.violation, or NaN
  //            where even that was not found; not_converged: none was found, weights are NaN
  //   value    the objective of the weights: the Sharpe ratio or the return, both after costs, or
  //            the utility
  //   sharpe   from the weights, before costs
  void run(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
           Portfolio& out, const Stop& stop = {});

  // The best portfolio on a support given by the caller (any order, no repeats), with names whose
  // bounds exclude zero; infeasible where there is none of at most k names.
  void run_on(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
              std::span<const Index> K, Portfolio& out);

  // What one starts from who is invested already: names beside those that the limits' holdings
  // have, and the risk aversion in the place of the settings' (objective utility).
  struct TradeStart {
    double risk_aversion = 1.0;
    std::span<const Index> names = {};
  };
  // The same for decisions that follow each other. Throws InputError for another objective than
  // utility, and for a name in `start` that does not exist.
  void run_from(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
                const TradeStart& start, Portfolio& out, const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

// Whether it is sure that no k of n names keep the limits: all choices were looked at.
bool shown_infeasible(const layer::Limits& limits, layer::Objective objective, Index n, Index k);

// The Sharpe ratio of the same problem without a bound on the number of names (k = n); NaN where
// there is no portfolio.
double limited_full_sharpe(const layer::ObjectiveSettings& objective, const risk::Risk& risk,
                           Index sample, ConstVec mu, const layer::Limits& limits);

}  // namespace sharpen::select
