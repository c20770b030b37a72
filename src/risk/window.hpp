// First and second moments of one asset-wise window, shared by both forms so that they agree on
// delta, on the diagonal and on what counts as a window without risk.
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::risk {

// mean (n) and variance (n), divisor T - 1, of the columns of window (T, n). Returns the sum of
// the variances, or NaN where it is not finite, or is zero up to rounding of the window.
double window_moments(ConstMat window, Vec mean, Vec variance);

}  // namespace sharpen::risk
