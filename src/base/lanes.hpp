// Four doubles side by side, as the compiler's vector type: one AVX2 register, or two SSE2
// registers in the portable build. The order of every sum is therefore the same in both.
#pragma once

#include <cstring>

#include "sharpen/base/view.hpp"

// Included by sources that are compiled once per instruction set: everything here has internal
// linkage, so that the linker can never merge code of one set into the other.
namespace sharpen {
namespace {

using Lanes = double __attribute__((vector_size(32)));

inline Lanes load(const double* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(double* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
inline Lanes splat(double a) { return Lanes{a, a, a, a}; }
inline double sum(Lanes v) { return (v[0] + v[1]) + (v[2] + v[3]); }

}  // namespace
}  // namespace sharpen
