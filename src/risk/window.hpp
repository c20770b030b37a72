// First and second moments of one asset-wise window, shared by both forms so that they agree on
// delta, on the diagonal and on what counts as a window without risk.
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::risk {

// mean (n) and variance (n), divisor T - 1, of the columns of window (T, n); exactly 0 for a
// column that is constant up to the rounding of its mean. Returns the sum of the variances, or
// NaN where that is zero or not finite.
double window_moments(ConstMat window, Vec mean, Vec variance);

}  // namespace sharpen::risk
