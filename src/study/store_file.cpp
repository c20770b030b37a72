// A study's file, opened for reading only, and what is said of one that cannot be read.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/store_journal.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

constexpr std::uintmax_t kAnySize = std::numeric_limits<std::uintmax_t>::max();

// `most`: bytes that were really there; a journal can make a file of holes longer than that.
template <class Read>
auto read_file(const std::filesystem::path& file, const Read& read, const std::string& name,
               std::uintmax_t most) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  if (!failed && bytes == 0)
    throw InputError(
        fmt::format("{}: is empty: its study has not begun; run `sharpen study` again", name));
  Connection connection(file, Connection::Mode::read);
  connection.distrust(std::min(bytes, most));
  return read(connection);
}

// What `read` finds in a file that may come from anyone, or why nothing can be found there.
template <class Read>
auto read_any(const std::filesystem::path& file, const Read& read) {
  const std::string name = printable(file.string(), kLongestName);
  std::error_code failed;
  const auto status = std::filesystem::status(file, failed);
  if (!std::filesystem::status_known(status))
    throw InputError(fmt::format("{}: cannot be read: {}; check the folder and its permissions",
                                 name, failed.message()));
  if (!std::filesystem::exists(status))
    throw InputError(
        fmt::format("{}: does not exist; name the study.db that `sharpen study --out` "
                    "has written",
                    name));
  if (std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: is a folder; name the study.db in it", name));
  if (!std::filesystem::is_regular_file(status))
    throw InputError(fmt::format("{}: is not a file; name a study.db", name));
  try {
    try {
      check_beside(file);
      return read_file(file, read, name, kAnySize);
    } catch (const SqliteError& error) {
      if (error.code != SQLITE_READONLY_ROLLBACK) throw;
      // A process that was killed in the middle of a write has left a journal beside the file.
      const OrderedCopy copy(file, name);
      return read_file(copy.file(), read, name, copy.bytes());
    }
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format(
        "{}: is not a study that can be read: {}; name the study.db of `sharpen study`, or run the "
        "study again",
        name, misfit.what()));
  } catch (const SqliteError& error) {
    const int code = error.code & 0xff;
    if (code == SQLITE_NOTADB)
      throw InputError(
          fmt::format("{}: is not a study: it is no SQLite file; name the study.db "
                      "that `sharpen study --out` has written",
                      name));
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
      throw InputError(fmt::format("{}: is being written at this moment; try again", name));
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    if (code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_PERM)
      throw InputError(fmt::format("{}: cannot be read: {}; check the file and its permissions",
                                   name, error.what()));
    throw InputError(fmt::format("{}: is damaged: {}; copy it again, or run the study again", name,
                                 error.what()));
  }
}

}  // namespace

Results read_store(const std::filesystem::path& file, Detail detail) {
  return read_any(file, [&](Connection& connection) { return read_contents(connection, detail); });
}

std::set<std::string> kept_in(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  return read_any(file, [](Connection& connection) {
    sqlite3_limit(connection.get(), SQLITE_LIMIT_LENGTH, kLongestBlob);  // of rows, not of keys
    Transaction snapshot(connection, false);
    check_schema(connection);
    std::set<std::string> keys;
    Statement rows(connection, "SELECT key FROM expectations ORDER BY key");
    while (rows.step()) {
      std::string key = rows.text(0, kLongestText);
      if (!keys.empty() && key <= *keys.rbegin()) throw Misfit("its rows are not in order");
      keys.insert(keys.end(), std::move(key));
    }
    return keys;
  });
}

}  // namespace sharpen::study
