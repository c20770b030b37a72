// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "sharpen/base/control.hpp"

namespace sharpen {

// Writes the text under a temporary name in the same folder and renames it to `file`, replacing
// what was there. A link stays, and what it leads to is written, there or not yet. A device or pipe
// is written to directly. A place that cannot be written to is an
// InputError; a write that fails halfway (a full disk) is a std::runtime_error. Either way nothing
// half-written is left, and what was there before stays; where the file system has files without a
// name, as Linux's own have, so it is when the program is killed while it writes. What a killed
// program has left under a temporary name, the next that writes the same file removes.
// Durable::yes: it is on the disk, name and all, when the call returns.
enum class Durable { no, yes };
void write_file(const std::filesystem::path& file, std::string_view text,
                Durable durable = Durable::no);
// Before work whose result is to be written there: throws the InputError that can be foreseen.
void check_writable(const std::filesystem::path& file);

// A lock (flock) on a file or folder that is there. The kernel lets go of it however the process
// ends, so that what nobody holds was left behind.
class PathLock {
 public:
  enum class If { free, waiting };  // taken only if it is free, or after whoever has it
  // While it waits it asks `stop`, and throws Interrupted; `say` is called when it gets long.
  PathLock(const std::filesystem::path& path, If when, const Stop& stop = {},
           const std::function<void()>& say = {});
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

  bool held() const { return state_ == State::held; }    // and the path still leads to it
  bool taken() const { return state_ == State::taken; }  // by another

 private:
  // unknown: it is not there (any more), or the file system has no locks.
  enum class State { held, taken, unknown };
  explicit PathLock(const std::filesystem::path& path);
  int fd_;
  State state_ = State::unknown;
};

// Where links to `file`, there or not yet, lead; in the folder's one true name, if it has one.
std::filesystem::path link_target(const std::filesystem::path& file);

}  // namespace sharpen
