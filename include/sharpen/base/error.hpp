// Errors, and how their messages speak of settings. There is one exception type for wrong input:
// settings, shapes, files. Its message says what is wrong, where, and what to do. Numerical
// outcomes are statuses, never exceptions (status.hpp).
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sharpen {

// An error whose message may refer to settings (see reference); what() has them as the command line
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

// References to settings and commands in messages for people. A message has them between marks,
// written as on the command line: "give ‹--prices FILE›", "‹max-gap› = -1 is outside [0, 10000]",
// "see ‹sharpen doctor›". Each front door spells them its own way.

// ‹text›
std::string reference(std::string_view text);

// The message with every reference as `spelling` gives it.
std::string spelled(std::string_view message,
                    const std::function<std::string(std::string_view)>& spelling);

// As on the command line: without the marks.
std::string plain(std::string_view message);
std::vector<std::string> plain(std::vector<std::string> messages);

}  // namespace sharpen
