// The one exception type for wrong input: settings, shapes, files. Its message says what is
// wrong, where, and what to do. Numerical outcomes are statuses, never exceptions (status.hpp).
#pragma once

#include <stdexcept>
#include <string>

namespace sharpen {

class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
};

// The work failed for a reason that is nobody's input, such as numbers that leave their range.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sharpen
