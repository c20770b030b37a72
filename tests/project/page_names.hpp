// What a page of the documentation names must exist: files, functions, tests, flags, other pages.
//
// A name is a code span, `like this`:
//   folder/file.hpp, src/folder/file.cpp   a file of the tree, from its root, or from
//                                          include/sharpen/, src/ or tests/
//   Suite.Name                             a test; after "file: " or ", " one of that file
//   name                                   after "header: " or ", ": a word of that header
//   sharpen command --flag ...             a command, and flags that it takes
// Links to other pages of docs/ must lead to one.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::project {

using Tree = std::map<std::string, std::string>;  // path from the root -> text

struct PageReport {
  std::vector<std::string> faults;  // "line 12: what"
  int files = 0, tests = 0, functions = 0, commands = 0, links = 0;
};

class PageReader {
 public:
  explicit PageReader(const Tree& tree) : tree_(tree) {}

  PageReport read(const std::string& page) {
    report_ = {};
    line_ = 0;
    bool fenced = false;
    for (std::size_t start = 0; start < page.size();) {
      const std::size_t end = std::min(page.find('\n', start), page.size());
      const std::string text = page.substr(start, end - start);
      start = end + 1;
      ++line_;
      if (text.starts_with("```")) {
        fenced = !fenced;
      } else if (fenced) {
        if (text.starts_with("sharpen ")) command(text);
      } else {
        spans(text);
        links(text);
      }
    }
    return report_;
  }

  // Whether the text has the word, and not only as part of a longer one.
  static bool has_word(const std::string& text, const std::string& word) {
    const auto part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    if (word.empty() || !std::all_of(word.begin(), word.end(), part)) return false;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool starts = at == 0 || !part(text[at - 1]);
      const bool ends = at + word.size() == text.size() || !part(text[at + word.size()]);
      if (starts && ends) return true;
    }
    return false;
  }

 private:
  void fault(const std::string& what) {
    report_.faults.push_back("line " + std::to_string(line_) + ": " + what);
  }

  void spans(const std::string& text) {
    const std::string* file = nullptr;  // that the names after it are looked for in
    std::string path;
    for (std::size_t open = text.find('`'), last = 0; open != std::string::npos;) {
      const std::size_t close = text.find('`', open + 1);
      if (close == std::string::npos) return fault("a code span without its end");
      const std::string between = text.substr(last, open - last);
      const std::string span = text.substr(open + 1, close - open - 1);
      if (between != ": " && between != ", ") file = nullptr;
      if (is_path(span)) {
        path = resolved(span);
        file = path.empty() ? nullptr : &tree_.at(path);
        ++report_.files;
        if (path.empty()) fault("there is no file " + span);
      } else if (is_test(span)) {
        ++report_.tests;
        if (!has_test(span, file))
          fault(file != nullptr ? path + " has no test " + span : "there is no test " + span);
      } else if (file != nullptr) {
        ++report_.functions;
        if (!has_word(*file, span)) fault(path + " does not name " + span);
      } else if (span.starts_with("sharpen ")) {
        command(span);
      }
      last = close + 1;
      open = text.find('`', last);
    }
  }

  static bool is_path(const std::string& span) {
    static const std::regex pattern(R"([a-z_]+(/[a-z0-9_]+)+\.(hpp|cpp|md|txt|svg)|docs/Doxyfile)");
    return std::regex_match(span, pattern);
  }
  static bool is_test(const std::string& span) {
    static const std::regex pattern(R"([A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*)");
    return std::regex_match(span, pattern);
  }

  std::string resolved(const std::string& span) const {
    for (const char* folder : {"", "include/sharpen/", "src/", "tests/"})
      if (tree_.contains(folder + span)) return folder + span;
    return "";
  }

  bool has_test(const std::string& span, const std::string* file) const {
    const std::size_t dot = span.find('.');
    const std::regex pattern("(TEST|TEST_F|TEST_P|RC_GTEST_PROP)\\(\\s*" + span.substr(0, dot) +
                             ",\\s*" + span.substr(dot + 1) + "\\s*[,)]");
    if (file != nullptr) return std::regex_search(*file, pattern);
    return std::any_of(tree_.begin(), tree_.end(), [&](const auto& entry) {
      return entry.first.starts_with("tests/") && entry.first.ends_with("_test.cpp") &&
             entry.second.find(span.substr(dot + 1)) != std::string::npos &&
             std::regex_search(entry.second, pattern);
    });
  }

  void command(const std::string& text) {
    ++report_.commands;
    std::vector<std::string> words;
    static const std::regex blanks(R"(\s+)");
    std::copy(std::sregex_token_iterator(text.begin(), text.end(), blanks, -1), {},
              std::back_inserter(words));
    if (words.size() < 2) return fault("a command is missing in `" + text + "`");
    const auto commands = settings::commands();
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const auto& info) { return info.name == words[1]; });
    if (found == commands.end()) return fault("there is no command sharpen " + words[1]);
    for (const std::string& word : words) {
      if (word.starts_with("#")) return;  // a comment of the shell
      if (!word.starts_with("--") || word == "--help") continue;
      const std::string name = word.substr(2, word.find('=') - 2);
      if (!takes(found->command, name) && name != "print-config" && name != "config")
        fault("sharpen " + words[1] + " does not take --" + name);
    }
  }

  static bool takes(settings::Command command, std::string_view name) {
    const auto table = settings::table();
    return std::any_of(table.begin(), table.end(), [&](const settings::Setting& setting) {
      return setting.name == name && (setting.commands & command) != 0;
    });
  }

  void links(const std::string& text) {
    static const std::regex pattern(R"(\]\(([^)#:]*)(#[^)]*)?\))");
    for (std::sregex_iterator link(text.begin(), text.end(), pattern), none; link != none; ++link) {
      const std::string target = (*link)[1];
      if (target.empty()) continue;
      ++report_.links;
      if (!tree_.contains("docs/" + target)) fault("there is no docs/" + target);
    }
  }

  const Tree& tree_;
  PageReport report_;
  int line_ = 0;
};

}  // namespace sharpen::project
