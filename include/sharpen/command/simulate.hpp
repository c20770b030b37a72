// sharpen simulate: a simulated market as a file of prices.
#pragma once

#include <string>

#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::command {

std::string simulation_json(const market::SimulationSettings& settings, const market::Panel& prices,
                            const std::string& file);

}  // namespace sharpen::command
