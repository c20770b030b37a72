// The rules that find suspects; sharpen/market/cleaning.hpp states them.
#pragma once

#include <vector>

#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

// By column, then row; rows without ticker last. Nothing is handled yet.
std::vector<Finding> find_suspects(const Panel& raw, PanelKind kind);

}  // namespace sharpen::market
