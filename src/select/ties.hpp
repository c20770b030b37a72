// When two scores count as tied: the rounding of a solve, relative to the largest score. Tied
// assets are taken, and ranked, by column.
#pragma once

namespace sharpen::select {

constexpr double kTiedScores = 1e-12;

}  // namespace sharpen::select
