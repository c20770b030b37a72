#include "stderr_log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <stdexcept>

#include "sharpen/base/reference.hpp"

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

LogLevel level_called(std::string_view word) {
  for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error})
    if (name(level) == word) return level;
  throw std::logic_error("unknown log level");
}

}  // namespace

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
      level_called(least));
}

}  // namespace sharpen::app
