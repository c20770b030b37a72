// What a backtest and the decision after a panel's end (next_period.hpp) have in common.
#pragma once

#include <memory>
#include <vector>

#include "backtest/benchmark.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::backtest {

// A panel and settings that fit each other, before any decision.
struct Ready {
  market::Panel returns;  // without the benchmark, with the columns of the model
  Benchmark benchmark;
  WalkSettings walk;
  std::shared_ptr<const trade::CostBook> costs;
  std::vector<Index> rows;  // that decisions are made at
};

// Throws InputError for settings that do not fit each other or the panel. `result` gets what is
// known by then.
Ready ready(const market::Panel& panel, const BacktestSettings& settings,
            const market::Panel* signal, const learn::Model* model, BacktestResult& result);

// Null where the optimizer asks for no expectations.
std::unique_ptr<const SignalSource> source_of(const Ready& ready, const BacktestSettings& settings,
                                              const market::Panel* signal,
                                              const learn::Model* model, const Threads& threads,
                                              const Control& control,
                                              std::vector<TrainingRecord>& trainings);

// Decisions with their rule, their memory and their limits.
std::unique_ptr<const Policy> trading_policy(const Ready& ready, const BacktestSettings& settings,
                                             std::unique_ptr<const SignalSource> source,
                                             const Threads& threads, const Control& control);

// Adds to the warnings of a result that has its run and its metrics.
void warn_of_run(BacktestResult& result, trade::Rule rule);

// Of an account with a capital; `returns` are those that are walked through.
ShareSettings share_settings(const BacktestSettings& settings, const market::Panel& returns);

}  // namespace sharpen::backtest
