// Halts (halts.hpp) by name and date, which hold in any panel that rows and columns are cut from.
#pragma once

#include <string>
#include <vector>

#include "sharpen/market/halts.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

struct Standstill {
  std::string ticker;
  std::string first, last;  // dates, both included

  bool operator==(const Standstill&) const = default;
};

// panel: that the halts are of.
std::vector<Standstill> standstills(const Halts& halts, const Panel& panel);

}  // namespace sharpen::market
