// The same kernels, compiled for x86-64-v3.
#include "risk/kernels_body.hpp"

namespace sharpen::risk {

const Kernels kV3Kernels = kSet;

}  // namespace sharpen::risk
