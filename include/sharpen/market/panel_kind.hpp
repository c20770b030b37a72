// What values a panel of each kind can hold, by the cell and by the whole.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sharpen/market/panel.hpp"

namespace sharpen::market {

// The least value a cell can have.
double least_value(PanelKind kind, Cells cells);

// Why a number below least_value() is refused, and the remedy.
struct KindFault {
  std::string_view what;
  std::string_view remedy;
};
KindFault below_least(PanelKind kind);

// A file of another kind passes every check of its cells; it is told by the whole, NaN left out.
void check_kind(std::span<const double> values, PanelKind kind, std::string_view file);

}  // namespace sharpen::market
