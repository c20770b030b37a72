// Standard output and error. A result that could not be written is a failure, not silence.
#pragma once

#include <stdexcept>
#include <string_view>

#include "sharpen/base/error.hpp"
#include "sharpen/base/log.hpp"

namespace sharpen::app {

enum ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

using sharpen::Failure;  // exit code 1

// The reader of standard output has gone, as `| head` does after its ten lines: it has seen what it
// wanted, and nothing has failed.
class ReaderGone : public std::runtime_error {
 public:
  ReaderGone() : std::runtime_error("standard output has no reader") {}
};

// Writes everything and flushes; throws ReaderGone for a broken pipe, Failure for anything else
// that keeps the answer from being written.
void print(std::string_view text);

// `sharpen: error: message` on standard error.
void print_error(std::string_view message);

// The program's Log: messages on standard error. `least` is a choice of the setting log-level.
Log stderr_log(std::string_view least);

}  // namespace sharpen::app
