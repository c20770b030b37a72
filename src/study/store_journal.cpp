#include "study/store_journal.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "study/store_schema.hpp"
#include "study/store_sqlite.hpp"

namespace sharpen::study {

namespace fs = std::filesystem;

namespace {

std::string shown(const fs::path& file) { return printable(file.string(), kLongestName); }

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

// What a write changes.
struct Stamp {
  std::uintmax_t bytes = 0;
  fs::file_time_type time;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& file) {
  std::error_code failed;
  Stamp stamp{.bytes = fs::file_size(file, failed), .time = {}};
  if (!failed) stamp.time = fs::last_write_time(file, failed);
  // The journal goes when a writer has put the file in order.
  if (failed) throw SqliteError(SQLITE_BUSY, failed.message());
  return stamp;
}

[[noreturn]] void fail_to_copy(const std::string& name, const fs::path& where,
                               const std::string& why) {
  throw InputError(fmt::format(
      "{}: was left in the middle of a write, and cannot be put in order in a copy in {} ({}); run "
      "the same `sharpen study` again, which puts it in order, or set TMPDIR to a folder with room",
      name, shown(where), why));
}

}  // namespace

fs::path beside(const fs::path& file, std::string_view ending) { return led_to(file) += ending; }

void check_beside(const fs::path& file) {
  std::error_code failed;
  const fs::path log = beside(file, "-wal");
  if (keeps_a_log(file) || fs::exists(fs::symlink_status(log, failed)))
    throw InputError(
        fmt::format("{}: is kept with a write-ahead log, and a study is not; bring it back with "
                    "`PRAGMA journal_mode = DELETE` in the program that changed it, and see that "
                    "{} is gone",
                    shown(file), shown(log)));
  const fs::path journal = beside(file, "-journal");
  const auto status = fs::symlink_status(journal, failed);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status))
    throw InputError(
        fmt::format("{}: is not a file, and so no journal of a study; remove it", shown(journal)));
  if (names_a_file(journal))
    throw InputError(fmt::format(
        "{}: is no journal of a study: it names another file, which would be deleted; remove it, "
        "and do not trust {}, which it came with",
        shown(journal), shown(file)));
}

OrderedCopy::OrderedCopy(const fs::path& file, const std::string& name) {
  std::error_code failed;
  const fs::path where = fs::temp_directory_path(failed);
  if (failed) fail_to_copy(name, where, failed.message());
  std::string pattern = where / "sharpen-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) fail_to_copy(name, where, std::strerror(errno));
  folder_ = pattern;
  try {
    copy(file, name);
    check_beside(this->file());  // again: of the copy it cannot change any more
    put_in_order(name);
  } catch (...) {
    remove();
    throw;
  }
}

OrderedCopy::~OrderedCopy() { remove(); }

void OrderedCopy::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void OrderedCopy::copy(const fs::path& file, const std::string& name) {
  const std::array<fs::path, 2> from = {file, beside(file, "-journal")};
  const std::array<fs::path, 2> to = {this->file(), this->file() += "-journal"};
  const std::array<Stamp, 2> before = {stamp_of(from[0]), stamp_of(from[1])};
  bytes_ = before[0].bytes + before[1].bytes;
  std::error_code failed;
  const auto room = fs::space(folder_, failed);
  if (!failed && room.available < bytes_) fail_to_copy(name, folder_.parent_path(), "no room");
  for (std::size_t at = 0; at < 2; ++at) {
    failed.clear();
    fs::copy_file(from[at], to[at], failed);
    // The copy has the rights of the original, which may be that nobody writes to it.
    if (!failed) fs::permissions(to[at], fs::perms::owner_read | fs::perms::owner_write, failed);
    if (failed) fail_to_copy(name, folder_.parent_path(), failed.message());
  }
  if (std::array<Stamp, 2>{stamp_of(from[0]), stamp_of(from[1])} != before)
    throw SqliteError(SQLITE_BUSY, "written while it was copied");
}

void OrderedCopy::put_in_order(const std::string& name) const {
  try {
    Connection connection(file(), Connection::Mode::write);
    connection.distrust(bytes_);
    connection.number("SELECT count(*) FROM sqlite_schema");
  } catch (const SqliteError& error) {
    const int code = error.code & 0xff;
    if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
      fail_to_copy(name, folder_.parent_path(), error.what());
    throw;
  }
}

}  // namespace sharpen::study
