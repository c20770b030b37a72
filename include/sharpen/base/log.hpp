// What the library has to say while it works. The library never prints: it hands messages to
// the Log its caller passed, and a Log made without a sink swallows them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "sharpen/base/named.hpp"

namespace sharpen {

enum class LogLevel { debug, info, warning, error };

constexpr std::array<std::string_view, 4> names(LogLevel) {
  return {"debug", "info", "warning", "error"};
}
constexpr std::string_view name(LogLevel level) { return name_of(level); }

class Log {
 public:
  // Called for one message at a time, whatever thread it comes from; must not log itself.
  using Sink = std::function<void(LogLevel, std::string_view)>;

  Log() = default;
  explicit Log(Sink sink, LogLevel least = LogLevel::info);

  // Whether a message of this level would reach the sink: ask before building a costly one.
  bool wants(LogLevel level) const { return shared_ != nullptr && level >= least_; }
  void write(LogLevel level, std::string_view message) const;

  void debug(std::string_view message) const { write(LogLevel::debug, message); }
  void info(std::string_view message) const { write(LogLevel::info, message); }
  void warning(std::string_view message) const { write(LogLevel::warning, message); }
  void error(std::string_view message) const { write(LogLevel::error, message); }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // copies of a Log speak to the same sink under one lock
  LogLevel least_ = LogLevel::info;
};

}  // namespace sharpen
