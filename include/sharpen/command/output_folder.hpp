// A folder of results, written whole or not at all: into a temporary folder beside it, which then
// takes its name; or in it, where nothing can be written beside it or moved from there (a mount
// point). A folder that holds something else is refused, or, by force, gets our files
// beside what it holds: nothing that is not ours is ever removed.
//
// Where files must be replaced one by one (beside others, in the folder one stands in or that is a
// mount point, on file systems that exchange no names), metrics.json first becomes a note that the
// folder is not whole,
// `{"command": ..., "incomplete": ...}`, and last the new one. Readers refuse such a folder; the
// next run replaces it.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::command {

// Whether both names lead to one regular file.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// Whether a result of the command lies there whose writing was cut short.
bool is_incomplete(const std::filesystem::path& folder, const std::string& command);

// Its name, printable and whole.
std::string shown(const std::filesystem::path& path);

class OutputFolder {
 public:
  // `known`: every name that `command` may write, metrics.json among them. An earlier result of
  // this command may be replaced. Throws InputError now, before the work, for a folder that
  // cannot be used.
  // setting: that names the folder, for messages.
  OutputFolder(const std::filesystem::path& folder, bool force, std::string command,
               std::vector<std::string> known, std::string setting = "out");

  // Names and contents, metrics.json among them. Throws Failure if something cannot be written,
  // leaving what was there or a folder that says it is not whole. Removes what runs that were
  // killed have left. Whoever has locked the folder is waited for: `log` is told so, and `stop`
  // ends it with Interrupted.
  using Files = std::vector<std::pair<std::string, std::string>>;
  void write(const Files& files, const Log& log = {}, const Stop& stop = {}) const;

 private:
  enum class State { fresh, empty, ours, foreign };
  State state() const;
  std::string first_stranger() const;  // "" if there is none
  void check() const;
  // From a temporary folder in `parent`. 0, or why that is no place to do it from.
  int put(const std::filesystem::path& parent, const Files& files, const Log& log,
          const Stop& stop) const;
  int move_in(const std::filesystem::path& from, const Log& log, const Stop& stop) const;
  int replace_files(const std::filesystem::path& from) const;

  std::filesystem::path folder_;  // absolute, links resolved
  bool force_;
  std::string command_;
  std::vector<std::string> known_;
  std::string setting_;
};

// A command never writes over what it reads. Throws InputError if a file that would be written (by
// these settings) is one that is read, or would be written twice; or, of the folder that a setting
// names, files of these names.
void keep_inputs(const settings::Values& values, std::initializer_list<std::string_view> outputs);
void keep_inputs(const settings::Values& values, std::string_view output, const std::string& folder,
                 std::span<const std::string> names);

}  // namespace sharpen::command
