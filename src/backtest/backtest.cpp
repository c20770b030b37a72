#include "sharpen/backtest/backtest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

constexpr Index kDefaultHistory = 100;  // for a lookback of all rows
constexpr const char* kHistoricSplit = "80%";

bool equal_weights(const BacktestSettings& settings) { return settings.optimizer == "equal"; }

// Whether the optimizer is fully invested by definition.
bool sizes_itself(const BacktestSettings& settings) {
  return equal_weights(settings) || settings.optimizer == "mssrm-long";
}

select::Optimizer optimizer_of(const std::string& text) {
  using enum select::Optimizer;
  for (const select::Optimizer optimizer : {oscar, symmetric, greedy, swap})
    if (select::name(optimizer) == text) return optimizer;
  throw InputError(
      fmt::format("optimizer = {} is none of oscar, symmetric, greedy, swap, mssrm, mssrm-long, "
                  "equal",
                  printable(text)));
}

// One of the policies over a risk model, with Sigma of the windows or of the training part.
template <class P>
std::unique_ptr<Policy> risk_policy(std::unique_ptr<const SignalSource> source,
                                    const OptimizerSettings& optimizer,
                                    std::optional<ConstMat> training) {
  if (!training) return std::make_unique<P>(std::move(source), optimizer);
  return std::make_unique<P>(std::move(source), optimizer, *training);
}

void check_settings(const BacktestSettings& settings, const market::Panel* signal) {
  if (!(settings.periods_per_year > 0.0 && std::isfinite(settings.periods_per_year)))
    throw InputError(
        fmt::format("periods-per-year = {} is outside (0, inf)", settings.periods_per_year));
  if (!std::isfinite(settings.risk_free))
    throw InputError(fmt::format("risk-free = {} is not a number", settings.risk_free));
  const bool takes_signal = settings.framework == Framework::signal;
  if (takes_signal && signal == nullptr)
    throw InputError("framework = signal needs predictions; give --signal FILE");
  if (!takes_signal && signal != nullptr)
    throw InputError(fmt::format("a signal has no meaning for framework = {}; use framework signal",
                                 name(settings.framework)));
  if (settings.framework == Framework::historic && settings.gaps)
    throw InputError(
        "universe = available cannot go with framework = historic, whose mean of the training part "
        "needs every asset throughout; use universe complete, or framework rolling");
  if (settings.min_history == 0 && !equal_weights(settings))
    throw InputError(fmt::format(
        "min-history = 0 goes with optimizer = equal only; {} needs 2 rows of history at least",
        settings.optimizer));
  if (settings.min_history == 1 && !equal_weights(settings))
    throw InputError(
        fmt::format("min-history = 1 is too short for optimizer = {}: a covariance "
                    "needs 2 rows at least",
                    settings.optimizer));
  if (settings.net == layer::Net::any && settings.sizing.kind == layer::Sizing::budget &&
      !sizes_itself(settings))
    throw InputError(
        "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
        "gross or volatility");
}

// The column of the benchmark, taken out of the panel.
std::vector<double> take_column(market::Panel& returns, const std::string& ticker) {
  const auto found = std::ranges::find(returns.tickers, ticker);
  if (found == returns.tickers.end()) {
    const std::vector<std::string_view> known(returns.tickers.begin(), returns.tickers.end());
    const std::string guess = did_you_mean(ticker, known);
    throw InputError(fmt::format("benchmark = {}: the panel has no such ticker{}",
                                 printable(ticker),
                                 guess.empty() ? "; name one of its columns" : guess));
  }
  if (returns.n() == 1)
    throw InputError(fmt::format(
        "benchmark = {} is the only asset, and nothing would be left to hold", printable(ticker)));
  const Index column = found - returns.tickers.begin();
  const ConstMat all = returns.matrix();
  std::vector<double> benchmark, others;
  for (Index t = 0; t < all.rows; ++t)
    for (Index j = 0; j < all.cols; ++j) (j == column ? benchmark : others).push_back(all(t, j));
  returns.tickers.erase(found);
  returns.values = std::move(others);
  return benchmark;
}

std::vector<double> benchmark_over(const Run& run, const std::vector<double>& all,
                                   const std::string& ticker) {
  const auto first = all.begin() + run.first_row;
  std::vector<double> some(first, first + run.periods());
  for (std::size_t t = 0; t < some.size(); ++t)
    if (!std::isfinite(some[t]))
      throw InputError(fmt::format(
          "benchmark = {} has no return on {}; choose another one, or dates where it is complete",
          printable(ticker), run.dates[t]));
  return some;
}

Index min_history(const BacktestSettings& settings) {
  if (settings.min_history) return static_cast<Index>(*settings.min_history);
  return settings.lookback.all ? kDefaultHistory : static_cast<Index>(settings.lookback.count);
}

// Rows of the training part; 0 without a split.
Index training_rows(const BacktestSettings& settings, const market::Panel& returns) {
  const bool historic = settings.framework == Framework::historic;
  const std::string split = settings.split.empty() && historic ? kHistoricSplit : settings.split;
  if (split == "none" && historic)
    throw InputError(
        "split = none leaves framework = historic nothing to train on; give a share such as 80%, "
        "or "
        "a date");
  return split.empty() || split == "none" ? 0 : split_row(returns.dates, split);
}

WalkSettings walk_settings(const BacktestSettings& settings, const market::Panel& returns,
                           Index training) {
  const bool fixed = settings.framework == Framework::historic &&
                     settings.historic_risk == HistoricRisk::train && !equal_weights(settings);
  WalkSettings walk;
  walk.lookback =
      settings.lookback.all ? WalkSettings::kAllRows : static_cast<Index>(settings.lookback.count);
  // Fixed weights need no windows; what was asked for is kept all the same.
  walk.min_history = fixed && !settings.min_history ? 0 : min_history(settings);
  walk.first_row = training;
  if (!settings.stats_from.empty()) walk.stats_from = stats_row(returns.dates, settings.stats_from);
  walk.rebalance = static_cast<Index>(settings.rebalance);
  walk.cost_bps = settings.cost_bps;
  walk.risk_free = settings.risk_free / settings.periods_per_year;
  walk.validate(returns.rows());
  return walk;
}

std::unique_ptr<const SignalSource> source_of(const BacktestSettings& settings,
                                              const market::Panel& returns,
                                              const WalkSettings& walk,
                                              const market::Panel* signal) {
  switch (settings.framework) {
    case Framework::rolling: return std::make_unique<RollingMean>();
    case Framework::historic:
      return std::make_unique<TrainingMean>(returns.matrix().middle_rows(0, walk.first_row));
    case Framework::signal: break;
  }
  std::vector<Index> rows;
  for (Index row = walk.first_traded(); row < returns.rows(); row += walk.rebalance)
    rows.push_back(row - 1);
  return std::make_unique<GivenSignal>(*signal, returns, rows, settings.gaps);
}

std::unique_ptr<Policy> policy_of(const BacktestSettings& settings, const market::Panel& returns,
                                  const WalkSettings& walk, const market::Panel* signal) {
  if (equal_weights(settings)) return std::make_unique<EqualWeights>();
  const std::string& which = settings.optimizer;
  const bool baseline = which == "mssrm" || which == "mssrm-long";
  OptimizerSettings optimizer;
  if (!baseline) optimizer.optimizer = optimizer_of(which);
  optimizer.k = settings.k;
  optimizer.net = settings.net;
  optimizer.sizing = settings.sizing;
  optimizer.shrinkage = settings.shrinkage;
  optimizer.form = settings.form;
  // A count that the whole universe cannot fill is a mistake; one that a day cannot, is not.
  static_cast<void>(settings.k.of(returns.n(), "k"));
  auto source = source_of(settings, returns, walk, signal);
  std::optional<ConstMat> training;
  if (settings.framework == Framework::historic && settings.historic_risk == HistoricRisk::train)
    training = returns.matrix().middle_rows(0, walk.first_row);
  if (training && training->rows < 2)
    throw InputError(
        "historic-risk = train needs 2 rows of training at least; choose a later --split");
  if (which == "mssrm-long")
    return training ? std::make_unique<MssrmLongPolicy>(std::move(source), settings.k, *training)
                    : std::make_unique<MssrmLongPolicy>(std::move(source), settings.k);
  if (which == "mssrm") return risk_policy<MssrmPolicy>(std::move(source), optimizer, training);
  return risk_policy<SelectingPolicy>(std::move(source), optimizer, training);
}

void warn(BacktestResult& result) {
  const Run& run = result.run;
  const auto say = [&](std::string text) { result.warnings.push_back(std::move(text)); };
  const auto with = [&](PeriodStatus status) { return std::ranges::count(run.status, status); };
  if (run.ruined())
    say(fmt::format("ruin: the return on {} is {:.4g}, all wealth is lost, and trading stops there",
                    run.dates.back(), run.returns.back()));
  if (const auto count = with(PeriodStatus::invalid_input); count > 0)
    say(fmt::format(
        "{} of {} decisions could not be made (no asset moves in the window, or numbers "
        "are out of range): cash was held",
        count, run.n_decisions));
  if (const auto count = with(PeriodStatus::not_converged); count > 0)
    say(fmt::format("{} of {} decisions stopped before they converged; the best found was held",
                    count, run.n_decisions));
  if (run.n_jittered > 0)
    say(
        fmt::format("the covariance was nearly singular at {} of {} decisions and needed jitter; "
                    "more --shrinkage, a longer --lookback or fewer assets would avoid it",
                    run.n_jittered, run.n_decisions));
  if (result.metrics.n_periods < 2)
    say(fmt::format("the statistics cover {} period{}: a Sharpe ratio needs 2 at least",
                    result.metrics.n_periods, result.metrics.n_periods == 1 ? "" : "s"));
  else if (std::isnan(result.metrics.sharpe))
    say("the returns do not vary: there is no Sharpe ratio");
}

}  // namespace

std::string_view name(Framework framework) {
  switch (framework) {
    case Framework::rolling: return "rolling";
    case Framework::historic: return "historic";
    case Framework::signal: return "signal";
  }
  return "unknown";
}

BacktestResult backtest(const market::Panel& panel, const BacktestSettings& settings,
                        const Threads& threads, const market::Panel* signal,
                        const RunControl& control) {
  check_settings(settings, signal);
  market::Panel returns = panel;
  std::vector<double> benchmark;
  if (!settings.benchmark.empty()) benchmark = take_column(returns, settings.benchmark);

  BacktestResult result;
  result.tickers = returns.tickers;
  result.training_rows = training_rows(settings, returns);
  const WalkSettings walk = walk_settings(settings, returns, result.training_rows);
  const std::unique_ptr<Policy> policy = policy_of(settings, returns, walk, signal);
  result.run = walk_forward(returns, *policy, walk, threads, control);
  if (!benchmark.empty())
    result.run.benchmark = benchmark_over(result.run, benchmark, settings.benchmark);

  const Track track = result.run.track(settings.periods_per_year);
  result.metrics = metrics(track);
  result.statistics =
      sharpe_statistics(excess_returns(track), settings.trials, settings.bootstrap, threads);
  warn(result);
  return result;
}

}  // namespace sharpen::backtest
