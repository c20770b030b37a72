// The same kernels, compiled for x86-64-v3.
#include "layer/kernels_body.hpp"

namespace sharpen::layer {

const Kernels kV3Kernels = kSet;

}  // namespace sharpen::layer
