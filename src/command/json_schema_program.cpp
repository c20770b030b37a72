#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section version_section() {
  return Section{
      .command = "--version",
      .parts = {
          Part{
              .keys =
                  {
                      {"`schema_version`", "1"},
                      {"`command`", "`version`"},
                      {"`version`", "version of Sharpen"},
                      {"`compiler`", "compiler it was built with"},
                      {"`build_type`", "CMake's build type"},
                      {"`blas`",
                       "OpenBLAS in its own words: version, options, and the processor it runs on"},
                  }},
      }};
}

}  // namespace sharpen::command::json_schema
