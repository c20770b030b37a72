// Limits that cannot hold together, widened as little as they have to be.
//
//   min s  such that  lower - s <= w <= upper + s
//                     lower_r - s |a_r| <= a_r^T w <= upper_r + s |a_r|    |a_r| the largest entry
//                     |w|_1 <= gross + s,  |w - h|_1 <= turnover + s
// What is no matter of size stays as it is as long as that can be: equalities, among them weights
// that are fixed, and lower bounds of zero, which forbid to sell short at all.
#pragma once

#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"

namespace sharpen::layer {

// s, to 1e-9; 0 where the limits can hold together. `relaxed` are the limits so widened, by a hair
// more so that they can be solved under. The same for the same limits, always.
double least_violation(const Limits& limits, Index n, const ObjectiveSettings& objective,
                       Limits& relaxed);

// Which limits give way: those that are a matter of size, or all of them.
enum class GivesWay { sizes, everything };

// The limits widened by s.
Limits widened(const Limits& limits, Index n, const ObjectiveSettings& objective, GivesWay what,
               double s);

}  // namespace sharpen::layer
