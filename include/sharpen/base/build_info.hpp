// What this library was built from and runs on, for reports of results and of bugs.
#pragma once

#include <string>

namespace sharpen {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string compiler;    // "GNU 12.2.0"
  std::string build_type;  // "Release"
  std::string blas;        // OpenBLAS's own words: version, options, the CPU kernel it chose
};

BuildInfo build_info();

// What the last digits depend on beside the program: the kernels that were chosen for this CPU.
std::string cpu_kind();

}  // namespace sharpen
