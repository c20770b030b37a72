// When two scores count as tied: the rounding of a solve, relative to the largest score. Tied
// assets are taken, and ranked, by column.
#pragma once

#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::select {

constexpr double kTiedScores = 1e-12;

// K: the positions of the k largest of |scores|, ascending. Uses up both vectors of doubles, which
// have the same size.
void take_largest(std::vector<double>& scores, Index k, std::vector<double>& order,
                  std::vector<Index>& K);

}  // namespace sharpen::select
