// What a backtest needs, and orders for today in the same way.
#pragma once

#include <optional>

#include "sharpen/command/backtest.hpp"

namespace sharpen::command {

// Read and cleaned.
struct BacktestJob {
  BacktestAnswer answer;  // without a result
  std::optional<market::Panel> signal;
  std::optional<learn::Model> model;
};

// Throws InputError for settings and input that do not fit each other.
BacktestJob read_backtest(const settings::Values& given, BacktestInputs inputs, const Log& log);

}  // namespace sharpen::command
