#include "output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sharpen/base/error.hpp"
#include "sharpen/base/reference.hpp"

namespace sharpen::app {

void print(std::string_view message) {
  const std::string text = plain(message);
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw ReaderGone();
  throw Failure(fmt::format("cannot write to standard output: {}",
                            errno != 0 ? std::strerror(errno) : "unknown reason"));
}

void print_error(std::string_view message) {
  const std::string line = fmt::format("sharpen: error: {}\n", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace sharpen::app
