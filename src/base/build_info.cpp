#include "sharpen/base/build_info.hpp"

#include <cblas.h>

#include "base/cpu.hpp"

namespace sharpen {

BuildInfo build_info() {
  // Asked for once: OpenBLAS writes its answer into one buffer, whoever else is reading it.
  static const std::string kBlas = [] {
    std::string blas = openblas_get_config();
    while (blas.ends_with(' ')) blas.pop_back();
    return blas;
  }();
  return {SHARPEN_VERSION, SHARPEN_COMPILER, SHARPEN_BUILD_TYPE, kBlas};
}

std::string cpu_kind() {
  return std::string(openblas_get_corename()) + (cpu_has_v3() ? ", x86-64-v3" : ", x86-64");
}

}  // namespace sharpen
