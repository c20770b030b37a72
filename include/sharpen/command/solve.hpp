// sharpen solve: one signal, one risk model, one sparse maximum-Sharpe portfolio.
//
// The signal mu and the risk over named assets come from a panel of prices or returns, from given
// moments, or from the built-in example.
#pragma once

#include <optional>
#include <string>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/trades.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

using solve::Exposure;
using solve::Window;

// The answer, ready to be shown.
struct Solution : solve::Solution {
  std::optional<Trading> trading;  // with --previous
};

// What the caller has in memory, one of panel and moments at most: it is not read from the files
// that settings name.
struct SolveInputs {
  std::optional<market::MemoryPanel> panel = {};
  std::optional<market::Moments> moments = {};
  std::optional<std::vector<backtest::NamedWeight>> previous = {};  // beside either
};

// The example holds a few names unless -k says otherwise: 10% of twelve would be one.
settings::Values solve_values(settings::Values values);

// Throws InputError for what contradicts itself whatever the files hold; nothing given is fine.
void check_solve_settings(const settings::Values& values);

// Throws InputError for input and settings that do not fit, Failure for numbers out of range,
// Interrupted.
Solution solve_answer(const settings::Values& values, SolveInputs inputs, const Log& log,
                      const Control& control = {});
// The same portfolio, chosen again for the reasons of its names.
Solution explained(settings::Values values, const Solution& solution, const Control& control = {});

std::string solve_json(const Solution& solution);

}  // namespace sharpen::command
