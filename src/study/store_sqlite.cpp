#include "study/store_sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "sharpen/base/control.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::study {

namespace {

// A writer in another process holds the file for as long as it writes a cell.
constexpr int kWaitMilliseconds = 30'000;
constexpr int kStepsPerCall = 1000;
// Bytes that the smallest of files may hand out.
constexpr std::uintmax_t kSlack = 1 << 20;
// More than any file: nothing below it overflows.
constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 50;

[[noreturn]] void fail(sqlite3* database, int code) {
  if (database == nullptr) throw SqliteError(code, sqlite3_errstr(code));
  // It may quote the file: names of columns and tables that are anything.
  throw SqliteError(sqlite3_extended_errcode(database), printable(sqlite3_errmsg(database), 400));
}

std::string insert_text(Connection& connection, std::string_view table) {
  const int columns = Query(connection, fmt::format("SELECT * FROM {}", table)).columns();
  std::string parameters = "?";
  for (int column = 1; column < columns; ++column) parameters += ", ?";
  return fmt::format("INSERT OR REPLACE INTO {} VALUES ({})", table, parameters);
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Connection& connection, std::string_view sql) : database_(connection.get()) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(double value) {
  // Adding zero turns -0.0 into 0.0 and changes nothing else.
  check(std::isnan(value) ? sqlite3_bind_null(statement_.get(), ++parameter_)
                          : sqlite3_bind_double(statement_.get(), ++parameter_, value + 0.0));
}

void Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++parameter_, value));
}

void Statement::bind(std::optional<std::int64_t> value) {
  if (value) return bind(*value);
  check(sqlite3_bind_null(statement_.get(), ++parameter_));
}

void Statement::bind(std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), ++parameter_, text.empty() ? "" : text.data(),
                            text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(Blob blob) {
  check(sqlite3_bind_blob64(statement_.get(), ++parameter_,
                            blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                            SQLITE_TRANSIENT));
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, code);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  parameter_ = 0;
}

Query::Query(Connection& connection, std::string_view sql)
    : Statement(connection, sql), text_left_(connection.text_left_.get()) {}

bool Query::step() {
  column_ = 0;
  return Statement::step();
}

int Query::columns() const { return sqlite3_column_count(statement_.get()); }
int Query::type() const { return sqlite3_column_type(statement_.get(), column_); }
bool Query::is_null() const { return type() == SQLITE_NULL; }

void Query::misfit(std::string_view what) const {
  const char* name = sqlite3_column_name(statement_.get(), column_);
  throw Misfit(fmt::format("a value of \"{}\" {}", printable(name == nullptr ? "" : name), what));
}

void Query::refuse_word(std::string_view what, const std::string& word) {
  throw Misfit(fmt::format("{} \"{}\" is unknown", what, printable(word)));
}

std::int64_t Query::integer(std::int64_t low, std::int64_t high) {
  if (type() != SQLITE_INTEGER) misfit("is not a whole number");
  const std::int64_t value = sqlite3_column_int64(statement_.get(), column_);
  if (value < low || value > high) misfit(fmt::format("is {}, outside [{}, {}]", value, low, high));
  skip();
  return value;
}

double Query::real() {
  const bool null = is_null();
  const double value = null ? std::numeric_limits<double>::quiet_NaN()
                            : sqlite3_column_double(statement_.get(), column_);
  if (!null && (type() != SQLITE_FLOAT || std::isnan(value))) misfit("is not a number");
  skip();
  return value;
}

double Query::finite() {
  const double value = real();
  if (std::isfinite(value)) return value;
  --column_;
  misfit("is missing or not finite");
}

void Query::bits(std::optional<std::uint64_t>& value) {
  value.reset();
  if (is_null()) return skip();
  number(value.emplace(), std::numeric_limits<std::int64_t>::min(),
         std::numeric_limits<std::int64_t>::max());
}

std::string Query::taken(const void* begin, std::size_t longest) {
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_));
  if (size > longest) misfit(fmt::format("has {} bytes, more than {}", size, longest));
  if (text_left_ != nullptr) {
    if (size > *text_left_) throw Misfit("its texts are longer than the file that holds them");
    *text_left_ -= size;
  }
  return {static_cast<const char*>(begin), begin == nullptr ? 0 : size};
}

std::string Query::text(std::size_t longest) {
  if (type() != SQLITE_TEXT) misfit("is not a text");
  const unsigned char* begin = sqlite3_column_text(statement_.get(), column_);
  if (begin == nullptr) fail(database_, SQLITE_NOMEM);
  std::string text = taken(begin, longest);
  if (!is_utf8(text)) misfit("is not UTF-8");
  skip();
  return text;
}

std::string Query::blob() {
  if (type() != SQLITE_BLOB) misfit("is not a blob");
  const void* begin = sqlite3_column_blob(statement_.get(), column_);
  std::string bytes = taken(begin, std::numeric_limits<std::size_t>::max());
  skip();
  return bytes;
}

Insert::Insert(Connection& connection, std::string_view table)
    : Statement(connection, insert_text(connection, table)) {}

void Connection::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Connection::Connection(const std::string& name, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(database, code);
  sqlite3_busy_timeout(database, kWaitMilliseconds);
}

// A name that begins with a colon or "file:" would mean something else.
Connection::Connection(const std::filesystem::path& file, Mode mode)
    : Connection(file.is_absolute() ? file.string() : "./" + file.string(),
                 mode == Mode::read    ? SQLITE_OPEN_READONLY
                 : mode == Mode::write ? SQLITE_OPEN_READWRITE
                                       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
  if (mode == Mode::read) sqlite3_busy_timeout(get(), 0);  // readers begin anew (store_read.cpp)
}

Connection Connection::in_memory() {
  return {std::string(":memory:"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

void Connection::run(const std::string& sql) {
  const int code = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(get(), code);
}

std::int64_t Connection::number(std::string_view sql) {
  Query query(*this, sql);
  if (!query.step()) fail(get(), SQLITE_ERROR);
  return query.integer(std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
}

void Connection::distrust(std::uintmax_t file_bytes, int longest_value) {
  constexpr int kLongestSql = 1 << 20;
  sqlite3_db_config(get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // No value is longer than its file.
  const auto room = std::min<std::uintmax_t>(file_bytes, std::uintmax_t{1} << 30) + kSlack;
  sqlite3_limit(get(), SQLITE_LIMIT_LENGTH, std::min(longest_value, static_cast<int>(room)));
  sqlite3_limit(get(), SQLITE_LIMIT_SQL_LENGTH, kLongestSql);
  sqlite3_limit(get(), SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(get(), SQLITE_LIMIT_ATTACHED, 0);
  // Some ten steps read a row, and a row takes twenty bytes at the least.
  const auto steps = static_cast<std::int64_t>(8 * std::min(file_bytes, kLargestFile));
  steps_left_ = std::make_unique<std::int64_t>(10'000 + steps / kStepsPerCall);
  sqlite3_progress_handler(
      get(), kStepsPerCall,
      [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; },
      steps_left_.get());
  limit_text(file_bytes);
}

void Connection::limit_text(std::uintmax_t file_bytes) {
  if (!text_left_) text_left_ = std::make_unique<std::uintmax_t>();
  // Twice: a text of another encoding grows when it is read.
  *text_left_ = 2 * std::min(file_bytes, kLargestFile) + kSlack;
}

struct Connection::Patience {
  std::function<bool()> stop;
  std::function<void()> say;
  std::exception_ptr end = nullptr;
};

void Connection::wait_patiently(std::function<bool()> stop, std::function<void()> say) {
  patience_ = std::make_shared<Patience>(Patience{std::move(stop), std::move(say)});
  // Nothing may be thrown through SQLite. `waits`: how often it has slept for this lock.
  const auto wait = [](void* patience, int waits) {
    Patience& own = *static_cast<Patience*>(patience);
    try {
      wait_for_others(waits, own.stop, own.say);
    } catch (...) {
      own.end = std::current_exception();
      return 0;
    }
    return 1;
  };
  sqlite3_busy_handler(get(), wait, patience_.get());
}

void Connection::check_patience() const {
  if (patience_ && patience_->end) std::rethrow_exception(std::exchange(patience_->end, nullptr));
}

Transaction::Transaction(Connection& connection, bool writes) : connection_(connection) {
  connection_.run(writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // An error may have rolled it back already.
  if (open_ && sqlite3_get_autocommit(connection_.get()) == 0)
    sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.run("COMMIT");
  open_ = false;
}

}  // namespace sharpen::study
