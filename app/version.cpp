#include "version.hpp"

#include <fmt/format.h>

#include "sharpen/base/build_info.hpp"
#include "sharpen/command/version.hpp"

namespace sharpen::app {

std::string version_text(bool json) {
  const BuildInfo info = build_info();
  if (json) return command::version_json();
  return fmt::format("sharpen {}\ncompiler {} ({})\nBLAS {}\n", info.version, info.compiler,
                     info.build_type, info.blas);
}

}  // namespace sharpen::app
