// The built-in example of `sharpen solve --demo`.
#pragma once

#include <cstdint>

#include "sharpen/market/panel.hpp"

namespace sharpen::command {

// A year of simulated daily returns of twelve invented names: a market factor, three sector
// factors and noise of their own. The same numbers on every machine for the same seed.
market::Panel demo_returns(std::uint64_t seed);

// Names to hold unless -k says otherwise.
constexpr std::int64_t kDemoNames = 4;

}  // namespace sharpen::command
