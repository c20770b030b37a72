// The keys of what is proved of a portfolio, of solve and predict alike; where nothing is, there
// are none of them.
#pragma once

#include "command/json_keys.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

// `Answer` is a solve::Choice.
template <class Answer>
Keys<Answer> bound_keys(int part) {
  const auto of = [](auto value) {
    return [value](const Answer& a) { return a.bound ? Json(value(a)) : absent(); };
  };
  return in_part<Answer>(
      part, {{"sharpe_upper_bound",
              "no portfolio of at most `k` names, of any signs, that `net` allows (from `branch`: "
              "that the limits allow, but for those in `bound_leaves_out`) has a larger Sharpe "
              "ratio per period: proved; `null` if nothing could be proved",
              of([](auto& a) { return a.bound->sharpe; })},
             {"sharpe_upper_bound_annualized", "`sharpe_upper_bound` × √`periods_per_year`",
              of([](auto& a) { return a.annualized(a.bound->sharpe); })},
             {"share_of_bound",
              "`sharpe` / `sharpe_upper_bound`: what is reached for certain of the best "
              "possible; `null` where the bound is not positive",
              of([](auto& a) { return value_or_null(a.share_of(a.bound->sharpe)); })},
             {"bound_from", "`sdp`, `perspective` or `branch`: where the bound comes from",
              of([](auto& a) { return baseline::name(a.bound->from); })},
             {"bound_status",
              "`ok`, `no_signal` (the bound is 0), or `not_converged` (it holds, but `gap` is "
              "larger than was asked for)",
              of([](auto& a) { return name(a.bound->status); })},
             {"gap",
              "relative, on Sharpe²: how far the optimum of that relaxation may at most be below "
              "the bound; of `branch`, how far the best portfolio that it found is",
              of([](auto& a) { return a.bound->gap; })}});
}

template <class Answer>
Keys<Answer> proof_keys(int part) {
  const auto of = [](auto value) {
    return [value](const Answer& a) { return a.proof ? Json(value(*a.proof)) : absent(); };
  };
  return in_part<Answer>(
      part,
      {{"stopped",
        "why the proof ended: `optimal` (nothing is better by more than 1e-7), `gap` (nothing by "
        "more than `--proof-gap`, or than rounding and limits left out allow to tell), `time`, "
        "`nodes` or `interrupted`",
        of([](auto& p) { return name_of(p.end); })},
       {"nodes", "nodes of the tree", of([](auto& p) { return p.nodes; })},
       {"proof_gap",
        "bound / reached − 1, of the Sharpe ratio or what else is best under limits, for the "
        "portfolio shown; `null` where there is none, and where it earns nothing",
        of([](auto& p) { return p.gap(); })},
       {"objective_upper_bound",
        "only with `--objective return` or `utility`: no portfolio of at most `k` names has more "
        "of it",
        [](const Answer& a) {
          return a.proof && !a.proof->of_sharpe ? Json(a.proof->bound) : absent();
        }},
       {"bound_leaves_out", "limits that the portfolio keeps and the bound does not know",
        of([](auto& p) { return p.dropped; })}});
}

}  // namespace sharpen::command
