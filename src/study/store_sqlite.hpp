// SQLite as the store uses it: connections and statements that close themselves, and errors as one
// exception.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "study/results_check.hpp"

namespace sharpen::study {

using Id = std::int64_t;

constexpr std::uintmax_t kLongestBlob = 500'000'000;              // and a row
constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 50;  // no file has more bytes

// What SQLite answered; callers that know what the file was wanted for turn it into their own.
struct SqliteError : std::runtime_error {
  SqliteError(int extended_, const std::string& message)
      : std::runtime_error(message), extended(extended_), code(extended_ & 0xff) {}
  int extended, code;
};

// To a file that may come from anyone: nothing in it is run, whatever its schema says.
class Connection {
 public:
  // `flags`: SQLITE_OPEN_... Another program that has the file locked is waited for as long as that
  // takes: `stop` is asked every few milliseconds whether to give up, with Interrupted, and `say`
  // called when it gets long.
  Connection(const std::filesystem::path& file, int flags, Stop stop = {},
             std::function<void()> say = {});
  ~Connection() { sqlite3_close_v2(database_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* get() const { return database_; }
  // Throws what SQLite says of its last call, or what ended a wait.
  void check(int code);
  void run(const std::string& sql);  // several statements, no rows
  // For a transaction that SQLite may have ended itself.
  void roll_back(const char* sql) { sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }
  std::int64_t number(std::string_view sql);
  // From now on no query costs more than a few steps for each of these bytes, and all that is read
  // is little longer than they: rows can be bent to share one long text. At first they are those of
  // the file.
  void limit(std::uintmax_t file_bytes);
  void take(std::uintmax_t bytes);  // of what may be read; Misfit

 private:
  sqlite3* database_ = nullptr;
  Stop stop_;
  std::function<void()> say_;
  std::exception_ptr ended_;
  std::int64_t steps_left_ = 0;  // in thousands
  std::uintmax_t bytes_left_ = 0;
};

struct Blob {
  std::string_view bytes;
};

// Parameters are bound in their order; whoever binds a text or a blob has it until the statement
// has run. SQLite makes NULL of NaN.
class Statement {
 public:
  template <class... Values>
  Statement(Connection& connection, const std::string& sql, const Values&... values)
      : connection_(connection), statement_(nullptr, sqlite3_finalize) {
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v2(connection.get(), sql.c_str(), -1, &made, nullptr);
    statement_.reset(made);
    connection_.check(code);
    (bind(values), ...);
  }

  void bind(Id value) { connection_.check(sqlite3_bind_int64(statement_.get(), ++last_, value)); }
  void bind(std::optional<Id> value) {
    if (value) return bind(*value);
    connection_.check(sqlite3_bind_null(statement_.get(), ++last_));
  }
  void bind(double value) {
    connection_.check(sqlite3_bind_double(statement_.get(), ++last_, value));
  }
  void bind(std::string_view text) {
    connection_.check(sqlite3_bind_text64(statement_.get(), ++last_,
                                          text.empty() ? "" : text.data(), text.size(),
                                          SQLITE_STATIC, SQLITE_UTF8));
  }
  void bind(Blob blob) {
    connection_.check(sqlite3_bind_blob64(statement_.get(), ++last_,
                                          blob.bytes.empty() ? "" : blob.bytes.data(),
                                          blob.bytes.size(), SQLITE_STATIC));
  }
  bool step() {  // to the next row; false: there is none
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_DONE && code != SQLITE_ROW) connection_.check(code);
    return code == SQLITE_ROW;
  }
  // Binds the parameters that are left, and asks for no rows.
  template <class... Values>
  void run(const Values&... values) {
    (bind(values), ...);
    step();
    sqlite3_reset(statement_.get());
    last_ = 0;
  }

  // Columns of a row, from 0. What a file has in place of a number is read as SQLite converts it.
  Id integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) { return sqlite3_column_double(statement_.get(), column); }
  std::string blob(int column);
  std::string text(int column);  // Misfit if it is too long, or not UTF-8

 private:
  Connection& connection_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  int last_ = 0;  // parameter that was bound
};

}  // namespace sharpen::study
