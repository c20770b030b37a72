// The portable kernel set, and the choice between the two.
#include "base/cpu.hpp"
#include "layer/kernels_body.hpp"

namespace sharpen::layer {

const Kernels kPortableKernels = kSet;

const Kernels& kernels() {
#if defined(SHARPEN_HAVE_V3)
  if (cpu_has_v3()) return kV3Kernels;
#endif
  return kPortableKernels;
}

}  // namespace sharpen::layer
