#include "output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sharpen/base/error.hpp"

namespace sharpen::app {

void print(std::string_view text) {
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

void keep_inputs(const settings::Values& values, std::initializer_list<std::string_view> outputs) {
  for (const std::string_view output : outputs) {
    if (!values.takes(output) || !values.has(output)) continue;
    for (const std::string_view input :
         {"prices", "returns", "model", "signal", "config", "moments", "mean", "cov"}) {
      std::error_code error;
      if (values.takes(input) && values.has(input) &&
          std::filesystem::equivalent(values.text(input), values.text(output), error) && !error &&
          std::filesystem::is_regular_file(values.text(output)))
        throw InputError(fmt::format("{} would replace what {} reads; give it another name",
                                     values.given_as(output), values.given_as(input)));
    }
  }
}

}  // namespace sharpen::app
