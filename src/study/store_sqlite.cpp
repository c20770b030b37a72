#include "study/store_sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "sharpen/base/text.hpp"

namespace sharpen::study {

namespace {

// A reader in another process holds the file for as long as it reads a study.
constexpr int kWaitMilliseconds = 30'000;
constexpr int kStepsPerCall = 1000;
// Bytes that the smallest of files may hand out.
constexpr std::uintmax_t kSlack = 1 << 20;

[[noreturn]] void fail(sqlite3* database, int code) {
  if (database == nullptr) throw SqliteError(code, sqlite3_errstr(code));
  throw SqliteError(sqlite3_extended_errcode(database), sqlite3_errmsg(database));
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Connection& connection, std::string_view sql)
    : database_(connection.get()), bytes_left_(connection.bytes_left_.get()) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(int parameter, double value) {
  // Adding zero turns -0.0 into 0.0 and changes nothing else.
  const int code = std::isnan(value)
                       ? sqlite3_bind_null(statement_.get(), parameter)
                       : sqlite3_bind_double(statement_.get(), parameter, value + 0.0);
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(int parameter, std::string_view text) {
  const int code = sqlite3_bind_text64(statement_.get(), parameter, text.empty() ? "" : text.data(),
                                       text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind_blob(int parameter, std::string_view bytes) {
  const int code =
      sqlite3_bind_blob64(statement_.get(), parameter, bytes.empty() ? "" : bytes.data(),
                          bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind_null(int parameter) {
  const int code = sqlite3_bind_null(statement_.get(), parameter);
  if (code != SQLITE_OK) fail(database_, code);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(database_, code);
  return false;
}

void Statement::run() {
  step();
  reset();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

void Statement::misfit(int column, std::string_view what) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  throw Misfit(fmt::format("a value of \"{}\" {}", name == nullptr ? "" : name, what));
}

void Statement::spend(std::size_t bytes) const {
  if (bytes_left_ == nullptr) return;
  if (bytes > *bytes_left_) throw Misfit("its texts are longer than the file that holds them");
  *bytes_left_ -= bytes;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

double Statement::real(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL: return std::numeric_limits<double>::quiet_NaN();
    case SQLITE_FLOAT: {
      const double value = sqlite3_column_double(statement_.get(), column);
      if (std::isnan(value)) misfit(column, "is not a number");
      return value;
    }
    default: misfit(column, "is not a number");
  }
}

double Statement::finite(int column) const {
  const double value = real(column);
  if (!std::isfinite(value)) misfit(column, "is missing or not finite");
  return value;
}

std::int64_t Statement::integer(int column, std::int64_t low, std::int64_t high) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER)
    misfit(column, "is not a whole number");
  const std::int64_t value = sqlite3_column_int64(statement_.get(), column);
  if (value < low || value > high)
    misfit(column, fmt::format("is {}, outside [{}, {}]", value, low, high));
  return value;
}

std::string Statement::text(int column, std::size_t longest) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) misfit(column, "is not a text");
  const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (begin == nullptr) fail(database_, SQLITE_NOMEM);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (size > longest) misfit(column, fmt::format("has {} bytes, more than {}", size, longest));
  spend(size);
  std::string text(begin, size);
  if (!is_utf8(text)) misfit(column, "is not UTF-8");
  return text;
}

std::string Statement::blob(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) misfit(column, "is not a blob");
  const void* begin = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (begin == nullptr) return {};
  spend(size);
  return {static_cast<const char*>(begin), size};
}

void Connection::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Connection::Connection(const std::filesystem::path& file, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  // A name that begins with a colon or "file:" would mean something else.
  const std::string name = file.is_absolute() ? file.string() : "./" + file.string();
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail(database, code);
  sqlite3_busy_timeout(database, kWaitMilliseconds);
}

Connection Connection::in_memory() {
  Connection connection;
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(
      ":memory:", &database,
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
      nullptr);
  connection.database_.reset(database);
  if (code != SQLITE_OK) fail(database, code);
  return connection;
}

Connection Connection::of_bytes(std::string_view bytes) {
  Connection connection = in_memory();
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) fail(nullptr, SQLITE_NOMEM);
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int code =
      sqlite3_deserialize(connection.get(), "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) fail(connection.get(), code);
  return connection;
}

void Connection::run(const std::string& sql) {
  const int code = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(get(), code);
}

std::int64_t Connection::number(std::string_view sql) {
  Statement statement(*this, sql);
  if (!statement.step()) fail(get(), SQLITE_ERROR);
  return statement.integer(0, std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max());
}

void Connection::distrust(std::uintmax_t bytes, int longest) {
  constexpr int kLongestSql = 1 << 20;
  sqlite3_db_config(get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // No value is longer than its file.
  const auto room = std::min<std::uintmax_t>(bytes, std::uintmax_t{1} << 30) + kSlack;
  sqlite3_limit(get(), SQLITE_LIMIT_LENGTH, std::min(longest, static_cast<int>(room)));
  sqlite3_limit(get(), SQLITE_LIMIT_SQL_LENGTH, kLongestSql);
  sqlite3_limit(get(), SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(get(), SQLITE_LIMIT_ATTACHED, 0);
  // Some ten steps read a row, and a row takes twenty bytes at the least.
  const auto most = std::min<std::uintmax_t>(bytes, std::uintmax_t{1} << 50);
  steps_left_ =
      std::make_unique<std::int64_t>(10'000 + static_cast<std::int64_t>(8 * most) / kStepsPerCall);
  sqlite3_progress_handler(
      get(), kStepsPerCall,
      [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; },
      steps_left_.get());
  ration(bytes);
}

void Connection::ration(std::uintmax_t bytes) {
  // Twice: a text of another encoding grows when it is read.
  const auto most = std::min<std::uintmax_t>(bytes, std::uintmax_t{1} << 50);
  if (!bytes_left_) bytes_left_ = std::make_unique<std::uintmax_t>();
  *bytes_left_ = 2 * most + kSlack;
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
