// The one source of both kernel sets; see kernels.hpp. Included by kernels.cpp and
// kernels_v3.cpp only.
#include <cstdint>

#include "base/lanes.hpp"
#include "layer/kernels.hpp"

namespace sharpen::layer {
namespace {

using Bits = std::int64_t __attribute__((vector_size(32)));

// exp(a) for a <= 0, within an ulp or two; 0 below -708. Cody and Waite: a = q ln 2 + r, a Taylor
// polynomial of degree 13 on |r| <= ln(2)/2, and q added to the exponent.
inline Lanes exp_of_negative(Lanes a) {
  constexpr double kRound = 0x1.8p52;  // adding it leaves round(x) in the low bits
  const Lanes x = a < -708.0 ? splat(-708.0) : a;
  const Lanes shifted = x * 0x1.71547652b82fep0 + kRound;
  const Lanes q = shifted - kRound;
  const Lanes r = (x - q * 0x1.62e42fefa3800p-1) - q * 0x1.ef35793c76730p-45;
  const Lanes r2 = r * r;
  const Lanes r4 = r2 * r2;
  const Lanes low = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const Lanes mid = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const Lanes high = (1.0 / 40320 + r * (1.0 / 362880)) +
                     r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) +
                     r4 * (1.0 / 479001600 + r * (1.0 / 6227020800));
  const Lanes mantissa = low + r4 * (mid + r4 * high);
  Bits bits = reinterpret_cast<Bits>(mantissa) + (reinterpret_cast<Bits>(shifted) << 52);
  const Lanes e = reinterpret_cast<Lanes>(bits);
  return a < -708.0 ? splat(0.0) : e;
}

struct Sigmoid {
  Lanes value, slope;
};

inline Sigmoid sigmoid(Lanes a) {
  const Lanes e = exp_of_negative(a < 0.0 ? a : -a);
  const Lanes q = 1.0 / (1.0 + e);
  return {a < 0.0 ? e * q : q, e * q * q};
}

TailSums tail_sums(const double* d, Index n, double u) {
  Lanes value = splat(0), slope = splat(0);
  const Lanes shift = splat(u);
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    const Sigmoid s = sigmoid(load(d + i) + shift);
    value += s.value;
    slope += s.slope;
  }
  if (i < n) {
    Lanes rest = splat(-2000.0);  // its sigmoid and slope are 0
    for (Index j = i; j < n; ++j) rest[j - i] = d[j] + u;
    const Sigmoid s = sigmoid(rest);
    value += s.value;
    slope += s.slope;
  }
  return {sum(value), sum(slope)};
}

double sigmoids(const double* x, Index n, double beta, double c, double u, double* p, double* v) {
  Lanes total = splat(0);
  const Lanes shift = splat(u), centre = splat(c), slope = splat(beta);
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    const Sigmoid s = sigmoid(slope * (load(x + i) - centre) + shift);
    store(p + i, s.value);
    store(v + i, slope * s.slope);
    total += s.value;
  }
  if (i < n) {
    Lanes rest = splat(-2000.0);
    for (Index j = i; j < n; ++j) rest[j - i] = beta * (x[j] - c) + u;
    const Sigmoid s = sigmoid(rest);
    for (Index j = i; j < n; ++j) {
      p[j] = s.value[j - i];
      v[j] = beta * s.slope[j - i];
    }
    total += s.value;
  }
  return sum(total);
}

Index count_above(const double* x, Index n, double threshold) {
  Bits count = {0, 0, 0, 0};
  const Lanes bound = splat(threshold);
  Index i = 0;
  for (; i + 4 <= n; i += 4) count -= load(x + i) > bound;
  Index total = count[0] + count[1] + count[2] + count[3];
  for (; i < n; ++i) total += x[i] > threshold;
  return total;
}

constexpr Kernels kSet = {tail_sums, sigmoids, count_above};

}  // namespace
}  // namespace sharpen::layer
