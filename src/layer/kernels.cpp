// The portable kernel set, and the choice between the two.
#include "base/cpu.hpp"
#include "layer/kernels_body.hpp"

namespace sharpen::layer {

const Kernels kPortableKernels = kSet;

const Kernels& kernels() { return cpu_has_v3() ? kV3Kernels : kPortableKernels; }

}  // namespace sharpen::layer
