// Writing a study. A rollback journal and not a write-ahead log: the file can be copied at any time
// between two cells, and be read where nothing can be written.
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/store.hpp"
#include "study/store_journal.hpp"
#include "study/store_plan.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

using Id = std::int64_t;

// FILE.lock with the writer's process id in it, locked as long as there is a writer: the kernel
// lets go of it however the process ends. Not the file itself, whose locks are SQLite's; and beside
// what a link leads to, so that one file has one lock.
class WriterLock {
 public:
  WriterLock(const std::filesystem::path& file, const std::string& name)
      : path_(beside(file, ".lock").string()) {
    while (!take(name)) {
    }
  }
  ~WriterLock() {
    ::unlink(path_.c_str());  // before it is let go: nobody else may hold what has no name
    ::close(descriptor_);
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  // False: the writer before removed it between our opening and our locking it.
  bool take(const std::string& name) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0)
      throw StoreFailure(
          fmt::format("{}: cannot be written: {}; name an --out that can be written "
                      "to",
                      name, std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      const std::string holder = read_holder();
      ::close(descriptor_);
      if (why == EINTR) return false;
      if (why == EWOULDBLOCK)
        throw InputError(
            fmt::format("{}: another process{} is writing this study; wait for it, or "
                        "give another --out",
                        name, holder));
      throw StoreFailure(
          fmt::format("{}: cannot be locked: {}; name an --out on a disk of this "
                      "machine",
                      name, std::strerror(why)));
    }
    struct stat held {};
    struct stat there {};
    if (::fstat(descriptor_, &held) != 0 || ::stat(path_.c_str(), &there) != 0 ||
        held.st_ino != there.st_ino || held.st_dev != there.st_dev) {
      ::close(descriptor_);
      return false;
    }
    const std::string holder = fmt::format("{}\n", ::getpid());
    // Only a courtesy to whoever is refused: a full disk shall not stop the reading of a study.
    if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
      const auto written = ::pwrite(descriptor_, holder.data(), holder.size(), 0);
    return true;
  }

  std::string read_holder() const {
    std::array<char, 16> digits{};
    const auto got = ::pread(descriptor_, digits.data(), digits.size(), 0);
    const std::string_view text(digits.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    const std::string_view number = text.substr(0, text.find('\n'));
    const bool numeric = !number.empty() && number.size() < text.size() &&
                         number.find_first_not_of("0123456789") == std::string_view::npos;
    return numeric ? fmt::format(" ({})", number) : "";
  }

  std::string path_;
  int descriptor_ = -1;
};

[[noreturn]] void fail_to_write(const std::string& file, const SqliteError& error) {
  const int code = error.code & 0xff;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    throw StoreFailure(
        fmt::format("{}: has been damaged while the study ran: {}; remove it and run the study "
                    "again, or give another --out",
                    file, error.what()));
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    throw StoreFailure(
        fmt::format("{}: cannot be written: another program has it open and does not "
                    "let go; close it and run the same command again",
                    file));
  if (code == SQLITE_FULL)
    throw StoreFailure(
        fmt::format("{}: cannot be written: the disk is full; make room and run the "
                    "same command again: finished cells are kept",
                    file));
  throw StoreFailure(
      fmt::format("{}: cannot be written: {}; see to the disk and its permissions, "
                  "and run the same command again: finished cells are kept",
                  file, error.what()));
}

// What was no study before we came is the user's to mend, not a failure of the disk.
[[noreturn]] void fail_to_open(const std::string& file, const SqliteError& error) {
  const int code = error.code & 0xff;
  if (code == SQLITE_NOTADB)
    throw InputError(
        fmt::format("{}: is no SQLite file, and so no study; give another --out", file));
  if (code == SQLITE_CORRUPT)
    throw InputError(
        fmt::format("{}: is damaged: {}; remove it and run the study again, or give "
                    "another --out",
                    file, error.what()));
  fail_to_write(file, error);
}

}  // namespace

struct Store::Database {
  std::string name;  // of the file, in messages
  Results plan;
  WriterLock lock;
  Connection connection;
  std::vector<Id> cells;
  std::vector<CellState> states;

  Database(const std::filesystem::path& file, const Results& planned);

  void check_index(Index cell) const;
  void set_state(Id id, CellState state, std::string_view reason, double seconds);
  void erase(Id id);
  void write_run(Id id, const backtest::Run& run);
  void write_metrics(Id id, const Cell& found);

  // One transaction; all of it or nothing.
  template <class Work>
  void in_transaction(const Work& work) {
    try {
      Transaction transaction(connection, true);
      work();
      transaction.commit();
    } catch (const SqliteError& error) {
      fail_to_write(name, error);
    }
  }
};

namespace {

void write_warnings(Connection& connection, Id cell, const std::vector<std::string>& warnings) {
  Statement row(connection, "INSERT INTO warnings VALUES (0, ?, ?, ?)");
  for (std::size_t at = 0; at < warnings.size(); ++at) {
    row.bind(1, cell);
    row.bind(2, static_cast<Id>(at));
    row.bind(3, storable(warnings[at], kLongestText));
    row.run();
  }
}

// A place that holds something, but no file that could be a study.
void check_place(const std::filesystem::path& file, const std::string& name) {
  std::error_code failed;
  const auto status = std::filesystem::status(file, failed);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError(
        fmt::format("{}: is not a file, and a study is written to one; give another "
                    "--out",
                    name));
}

bool is_new(const std::filesystem::path& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  return failed || size == 0;
}

const std::string& checked_place(const std::filesystem::path& file, const std::string& name) {
  check_place(file, name);
  return name;
}

}  // namespace

Store::Database::Database(const std::filesystem::path& file, const Results& planned)
    : name(printable(file.string(), kLongestName)),
      plan(checked_plan(planned)),
      lock(file, checked_place(file, name)),
      connection([&] {
        try {
          check_beside(file);
          return Connection(file, Connection::Mode::create);
        } catch (const SqliteError& error) {
          fail_to_open(name, error);
        }
      }()) {
  try {
    connection.distrust(std::uintmax_t{1} << 50, kLongestBlob);
    // A journal that a killed writer has left is played back by the first statement. Only then is
    // the size of the file what it holds.
    connection.number("SELECT count(*) FROM sqlite_schema");
    const bool fresh = is_new(file);
    std::error_code unknown;
    connection.ration(std::filesystem::file_size(file, unknown));
    // EXTRA: a cell that was written stays written, even if the power fails.
    connection.run(
        "PRAGMA synchronous = EXTRA; PRAGMA cache_size = -65536; PRAGMA cache_spill = 0");
    Transaction transaction(connection, !fresh);
    Stored stored;
    if (fresh) {
      // The first thing that is written, and in the same transaction: a file is there with all its
      // tables or without a byte.
      connection.run("PRAGMA auto_vacuum = FULL");
      create_schema(connection);
    } else {
      check_schema(connection);
      stored = read_plan(connection);
      check_same_study(plan, stored.results, name);
    }
    Planned written = write_plan(connection, plan, stored);
    transaction.commit();
    cells = std::move(written.cells);
    states = std::move(written.states);
  } catch (const Misfit& misfit) {
    throw InputError(
        fmt::format("{}: is not a study that can be gone on with: {}; give another "
                    "--out, or remove the file to begin anew",
                    name, misfit.what()));
  } catch (const SqliteError& error) {
    std::error_code ignored;
    // It never became a study. A link to it is the user's, and stays.
    if (is_new(file)) std::filesystem::remove(led_to(file), ignored);
    fail_to_open(name, error);
  }
}

Store::Store(const std::filesystem::path& file, const Results& plan)
    : database_(std::make_unique<Database>(file, plan)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;

const std::vector<CellState>& Store::states() const { return database_->states; }

void Store::Database::check_index(Index cell) const {
  if (cell < 0 || static_cast<std::size_t>(cell) >= cells.size())
    throw InputError(fmt::format("cell {} is not in [0, {}) of the plan", cell, cells.size()));
}

void Store::Database::set_state(Id id, CellState state, std::string_view reason, double seconds) {
  Statement row(connection, "UPDATE cells SET state = ?, reason = ?, seconds = ? WHERE cell = ?");
  row.bind(1, study::name(state));
  row.bind(2, storable(reason, kLongestText));
  row.bind(3, std::isfinite(seconds) && seconds > 0.0 ? seconds : 0.0);
  row.bind(4, id);
  row.run();
}

void Store::Database::erase(Id id) {
  for (const char* sql : {"DELETE FROM runs WHERE cell = ?", "DELETE FROM metrics WHERE cell = ?",
                          "DELETE FROM daily WHERE cell = ?", "DELETE FROM weights WHERE cell = ?",
                          "DELETE FROM warnings WHERE market = 0 AND cell = ?"}) {
    Statement row(connection, sql);
    row.bind(1, id);
    row.run();
  }
}

void Store::Database::write_run(Id id, const backtest::Run& run) {
  Statement line(connection, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int at = 1;
  for (const Id value : {id, static_cast<Id>(run.first_row), static_cast<Id>(run.stats_from),
                         static_cast<Id>(run.periods()), static_cast<Id>(run.weights.size()),
                         static_cast<Id>(run.benchmark.empty() ? 0 : 1)})
    line.bind(at++, value);
  line.bind(at++, run.risk_free);
  for (const Index value : {run.n_decisions, run.n_jittered, run.n_certified, run.iterations})
    line.bind(at++, static_cast<Id>(value));
  line.run();

  std::string sql = "INSERT INTO daily VALUES (?, ?, ?, ?";
  for (std::size_t i = 0; i < kDailyColumns.size(); ++i) sql += ", ?";
  Statement day(connection, sql + ", ?)");
  Statement position(connection, "INSERT INTO weights VALUES (?, ?, ?, ?)");
  for (Index t = 0; t < run.periods(); ++t) {
    const auto row = static_cast<std::size_t>(t);
    at = 1;
    day.bind(at++, id);
    day.bind(at++, static_cast<Id>(t));
    day.bind(at++, run.dates[row]);
    day.bind(at++, backtest::name(run.status[row]));
    for (const DailyColumn& column : kDailyColumns) day.bind(at++, (run.*column.column)[row]);
    day.bind(at++, run.benchmark.empty() ? backtest::kNotComputed : run.benchmark[row]);
    day.run();
    for (const backtest::Position& held : run.weights_of(t)) {
      position.bind(1, id);
      position.bind(2, static_cast<Id>(t));
      position.bind(3, static_cast<Id>(held.asset));
      position.bind(4, held.weight);
      position.run();
    }
  }
}

void Store::Database::write_metrics(Id id, const Cell& found) {
  const backtest::Metrics& metrics = found.metrics;
  std::string sql =
      "INSERT INTO metrics (cell, n_periods, n_rebalances, ruin, ruin_period, max_drawdown,"
      " drawdown_peak, drawdown_trough, drawdown_recovery, regret, regret_oracle";
  std::string marks = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?";
  for (const MetricColumn& column : kMetricColumns) {
    sql += fmt::format(", {}", column.name);
    marks += ", ?";
  }
  Statement row(connection, fmt::format("{}) VALUES ({})", sql, marks));
  int at = 1;
  const auto period = [&](Index value) {
    if (value == backtest::Drawdown::kNever)
      row.bind_null(at++);
    else
      row.bind(at++, static_cast<Id>(value));
  };
  row.bind(at++, id);
  row.bind(at++, static_cast<Id>(metrics.n_periods));
  row.bind(at++, static_cast<Id>(metrics.n_rebalances));
  row.bind(at++, static_cast<Id>(metrics.ruin ? 1 : 0));
  period(metrics.ruin_period);
  row.bind(at++, metrics.max_drawdown.depth);
  period(metrics.max_drawdown.peak);
  period(metrics.max_drawdown.trough);
  period(metrics.max_drawdown.recovery);
  row.bind(at++, found.regret ? found.regret->mean : backtest::kNotComputed);
  row.bind(at++, found.regret ? found.regret->oracle : backtest::kNotComputed);
  for (const MetricColumn& column : kMetricColumns) row.bind(at++, metrics.*column.field);
  row.run();
}

void Store::write_done(Index cell, const Cell& found) {
  Database& database = *database_;
  database.check_index(cell);
  const auto at = static_cast<std::size_t>(cell);
  const Cell& planned = database.plan.cells[at];
  try {
    check_run(database.plan.markets[static_cast<std::size_t>(planned.market)], found, true);
  } catch (const Misfit& misfit) {
    throw Failure(misfit.what());
  }
  const Id id = database.cells[at];
  database.in_transaction([&] {
    database.erase(id);
    database.set_state(id, CellState::done, "", found.seconds);
    database.write_run(id, found.run);
    database.write_metrics(id, found);
    write_warnings(database.connection, id, found.warnings);
  });
  database.states[at] = CellState::done;
}

void Store::write_failed(Index cell, std::string_view reason, double seconds) {
  Database& database = *database_;
  database.check_index(cell);
  const auto at = static_cast<std::size_t>(cell);
  database.in_transaction([&] {
    database.erase(database.cells[at]);
    database.set_state(database.cells[at], CellState::failed, reason, seconds);
  });
  database.states[at] = CellState::failed;
}

void Store::forget_failures() {
  Database& database = *database_;
  database.in_transaction([&] {
    for (std::size_t at = 0; at < database.cells.size(); ++at)
      if (database.states[at] == CellState::failed)
        database.set_state(database.cells[at], CellState::missing, "", 0.0);
  });
  std::replace(database.states.begin(), database.states.end(), CellState::failed,
               CellState::missing);
}

std::optional<backtest::Expectations> Store::expectations(std::string_view key) const {
  try {
    database_->connection.ration(kLongestBlob);
    Statement row(database_->connection, "SELECT found FROM expectations WHERE key = ?");
    row.bind(1, key);
    if (!row.step()) return std::nullopt;
    return parse_expectations(row.blob(0), database_->name);
  } catch (const InputError&) {
    return std::nullopt;  // damaged: they are made again
  } catch (const Misfit&) {
    return std::nullopt;
  } catch (const SqliteError& error) {
    fail_to_write(database_->name, error);
  }
}

void Store::write_expectations(std::string_view key, const backtest::Expectations& found) {
  const std::string bytes = expectations_bytes(found);
  if (bytes.size() >= kLongestBlob) return;  // they can be made again, and SQLite has no room
  database_->in_transaction([&] {
    Statement row(database_->connection, "INSERT OR REPLACE INTO expectations VALUES (?, ?)");
    row.bind(1, key);
    row.bind_blob(2, bytes);
    row.run();
  });
}

void Store::drop_expectations(std::string_view key) {
  database_->in_transaction([&] {
    Statement row(database_->connection, "DELETE FROM expectations WHERE key = ?");
    row.bind(1, key);
    row.run();
  });
}

std::filesystem::path set_aside(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  const std::string name = printable(file.string(), kLongestName);
  check_place(file, name);
  const WriterLock lock(file, name);
  try {
    check_beside(file);
    Connection connection(file, Connection::Mode::write);
    connection.number("SELECT count(*) FROM sqlite_schema");
  } catch (const std::runtime_error&) {
    // No database, or one that cannot be put in order: what is beside it goes with it.
  }
  fs::path other;
  for (int number = 1; other.empty() || fs::exists(other, error); ++number)
    other = file.parent_path() /
            fmt::format("{}-{}{}", file.stem().string(), number, file.extension().string());
  fs::rename(file, other, error);
  for (const char* ending : {"-journal", "-wal", "-shm"})
    if (std::error_code none;
        !error && fs::exists(fs::symlink_status(file.string() + ending, none)))
      fs::rename(file.string() + ending, other.string() + ending, error);
  if (error)
    throw StoreFailure(
        fmt::format("{}: cannot be renamed: {}; give another --out", name, error.message()));
  return other;
}

}  // namespace sharpen::study
