#include "sharpen/base/new_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen {

namespace {

constexpr int kMostAttempts = 1000;

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse(const std::filesystem::path& file, int error) {
  const std::string name = file.string();
  throw InputError(printable(name, 4 * name.size()) + ": cannot be written: " + reason(error) +
                   (error == ENAMETOOLONG ? "; give it a shorter name"
                                          : "; check the folder and its permissions"));
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

// Where the name is so long that nothing can be added, without its end.
std::string temporary_name(const std::filesystem::path& target, int attempt) {
  constexpr std::size_t kLongest = 230;
  std::filesystem::path name = target;
  if (const std::string own = target.filename().string(); own.size() > kLongest)
    name.replace_filename(own.substr(0, kLongest));
  return name.string() + ".sharpen-tmp-" + std::to_string(attempt);
}

[[noreturn]] void fail_with_errno() { throw std::system_error(errno, std::generic_category()); }

// False, with errno, if it cannot be had.
bool try_lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) return false;
  return true;
}

bool wait_for_lock(int fd, const Stop& stop = {}, const std::function<void()>& say = {}) {
  for (int waits = 0; !try_lock(fd); ++waits) {
    if (errno != EWOULDBLOCK) return false;
    wait_for_others(waits, stop, say);
  }
  return true;
}

bool leads_to(const std::filesystem::path& path, int fd) {
  struct stat held {};
  struct stat there {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

// Whoever writes a temporary file has its lock.
void remove_abandoned(const std::string& temporary) {
  if (PathLock(temporary, PathLock::If::free).held()) ::unlink(temporary.c_str());
}

void sync(int fd) {
  if (::fsync(fd) != 0 && errno != EINVAL) fail_with_errno();  // EINVAL: nothing to be synced
}

void sync_folder_of(const std::filesystem::path& file) {
  const int fd = ::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder that may be written to and not read
  const int failed = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  if (failed != 0) throw std::system_error(failed, std::generic_category());
}

// A descriptor, and the temporary file behind it until it is kept; without a name if there is none
// or none yet.
class Output {
 public:
  Output(int fd, std::string temporary) : fd_(fd), temporary_(std::move(temporary)) {}
  ~Output() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (fd_ >= 0) ::close(fd_);  // last: until then its lock says that somebody writes it
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t put = ::write(fd_, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_with_errno();
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  // What only closing tells, such as a quota of a file system over the network; the lock stays.
  void check() const {
    const int again = ::dup(fd_);
    if (again < 0 || ::close(again) != 0) fail_with_errno();
  }
  // A file that has no name yet gets one: the target's if that is free, else a temporary one.
  bool give_name(const std::filesystem::path& target) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    for (int attempt = -1; temporary_.empty() && attempt < kMostAttempts; ++attempt) {
      const std::string name = attempt < 0 ? target.string() : temporary_name(target, attempt);
      if (attempt >= 0) remove_abandoned(name);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
        temporary_ = name;
      else if (errno != EEXIST)
        break;
    }
    return !temporary_.empty();
  }
  void keep_as(const std::filesystem::path& file) {
    if (temporary_ != file.string() && ::rename(temporary_.c_str(), file.c_str()) != 0)
      refuse(file, errno);
    temporary_.clear();
  }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string temporary_;
};

// A file without a name, which is gone with the program however that ends; -1 where the file
// system has none.
int nameless_beside(const std::filesystem::path& target) {
  return ::open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

// Opened anew, so that the user's mask decides the permissions, as for any new file.
Output temporary_beside(const std::filesystem::path& target) {
  for (int attempt = 0;; ++attempt) {
    std::string name = temporary_name(target, attempt);
    remove_abandoned(name);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && (errno != EEXIST || attempt == kMostAttempts)) refuse(target, errno);
    if (fd < 0) continue;
    wait_for_lock(fd);
    if (leads_to(name, fd)) return {fd, std::move(name)};
    ::close(fd);  // taken for abandoned before it was locked
  }
}

struct Destination {
  std::filesystem::path target;  // where links lead
  bool exists = false;
  struct stat info {};
};

Destination destination_of(const std::filesystem::path& file) {
  if (file.empty()) throw InputError("the file name is empty; name the file to write");
  Destination to{.target = file};
  to.exists = ::stat(file.c_str(), &to.info) == 0;
  if (!to.exists && errno != ENOENT) refuse(file, errno);
  if (to.exists && S_ISDIR(to.info.st_mode)) refuse(file, EISDIR);
  if (to.exists && ::access(file.c_str(), W_OK) != 0) refuse(file, errno);
  if (to.exists && !S_ISREG(to.info.st_mode)) return to;
  std::error_code ignored;
  if (std::filesystem::is_symlink(file, ignored)) to.target = link_target(file);
  if (::access(folder_of(to.target).c_str(), W_OK | X_OK) != 0) refuse(to.target, errno);
  return to;
}

void write_whole(const std::filesystem::path& file, std::string_view text, Durable durable) {
  const Destination to = destination_of(file);
  if (to.exists && !S_ISREG(to.info.st_mode)) {
    Output output(::open(file.c_str(), O_WRONLY | O_CLOEXEC), "");
    if (output.fd() < 0) refuse(file, errno);
    output.write(text);
    return output.check();
  }
  const auto fill_and_keep = [&](Output& output) {
    output.write(text);
    if (to.exists) static_cast<void>(::fchmod(output.fd(), to.info.st_mode & 0777));
    if (durable == Durable::yes) sync(output.fd());
    if (!output.give_name(to.target)) return false;
    output.check();
    output.keep_as(to.target);
    if (durable == Durable::yes) sync_folder_of(to.target);
    return true;
  };
  if (const int fd = nameless_beside(to.target); fd >= 0) {
    wait_for_lock(fd);
    Output nameless(fd, "");
    if (fill_and_keep(nameless)) return;
  }
  Output named = temporary_beside(to.target);
  fill_and_keep(named);
}

}  // namespace

PathLock::PathLock(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {}

PathLock::PathLock(const std::filesystem::path& path, If when, const Stop& stop,
                   const std::function<void()>& say)
    : PathLock(path) {
  if (fd_ < 0) return;
  if (when == If::waiting ? !wait_for_lock(fd_, stop, say) : !try_lock(fd_)) {
    if (errno == EWOULDBLOCK) state_ = State::taken;
  } else if (leads_to(path, fd_)) {
    state_ = State::held;
  }
}

PathLock::~PathLock() {
  if (fd_ >= 0) ::close(fd_);
}

void write_file(const std::filesystem::path& file, std::string_view text, Durable durable) {
  try {
    write_whole(file, text, durable);
  } catch (const std::system_error& error) {
    const std::string name = file.string();
    throw std::runtime_error(printable(name, 4 * name.size()) +
                             ": could not be written: " + reason(error.code().value()));
  }
}

void check_writable(const std::filesystem::path& file) { destination_of(file); }

std::filesystem::path link_target(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code failed;
  fs::path resolved = file;
  for (int links = 0; links < kMostLinks && fs::is_symlink(resolved, failed); ++links) {
    const fs::path target = fs::read_symlink(resolved, failed);
    if (failed) break;
    resolved = resolved.parent_path() / target;  // an absolute target stands alone
  }
  const fs::path folder =
      fs::canonical(resolved.has_parent_path() ? resolved.parent_path() : fs::path("."), failed);
  return failed ? resolved : folder / resolved.filename();
}

}  // namespace sharpen
