// What every answer in JSON has in common (docs/json.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sharpen::command {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// Numbers read back to the same double; NaN and infinities become null; text that is not UTF-8
// has its broken bytes replaced.
inline std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sharpen::command
