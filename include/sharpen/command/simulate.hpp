// sharpen simulate: a simulated market as a file of prices.
#pragma once

#include <string>

#include "sharpen/base/settings.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct SimulateAnswer {
  market::SimulationSettings settings = {};
  market::SimulatedMarket market = {};
  std::string out = {};  // the file written; "": none
};

market::SimulationSettings simulation_settings(const settings::Values& values);

// Writes the prices where --out says, if it does. `expected`: whether the market shall have more
// than its prices. Throws InputError.
SimulateAnswer simulate_answer(const settings::Values& values, bool expected,
                               const Stop& stop = {});

std::string simulate_json(const SimulateAnswer& answer);

}  // namespace sharpen::command
