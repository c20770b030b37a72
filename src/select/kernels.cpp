// The portable kernel set, and the choice between the two.
#include "base/cpu.hpp"
#include "select/kernels_body.hpp"

namespace sharpen::select {

const Kernels kPortableKernels = kSet;

const Kernels& kernels() { return cpu_has_v3() ? kV3Kernels : kPortableKernels; }

}  // namespace sharpen::select
