#include "study/store_sqlite.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "sharpen/base/text.hpp"

namespace sharpen::study {

namespace {

constexpr int kStepsPerCall = 1000;
constexpr std::uintmax_t kLongestText = 4 << 20;
// Bytes that the smallest of files may hand out; and more than any file, so that nothing overflows.
constexpr std::uintmax_t kSlack = 1 << 20, kLargestFile = std::uintmax_t{1} << 50;

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
  limit(kLargestFile);
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

// quick_check is not asked: it follows a chain of pages by calling itself, until the stack is full.
void Connection::distrust(std::uintmax_t file_bytes) {
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(database_, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(database_, SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
  const auto count = [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; };
  sqlite3_progress_handler(database_, kStepsPerCall, count, &steps_left_);
  limit(file_bytes);
}

void Connection::limit(std::uintmax_t file_bytes) {
  const std::uintmax_t bytes = std::min(file_bytes, kLargestFile);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH,
                static_cast<int>(std::min(bytes + kSlack, kLongestBlob)));
  // Some ten steps read a row, and a row takes twenty bytes at the least.
  steps_left_ = 10'000 + static_cast<std::int64_t>(8 * bytes / kStepsPerCall);
  bytes_left_ = 2 * bytes + kSlack;  // twice: a text of another encoding grows when it is read
}

void Connection::take(std::uintmax_t bytes) {
  require(bytes <= bytes_left_, "its texts are longer than the file that holds them");
  bytes_left_ -= bytes;
}

void Statement::require_type(int column, int type, std::string_view what) {
  if (sqlite3_column_type(statement_.get(), column) == type) return;
  throw Misfit(fmt::format("a value of \"{}\" is not a {}",
                           printable(sqlite3_column_name(statement_.get(), column)), what));
}

std::string Statement::taken(int column, const void* begin, std::size_t longest) {
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (begin == nullptr && size > 0) connection_.check(SQLITE_NOMEM);
  if (size > longest)
    throw Misfit(fmt::format("a value of \"{}\" has {} bytes, more than {}",
                             sqlite3_column_name(statement_.get(), column), size, longest));
  connection_.take(size);
  return size == 0 ? std::string() : std::string(static_cast<const char*>(begin), size);
}

Id Statement::integer(int column) {
  require_type(column, SQLITE_INTEGER, "whole number");
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) {
  require_type(column, SQLITE_FLOAT, "number");
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) {
  require_type(column, SQLITE_TEXT, "text");
  std::string found = taken(column, sqlite3_column_text(statement_.get(), column), kLongestText);
  require(is_utf8(found), "a text is not UTF-8");
  return found;
}

std::string Statement::blob(int column) {
  require_type(column, SQLITE_BLOB, "blob");
  return taken(column, sqlite3_column_blob(statement_.get(), column), kLongestBlob);
}

}  // namespace sharpen::study
