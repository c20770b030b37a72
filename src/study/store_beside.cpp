// What lies beside a study's file: what SQLite would act upon, and the lock of its writer.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

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

// The first bytes of a journal, and its last if it names a file to be removed.
constexpr std::string_view kJournalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

bool names_a_file(const fs::path& journal) { return bytes_at(journal, -8, 8) == kJournalMagic; }

// Bytes 18 and 19 of a database say how it is written and read: 1, with a journal; 2, with a log.
bool keeps_a_log(const fs::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const std::string header = bytes_at(file, 0, 20);
  return header.starts_with(kMagic) && (header[18] == 2 || header[19] == 2);
}

// A journal says at its sixteenth byte how many pages the file had, and SQLite makes it so long
// again: as long as both are together at the most, or in a study from elsewhere a file of holes. No
// page has fewer than 512 bytes.
bool makes_holes(const fs::path& journal, const fs::path& file) {
  const std::string header = bytes_at(journal, 0, 20);
  if (!header.starts_with(kJournalMagic)) return false;
  std::uintmax_t pages = 0;
  for (const char byte : header.substr(16)) pages = pages << 8 | static_cast<unsigned char>(byte);
  std::error_code gone;
  const std::uintmax_t both = fs::file_size(file, gone) + fs::file_size(journal, gone);
  return !gone && 512 * pages > both;
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
  const std::string_view harm =
      names_a_file(journal)        ? "it names another file, which would be deleted"
      : makes_holes(journal, file) ? "it would make the file longer than it can have been"
                                   : "";
  if (!harm.empty())
    throw InputError(fmt::format(
        "{}: is no journal of a study: {}; remove it, and do not trust {}, which it came with",
        shown(journal), harm, shown(file)));
}

fs::path set_aside(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  const std::string name = shown(file);
  const auto lock = lock_to_write(file, name);
  try {
    check_beside(file);
    Connection(file, SQLITE_OPEN_READWRITE).number("PRAGMA page_count");  // undoes a killed write
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
