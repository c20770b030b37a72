#include "sharpen/base/build_info.hpp"

#include <cblas.h>

#include "base/cpu.hpp"

namespace sharpen {

BuildInfo build_info() {
  std::string blas = openblas_get_config();
  while (blas.ends_with(' ')) blas.pop_back();
  return {SHARPEN_VERSION, SHARPEN_COMPILER, SHARPEN_BUILD_TYPE, blas};
}

std::string cpu_kind() {
  return std::string(openblas_get_corename()) + (cpu_has_v3() ? ", x86-64-v3" : ", x86-64");
}

}  // namespace sharpen
