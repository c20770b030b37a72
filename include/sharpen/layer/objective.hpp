// What a portfolio under limits is best at (limited.hpp has the mathematics).
#pragma once

#include <array>
#include <string_view>

#include "sharpen/base/named.hpp"

namespace sharpen::layer {

enum class Objective { sharpe, expected_return, utility };
constexpr std::array<std::string_view, 3> names(Objective) {
  return {"sharpe", "return", "utility"};
}

struct ObjectiveSettings {
  Objective kind = Objective::sharpe;
  double volatility = 0.10;    // sigma > 0 per period, for return
  double risk_aversion = 1.0;  // gamma > 0, for utility

  void validate() const;  // throws InputError naming field and value
  bool operator==(const ObjectiveSettings&) const = default;
};

}  // namespace sharpen::layer
