// SQLite as the store uses it: connections and statements that close themselves, values that keep
// every bit of a double that SQL has a word for, and errors as one exception.
//
// NaN is NULL. A negative zero becomes zero: SQLite would drop its sign on the way to the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
  SqliteError(int extended_, const std::string& message)
      : std::runtime_error(message), extended(extended_), code(extended_ & 0xff) {}
  int extended, code;
};

// A value of the file that is not what the schema's writer would have put there.
class Misfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Blob {
  std::string_view bytes;
};

class Connection;

// Parameters and columns are taken one after the other, in their order.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);

  void bind(double value);
  void bind(std::int64_t value);
  void bind(std::optional<std::int64_t> value);
  void bind(std::string_view text);  // must be UTF-8
  void bind(Blob blob);
  void reset();  // ready to be bound again
  // Binds the parameters that are left, and asks for no rows.
  template <class... Values>
  void run(const Values&... values) {
    (bind(values), ...);
    step();
    reset();
  }

 protected:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  bool step();
  void check(int code) const;

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int parameter_ = 0;  // the last that was bound
};

// A SELECT. Misfit for a value of another type, or outside what is asked for.
class Query : public Statement {
 public:
  template <class... Values>
  Query(Connection& connection, std::string_view sql, const Values&... values)
      : Query(connection, sql) {
    (bind(values), ...);
  }
  Query(Connection& connection, std::string_view sql);

  bool step();  // to the first column of the next row; false: there is none
  int columns() const;

  void skip() { ++column_; }
  std::int64_t integer(std::int64_t low, std::int64_t high);
  double real();  // NULL is NaN
  double finite();
  std::string text(std::size_t longest);
  std::string blob();

  template <class Integer>
  void number(Integer& value, std::int64_t low, std::int64_t high) {
    value = static_cast<Integer>(integer(low, high));
  }
  // NULL stands for `null`.
  template <class Integer>
  void number_or(Integer& value, Integer null, std::int64_t low, std::int64_t high) {
    value = is_null() ? (skip(), null) : static_cast<Integer>(integer(low, high));
  }
  void bits(std::optional<std::uint64_t>& value);  // all 64; NULL: none
  void flag(bool& value) { value = integer(0, 1) == 1; }
  void real(double& value) { value = real(); }
  void finite(double& value) { value = finite(); }
  void text(std::string& value, std::size_t longest) { value = text(longest); }
  // The one of those up to `last` whose name() it is.
  template <class Enum>
  void word(Enum& value, Enum last, std::string_view what) {
    const std::string word = text(kLongestWord);
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (value = static_cast<Enum>(i); name(value) == word) return;
    refuse_word(what, word);
  }

 private:
  static constexpr std::size_t kLongestWord = 4096;
  bool is_null() const;
  int type() const;
  [[noreturn]] void misfit(std::string_view what) const;
  [[noreturn]] static void refuse_word(std::string_view what, const std::string& word);
  std::string taken(const void* begin, std::size_t longest);

  std::uintmax_t* text_left_;  // the connection's; null: as much as there is
  int column_ = 0;
};

// INSERT OR REPLACE of whole rows. Has the names of Query for its columns, so that one list of
// fields serves both.
class Insert : public Statement {
 public:
  Insert(Connection& connection, std::string_view table);

  void number(std::int64_t value, std::int64_t = 0, std::int64_t = 0) { bind(value); }
  void number_or(std::int64_t value, std::int64_t null, std::int64_t, std::int64_t) {
    bind(value == null ? std::nullopt : std::optional(value));
  }
  void bits(const std::optional<std::uint64_t>& value) {
    bind(value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt);
  }
  void flag(bool value) { number(value ? 1 : 0); }
  void real(double value) { bind(value); }
  void finite(double value) { bind(value); }
  void text(std::string_view value, std::size_t) { bind(value); }
  template <class Enum>
  void word(Enum value, Enum, std::string_view) {
    bind(name(value));
  }
};

class Connection {
 public:
  enum class Mode { read, write, create };

  Connection(const std::filesystem::path& file, Mode mode);
  static Connection in_memory();
  Connection(Connection&&) noexcept = default;

  sqlite3* get() const { return database_.get(); }
  void run(const std::string& sql);  // several statements, no rows
  std::int64_t number(std::string_view sql);
  // Has SQLite play back the journal that a killed writer has left.
  void put_in_order() { number("SELECT count(*) FROM sqlite_schema"); }

  // From now on waits for another program as long as that takes: asks `stop` every few
  // milliseconds whether to give up, and calls `say` when it gets long.
  void wait_patiently(std::function<bool()> stop, std::function<void()> say);
  // Throws Interrupted, or what `stop` threw, if that ended the last wait.
  void check_patience() const;

  // What a file from elsewhere needs. Nothing in it is run, whatever its schema says, and no query
  // costs more than a few steps for each of its bytes.
  void distrust(std::uintmax_t file_bytes, int longest_value = 64 << 20);
  // From now on hands out little more than so many bytes of texts and blobs, and then Misfit: the
  // rows of a small file can be bent to share one long text. distrust() does it, too.
  void limit_text(std::uintmax_t file_bytes);

 private:
  friend class Query;
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Connection(const std::string& name, int flags);

  std::unique_ptr<sqlite3, Closer> database_;
  // Where they are even if the connection is moved.
  std::unique_ptr<std::int64_t> steps_left_;  // in thousands
  std::unique_ptr<std::uintmax_t> text_left_;
  struct Patience;
  std::shared_ptr<Patience> patience_;
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
