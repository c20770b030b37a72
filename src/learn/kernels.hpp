// The inner loops of networks between their matrix products. Plain pointers, no allocation, no
// dependence on alignment; every sum has a fixed order.
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::learn {

// One step of Adam on any entry, bias corrections folded in:
//   g' = scale g,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
//   p = keep p - rate m / (sqrt(v) + epsilon).
// Moments that leave the normal range become 0: weights behind a dead ReLU have gradient 0, and
// their moments would otherwise decay into subnormal numbers, which many processors handle slowly.
template <class Real>
struct AdamCoefficients {
  Real scale, beta1, beta2, rate, epsilon, keep;
};

template <class Real>
struct Kernels {
  // A (rows, cols) += b in every row; then max(0, A) if relu. NaN stays NaN.
  void (*add_bias)(BasicMat<Real> A, const Real* b, bool relu);
  // out = P_0 + P_1 + .. + P_(parts-1) entry by entry; P_i starts at P + i * step.
  void (*add_parts)(const Real* P, Index parts, Index step, Index count, Real* out);
  // D (rows, cols) becomes 0 where h (rows, cols) is not positive.
  void (*mask)(BasicMat<Real> D, BasicMat<const Real> h);
  // out_j = sum_i A_ij, added to what is there if `add`.
  void (*column_sums)(BasicMat<const Real> A, bool add, Real* out);
  double (*square_sum)(const Real* x, Index count);
  // The greatest |x_i|; NaN or infinite if there is one that is.
  Real (*greatest)(const Real* x, Index count);
  // Returns |g|^2, as precise as Real.
  double (*adam)(const AdamCoefficients<Real>& c, Index count, const Real* g, Real* p, Real* m,
                 Real* v);
};

extern const Kernels<float> kPortableFloat, kV3Float;
extern const Kernels<double> kPortableDouble, kV3Double;

// The best set this processor runs.
template <class Real>
const Kernels<Real>& kernels();
template <>
const Kernels<float>& kernels<float>();
template <>
const Kernels<double>& kernels<double>();

}  // namespace sharpen::learn
