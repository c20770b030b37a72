// References to settings and commands in messages for people. A message has them between marks,
// written as on the command line: "give ‹--prices FILE›", "‹max-gap› = -1 is outside [0, 10000]",
// "see ‹sharpen doctor›". Each front door spells them its own way.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sharpen {

// ‹text›
std::string reference(std::string_view text);

// The message with every reference as `spelling` gives it.
std::string spelled(std::string_view message,
                    const std::function<std::string(std::string_view)>& spelling);

// As on the command line: without the marks.
std::string plain(std::string_view message);
std::vector<std::string> plain(std::vector<std::string> messages);

}  // namespace sharpen
