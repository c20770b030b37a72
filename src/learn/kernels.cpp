// The portable kernel sets, and the choice between the two.
#include "base/cpu.hpp"
#include "learn/kernels_body.hpp"

namespace sharpen::learn {

const Kernels<float> kPortableFloat = kSet<float>;
const Kernels<double> kPortableDouble = kSet<double>;

template <>
const Kernels<float>& kernels<float>() {
#if defined(SHARPEN_HAVE_V3)
  if (cpu_has_v3()) return kV3Float;
#endif
  return kPortableFloat;
}

template <>
const Kernels<double>& kernels<double>() {
#if defined(SHARPEN_HAVE_V3)
  if (cpu_has_v3()) return kV3Double;
#endif
  return kPortableDouble;
}

}  // namespace sharpen::learn
