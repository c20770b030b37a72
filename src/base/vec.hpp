// Sums over doubles in a fixed order of four interleaved partial sums, twice over: as fast as
// memory allows and the same bits wherever they are called from.
#pragma once

#include <cmath>
#include <limits>

#include "base/lanes.hpp"

namespace sharpen {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

namespace {

// Sums term(Lanes at j) over whole lanes, then term of zero-padded rest.
template <class Term>
inline double sum_lanes(std::size_t n, const Term& term) {
  Lanes s0 = splat(0), s1 = splat(0);
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
    s0 += term(j, 4);
    s1 += term(j + 4, 4);
  }
  if (j + 4 <= n) {
    s0 += term(j, 4);
    j += 4;
  }
  if (j < n) s1 += term(j, n - j);
  return sum(s0 + s1);
}

inline Lanes load_some(const double* p, std::size_t count) {
  if (count >= 4) return load(p);
  Lanes v = splat(0);
  for (std::size_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}

[[maybe_unused]] inline double dot(ConstVec x, ConstVec y) {
  return sum_lanes(x.size(), [&](std::size_t j, std::size_t count) {
    return load_some(x.data() + j, count) * load_some(y.data() + j, count);
  });
}

// The same sum with one term added after the other, as suits vectors of a few entries.
[[maybe_unused]] inline double dot_in_order(ConstVec x, ConstVec y) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

[[maybe_unused]] inline double sum(ConstVec x) {
  return sum_lanes(
      x.size(), [&](std::size_t j, std::size_t count) { return load_some(x.data() + j, count); });
}

[[maybe_unused]] inline bool all_finite(ConstVec x) {
  for (const double value : x)
    if (!std::isfinite(value)) return false;
  return true;
}
[[maybe_unused]] inline double abs_sum(ConstVec x) {
  return sum_lanes(x.size(), [&](std::size_t j, std::size_t count) {
    const Lanes v = load_some(x.data() + j, count);
    return v < 0.0 ? -v : v;
  });
}

}  // namespace
}  // namespace sharpen
