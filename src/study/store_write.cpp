// Writing a study. A rollback journal and not a write-ahead log: the file can be copied at any time
// between two groups, and be read where nothing can be written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

void explain(const std::string& file, const SqliteError& error, Doing doing) {
  const int code = error.code;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  const bool disk = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN ||
                    code == SQLITE_PERM || code == SQLITE_READONLY || code == SQLITE_BUSY;
  if (doing == Doing::writing || (doing == Doing::opening && disk))
    throw StoreFailure(fmt::format(
        "{}: {}: {}; see to the disk, its room and its permissions, and run the same command "
        "again: finished cells are kept",
        file, disk ? "cannot be written" : "has been damaged while the study ran", error.what()));
  std::string_view what = "is damaged", why = error.what();
  std::string_view remedy = "copy it again, or run the study again";
  if (code == SQLITE_NOTADB) {
    what = "is not a study";
    why = "it is no SQLite file";
    remedy = "name the study.db that `‹sharpen study --out›` has written, or another ‹--out›";
  } else if (disk && doing == Doing::reading) {
    what = "cannot be read";
    remedy = "check the file and its permissions";
  } else if (disk) {
    what = "was left in the middle of a write, and cannot be put in order where it is";
    remedy =
        "run the same `sharpen study` again, or copy it with its -journal to where you can write";
  }
  throw InputError(fmt::format("{}: {}: {}; {}", file, what, why, remedy));
}

namespace {

// The words of BLAS name the kernels that it has for this CPU.
void warn_of_other_machine(const Results& plan, const Results& stored, const std::string& file,
                           const Log& log) {
  const auto then = versions_of(stored, "blas"), now = versions_of(plan, "blas");
  if (!then.empty() && !now.empty() && !then.contains(*now.begin()))
    log.warning(
        fmt::format("{}: was begun on another kind of CPU or with another BLAS ({}; here: {}): "
                    "what is computed now may have other last digits",
                    file, printable(*then.begin()), *now.begin()));
}

}  // namespace

struct Store::Database {
  std::string name;  // of the file, in messages
  std::shared_ptr<const void> lock;
  std::optional<Connection> connection;
  Stored plan;
  std::vector<CellState> states;
  std::vector<std::pair<Index, CellState>> undo;  // states before the transaction that is open

  Database(const std::filesystem::path& file, const Results& planned, const Log& log,
           const Stop& stop);
  void open(const std::filesystem::path& file, const Results& planned, const Log& log);

  // The cell's id; InputError for one that is not of the plan.
  Id id_of(Index cell) const;

  // `work` with errors of SQLite as what they mean.
  template <class Work>
  auto guarded(const Work& work) {
    try {
      return work();
    } catch (const SqliteError& error) {
      explain(name, error, Doing::writing);
    }
  }
  // All of `work` or nothing: a transaction of its own, or a part of the one that is open.
  template <class Work>
  void change(const Work& work);
  void restore(std::size_t changes);  // the states as they were after so many
  void replace(Index cell, CellState state, std::string_view reason, double seconds);
  void write_metrics(Id id, const Cell& cell);

  template <class T>
  std::optional<T> shared(std::string_view key, const FileKind& kind);
  void write_shared(std::string_view key, std::string_view kind, const std::string& bytes);
};

Store::Database::Database(const std::filesystem::path& file, const Results& planned, const Log& log,
                          const Stop& stop)
    : name(shown(file)), lock(lock_to_write(file, name)) {
  const Results checked = checked_plan(planned);
  try {
    check_beside(file);
    connection.emplace(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, stop, [log, this] {
      log.warning(fmt::format("{}: another program has it open; waiting until it lets go", name));
    });
    open(file, checked, log);
  } catch (const Misfit& misfit) {
    throw InputError(
        fmt::format("{}: is not a study that can be gone on with: {}; give another ‹--out›, or "
                    "remove the file to begin anew",
                    name, misfit.what()));
  } catch (const SqliteError& error) {
    std::error_code ignored;
    // It never became a study. A link to it is the user's, and stays.
    if (std::filesystem::file_size(file, ignored) == 0)
      std::filesystem::remove(link_target(file), ignored);
    explain(name, error, Doing::opening);
  }
}

void Store::Database::open(const std::filesystem::path& file, const Results& planned,
                           const Log& log) {
  // Has SQLite undo what a killed writer left: only then is the size of the file what it holds.
  const bool fresh = connection->number("PRAGMA page_count") == 0;
  std::error_code unknown;
  connection->limit(std::filesystem::file_size(file, unknown));
  // EXTRA: a cell that was written stays written, even if the power fails.
  connection->run(
      "PRAGMA synchronous = EXTRA; PRAGMA cache_size = -65536; PRAGMA cache_spill = 0;"
      "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON");
  // Tables are made in the same transaction: a file is there with all of them or without a byte.
  connection->run(fresh ? "BEGIN" : "BEGIN IMMEDIATE");
  Stored stored;
  if (fresh) {
    create_schema(*connection);
  } else {
    check_schema(*connection);
    stored = read_plan(*connection, name);
    check_same_study(planned, stored.results, name);
  }
  plan = joined(planned, stored);
  connection->limit(kLargestFile);  // what follows is ours
  write_plan(*connection, plan);
  connection->run("COMMIT");
  for (const Cell& cell : plan.results.cells) states.push_back(cell.state);
  if (std::ranges::find(states, CellState::missing) != states.end())
    warn_of_other_machine(planned, stored.results, name, log);
}

Store::Store(const std::filesystem::path& file, const Results& plan, const Log& log,
             const Stop& stop)
    : database_(std::make_unique<Database>(file, plan, log, stop)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;

const std::vector<CellState>& Store::states() const { return database_->states; }

template <class Work>
void Store::Database::change(const Work& work) {
  const bool outermost = sqlite3_get_autocommit(connection->get()) != 0;
  if (outermost) undo.clear();
  const std::size_t before = undo.size();
  guarded([&] {
    connection->run(outermost ? "BEGIN IMMEDIATE" : "SAVEPOINT one");
    try {
      work();
      connection->run(outermost ? "COMMIT" : "RELEASE one");
    } catch (...) {
      connection->roll_back(outermost ? "ROLLBACK" : "ROLLBACK TO one; RELEASE one");
      restore(before);
      throw;
    }
  });
}

void Store::Database::restore(std::size_t changes) {
  for (; undo.size() > changes; undo.pop_back()) states[at(undo.back().first)] = undo.back().second;
}

Id Store::Database::id_of(Index cell) const {
  if (cell < 0 || at(cell) >= plan.ids.size())
    throw InputError(fmt::format("cell {} is not in [0, {}) of the plan", cell, plan.ids.size()));
  return plan.ids[at(cell)];
}

// In place of whatever it was.
void Store::Database::replace(Index cell, CellState state, std::string_view reason,
                              double seconds) {
  const Id id = id_of(cell);
  for (const char* table : {"runs", "metrics"})
    Statement(*connection, fmt::format("DELETE FROM {} WHERE cell = ?", table)).run(id);
  Statement(*connection, "UPDATE cells SET state = ?, reason = ?, seconds = ? WHERE cell = ?")
      .run(study::name(state), storable(reason),
           std::isfinite(seconds) && seconds > 0.0 ? seconds : 0.0, id);
  undo.emplace_back(cell, states[at(cell)]);
  states[at(cell)] = state;
}

void Store::Database::write_metrics(Id id, const Cell& cell) {
  const backtest::Metrics& metrics = cell.metrics;
  std::string parameters = "?, ?, ?, ?, ?, ?, ?";
  for (std::size_t i = 0; i < kMetricColumns.size(); ++i) parameters += ", ?";
  Statement row(*connection, fmt::format("INSERT INTO metrics VALUES ({})", parameters), id,
                Id{metrics.n_periods}, Id{metrics.n_rebalances}, Id{metrics.ruin ? 1 : 0},
                metrics.max_drawdown.depth,
                cell.regret ? cell.regret->mean : backtest::kNotComputed,
                cell.regret ? cell.regret->oracle : backtest::kNotComputed);
  for (const MetricColumn& column : kMetricColumns) row.bind(metrics.*column.field);
  row.run();
}

void Store::write_done(Index cell, const Cell& found) {
  Database& database = *database_;
  const Id id = database.id_of(cell);
  const Results& plan = database.plan.results;
  try {
    check_run(plan.markets[at(plan.cells[at(cell)].market)], found);
  } catch (const Misfit& misfit) {
    throw Failure(misfit.what());
  }
  Bytes bytes(kCellBytes);
  found_fields(bytes, const_cast<Cell&>(found));  // which changes nothing
  const std::string all = bytes.written();
  const std::vector<double>& returns = found.run.returns;
  database.change([&] {
    database.replace(cell, CellState::done, "", found.seconds);
    Statement(*database.connection, "INSERT INTO runs VALUES (?, ?, ?)")
        .run(id, Blob{{reinterpret_cast<const char*>(returns.data()), 8 * returns.size()}},
             Blob{all});
    database.write_metrics(id, found);
  });
}

void Store::write_failed(Index cell, std::string_view reason, double seconds) {
  const std::string brief = storable_reason(reason);
  database_->change([&] { database_->replace(cell, CellState::failed, brief, seconds); });
}

void Store::together(const std::function<void()>& work) { database_->change(work); }

void Store::forget_failures() {
  database_->change([&] {
    for (Index cell = 0; at(cell) < states().size(); ++cell)
      if (states()[at(cell)] == CellState::failed)
        database_->replace(cell, CellState::missing, "", 0.0);
  });
}

// Nothing where it is damaged: it is made again.
template <class T>
std::optional<T> Store::Database::shared(std::string_view key, const FileKind& kind) {
  try {
    return guarded([&]() -> std::optional<T> {
      Statement row(*connection, "SELECT found FROM shared WHERE key = ?", key);
      if (!row.step()) return std::nullopt;
      return from_bytes<T>(kind, row.blob(0), name);
    });
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void Store::Database::write_shared(std::string_view key, std::string_view kind,
                                   const std::string& bytes) {
  if (bytes.size() >= kLongestBlob) return;  // it can be made again, and SQLite has no room
  change([&] {
    Statement(*connection, "INSERT OR REPLACE INTO shared VALUES (?, ?, ?)")
        .run(key, kind, Blob{bytes});
  });
}

std::optional<backtest::Expectations> Store::expectations(std::string_view key) const {
  return database_->shared<backtest::Expectations>(key, kExpectationBytes);
}

void Store::write_expectations(std::string_view key, const backtest::Expectations& found) {
  database_->write_shared(key, "expectations", to_bytes(kExpectationBytes, found));
}

std::optional<backtest::Run> Store::oracle(std::string_view key) const {
  return database_->shared<backtest::Run>(key, kRunBytes);
}

void Store::write_oracle(std::string_view key, const backtest::Run& found) {
  database_->write_shared(key, "oracle", to_bytes(kRunBytes, found));
}

void Store::drop_shared(std::string_view key) {
  database_->change(
      [&] { Statement(*database_->connection, "DELETE FROM shared WHERE key = ?").run(key); });
}

}  // namespace sharpen::study
