#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section backtest_section() {
  return Section{
      .command = "backtest",
      .parts = {
          Part{.text = "The same object is written to `metrics.json` by `--out`. Statistics cover "
                       "the periods from\n`stats_from_date` on; docs/statistics.md explains them. "
                       "Figures without `_annualized` are per period."},
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`backtest`"},
                       {"`label`", "name of the result: `--label`, or framework and optimizer"},
                       {"`framework`", "`rolling`, `historic`, `signal`, `pfl` or `dfl`"},
                       {"`optimizer`",
                        "`oscar`, `symmetric`, `greedy`, `swap`, `mssrm`, `mssrm-long`, `sdr` or "
                        "`equal`"},
                       {"`sharpe`", "mean / standard deviation of excess returns, per period"},
                       {"`sharpe_annualized`", "`sharpe` × √`periods_per_year`"},
                       {"`sharpe_ci`",
                        "95 % interval of `sharpe`, [low, high], per period, by the stationary "
                        "bootstrap"},
                       {"`sharpe_standard_error`",
                        "standard deviation of the bootstrap replications"},
                       {"`bootstrap_block`", "mean block length used"},
                       {"`replications`", "as given"},
                       {"`probabilistic_sharpe`",
                        "probability that the true Sharpe ratio is above 0"},
                       {"`deflated_sharpe`",
                        "the same against the best of `trials` strategies without skill"},
                       {"`trials`", "as given"},
                       {"`skewness`, `kurtosis`", "of excess returns; 3 is a normal's kurtosis"},
                       {"`mean_return`, `mean_excess_return`", "per period, net of costs"},
                       {"`return_annualized`", "compound growth a year"},
                       {"`volatility`, `volatility_annualized`", "standard deviation of returns"},
                       {"`sortino`, `sortino_annualized`",
                        "mean excess return over the root mean square of its negative part"},
                       {"`max_drawdown`",
                        "deepest fall of wealth from an earlier high, as a share of it"},
                       {"`max_drawdown_peak_date`, `max_drawdown_trough_date`, "
                        "`max_drawdown_recovery_date`",
                        "periods at whose end wealth was highest, lowest, and back; `null` for a "
                        "high before the first period, and for what has not happened"},
                       {"`calmar`", "`return_annualized` / `max_drawdown`"},
                       {"`hit_rate`", "share of periods with a positive return"},
                       {"`best_return`, `worst_return`", "of a period"},
                       {"`final_wealth`", "of 1 at the start, over every period of the run"},
                       {"`ruin`, `ruin_date`",
                        "whether a return of −1 or less ended the run, and when; else `null`"},
                       {"`turnover`", "mean per rebalance of Σ\\|weight − drifted weight\\|"},
                       {"`turnover_annualized`", "Σ of it a year"},
                       {"`n_rebalances`", "periods with a decision or a trade"},
                       {"`total_cost`", "sum of the costs, as shares of wealth at the time"},
                       {"`mean_gross_exposure`, `mean_net_exposure`", "means of Σ\\|w\\| and Σw"},
                       {"`mean_cardinality`, `max_cardinality`", "names held"},
                       {"`mean_effective_names`", "mean of 1 / Σ(w/Σ\\|w\\|)²"},
                       {"`mean_largest_weight`, `max_largest_weight`",
                        "of the largest \\|weight\\| of a period"},
                       {"`n_periods`", "periods in the statistics"},
                       {"`n_assets`", "assets in the universe"},
                       {"`training_rows`", "returns before the split; 0 without one"},
                       {"`first_traded_date`, `stats_from_date`, `last_date`",
                        "first period held, first of the statistics, last"},
                       {"`periods_per_year`", "the number used to annualise"},
                       {"`risk_free`", "per period"},
                       {"`cost_bps`, `rebalance`", "as given"},
                       {"`status_counts`",
                        "periods of the statistics by status: `ok`, `neutral_face`, `no_signal`, "
                        "`not_converged`, `invalid_input` of decisions; `held` without a decision, "
                        "`idle` before the first, `ruin`"},
                       {"`n_jittered`", "decisions whose covariance needed jitter on its diagonal"},
                       {"`iterations`",
                        "only for `mssrm`, `mssrm-long` and `sdr`: steps made, over all decisions"},
                       {"`n_certified`",
                        "only for `mssrm-long`: decisions that are proved globally optimal for its "
                        "own problem; for `sdr`: decisions whose relaxation is solved to the gap "
                        "asked for"},
                       {"`regret`",
                        "only for `pfl` and `dfl`: mean over the decisions of what perfect "
                        "foresight would have earned more with the same optimizer, r'w(r) − "
                        "r'w(μ), before costs"},
                       {"`oracle_return`, `regret_relative`",
                        "likewise: the mean of r'w(r), and `regret` / `oracle_return`"},
                       {"`trainings`",
                        "likewise: one object per training, with `from` and `to`, the dates of the "
                        "returns it saw, and `members`: `epochs`, `best_epoch`, "
                        "`validation_sharpe_annualized`"},
                       {"`settings`", "every setting with a value, by its name"},
                       {"`cleaning`", "what was done to the panel before the walk, with hindsight"},
                       {"`cleaning.universe`, `cleaning.on_suspect`", "as given"},
                       {"`cleaning.findings`",
                        "list of `rule`, `ticker` (`null` for a whole row), `from`, `to`, `size`, "
                        "`question`, `done`, as in `sharpen doctor --json`"},
                       {"`cleaning.dropped`", "list of `ticker`, `reason`"},
                       {"`cleaning.dropped_days`", "dates"},
                       {"`warnings`", "texts; empty if there is nothing to say"},
                   }},
          Part{.text = "With `--benchmark` there is also:"},
          Part{.keys =
                   {
                       {"`benchmark`", "what the run is compared with, over the same periods"},
                       {"`benchmark.ticker`", "the asset"},
                       {"`benchmark.sharpe`, `benchmark.sharpe_annualized`",
                        "of its excess returns"},
                       {"`benchmark.beta`, `benchmark.correlation`",
                        "of the run's excess returns to the benchmark's"},
                       {"`benchmark.tracking_error`, `benchmark.tracking_error_annualized`",
                        "standard deviation of the difference of returns"},
                       {"`benchmark.information_ratio`, `benchmark.information_ratio_annualized`",
                        "mean of the difference over its standard deviation"},
                   }},
      }};
}

Section compare_section() {
  return Section{
      .command = "compare",
      .parts = {
          Part{.text = "How each figure is computed: [statistics.md](statistics.md)."},
          Part{
              .keys =
                  {
                      {"`schema_version`", "1"},
                      {"`command`", "`compare`"},
                      {"`a`, `b`", "the two runs, over the common periods"},
                      {"`a.folder`", "as given"},
                      {"`a.label`",
                       "what the run calls itself; the folder's name if it has no label"},
                      {"`a.rows`", "periods in its file"},
                      {"`a.left_out`",
                       "how many of them are not common, or come before the statistics of either "
                       "run"},
                      {"`a.sharpe`, `a.sharpe_annualized`",
                       "Sharpe ratio per period, and × √`periods_per_year`"},
                      {"`a.sharpe_ci`, `a.sharpe_ci_annualized`", "its 95 % interval, [low, high]"},
                      {"`a.block`", "mean block length behind the interval"},
                      {"`n_common`", "number of common periods"},
                      {"`from`, `to`", "the first and the last of them"},
                      {"`periods_per_year`", "the number used to annualise"},
                      {"`difference`, `difference_annualized`",
                       "Sharpe ratio of `a` minus that of `b`"},
                      {"`difference_ci`, `difference_ci_annualized`",
                       "its 95 % interval, [low, high]"},
                      {"`standard_error`", "of `difference`"},
                      {"`p_value`",
                       "two-sided, of no difference; `null` if it could not be tested (`verdict` "
                       "says why)"},
                      {"`significant`", "whether `p_value` is below 1 − `level`"},
                      {"`same`",
                       "whether the two earn the same up to scale: `difference` 0, `p_value` 1"},
                      {"`correlation`", "of the two runs' excess returns"},
                      {"`level`", "0.95"},
                      {"`replications`, `seed`", "the settings used"},
                      {"`block`", "block length of the test; `null` if nothing was resampled"},
                      {"`verdict`", "what the test means, in words"},
                      {"`warnings`", "texts; empty if there is nothing to say"},
                  }},
      }};
}

}  // namespace sharpen::command::json_schema
