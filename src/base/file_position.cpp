#include "base/file_position.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"

namespace sharpen {

std::string spelled(const FilePosition& position) {
  std::string out = fmt::format("line {}", position.line);
  if (position.column > 0) out += fmt::format(", column {}", position.column);
  return out;
}

void fail_at(const FilePosition& position, const std::string& message) {
  std::string where = shown_file(position.file);
  if (position.line > 0) where += fmt::format(":{}", position.line);
  if (position.line > 0 && position.column > 0) where += fmt::format(":{}", position.column);
  throw InputError(where + ": " + message);
}

}  // namespace sharpen
