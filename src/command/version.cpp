#include "sharpen/command/version.hpp"

#include "command/json_text.hpp"
#include "sharpen/base/build_info.hpp"

namespace sharpen::command {

std::string version_json() {
  const BuildInfo info = build_info();
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "version";
  out["version"] = info.version;
  out["compiler"] = info.compiler;
  out["build_type"] = info.build_type;
  out["blas"] = info.blas;
  return json_text(out);
}

}  // namespace sharpen::command
