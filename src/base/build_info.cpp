#include "sharpen/base/build_info.hpp"

#include <cblas.h>

namespace sharpen {

BuildInfo build_info() {
  std::string blas = openblas_get_config();
  while (blas.ends_with(' ')) blas.pop_back();
  return {SHARPEN_VERSION, SHARPEN_COMPILER, SHARPEN_BUILD_TYPE, blas};
}

}  // namespace sharpen
