// sharpen solve: one signal, one risk model, one sparse maximum-Sharpe portfolio.
#pragma once

#include <string>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/solve_input.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

using solve::Exposure;
using solve::Solution;

std::string solution_json(const Solution& solution);

}  // namespace sharpen::command
