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
#include <nlohmann/json.hpp>
#include <optional>

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

std::string temporary_prefix(const fs::path& beside) {
  return "." + beside.filename().string() + ".sharpen-";
}

// Locked as long as its maker lives. Removed with what is ours in it, unless it was moved away.
class TemporaryFolder {
 public:
  TemporaryFolder(const fs::path& beside, const std::vector<std::string>& known) : known_(known) {
    while (path_.empty()) make(beside);
    // mkdtemp keeps others out; results get what the folder had, or what any new one gets.
    const mode_t mask = umask(0);
    umask(mask);
    struct stat former {};
    const bool replaces = ::stat(beside.c_str(), &former) == 0;
    if (replaces) static_cast<void>(!::chown(path_.c_str(), former.st_uid, former.st_gid));
    ::chmod(path_.c_str(), replaces ? former.st_mode & 07777 : 0777 & ~mask);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { remove_ours(path_, known_); }

  const fs::path& path() const { return path_; }

 private:
  void make(const fs::path& beside) {
    std::string name = (beside.parent_path() / (temporary_prefix(beside) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr)
      throw Failure(fmt::format("cannot make a folder in {}: {}", shown(beside.parent_path()),
                                std::strerror(errno)));
    lock_.emplace(name, PathLock::If::waiting);
    std::error_code ignored;
    if (fs::exists(name, ignored)) path_ = name;  // else taken for abandoned before it was locked
  }

  const std::vector<std::string>& known_;
  fs::path path_;
  std::optional<PathLock> lock_;
};

// What killed runs have left beside the folder.
void remove_abandoned(const fs::path& beside, const std::vector<std::string>& known) {
  const std::string prefix = temporary_prefix(beside);
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(beside.parent_path(), ignored))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  for (const fs::path& folder : found)
    if (const PathLock lock(folder, PathLock::If::free); lock.held()) remove_ours(folder, known);
}

void write_result(const fs::path& file, const std::string& text) {
  errno = 0;
  std::FILE* out = std::fopen(file.c_str(), "wb");
  bool fine = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const int reason = errno;
  if (out != nullptr) fine = std::fclose(out) == 0 && fine;
  if (!fine)
    throw Failure(fmt::format("cannot write {}: {}", shown(file.filename()),
                              std::strerror(reason != 0 ? reason : errno)));
}

[[noreturn]] void fail_move(const fs::path& to, int error, std::string_view rest = "") {
  throw Failure(fmt::format("cannot write to {}: {}{}", shown(to), std::strerror(error), rest));
}

// The metrics of a former result of this command; null if none lies here.
nlohmann::json former_result(const fs::path& folder, const std::string& command) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / kMetrics, ignored)) return nullptr;
  std::ifstream in(folder / kMetrics, std::ios::binary);
  nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  return json.is_object() && json.contains("command") && json["command"] == command ? json
                                                                                    : nullptr;
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error &&
         std::filesystem::is_regular_file(a, error);
}

void keep_inputs_from(const settings::Values& values, std::string_view output,
                      const std::filesystem::path& file) {
  for (const settings::Setting& input : settings::table())
    if (input.is(settings::input_file) && input.kind == settings::Kind::text &&
        input.taken_by(values.command()) && values.has(input.name) &&
        is_same_file(values.text(input.name), file))
      throw InputError(fmt::format("{} would replace what {} reads; give it another name",
                                   values.given_as(output), values.given_as(input.name)));
}

}  // namespace

std::string shown(const fs::path& path) { return shown_file(path.string()); }

OutputFolder::OutputFolder(const fs::path& folder, bool force, std::string command,
                           std::vector<std::string> known)
    : force_(force), command_(std::move(command)), known_(std::move(known)) {
  std::error_code error;
  folder_ = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error)
    throw InputError(fmt::format("out = {} cannot be used: {}", shown(folder), error.message()));
  // A slash at the end leaves an empty name.
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  check();
}

void OutputFolder::check() const {
  std::error_code ignored;
  if (fs::exists(folder_, ignored) && !fs::is_directory(folder_, ignored))
    throw InputError(
        fmt::format("out = {} is a file, not a folder; choose another name", shown(folder_)));
  if (!folder_.has_filename())
    throw InputError(
        fmt::format("out = {} cannot be replaced; name a folder in it", shown(folder_)));
  fs::path ancestor = folder_.parent_path();
  while (!fs::exists(ancestor, ignored) && ancestor.has_relative_path())
    ancestor = ancestor.parent_path();
  if (!fs::is_directory(ancestor, ignored))
    throw InputError(fmt::format("out = {} cannot be made: {} is not a folder", shown(folder_),
                                 shown(ancestor)));
  if (fs::exists(folder_, ignored) && access(folder_.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format(
        "out = {} may not be written to; change its permissions, or choose another folder",
        shown(folder_)));
  if (access(ancestor.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format("out = {} cannot be made: no permission to write to {}",
                                 shown(folder_), shown(ancestor)));
  for (const std::string& name : known_)
    if (fs::is_directory(fs::symlink_status(folder_ / name, ignored)))
      throw InputError(fmt::format("out = {} holds a folder called {}; choose another folder",
                                   shown(folder_), name));
  if (state() == State::foreign && !force_)
    throw InputError(
        fmt::format("out = {} is not empty and not a result of sharpen {} (it holds {}); choose "
                    "another folder, "
                    "or give ‹--force› to write into it, which keeps other files",
                    shown(folder_), command_, printable(first_stranger())));
}

std::string OutputFolder::first_stranger() const {
  std::vector<std::string> strangers, all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
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

void OutputFolder::write(const std::vector<std::pair<std::string, std::string>>& files) const {
  std::error_code error;
  fs::create_directories(folder_.parent_path(), error);
  if (error)
    throw Failure(fmt::format("cannot make {}: {}", shown(folder_.parent_path()), error.message()));
  remove_abandoned(folder_, known_);
  const TemporaryFolder temporary(folder_, known_);
  for (const auto& [name, text] : files) write_result(temporary.path() / name, text);
  move_in(temporary.path());
}

void OutputFolder::move_in(const fs::path& from) const {
  // One run at a time: two that end together must not mix their files. Whoever waited may find that
  // the folder was exchanged meanwhile.
  std::optional<PathLock> lock;
  for (int attempt = 0; attempt < 10 && !(lock && lock->held()); ++attempt)
    lock.emplace(folder_, PathLock::If::waiting);
  check();  // again: the work may have taken hours
  std::error_code error;
  const State now = state();
  // The folder somebody stands in stays the same folder.
  const bool stood_in = fs::equivalent(fs::current_path(error), folder_, error);
  if (now == State::foreign || stood_in) return replace_files(from);
  if (now == State::ours) {
    // Exchanged in one step; what was there is removed under the temporary name.
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) == 0) return;
    return replace_files(from);
  }
  if (std::rename(from.c_str(), folder_.c_str()) == 0) return;
  if (now == State::fresh && errno != ENOTEMPTY && errno != EEXIST) fail_move(folder_, errno);
  // An empty folder that cannot be replaced, such as a mount point, or another run came first.
  now == State::fresh ? move_in(from) : replace_files(from);
}

// One by one. Meanwhile metrics.json says that the folder is not whole, and it is the last to be
// replaced: at every moment there is one result, whole, or a folder that says it has none.
void OutputFolder::replace_files(const fs::path& from) const {
  // Only of a result that was ours may files be left over.
  const nlohmann::json former = former_result(folder_, command_);
  const bool replaces = former.is_object() && former.value("replaces", true);
  const nlohmann::json marker = {{"command", command_},
                                 {"replaces", replaces},
                                 {"incomplete",
                                  "this folder is being written, or its writing was "
                                  "cut short; run the same command again"}};
  write_result(from / kMarker, marker.dump(2) + "\n");
  const auto move = [&](const char* name, const char* as, std::string_view rest) {
    if (std::rename((from / name).c_str(), (folder_ / as).c_str()) != 0)
      fail_move(folder_, errno, rest);
  };
  move(kMarker, kMetrics, "");
  constexpr std::string_view kNow =
      "; its metrics.json says that it is not whole: run the same command again";
  std::error_code error;
  for (const std::string& name : known_) {
    if (name == kMetrics) continue;
    if (fs::exists(from / name, error)) {
      move(name.c_str(), name.c_str(), kNow);
    } else if (replaces && !fs::remove(folder_ / name, error) && error) {
      fail_move(folder_, error.value(), kNow);
    }
  }
  move(kMetrics, kMetrics, kNow);
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
