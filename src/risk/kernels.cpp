// The portable kernel set, and the choice between the two.
#include "base/cpu.hpp"
#include "risk/kernels_body.hpp"

namespace sharpen::risk {

const Kernels kPortableKernels = kSet;

const Kernels& kernels() { return cpu_has_v3() ? kV3Kernels : kPortableKernels; }

}  // namespace sharpen::risk
