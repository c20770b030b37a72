// Which asset cannot be traded on which day, by the rows and columns of the panel they come with.
// Cleaning tells it (cleaning.hpp): where a suspect is taken for a halt, and where an asset has no
// price of its own and the last one is carried. Nothing is bought or sold there; a name that is
// held stays held.
#pragma once

#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

struct Halt {
  Index asset = 0;             // column
  Index first = 0, last = 0;   // rows, both included
  bool without_price = false;  // the price is carried there, not a halt that somebody decided on

  bool operator==(const Halt&) const = default;
};

struct Halts {
  std::vector<Halt> runs;  // by asset, then by row; those of one asset do not overlap

  bool empty() const { return runs.empty(); }
  bool operator==(const Halts&) const = default;
};

}  // namespace sharpen::market
