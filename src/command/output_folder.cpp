#include "sharpen/command/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include "base/json_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

namespace fs = std::filesystem;

namespace {

// Where a result is replaced file by file, this stands in place of its metrics meanwhile.
constexpr const char* kMetrics = "metrics.json";
constexpr const char* kMarker = "incomplete.json";

// Removes our files from a folder, and the folder if nothing is left: what somebody put there at
// the last moment is not ours to remove.
void remove_ours(const fs::path& folder, const std::vector<std::string>& known) {
  std::error_code ignored;
  for (const std::string& name : known) fs::remove(folder / name, ignored);
  fs::remove(folder / kMarker, ignored);
  ::rmdir(folder.c_str());
}

// Of a name so long that nothing can be added, without its end.
std::string temporary_prefix(const fs::path& folder) {
  constexpr std::size_t kLongest = 225;
  return "." + folder.filename().string().substr(0, kLongest) + ".sharpen-";
}

std::optional<dev_t> device_of(const fs::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? std::optional(found.st_dev) : std::nullopt;
}

// Locked as long as its maker lives. Removed with what is ours in it, unless it was moved away.
class TemporaryFolder {
 public:
  // In `parent`, for what `folder` is to hold.
  TemporaryFolder(const fs::path& parent, const fs::path& folder,
                  const std::vector<std::string>& known)
      : known_(known) {
    // Results get the permissions that the folder had, or what any new one gets.
    struct stat former {};
    const bool replaces = ::stat(folder.c_str(), &former) == 0;
    // A name is never made twice: one that was taken for abandoned before it was locked must not
    // come back as the folder of another run.
    const fs::path prefix = parent / temporary_prefix(folder);
    std::random_device random;
    while (path_.empty() && error_ == 0)
      make(fmt::format("{}{:08x}{:08x}", prefix.string(), random(), random()),
           replaces ? 0700 : 0777);
    if (!replaces || error_ != 0) return;
    static_cast<void>(!::chown(path_.c_str(), former.st_uid, former.st_gid));
    ::chmod(path_.c_str(), former.st_mode & 07777);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    if (!path_.empty()) remove_ours(path_, known_);
  }

  const fs::path& path() const { return path_; }
  int error() const { return error_; }  // why there is none; 0: there is

 private:
  void make(const std::string& name, mode_t mode) {
    if (::mkdir(name.c_str(), mode) != 0) {
      if (errno != EEXIST) error_ = errno;
      return;
    }
    lock_.emplace(name, PathLock::If::waiting);
    std::error_code ignored;
    if (fs::exists(name, ignored)) path_ = name;  // else taken for abandoned before it was locked
  }

  const std::vector<std::string>& known_;
  fs::path path_;
  int error_ = 0;
  std::optional<PathLock> lock_;
};

// What killed runs have left for the folder in `parent`.
void remove_abandoned(const fs::path& parent, const fs::path& folder,
                      const std::vector<std::string>& known) {
  const std::string prefix = temporary_prefix(folder);
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  for (const fs::path& left : found)
    if (const PathLock lock(left, PathLock::If::free); lock.held()) remove_ours(left, known);
}

void write_result(const fs::path& file, const std::string& text) {
  errno = 0;
  std::FILE* out = std::fopen(file.c_str(), "wb");
  bool fine = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const int reason = errno;
  if (out != nullptr) fine = std::fclose(out) == 0 && fine;
  if (!fine)
    throw Failure(fmt::format("cannot write {}: {}; make room, or choose another folder",
                              shown(file.filename()), std::strerror(reason != 0 ? reason : errno)));
}

[[noreturn]] void fail_move(const fs::path& to, int error, std::string_view rest = "") {
  throw Failure(fmt::format("cannot write to {}: {}{}", shown(to), std::strerror(error), rest));
}

// The metrics of a former result of this command; null if none lies here.
nlohmann::json former_result(const fs::path& folder, const std::string& command) {
  std::error_code ignored;
  const fs::path file = folder / kMetrics;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kLongestJson)
    return nullptr;
  std::ifstream in(file, std::ios::binary);
  nlohmann::json json = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
  return json.is_object() && json.contains("command") && json["command"] == command ? json
                                                                                    : nullptr;
}

// What is read whole before it is written over, whole or not at all, may lead from day to day.
bool may_replace(std::string_view output, std::string_view input) {
  return (output == "out" && input == "previous") || (output == "out-dir" && input == "positions");
}

void keep_inputs_from(const settings::Values& values, std::string_view output,
                      const std::filesystem::path& file) {
  for (const settings::Setting& input : settings::table())
    if (input.is(settings::input_file | settings::of_limits | settings::names_file) &&
        input.kind == settings::Kind::text && input.taken_by(values.command()) &&
        values.has(input.name) && !may_replace(output, input.name) &&
        is_same_file(values.text(input.name), file))
      throw InputError(fmt::format("{} would replace what {} reads; give it another name",
                                   values.given_as(output), values.given_as(input.name)));
}

}  // namespace

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error && fs::is_regular_file(a, error);
}

bool is_incomplete(const fs::path& folder, const std::string& command) {
  return former_result(folder, command).contains("incomplete");
}

std::string shown(const fs::path& path) { return shown_file(path.string()); }

OutputFolder::OutputFolder(const fs::path& folder, bool force, std::string command,
                           std::vector<std::string> known, std::string setting)
    : force_(force),
      command_(std::move(command)),
      known_(std::move(known)),
      setting_(std::move(setting)) {
  std::error_code error;
  folder_ = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error)
    throw InputError(fmt::format("{} = {} cannot be used: {}; choose another name", setting_,
                                 shown(folder), error.message()));
  // A slash at the end leaves an empty name.
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  check();
}

void OutputFolder::check() const {
  std::error_code ignored;
  if (fs::exists(folder_, ignored) && !fs::is_directory(folder_, ignored))
    throw InputError(fmt::format("{} = {} is a file, not a folder; choose another name", setting_,
                                 shown(folder_)));
  if (!folder_.has_filename())
    throw InputError(
        fmt::format("{} = {} cannot be replaced; name a folder in it", setting_, shown(folder_)));
  fs::path ancestor = folder_.parent_path();
  while (!fs::exists(ancestor, ignored) && ancestor.has_relative_path())
    ancestor = ancestor.parent_path();
  if (!fs::is_directory(ancestor, ignored))
    throw InputError(fmt::format("{} = {} cannot be made: {} is not a folder; choose another name",
                                 setting_, shown(folder_), shown(ancestor)));
  const bool exists = fs::exists(folder_, ignored);
  if (exists && access(folder_.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format(
        "{} = {} may not be written to; change its permissions, or choose another folder", setting_,
        shown(folder_)));
  if (!exists && access(ancestor.c_str(), W_OK | X_OK) != 0)
    throw InputError(
        fmt::format("{} = {} cannot be made: no permission to write to {}; change its "
                    "permissions, or choose another folder",
                    setting_, shown(folder_), shown(ancestor)));
  for (const std::string& name : known_)
    if (fs::is_directory(fs::symlink_status(folder_ / name, ignored)))
      throw InputError(fmt::format("{} = {} holds a folder called {}; choose another folder",
                                   setting_, shown(folder_), name));
  if (state() == State::foreign && !force_)
    throw InputError(
        fmt::format("{} = {} is not empty and not a result of sharpen {} (it holds {}); choose "
                    "another folder, "
                    "or give ‹--force› to write into it, which keeps other files",
                    setting_, shown(folder_), command_, printable(first_stranger())));
}

std::string OutputFolder::first_stranger() const {
  std::vector<std::string> strangers, all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(temporary_prefix(folder_))) continue;
    all.push_back(name);
    if (std::ranges::find(known_, name) == known_.end()) strangers.push_back(name);
  }
  std::ranges::sort(strangers);
  std::ranges::sort(all);
  if (!strangers.empty()) return strangers.front();
  return !former_result(folder_, command_).is_null() || all.empty() ? std::string() : all.front();
}

OutputFolder::State OutputFolder::state() const {
  std::error_code error;
  if (!fs::exists(folder_, error)) return State::fresh;
  if (fs::is_empty(folder_, error) && !error) return State::empty;
  return first_stranger().empty() && !error ? State::ours : State::foreign;
}

void OutputFolder::write(const Files& files, const Log& log, const Stop& stop) const {
  const fs::path parent = folder_.parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error)
    throw Failure(fmt::format("cannot make {}: {}; choose another {}", shown(parent),
                              error.message(), reference("--" + setting_)));
  for (const fs::path& place : {parent, folder_}) remove_abandoned(place, folder_, known_);
  // What cannot be moved in from beside, because it is mounted there, is written inside at once.
  const bool mounted = device_of(folder_) && device_of(folder_) != device_of(parent);
  int failed = mounted ? EXDEV : put(parent, files, log, stop);
  const bool elsewhere = failed == EXDEV || failed == EACCES || failed == EPERM || failed == EROFS;
  if (elsewhere && fs::exists(folder_, error)) failed = put(folder_, files, log, stop);
  if (failed != 0) fail_move(folder_, failed, "; choose another " + reference("--" + setting_));
}

int OutputFolder::put(const fs::path& parent, const Files& files, const Log& log,
                      const Stop& stop) const {
  const TemporaryFolder temporary(parent, folder_, known_);
  if (temporary.error() != 0) return temporary.error();
  for (const auto& [name, text] : files) write_result(temporary.path() / name, text);
  return move_in(temporary.path(), log, stop);
}

int OutputFolder::move_in(const fs::path& from, const Log& log, const Stop& stop) const {
  // One run at a time: two that end together must not mix their files. Whoever waited may find that
  // the folder was exchanged meanwhile.
  std::optional<PathLock> lock;
  for (int attempt = 0; attempt < 10 && !(lock && lock->held()); ++attempt)
    lock.emplace(folder_, PathLock::If::waiting, stop, [&] {
      log.warning(fmt::format("{}: another program has it locked; waiting until it lets go",
                              shown(folder_)));
    });
  check();  // again: the work may have taken hours
  std::error_code error;
  const State now = state();
  // The folder somebody stands in stays the same folder.
  const bool stood_in = fs::equivalent(fs::current_path(error), folder_, error);
  if (now == State::foreign || stood_in) return replace_files(from);
  if (now == State::ours) {
    // Exchanged in one step; what was there is removed under the temporary name.
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) == 0)
      return 0;
    return replace_files(from);
  }
  if (std::rename(from.c_str(), folder_.c_str()) == 0) return 0;
  if (now == State::fresh && errno != ENOTEMPTY && errno != EEXIST) return errno;
  // An empty folder that cannot be replaced, such as a mount point, or another run came first.
  return now == State::fresh ? move_in(from, log, stop) : replace_files(from);
}

// One by one. Meanwhile metrics.json says that the folder is not whole, and it is the last to be
// replaced: at every moment there is one result, whole, or a folder that says it has none.
int OutputFolder::replace_files(const fs::path& from) const {
  // Only of a result that was ours may files be left over.
  const nlohmann::json former = former_result(folder_, command_);
  const bool replaces = former.is_object() && former.value("replaces", true);
  const nlohmann::json marker = {{"command", command_},
                                 {"replaces", replaces},
                                 {"incomplete",
                                  "this folder is being written, or its writing was "
                                  "cut short; run the same command again"}};
  write_result(from / kMarker, marker.dump(2) + "\n");
  const auto move = [&](const char* name, const char* as) {
    return std::rename((from / name).c_str(), (folder_ / as).c_str()) == 0;
  };
  if (!move(kMarker, kMetrics)) return errno;
  constexpr std::string_view kNow =
      "; its metrics.json says that it is not whole: run the same command again";
  std::error_code error;
  for (const std::string& name : known_) {
    if (name == kMetrics) continue;
    if (fs::exists(from / name, error)) {
      if (!move(name.c_str(), name.c_str())) fail_move(folder_, errno, kNow);
    } else if (replaces && !fs::remove(folder_ / name, error) && error) {
      fail_move(folder_, error.value(), kNow);
    }
  }
  if (!move(kMetrics, kMetrics)) fail_move(folder_, errno, kNow);
  return 0;
}

void keep_inputs(const settings::Values& values, std::initializer_list<std::string_view> outputs) {
  std::vector<std::pair<std::string_view, std::filesystem::path>> written;
  for (const std::string_view output : outputs) {
    if (!values.takes(output) || !values.has(output)) continue;
    keep_inputs_from(values, output, values.text(output));
    const std::filesystem::path file = link_target(values.text(output));
    for (const auto& [other, name] : written)
      if (name == file)
        throw InputError(fmt::format("{} and {} are the same file; give one of them another name",
                                     values.given_as(other), values.given_as(output)));
    written.emplace_back(output, file);
  }
}

void keep_inputs(const settings::Values& values, std::string_view output, const std::string& folder,
                 std::span<const std::string> names) {
  for (const std::string& name : names)
    keep_inputs_from(values, output, std::filesystem::path(folder) / name);
}

}  // namespace sharpen::command
