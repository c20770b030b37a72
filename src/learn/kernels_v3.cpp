// The same kernels, compiled for x86-64-v3.
#include "learn/kernels_body.hpp"

namespace sharpen::learn {

const Kernels<float> kV3Float = kSet<float>;
const Kernels<double> kV3Double = kSet<double>;

}  // namespace sharpen::learn
