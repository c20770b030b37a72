// sharpen solve: one signal, one risk model, one sparse maximum-Sharpe portfolio.
#pragma once

#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"
#include "sharpen/solve/solve.hpp"
#include "solve_input.hpp"

namespace sharpen::app {

// Reads, solves and prints, as the settings say.
void solve(settings::Values values);

using solve::Exposure;
using solve::Solution;

std::string_view name(layer::Sizing sizing);
std::string_view name(layer::Net net);
std::string_view name(risk::Form form);

std::string solution_json(const Solution& solution);
std::string solution_text(const Solution& solution);

}  // namespace sharpen::app
