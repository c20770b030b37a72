#include "study/store_beside.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace fs = std::filesystem;

namespace {

// FILE and the ending where links to FILE, there or not yet, lead: as SQLite names what is beside
// it.
fs::path beside(const fs::path& file, std::string_view ending) {
  return link_target(file) += ending;
}

// `count` bytes from `offset` on, from the end if it is negative; "" if there are not so many.
std::string bytes_at(const fs::path& file, std::streamoff offset, std::size_t count) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(offset, offset < 0 ? std::ios::end : std::ios::beg);
  std::string bytes(count, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  return in ? bytes : std::string();
}

// The name of a file to be removed is followed by its length, a checksum and these bytes, and they
// are the journal's last.
bool names_a_file(const fs::path& journal) {
  return bytes_at(journal, -8, 8) == "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
}

// Bytes 18 and 19 of a database say how it is written and read: 1, with a journal; 2, with a log.
bool keeps_a_log(const fs::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const std::string header = bytes_at(file, 0, 20);
  return header.starts_with(kMagic) && (header[18] == 2 || header[19] == 2);
}

[[noreturn]] void fail_to_copy(const std::string& name, const std::string& why) {
  std::error_code none;
  throw InputError(fmt::format(
      "{}: was left in the middle of a write, and cannot be put in order in a copy in {} ({}); run "
      "the same `sharpen study` again, which puts it in order, or set TMPDIR to a folder with room",
      name, shown(fs::temp_directory_path(none)), why));
}

// False: they were written meanwhile.
bool copy_both(const fs::path& file, OrderedCopy& copy) {
  const std::array<std::pair<fs::path, fs::path>, 2> both = {
      {{file, copy.file}, {beside(file, "-journal"), copy.file.string() + "-journal"}}};
  // What a write changes. The journal goes when a writer has put the file in order: then there is
  // nothing to play back.
  const auto stamps = [&] {
    std::vector<std::pair<std::uintmax_t, fs::file_time_type>> found;
    std::error_code gone;
    for (const auto& [from, to] : both)
      found.emplace_back(fs::file_size(from, gone), fs::last_write_time(from, gone));
    return found;
  };
  const auto before = stamps();
  copy.bytes = 0;
  for (const auto& [from, to] : both) {
    fs::remove(to);
    if (!fs::exists(from)) continue;
    copy.bytes += fs::file_size(from);
    if (fs::space(*copy.folder).available < fs::file_size(from))
      throw fs::filesystem_error("", std::make_error_code(std::errc::no_space_on_device));
    fs::copy_file(from, to);
    // The copy has the rights of the original, which may be that nobody writes to it.
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
  }
  return stamps() == before;
}

}  // namespace

std::string shown(const fs::path& file) { return printable(file.string(), 4096); }

std::shared_ptr<const void> lock_to_write(const fs::path& file, const std::string& name) {
  const fs::path path = beside(file, ".lock");
  std::error_code failed;
  const auto status = fs::status(file, failed);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(fmt::format(
        "{}: is not a file, and a study is written to one; give another ‹--out›", name));
  // Again where the writer before removed it between our opening and our locking it.
  for (int tries = 0; tries < 1000; ++tries) {
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (made < 0)
      throw StoreFailure(
          fmt::format("{}: cannot be written: {}; name an ‹--out› that can be written to", name,
                      std::strerror(errno)));
    ::close(made);
    auto lock = std::make_unique<PathLock>(path, PathLock::If::free);
    if (lock->taken()) {
      Id holder = 0;
      std::ifstream(path) >> holder;
      throw InputError(fmt::format(
          "{}: another process{} is writing this study; wait for it, or give another ‹--out›", name,
          holder > 0 ? fmt::format(" ({})", holder) : ""));
    }
    if (!lock->held()) continue;
    // Only a courtesy to whoever is refused: a full disk shall not stop the reading of a study.
    std::ofstream(path) << ::getpid() << "\n";
    return {lock.release(), [path](const PathLock* held) {
              ::unlink(path.c_str());  // first: nobody else may hold what has no name
              delete held;
            }};
  }
  throw StoreFailure(
      fmt::format("{}: cannot be locked; name an ‹--out› on a disk of this machine", name));
}

void check_beside(const fs::path& file) {
  std::error_code failed;
  const fs::path log = beside(file, "-wal");
  if (keeps_a_log(file) || fs::exists(fs::symlink_status(log, failed)))
    throw InputError(fmt::format(
        "{}: is kept with a write-ahead log, and a study is not; bring it back with `PRAGMA "
        "journal_mode = DELETE` in the program that changed it, and see that {} is gone",
        shown(file), shown(log)));
  const fs::path journal = beside(file, "-journal");
  const auto status = fs::symlink_status(journal, failed);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status))
    throw InputError(
        fmt::format("{}: is not a file, and so no journal of a study; remove it", shown(journal)));
  if (names_a_file(journal))
    throw InputError(
        fmt::format("{}: is no journal of a study: it names another file, which would be deleted; "
                    "remove it, and do not trust {}, which it came with",
                    shown(journal), shown(file)));
}

OrderedCopy ordered_copy(const fs::path& file, const std::string& name, const Stop& stop,
                         const std::function<void()>& say) {
  try {
    std::string pattern = fs::temp_directory_path() / "sharpen-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) fail_to_copy(name, std::strerror(errno));
    OrderedCopy copy = {{new fs::path(pattern),
                         [](const fs::path* folder) {
                           std::error_code ignored;
                           fs::remove_all(*folder, ignored);
                           delete folder;
                         }},
                        fs::path(pattern) / "study.db"};
    for (int waits = 0; !copy_both(file, copy); ++waits) wait_for_others(waits, stop, say);
    check_beside(copy.file);  // again: of the copy it cannot change any more
    Connection connection(copy.file, SQLITE_OPEN_READWRITE);
    connection.distrust(copy.bytes);
    connection.put_in_order();
    return copy;
  } catch (const fs::filesystem_error& error) {
    fail_to_copy(name, error.code().message());
  } catch (const SqliteError& error) {
    if (error.code != SQLITE_FULL && error.code != SQLITE_IOERR && error.code != SQLITE_CANTOPEN)
      throw;
    fail_to_copy(name, error.what());
  }
}

fs::path set_aside(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  const std::string name = shown(file);
  const auto lock = lock_to_write(file, name);
  try {
    check_beside(file);
    Connection(file, SQLITE_OPEN_READWRITE).put_in_order();
  } catch (const std::runtime_error&) {
    // No database, or one that cannot be put in order: what is beside it goes with it.
  }
  fs::path other;
  for (int number = 1; other.empty() || fs::exists(other, error); ++number)
    other = file.parent_path() /
            fmt::format("{}-{}{}", file.stem().string(), number, file.extension().string());
  fs::rename(file, other, error);
  for (const char* ending : {"-journal", "-wal", "-shm"})
    if (std::error_code none;
        !error && fs::exists(fs::symlink_status(file.string() + ending, none)))
      fs::rename(file.string() + ending, other.string() + ending, error);
  if (error)
    throw StoreFailure(
        fmt::format("{}: cannot be renamed: {}; give another ‹--out›", name, error.message()));
  return other;
}

}  // namespace sharpen::study
