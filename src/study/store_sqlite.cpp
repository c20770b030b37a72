#include "study/store_sqlite.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "sharpen/base/text.hpp"

namespace sharpen::study {

namespace {

constexpr int kStepsPerCall = 1000;
constexpr std::uintmax_t kLongestText = 4 << 20;
constexpr std::uintmax_t kSlack = 1 << 20;  // bytes that the smallest of files may hand out

}  // namespace

Connection::Connection(const std::filesystem::path& file, int flags, Stop stop,
                       std::function<void()> say)
    : stop_(std::move(stop)), say_(std::move(say)) {
  // A name that begins with a colon or "file:" would mean something else.
  const std::string name = file.is_absolute() ? file.string() : "./" + file.string();
  const int code = sqlite3_open_v2(name.c_str(), &database_,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    sqlite3_close_v2(database_);
    throw SqliteError(code, sqlite3_errstr(code));
  }
  // Nothing may be thrown through SQLite. `waits`: how often it has slept for this lock.
  const auto wait = [](void* connection, int waits) {
    Connection& own = *static_cast<Connection*>(connection);
    try {
      wait_for_others(waits, own.stop_, own.say_);
    } catch (...) {
      own.ended_ = std::current_exception();
      return 0;
    }
    return 1;
  };
  sqlite3_busy_handler(database_, wait, this);
  // Not quick_check: it follows a chain of pages by calling itself, until the stack is full.
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(database_, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(database_, SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
  const auto count = [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; };
  sqlite3_progress_handler(database_, kStepsPerCall, count, &steps_left_);
  std::error_code unknown;
  limit(std::filesystem::file_size(file, unknown));
}

void Connection::check(int code) {
  if (code == SQLITE_OK) return;
  if (ended_) std::rethrow_exception(std::exchange(ended_, nullptr));
  // It may quote the file: names of columns and tables that are anything.
  throw SqliteError(code, printable(sqlite3_errmsg(database_), 400));
}

void Connection::run(const std::string& sql) {
  check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t Connection::number(std::string_view sql) {
  Statement query(*this, std::string(sql));
  require(query.step(), "it gives no answer");
  return query.integer(0);
}

void Connection::limit(std::uintmax_t file_bytes) {
  const std::uintmax_t bytes = std::min(file_bytes, kLargestFile);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH,
                static_cast<int>(std::min(bytes + kSlack, kLongestBlob)));
  // Some ten steps read a row, and a row takes twenty bytes at the least.
  steps_left_ = 10'000 + static_cast<std::int64_t>(8 * bytes / kStepsPerCall);
  bytes_left_ = bytes + kSlack;
}

void Connection::take(std::uintmax_t bytes) {
  require(bytes <= bytes_left_, "its texts are longer than the file that holds them");
  bytes_left_ -= bytes;
}

std::string Statement::blob(int column) {
  const void* const begin = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  connection_.take(size);
  return begin == nullptr ? std::string() : std::string(static_cast<const char*>(begin), size);
}

std::string Statement::text(int column) {
  std::string found = blob(column);
  if (found.size() > kLongestText)
    throw Misfit(fmt::format("a value of \"{}\" has {} bytes, more than {}",
                             sqlite3_column_name(statement_.get(), column), found.size(),
                             kLongestText));
  require(is_utf8(found), "a text is not UTF-8");
  return found;
}

}  // namespace sharpen::study
