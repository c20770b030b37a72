// The same kernels, compiled for x86-64-v3.
#include "select/kernels_body.hpp"

namespace sharpen::select {

const Kernels kV3Kernels = kSet;

}  // namespace sharpen::select
