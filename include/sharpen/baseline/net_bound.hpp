// The bounds of bounds.hpp where the net position may not be negative.
//
// For every y with 1^T y >= 0 and every s >= 0, mu^T y <= (mu + s 1)^T y. So any bound for the
// signal mu + s 1 holds for those portfolios under mu. With s = -B/A where B < 0 (the t = 0 face,
// tangent.hpp) it is exact for k = n, and much smaller than the bound for mu, whose best portfolios
// are net short.
#pragma once

#include "sharpen/baseline/bounds.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::baseline {

// No portfolio of at most k names that `net` allows has a larger Sharpe ratio. The smaller of the
// bounds for mu and for mu + s 1, which accounts for the rounding of that sum. Up to 600 assets;
// beyond that the bound for mu.
SharpeBound net_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                            const BoundSettings& settings);

}  // namespace sharpen::baseline
