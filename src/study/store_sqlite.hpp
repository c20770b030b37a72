// SQLite as the store uses it: connections and statements that close themselves, values that keep
// every bit of a double that SQL has a word for, and errors as one exception.
//
// NaN is NULL. A negative zero becomes zero: SQLite would drop its sign on the way to the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace sharpen::study {

// What SQLite answered; callers that know what the file was wanted for turn it into their own.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code_, const std::string& message) : std::runtime_error(message), code(code_) {}
  int code;  // extended
};

// A value of the file that is not what the schema's writer would have put there.
class Misfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Connection;

class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);

  // Parameters count from 1.
  void bind(int parameter, double value);
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view text);  // must be UTF-8
  void bind_blob(int parameter, std::string_view bytes);
  void bind_null(int parameter);

  bool step();   // false: no further row
  void run();    // a statement without rows; can be run again
  void reset();  // ready to be bound and run again

  // Columns count from 0. Misfit for a value of another type, or outside what is asked for.
  bool is_null(int column) const;
  double real(int column) const;  // NULL is NaN
  double finite(int column) const;
  std::int64_t integer(int column, std::int64_t low, std::int64_t high) const;
  std::string text(int column, std::size_t longest) const;
  std::string blob(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  [[noreturn]] void misfit(int column, std::string_view what) const;
  void spend(std::size_t bytes) const;

  sqlite3* database_;
  std::uintmax_t* bytes_left_;  // the connection's; null: as many as there are
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

class Connection {
 public:
  enum class Mode { read, write, create };

  Connection(const std::filesystem::path& file, Mode mode);
  // Reads a copy of a whole file in memory.
  static Connection of_bytes(std::string_view bytes);
  static Connection in_memory();
  Connection(Connection&&) noexcept = default;

  sqlite3* get() const { return database_.get(); }
  void run(const std::string& sql);  // several statements, no rows
  std::int64_t number(std::string_view sql);

  // Nothing in the file is run, whatever its schema says, and no query costs more than a few steps
  // for each of its bytes: what a file from elsewhere needs.
  void distrust(std::uintmax_t bytes, int longest = 64 << 20);  // longest: of one value
  // From now on texts and blobs of little more than `bytes` in all, the file's size, are handed
  // out, and then Misfit: rows can be bent to share one long text. distrust() does it, too.
  void ration(std::uintmax_t bytes);

 private:
  friend class Statement;
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Connection() = default;

  std::unique_ptr<sqlite3, Closer> database_;
  std::unique_ptr<std::int64_t> steps_left_;    // in thousands
  std::unique_ptr<std::uintmax_t> bytes_left_;  // where it is even if the connection is moved
};

// Rolled back unless it is committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection, bool writes);
  ~Transaction();
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace sharpen::study
