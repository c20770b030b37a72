// sharpen simulate: a simulated market as a file of prices.
#pragma once

#include "sharpen/base/settings.hpp"

namespace sharpen::app {

// Writes the file --out names and says what it holds, or prints the prices if there is none.
void simulate(const settings::Values& values);

}  // namespace sharpen::app
