// sharpen solve: one signal, one risk model, one sparse maximum-Sharpe portfolio.
#pragma once

#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/solve_input.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

using solve::Exposure;
using solve::Solution;

std::string_view name(layer::Sizing sizing);
std::string_view name(layer::Net net);
std::string_view name(risk::Form form);

std::string solution_json(const Solution& solution);

}  // namespace sharpen::command
