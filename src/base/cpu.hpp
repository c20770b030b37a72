// Which build of a hot kernel this processor can run. Kernels are compiled twice, for portable
// x86-64 and for x86-64-v3 (AVX2, FMA), from the same source; results may differ between the
// two in the last digits, never between runs or thread counts on one machine.
#pragma once

namespace sharpen {

inline bool cpu_has_v3() {
#if defined(SHARPEN_HAVE_V3)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

}  // namespace sharpen
