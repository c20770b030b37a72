#include "sharpen/base/error.hpp"

namespace sharpen {

namespace {

constexpr std::string_view kOpen = "‹", kClose = "›";

// Data may have such marks, too; a reference is a flag, or the name of a setting or a command.
bool is_reference(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= 'a' && text[0] <= 'z')) &&
         text.find(kOpen) == std::string_view::npos && text.find('\n') == std::string_view::npos;
}

}  // namespace

std::string reference(std::string_view text) {
  return std::string(kOpen).append(text).append(kClose);
}

std::string spelled(std::string_view message,
                    const std::function<std::string(std::string_view)>& spelling) {
  std::string out;
  while (!message.empty()) {
    const std::size_t open = message.find(kOpen);
    const std::size_t close = open == std::string_view::npos ? open : message.find(kClose, open);
    if (close == std::string_view::npos) break;
    const std::size_t first = open + kOpen.size();
    const std::string_view inner = message.substr(first, close - first);
    if (is_reference(inner)) {
      out.append(message.substr(0, open)).append(spelling(inner));
      message.remove_prefix(close + kClose.size());
    } else {
      out.append(message.substr(0, first));
      message.remove_prefix(first);
    }
  }
  return out.append(message);
}

std::string plain(std::string_view message) {
  return spelled(message, [](std::string_view text) { return std::string(text); });
}

std::vector<std::string> plain(std::vector<std::string> messages) {
  for (std::string& message : messages) message = plain(message);
  return messages;
}

Error::Error(const std::string& marked)
    : std::runtime_error(plain(marked)), marked_(std::make_shared<const std::string>(marked)) {}

}  // namespace sharpen
