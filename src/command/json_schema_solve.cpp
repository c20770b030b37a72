#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section solve_section() {
  return Section{
      .command = "solve",
      .parts = {
          Part{
              .keys =
                  {
                      {"`schema_version`", "1"},
                      {"`command`", "`solve`"},
                      {"`status`",
                       "`ok`, `neutral_face` (solved, with net position zero), `no_signal` (no "
                       "portfolio of the names chosen has a positive Sharpe ratio: all cash), or "
                       "`not_converged` (a search stopped early; the portfolio is the best it "
                       "had)"},
                      {"`status_text`", "the status in words"},
                      {"`sharpe`",
                       "Sharpe ratio per period, recomputed from the weights: μᵀw/√(wᵀΣw); 0 for "
                       "cash"},
                      {"`sharpe_annualized`", "`sharpe` × √`periods_per_year`"},
                      {"`full_sharpe`",
                       "Sharpe ratio per period of the same problem without a bound on the number "
                       "of names"},
                      {"`full_sharpe_annualized`", "`full_sharpe` × √`periods_per_year`"},
                      {"`share_of_full`",
                       "`sharpe` / `full_sharpe`; `null` where there is no full Sharpe ratio to "
                       "keep"},
                      {"`gross_exposure`", "Σ\\|wᵢ\\|"},
                      {"`net_exposure`", "Σwᵢ"},
                      {"`expected_return`", "μᵀw per period"},
                      {"`volatility`", "√(wᵀΣw) per period"},
                      {"`volatility_annualized`", "`volatility` × √`periods_per_year`"},
                      {"`cardinality`", "number of names held"},
                      {"`k`", "most names that could be held"},
                      {"`n`", "number of assets"},
                      {"`optimizer`",
                       "`oscar`, `symmetric`, `greedy`, `swap`, `mssrm`, `mssrm-long` or `sdr`"},
                      {"`iterations`", "only for `mssrm`, `mssrm-long` and `sdr`: steps made"},
                      {"`certified`",
                       "only for `mssrm-long`: whether its result is proved globally optimal for "
                       "its own problem; for `sdr`: whether its relaxation is solved to the gap "
                       "asked for ([baselines.md](baselines.md))"},
                      {"`sizing`", "`budget`, `volatility` or `gross`"},
                      {"`net`", "`positive` or `any`"},
                      {"`form`", "`dense` or `low-rank`: how the covariance was stored"},
                      {"`shrinkage`", "the shrinkage used"},
                      {"`jitter`",
                       "what had to be added to the diagonal of the covariance; 0 if nothing"},
                      {"`neutral_first`",
                       "whether the full problem, over all assets, has net position zero"},
                      {"`periods_per_year`", "the number used to annualise"},
                      {"`window`", "only for panels and the example: the returns that were used"},
                      {"`window.from`, `window.to`", "dates of the first and the last of them"},
                      {"`window.rows`", "their number"},
                      {"`holdings`", "the names held, in the order of the columns; empty for cash"},
                      {"`holdings[].asset`", "ticker"},
                      {"`holdings[].index`", "column"},
                      {"`holdings[].weight`", "weight"},
                      {"`warnings`", "texts; empty if there is nothing to say"},
                  }},
          Part{
              .text =
                  "With `--certify`, and for `sdr`, there is also ([baselines.md](baselines.md)):"},
          Part{
              .keys =
                  {
                      {"`sharpe_upper_bound`",
                       "no portfolio of at most `k` names, of any signs, that `net` allows has a "
                       "larger Sharpe ratio per period: proved; `null` if nothing could be proved"},
                      {"`sharpe_upper_bound_annualized`",
                       "`sharpe_upper_bound` × √`periods_per_year`"},
                      {"`share_of_bound`",
                       "`sharpe` / `sharpe_upper_bound`: what is reached for certain of the best "
                       "possible; `null` where the bound is not positive"},
                      {"`bound_from`",
                       "`sdp` or `perspective`: which relaxation the bound comes from"},
                      {"`bound_status`",
                       "`ok`, `no_signal` (the bound is 0), or `not_converged` (it holds, but "
                       "`gap` is larger than was asked for)"},
                      {"`gap`",
                       "relative, on Sharpe²: how far the optimum of that relaxation may at most "
                       "be below the bound"},
                  }},
          Part{.text = "For `sdr` there is also:"},
          Part{.keys =
                   {
                       {"`sdr.kappa`", "κ of the relaxation that the names come from"},
                       {"`sdr.solves`", "relaxations solved"},
                       {"`sdr.matched`", "names in that relaxation's own support"},
                       {"`sdr.cut`",
                        "with `--sdr-recovery match`: whether no κ tried has just `k` names, so "
                        "that a larger support was cut"},
                   }},
          Part{.text = "With `--explain` there is also:"},
          Part{.keys =
                   {
                       {"`holdings[].mu`", "expected return per period"},
                       {"`holdings[].score`",
                        "what the name scores: \\|L⁻¹m\\| for `oscar`, \\|Σ^(−1/2)m\\| otherwise, "
                        "scaled to length 1 over all assets; m is μ, or μ − (B/A)·1 where the full "
                        "problem has net position zero"},
                       {"`holdings[].score_rank`",
                        "rank of that score among all assets; 1 is the highest"},
                       {"`holdings[].risk_contribution`",
                        "wᵢ(Σw)ᵢ/wᵀΣw; the contributions add up to 1"},
                       {"`holdings[].sharpe_lost_if_removed`",
                        "`sharpe` minus what the other names reach when they are solved again"},
                       {"`best_left_out`",
                        "the one name more that would add most; `null` if none would"},
                       {"`best_left_out.asset`", "ticker"},
                       {"`best_left_out.index`", "column"},
                       {"`best_left_out.sharpe_gain`", "what `sharpe` would gain"},
                   }},
      }};
}

}  // namespace sharpen::command::json_schema
