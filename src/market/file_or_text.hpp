// Settings that name a file, or are what it would say: anything with a line break.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/input_file.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

inline bool is_text(std::string_view file) { return file.find('\n') != std::string_view::npos; }

// What messages call it: the file, or the setting.
inline std::string name_of_file(const std::string& file, std::string_view setting) {
  return is_text(file) ? std::string(setting) : file;
}

// The text, read if it is a file. Throws InputError for one that is not there or cannot be read.
class FileOrText {
 public:
  FileOrText(const std::string& file, std::string_view setting) {
    if (is_text(file)) {
      text_ = file;
      return;
    }
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
      throw InputError(fmt::format("{} = {} is no file that is there; give the name of one",
                                   reference(setting), printable(file, 400)));
    file_ = std::make_unique<const TextFile>(file);
    text_ = file_->text();
  }

  std::string_view text() const { return text_; }

 private:
  std::unique_ptr<const TextFile> file_;
  std::string_view text_;
};

// What a file says, as the text that stands for it.
inline std::string contents(const std::string& file, std::string_view setting) {
  std::string out(FileOrText(file, setting).text());
  return is_text(out) ? out : out + '\n';
}

}  // namespace sharpen::market
