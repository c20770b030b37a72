// The rules about who may include what, as a pure function of file names and texts.
//
// Folders follow the data, left to right; a file may include its own folder and those to its left:
//   base -> market -> risk -> layer -> select -> baseline -> solve -> trade -> learn -> backtest
//     -> study -> report -> command
// Public headers include only the standard library and public headers. The program includes only
// its own files, public headers, and third-party headers.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sharpen::project {

struct SourceFile {
  std::string path;  // from the root of the tree: "src/risk/dense.cpp"
  std::string text;
};

struct Include {
  int line = 0;
  std::string target;  // what stands between the quotes or brackets; empty for a macro
};

inline std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*(?:[<"]([^>"]+)[>"])?)");
  std::vector<Include> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) found.push_back({number, match[1]});
  }
  return found;
}

// The place of a folder in the order, or -1.
inline int place_of(std::string_view folder) {
  constexpr std::array<std::string_view, 13> kOrder = {
      "base",  "market", "risk",     "layer", "select", "baseline", "solve",
      "trade", "learn",  "backtest", "study", "report", "command"};
  const auto found = std::find(kOrder.begin(), kOrder.end(), folder);
  return found == kOrder.end() ? -1 : static_cast<int>(found - kOrder.begin());
}

inline bool is_standard_header(const std::string& name) {
  static const std::set<std::string> kHeaders = {"algorithm",
                                                 "any",
                                                 "array",
                                                 "atomic",
                                                 "barrier",
                                                 "bit",
                                                 "bitset",
                                                 "charconv",
                                                 "chrono",
                                                 "cassert",
                                                 "cctype",
                                                 "cerrno",
                                                 "cfenv",
                                                 "cfloat",
                                                 "cinttypes",
                                                 "climits",
                                                 "clocale",
                                                 "cmath",
                                                 "compare",
                                                 "complex",
                                                 "concepts",
                                                 "condition_variable",
                                                 "coroutine",
                                                 "csetjmp",
                                                 "csignal",
                                                 "cstdarg",
                                                 "cstddef",
                                                 "cstdint",
                                                 "cstdio",
                                                 "cstdlib",
                                                 "cstring",
                                                 "ctime",
                                                 "cuchar",
                                                 "cwchar",
                                                 "cwctype",
                                                 "deque",
                                                 "exception",
                                                 "execution",
                                                 "filesystem",
                                                 "format",
                                                 "forward_list",
                                                 "fstream",
                                                 "functional",
                                                 "future",
                                                 "initializer_list",
                                                 "iomanip",
                                                 "ios",
                                                 "iosfwd",
                                                 "iostream",
                                                 "istream",
                                                 "iterator",
                                                 "latch",
                                                 "limits",
                                                 "list",
                                                 "locale",
                                                 "map",
                                                 "memory",
                                                 "memory_resource",
                                                 "mutex",
                                                 "new",
                                                 "numbers",
                                                 "numeric",
                                                 "optional",
                                                 "ostream",
                                                 "queue",
                                                 "random",
                                                 "ranges",
                                                 "ratio",
                                                 "regex",
                                                 "scoped_allocator",
                                                 "semaphore",
                                                 "set",
                                                 "shared_mutex",
                                                 "source_location",
                                                 "span",
                                                 "sstream",
                                                 "stack",
                                                 "stdexcept",
                                                 "stop_token",
                                                 "streambuf",
                                                 "string",
                                                 "string_view",
                                                 "syncstream",
                                                 "system_error",
                                                 "thread",
                                                 "tuple",
                                                 "type_traits",
                                                 "typeindex",
                                                 "typeinfo",
                                                 "unordered_map",
                                                 "unordered_set",
                                                 "utility",
                                                 "valarray",
                                                 "variant",
                                                 "vector",
                                                 "version"};
  return kHeaders.contains(name);
}

inline std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
  return parts;
}

// Where a file of the tree stands. The umbrella header include/sharpen/<name>.hpp has no folder.
enum class Realm { public_header, library, program, elsewhere };

struct Place {
  Realm realm = Realm::elsewhere;
  std::string folder;
};

inline Place place_in_tree(const std::string& path) {
  const auto parts = parts_of(path);
  if (parts.size() >= 3 && parts[0] == "include" && parts[1] == "sharpen")
    return {Realm::public_header, parts.size() > 3 ? parts[2] : ""};
  if (parts.size() >= 2 && parts[0] == "src")
    return {Realm::library, parts.size() > 2 ? parts[1] : ""};
  if (parts.size() >= 2 && parts[0] == "app") return {Realm::program, ""};
  return {};
}

// What is wrong with one include of a file; empty if nothing is.
inline std::string fault_of(const Place& from, const std::string& from_path,
                            const std::string& target, const std::set<std::string>& tree) {
  if (target.empty()) return "includes a macro, which hides what it includes";
  if (target.find("..") != std::string::npos)
    return "includes " + target + ": write the path from include/ or src/";

  const auto parts = parts_of(target);
  const bool is_public = parts[0] == "sharpen" && parts.size() > 1;
  const std::string beside = from_path.substr(0, from_path.rfind('/') + 1) + target;
  const bool is_beside = !is_public && tree.contains(beside);
  const bool is_private = !is_public && !is_beside && tree.contains("src/" + target);

  if (from.realm == Realm::public_header && !is_public && !is_standard_header(target))
    return "is a public header and includes " + target +
           ": only the standard library and sharpen/... may be used there";
  if (from.realm == Realm::program && is_private)
    return "belongs to the program and includes the private header " + target;
  if (is_public && !tree.contains("include/" + target))
    return "includes " + target + ", which is not in include/";
  if (from.realm == Realm::program || !(is_public || is_private)) return "";
  if (is_public && parts.size() == 2)
    return from.folder.empty() ? "" : "includes the umbrella header " + target;

  const std::string& to = is_public ? parts[1] : parts[0];
  if (place_of(to) < 0) return "includes " + target + ", whose folder has no place in the order";
  if (!from.folder.empty() && place_of(to) > place_of(from.folder))
    return "is in " + from.folder + " and includes " + target + ", which lies to its right";
  return "";
}

// One line per broken rule, "path:line: what"; empty if the files keep the rules.
inline std::vector<std::string> include_violations(const std::vector<SourceFile>& files) {
  std::set<std::string> tree;
  for (const SourceFile& file : files) tree.insert(file.path);

  std::vector<std::string> violations;
  for (const SourceFile& file : files) {
    const Place from = place_in_tree(file.path);
    if (from.realm == Realm::elsewhere) continue;
    const bool needs_folder = from.realm == Realm::library ||
                              (from.realm == Realm::public_header && !from.folder.empty());
    if (needs_folder && place_of(from.folder) < 0)
      violations.push_back(file.path + ": is in a folder that has no place in the order");
    for (const Include& include : includes_of(file.text)) {
      const std::string fault = fault_of(from, file.path, include.target, tree);
      if (!fault.empty())
        violations.push_back(file.path + ":" + std::to_string(include.line) + ": " + fault);
    }
  }
  return violations;
}

}  // namespace sharpen::project
