// Writing a study. A rollback journal and not a write-ahead log: the file can be copied at any time
// between two groups, and be read where nothing can be written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "study/store_beside.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

void explain(const std::string& file, const SqliteError& error, Doing doing) {
  const int code = error.code;
  const bool disk = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN ||
                    code == SQLITE_PERM || code == SQLITE_READONLY || code == SQLITE_BUSY;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_NOTADB && doing != Doing::writing)
    throw InputError(
        fmt::format("{}: is not a study: it is no SQLite file; name the study.db that "
                    "`‹sharpen study --out›` has written, or another ‹--out›",
                    file));
  if (doing == Doing::reading && disk)
    throw InputError(fmt::format("{}: cannot be read: {}; check the file and its permissions", file,
                                 error.what()));
  if (doing != Doing::writing && !disk)
    throw InputError(fmt::format("{}: is damaged: {}; copy it again, or run the study again", file,
                                 error.what()));
  throw StoreFailure(fmt::format(
      "{}: {}: {}; see to the disk, its room and its permissions, and run the same command again: "
      "finished cells are kept",
      file, disk ? "cannot be written" : "has been damaged while the study ran", error.what()));
}

namespace {

bool is_new(const std::filesystem::path& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  return failed || size == 0;
}

// The words of BLAS name the kernels that it has for this CPU.
void warn_of_other_machine(const Results& plan, const Results& stored, const std::string& file,
                           const Log& log) {
  std::vector<std::string> then, now;
  for (const auto& [what, version] : stored.versions)
    if (what == "blas") then.push_back(version);
  for (const auto& [what, version] : plan.versions)
    if (what == "blas") now.push_back(version);
  if (!then.empty() && !now.empty() && std::ranges::find(then, now[0]) == then.end())
    log.warning(
        fmt::format("{}: was begun on another kind of CPU or with another BLAS ({}; here: {}): "
                    "what is computed now may have other last digits",
                    file, printable(then[0]), now[0]));
}

}  // namespace

struct Store::Database {
  std::string name;  // of the file, in messages
  std::shared_ptr<const void> lock;
  std::optional<Connection> connection;
  Stored plan;
  std::vector<CellState> states;
  bool grouped = false;
  std::vector<std::pair<Index, CellState>> undo;  // states before the group that is open

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
  void replace(Index cell, CellState state, std::string_view reason, double seconds);
  void set_state(Index cell, CellState state);
  void write_metrics(Id id, const Cell& cell);
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
    if (is_new(file)) std::filesystem::remove(link_target(file), ignored);
    explain(name, error, Doing::opening);
  }
}

void Store::Database::open(const std::filesystem::path& file, const Results& planned,
                           const Log& log) {
  constexpr auto kAny = std::numeric_limits<std::uintmax_t>::max();
  connection->distrust(kAny);
  connection->put_in_order();  // only then is the size of the file what it holds
  const bool fresh = is_new(file);
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
  write_plan(*connection, plan);
  connection->run("COMMIT");
  connection->limit(kAny);
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

Store::Group::Group(Store& store) : database_(*store.database_) {
  if (database_.grouped) throw InputError("a group of results is open already; commit it first");
  database_.guarded([&] { database_.connection->run("BEGIN IMMEDIATE"); });
  database_.undo.clear();
  database_.grouped = true;
}

Store::Group::~Group() {
  if (!open_) return;
  // An error may have rolled it back already.
  if (sqlite3_get_autocommit(database_.connection->get()) == 0)
    sqlite3_exec(database_.connection->get(), "ROLLBACK", nullptr, nullptr, nullptr);
  for (; !database_.undo.empty(); database_.undo.pop_back())
    database_.states[at(database_.undo.back().first)] = database_.undo.back().second;
  database_.grouped = false;
}

void Store::Group::commit() {
  database_.guarded([&] { database_.connection->run("COMMIT"); });
  database_.grouped = open_ = false;
}

// All of `work` or nothing: a transaction of its own, or a part of the group's that can be undone.
template <class Work>
void Store::change(const Work& work) {
  Database& database = *database_;
  if (!database.grouped) {
    Group group(*this);
    database.guarded(work);
    return group.commit();
  }
  database.guarded([&] {
    database.connection->run("SAVEPOINT one");
    try {
      work();
    } catch (...) {
      sqlite3_exec(database.connection->get(), "ROLLBACK TO one", nullptr, nullptr, nullptr);
      throw;
    }
    database.connection->run("RELEASE one");
  });
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
}

// Once the file has it.
void Store::Database::set_state(Index cell, CellState state) {
  if (grouped) undo.emplace_back(cell, states[at(cell)]);
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
    check_run(plan.markets[at(plan.cells[at(cell)].market)], found, true);
  } catch (const Misfit& misfit) {
    throw Failure(misfit.what());
  }
  Bytes bytes(kCellBytes);
  found_fields(bytes, const_cast<Cell&>(found));  // which changes nothing
  const std::string all = bytes.written();
  const std::vector<double>& returns = found.run.returns;
  change([&] {
    database.replace(cell, CellState::done, "", found.seconds);
    Statement(*database.connection, "INSERT INTO runs VALUES (?, ?, ?)")
        .run(id, Blob{{reinterpret_cast<const char*>(returns.data()), 8 * returns.size()}},
             Blob{all});
    database.write_metrics(id, found);
  });
  database.set_state(cell, CellState::done);
}

void Store::write_failed(Index cell, std::string_view reason, double seconds) {
  static_cast<void>(database_->id_of(cell));
  const std::string brief = storable_reason(reason);
  change([&] { database_->replace(cell, CellState::failed, brief, seconds); });
  database_->set_state(cell, CellState::failed);
}

void Store::forget_failures() {
  std::vector<Index> failed;
  for (Index cell = 0; at(cell) < states().size(); ++cell)
    if (states()[at(cell)] == CellState::failed) failed.push_back(cell);
  change([&] {
    for (const Index cell : failed) database_->replace(cell, CellState::missing, "", 0.0);
  });
  for (const Index cell : failed) database_->set_state(cell, CellState::missing);
}

// Nothing where it is damaged: it is made again.
template <class T>
std::optional<T> Store::shared(std::string_view key, const FileKind& kind) const {
  try {
    return database_->guarded([&]() -> std::optional<T> {
      Statement row(*database_->connection, "SELECT found FROM shared WHERE key = ?", key);
      if (!row.step()) return std::nullopt;
      return from_bytes<T>(kind, row.blob(0), database_->name);
    });
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const Misfit&) {
    return std::nullopt;
  }
}

void Store::write_shared(std::string_view key, std::string_view kind, const std::string& bytes) {
  if (bytes.size() >= kLongestBlob) return;  // it can be made again, and SQLite has no room
  change([&] {
    Statement(*database_->connection, "INSERT OR REPLACE INTO shared VALUES (?, ?, ?)")
        .run(key, kind, Blob{bytes});
  });
}

std::optional<backtest::Expectations> Store::expectations(std::string_view key) const {
  return shared<backtest::Expectations>(key, kExpectationBytes);
}

void Store::write_expectations(std::string_view key, const backtest::Expectations& found) {
  write_shared(key, "expectations", to_bytes(kExpectationBytes, found));
}

std::optional<backtest::Run> Store::oracle(std::string_view key) const {
  return shared<backtest::Run>(key, kRunBytes);
}

void Store::write_oracle(std::string_view key, const backtest::Run& found) {
  write_shared(key, "oracle", to_bytes(kRunBytes, found));
}

void Store::drop_shared(std::string_view key) {
  change([&] { Statement(*database_->connection, "DELETE FROM shared WHERE key = ?").run(key); });
}

}  // namespace sharpen::study
