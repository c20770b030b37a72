#include "version.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "sharpen/base/build_info.hpp"

namespace sharpen::app {

std::string version_text(bool json) {
  const BuildInfo info = build_info();
  if (!json)
    return fmt::format("sharpen {}\ncompiler {} ({})\nBLAS {}\n", info.version, info.compiler,
                       info.build_type, info.blas);
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "version";
  out["version"] = info.version;
  out["compiler"] = info.compiler;
  out["build_type"] = info.build_type;
  out["blas"] = info.blas;
  return json_text(out);
}

}  // namespace sharpen::app
