// sharpen compare: whether the Sharpe ratios of two backtests differ by more than chance gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/backtest/run_files.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::command {

// One of the two, over the common periods.
struct ComparedRun {
  std::string folder;
  std::string label;
  Index rows = 0;      // in its file
  Index left_out = 0;  // of them
  double sharpe = 0.0;
  backtest::SharpeInterval interval;
};

// The answer, ready to be shown.
struct Comparison {
  ComparedRun a, b;
  std::string from, to;  // common periods
  double periods_per_year = 252.0;
  backtest::BootstrapSettings bootstrap;
  backtest::SharpeDifference test;
  std::vector<std::string> warnings;

  bool tested() const { return test.p_value == test.p_value; }
  bool significant() const { return test.p_value < 1.0 - bootstrap.level; }
  // What the test means, in words.
  std::string verdict() const;
};

struct NamedRun {
  std::string folder;
  backtest::SavedRun run;
};

// What the caller has in memory: it is not read from the folders that settings name.
struct CompareInputs {
  std::optional<NamedRun> a = {}, b = {};
};

// Throws InputError for runs that have nothing in common, Interrupted.
Comparison compare_answer(const settings::Values& values, CompareInputs inputs,
                          const Control& control);

std::string compare_json(const Comparison& comparison);
std::string compare_text(const Comparison& comparison);

}  // namespace sharpen::command
