// The one exception type for wrong input: settings, shapes, files. Its message says what is
// wrong, where, and what to do. Numerical outcomes are statuses, never exceptions (status.hpp).
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

namespace sharpen {

// An error whose message may refer to settings (reference.hpp); what() has them as the command line
// spells them.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& marked);
  // With its marks: for another spelling, and for a longer message made of this one.
  const std::string& marked() const { return *marked_; }

 private:
  std::shared_ptr<const std::string> marked_;
};

class InputError : public Error {
 public:
  using Error::Error;
};

// The work failed for a reason that is nobody's input, such as numbers that leave their range.
class Failure : public Error {
 public:
  using Error::Error;
};

}  // namespace sharpen
