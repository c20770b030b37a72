// What may mislead in a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backtest/aim.hpp"
#include "backtest/ready.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::backtest {

void warn_of_run(BacktestResult& result, trade::Rule rule) {
  const Run& run = result.run;
  const auto say = [&](std::string text) { result.warnings.push_back(std::move(text)); };
  const auto with = [&](PeriodStatus status) { return std::ranges::count(run.status, status); };
  if (run.ruined())
    say(fmt::format("ruin: the return on {} is {:.4g}, all wealth is lost, and trading stops there",
                    run.dates.back(), run.returns.back()));
  if (const auto count = with(PeriodStatus::invalid_input); count > 0)
    say(fmt::format(
        "{} of {} decisions could not be made (no asset moves in the window, or numbers "
        "are out of range): {}",
        count, run.n_decisions,
        rule == trade::Rule::none ? "cash was held" : "what was held was kept"));
  if (const auto count = with(PeriodStatus::infeasible); count > 0)
    say(fmt::format(
        "the limits could not hold together at {} of {} decisions: what broke them least was held",
        count, run.n_decisions));
  if (const auto count = with(PeriodStatus::not_converged); count > 0)
    say(fmt::format("{} of {} decisions stopped before they converged; the best found was held",
                    count, run.n_decisions));
  if (const auto count = std::ranges::count_if(
          run.gross, [](double gross) { return gross > solve::kAbsurdGross; });
      count > 0)
    say(fmt::format(
        "the gross exposure is up to {:.3g} times the wealth ({} of {} periods above {:g}): what "
        "is held hardly moves, and its risk may be the rounding of prices; leave such assets out, "
        "or use ‹--sizing gross›",
        std::ranges::max(run.gross), count, run.gross.size(), solve::kAbsurdGross));
  if (run.n_jittered > 0)
    say(
        fmt::format("the covariance was nearly singular at {} of {} decisions and needed jitter; "
                    "more ‹--shrinkage›, a longer ‹--lookback› or fewer assets would avoid it",
                    run.n_jittered, run.n_decisions));
  if (result.metrics.n_periods < 2)
    say(fmt::format("the statistics cover {} period{}: a Sharpe ratio needs 2 at least",
                    result.metrics.n_periods, result.metrics.n_periods == 1 ? "" : "s"));
  else if (std::isnan(result.metrics.sharpe))
    say("the returns do not vary: there is no Sharpe ratio");
  if (const std::string text = result.aim ? warning_of(*result.aim) : ""; !text.empty()) say(text);
}

}  // namespace sharpen::backtest
