#include "output.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "sharpen/base/error.hpp"

namespace sharpen::app {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

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

Log stderr_log(std::string_view least) {
  // Log calls its sink for one message at a time: the sink needs no lock of its own.
  auto logger = std::make_shared<spdlog::logger>("sharpen",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern("sharpen: %l: %v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  return Log(
      [logger](LogLevel level, std::string_view message) {
        logger->log(level_of(level), "{}", plain(message));
      },
      value_named<LogLevel>(least).value());
}

}  // namespace sharpen::app
