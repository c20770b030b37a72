// SQLite as the store uses it: connections and statements that close themselves, and errors as one
// exception.
#pragma once

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

struct sqlite3;
struct sqlite3_stmt;

namespace sharpen::study {

using Id = std::int64_t;

// What SQLite answered; callers that know what the file was wanted for turn it into their own.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int extended_, const std::string& message)
      : std::runtime_error(message), extended(extended_), code(extended_ & 0xff) {}
  int extended, code;
};

class Connection {
 public:
  enum class Mode { read, write, create, memory };

  // Another program that has the file locked is waited for as long as that takes: `stop` is asked
  // every few milliseconds whether to give up, with Interrupted, and `say` called when it gets
  // long.
  Connection(const std::filesystem::path& file, Mode mode, Stop stop = {},
             std::function<void()> say = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* get() const { return database_; }
  void run(const std::string& sql);  // several statements, no rows
  std::int64_t number(std::string_view sql);
  // Has SQLite play back the journal that a killed writer has left.
  void put_in_order() { number("SELECT count(*) FROM sqlite_schema"); }

  // What a file from elsewhere needs: nothing in it is run, whatever its schema says; no query
  // costs more than a few steps for each of its bytes, and all that is read is little longer than
  // it: rows can be bent to share one long text.
  void distrust(std::uintmax_t file_bytes);
  void limit(std::uintmax_t file_bytes);  // the same but for the schema

  // Throws what SQLite says of its last call, or what ended a wait.
  [[noreturn]] void fail(int code);

 private:
  friend class Statement;
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

// Parameters are bound in their order. NaN is NULL.
class Statement {
 public:
  template <class... Values>
  Statement(Connection& connection, std::string_view sql, const Values&... values)
      : connection_(connection) {
    prepare(sql);
    (bind(values), ...);
  }

  void bind(double value);
  void bind(Id value);
  void bind(std::optional<Id> value);  // none is NULL
  void bind(std::string_view text);    // UTF-8
  void bind(Blob blob);
  bool step();  // to the next row; false: there is none
  // Binds the parameters that are left, and asks for no rows.
  template <class... Values>
  void run(const Values&... values) {
    (bind(values), ...);
    step();
    reset();
  }

  // Columns of a row, from 0. Misfit for a value of another type, and text that is not UTF-8.
  Id integer(int column);
  double real(int column);
  std::string text(int column);
  std::string blob(int column);

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  void prepare(std::string_view sql);
  void reset();
  void check(int code);
  [[noreturn]] void misfit(int column, const std::string& what);
  void require_type(int column, int type, std::string_view what);
  std::string taken(int column, const void* begin, std::size_t longest);

  Connection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int parameter_ = 0;  // the last that was bound
};

}  // namespace sharpen::study
