#include "sharpen/command/version.hpp"

#include "command/json_keys.hpp"
#include "sharpen/base/build_info.hpp"

namespace sharpen::command {

namespace {

Keys<BuildInfo> version_keys() {
  Keys<BuildInfo> keys = head<BuildInfo>("version", "`version`");
  append<BuildInfo>(
      keys, {{"version", "version of Sharpen", &BuildInfo::version},
             {"compiler", "compiler it was built with", &BuildInfo::compiler},
             {"build_type", "CMake's build type", &BuildInfo::build_type},
             {"blas", "OpenBLAS in its own words: version, options, and the processor it runs on",
              &BuildInfo::blas}});
  return keys;
}

}  // namespace

std::string version_json() { return json_text(json_of(version_keys(), build_info())); }

Section version_section() { return {"--version", {""}, listed(version_keys())}; }

}  // namespace sharpen::command
