#include "base/blas_kernels.hpp"

#include <cblas.h>
#include <stdlib.h>

#include <string_view>

extern "C" {  // of OpenBLAS, if it chooses at run time; its headers do not declare them
__attribute__((weak)) void gotoblas_dynamic_init();
__attribute__((weak)) void gotoblas_dynamic_quit();
__attribute__((weak)) int blas_thread_shutdown_();
}

namespace sharpen {

namespace {

constexpr const char* kChoice = "OPENBLAS_CORETYPE";

// What OpenBLAS calls kernels that this processor can run; null: no better ones than Prescott's.
const char* better_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

bool mend_blas_kernels() {
  const char* const better = better_kernels();
  if (better == nullptr || gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr ||
      blas_thread_shutdown_ == nullptr || getenv(kChoice) != nullptr ||
      std::string_view(openblas_get_corename()) != "Prescott")
    return false;
  // Its threads start with the library and choose kernels, too, where they find none. As after a
  // fork, it makes new ones when it needs them.
  blas_thread_shutdown_();
  if (setenv(kChoice, better, 0) != 0) return false;
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kChoice);
  return true;
}

}  // namespace sharpen
