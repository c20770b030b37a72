// The one source of both kernel sets; see kernels.hpp. Included by kernels.cpp and
// kernels_v3.cpp only: everything here has internal linkage, so that the linker can never merge
// code of one instruction set into the other. The loops are plain for the compiler to vectorise.
#include <cstdint>
#include <limits>

#include "learn/kernels.hpp"

namespace sharpen::learn {
namespace {

// Not std::sqrt: an inline function of the library could be shared between the two sets.
inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }

template <class Real>
void add_bias(BasicMat<Real> A, const Real* __restrict b, bool relu) {
  for (Index i = 0; i < A.rows; ++i) {
    Real* __restrict a = A.data + i * A.stride;
    if (relu) {
      for (Index j = 0; j < A.cols; ++j) {
        const Real x = a[j] + b[j];
        a[j] = x < Real(0) ? Real(0) : x;
      }
    } else {
      for (Index j = 0; j < A.cols; ++j) a[j] += b[j];
    }
  }
}

template <class Real>
void add_parts(const Real* __restrict P, Index parts, Index step, Index count,
               Real* __restrict out) {
  for (Index j = 0; j < count; ++j) out[j] = P[j];
  for (Index i = 1; i < parts; ++i) {
    const Real* __restrict p = P + i * step;
    for (Index j = 0; j < count; ++j) out[j] += p[j];
  }
}

template <class Real>
void mask(BasicMat<Real> D, BasicMat<const Real> h) {
  for (Index i = 0; i < D.rows; ++i) {
    Real* __restrict d = D.data + i * D.stride;
    const Real* __restrict a = h.data + i * h.stride;
    for (Index j = 0; j < D.cols; ++j) d[j] = a[j] <= Real(0) ? Real(0) : d[j];
  }
}

template <class Real>
void column_sums(BasicMat<const Real> A, bool add, Real* __restrict out) {
  if (!add)
    for (Index j = 0; j < A.cols; ++j) out[j] = Real(0);
  // Blocks of rows keep long sums as precise as short ones.
  constexpr Index kRows = 32, kCols = 64;
  for (Index j0 = 0; j0 < A.cols; j0 += kCols) {
    const Index width = A.cols - j0 < kCols ? A.cols - j0 : kCols;
    for (Index i0 = 0; i0 < A.rows; i0 += kRows) {
      const Index last = A.rows - i0 < kRows ? A.rows : i0 + kRows;
      Real sums[kCols] = {};
      for (Index i = i0; i < last; ++i) {
        const Real* __restrict a = A.data + i * A.stride + j0;
        for (Index j = 0; j < width; ++j) sums[j] += a[j];
      }
      for (Index j = 0; j < width; ++j) out[j0 + j] += sums[j];
    }
  }
}

template <class Real>
double square_sum(const Real* x, Index count) {
  constexpr Index kLanes = 8;
  double sums[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= count; j += kLanes)
    for (Index i = 0; i < kLanes; ++i) {
      const auto a = static_cast<double>(x[j + i]);
      sums[i] += a * a;
    }
  for (Index i = 0; j + i < count; ++i) {
    const auto a = static_cast<double>(x[j + i]);
    sums[i] += a * a;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Without its sign a number grows with its bits, read as an integer, up to infinity and NaN; and
// the compiler vectorises maxima of integers only.
inline float greatest(const float* x, Index count) {
  std::int32_t most = 0;
  for (Index i = 0; i < count; ++i) {
    const std::int32_t bits = __builtin_bit_cast(std::int32_t, x[i]) & 0x7fffffff;
    most = bits > most ? bits : most;
  }
  return __builtin_bit_cast(float, most);
}
inline double greatest(const double* x, Index count) {
  std::int64_t most = 0;
  for (Index i = 0; i < count; ++i) {
    const std::int64_t bits = __builtin_bit_cast(std::int64_t, x[i]) & 0x7fffffffffffffff;
    most = bits > most ? bits : most;
  }
  return __builtin_bit_cast(double, most);
}

template <class Real>
inline Real adam_entry(const AdamCoefficients<Real>& c, Real g, Real& p, Real& m, Real& v) {
  constexpr Real tiny = std::numeric_limits<Real>::min();
  const Real scaled = c.scale * g;
  const Real mean = c.beta1 * m + (Real(1) - c.beta1) * scaled;
  const Real square = c.beta2 * v + (Real(1) - c.beta2) * (scaled * scaled);
  m = (mean < tiny && -mean < tiny) ? Real(0) : mean;
  v = square < tiny ? Real(0) : square;
  p = c.keep * p - c.rate * m / (root(v) + c.epsilon);
  return g * g;
}

template <class Real>
double adam(const AdamCoefficients<Real>& coefficients, Index count, const Real* __restrict g,
            Real* __restrict p, Real* __restrict m, Real* __restrict v) {
  constexpr Index kLanes = 16, kRun = 4096;  // short runs keep the sums of floats precise
  const AdamCoefficients<Real> c = coefficients;
  double total = 0.0;
  for (Index first = 0; first < count; first += kRun) {
    const Index last = count - first < kRun ? count : first + kRun;
    Real sums[kLanes] = {};
    Index i = first;
    for (; i + kLanes <= last; i += kLanes)
      for (Index j = 0; j < kLanes; ++j)
        sums[j] += adam_entry(c, g[i + j], p[i + j], m[i + j], v[i + j]);
    for (; i < last; ++i) sums[0] += adam_entry(c, g[i], p[i], m[i], v[i]);
    for (Index j = 0; j < kLanes; ++j) total += static_cast<double>(sums[j]);
  }
  return total;
}

template <class Real>
constexpr Kernels<Real> kSet = {add_bias<Real>,   add_parts<Real>, mask<Real>, column_sums<Real>,
                                square_sum<Real>, greatest,        adam<Real>};

}  // namespace
}  // namespace sharpen::learn
