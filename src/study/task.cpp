#include "sharpen/study/task.hpp"

#include <chrono>
#include <new>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

namespace {

// As a file would have them, like those that a study keeps of its methods: what is a default of a
// preset has not been asked for.
backtest::BacktestSettings settings_of(const Task& task, const TaskMarket& market) {
  settings::Values values(settings::backtest);
  for (const auto& [name, text] : task.settings) values.set_file(name, text, "the study");
  backtest::BacktestSettings out = backtest::backtest_settings(values);
  out.standstills = market.standstills;
  out.bootstrap.replications = 1;  // intervals are the report's
  return out;
}

// Of a run with perfect foresight what a regret asks of it.
backtest::Run foresight_of(backtest::Run run) {
  backtest::Run out;
  out.first_row = run.first_row;
  out.stats_from = run.stats_from;
  out.risk_free = run.risk_free;
  out.n_decisions = run.n_decisions;
  out.dates = std::move(run.dates);
  out.gross_returns = std::move(run.gross_returns);
  out.net = std::move(run.net);
  out.status = std::move(run.status);
  return out;
}

Cell cell_of(backtest::BacktestResult result) {
  Cell found;
  found.metrics = result.metrics;
  found.regret = result.regret;
  found.run = std::move(result.run);
  found.run.trades.clear();
  found.run.trades_begin.clear();
  found.delayed_returns = std::move(result.delayed_returns);
  found.equal_returns = std::move(result.equal_returns);
  found.warnings = plain(std::move(result.warnings));
  return found;
}

void work(const Task& task, const TaskMarket& market, const Threads& threads,
          const Control& control, Result& result) {
  const backtest::BacktestSettings settings = settings_of(task, market);
  const market::Panel& returns = market.returns;
  switch (task.kind) {
    case TaskKind::training:
      result.expectations = backtest::expectations(returns, settings, threads, control);
      return;
    case TaskKind::oracle:
      result.oracle = foresight_of(backtest::hindsight_run(returns, settings, threads, control));
      return;
    case TaskKind::cell: break;
  }
  const backtest::Prepared prepared = {.expectations = task.expectations.get(),
                                       .oracle = task.oracle.get()};
  result.cell = cell_of(backtest::backtest(returns, settings, prepared, threads, control));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> task_settings(const settings::Values& values) {
  static const settings::Values defaults(settings::backtest);
  std::vector<std::pair<std::string, std::string>> out;
  for (const settings::Setting& setting : settings::table()) {
    if (!setting.taken_by(settings::backtest) ||
        setting.is(settings::of_run | settings::input_file) || !values.has(setting.name))
      continue;
    std::string text = values.written(setting.name);
    if (!defaults.has(setting.name) || defaults.written(setting.name) != text)
      out.emplace_back(setting.name, std::move(text));
  }
  return out;
}

Result run(const Task& task, const TaskMarket& market, const Threads& threads,
           const Control& control) {
  const auto start = std::chrono::steady_clock::now();
  Result result;
  result.task = task_hash(task);
  result.blas = build_info().blas;
  try {
    work(task, market, threads, control, result);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    result.failure = "not enough memory";
  } catch (const std::exception& error) {
    result.failure = error.what();
    if (result.failure.empty()) result.failure = "it failed without a reason";
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace sharpen::study
