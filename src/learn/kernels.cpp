// The portable kernel sets, and the choice between the two.
#include "base/cpu.hpp"
#include "learn/kernels_body.hpp"

namespace sharpen::learn {

const Kernels<float> kPortableFloat = kSet<float>;
const Kernels<double> kPortableDouble = kSet<double>;

template <>
const Kernels<float>& kernels<float>() {
  return cpu_has_v3() ? kV3Float : kPortableFloat;
}

template <>
const Kernels<double>& kernels<double>() {
  return cpu_has_v3() ? kV3Double : kPortableDouble;
}

}  // namespace sharpen::learn
