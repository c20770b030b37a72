// Writing a study. A rollback journal and not a write-ahead log: the file can be copied at any time
// between two cells, and be read where nothing can be written.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/store.hpp"
#include "study/store_beside.hpp"
#include "study/store_plan.hpp"
#include "study/store_rows.hpp"

namespace sharpen::study {

namespace {

[[noreturn]] void fail_to_write(const std::string& file, const SqliteError& error) {
  const int code = error.code;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    throw StoreFailure(
        fmt::format("{}: has been damaged while the study ran: {}; remove it and run the study "
                    "again, or give another ‹--out›",
                    file, error.what()));
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    throw StoreFailure(
        fmt::format("{}: cannot be written: another program has it open and does not let go; close "
                    "it and run the same command again",
                    file));
  if (code == SQLITE_FULL)
    throw StoreFailure(
        fmt::format("{}: cannot be written: the disk is full; make room and run the same command "
                    "again: finished cells are kept",
                    file));
  throw StoreFailure(
      fmt::format("{}: cannot be written: {}; see to the disk and its permissions, and run the "
                  "same command again: finished cells are kept",
                  file, error.what()));
}

// What was no study before we came is the user's to mend, not a failure of the disk.
[[noreturn]] void fail_to_open(const std::string& file, const SqliteError& error) {
  const int code = error.code & 0xff;  // without what it is in particular
  if (code == SQLITE_NOTADB)
    throw InputError(
        fmt::format("{}: is no SQLite file, and so no study; give another ‹--out›", file));
  if (code == SQLITE_CORRUPT)
    throw InputError(fmt::format(
        "{}: is damaged: {}; remove it and run the study again, or give another ‹--out›", file,
        error.what()));
  fail_to_write(file, error);
}

bool is_new(const std::filesystem::path& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  return failed || size == 0;
}

Connection open_to_write(const std::filesystem::path& file, const std::string& name) {
  try {
    check_beside(file);
    return {file, Connection::Mode::create};
  } catch (const SqliteError& error) {
    fail_to_open(name, error);
  }
}

// The words of BLAS name the kernels that it has for this CPU.
void warn_of_other_machine(const Results& plan, const Results& stored, const std::string& file,
                           const Log& log) {
  const auto blas_of = [](const Results& results) {
    std::set<std::string> found;
    for (const auto& [what, version] : results.versions)
      if (what == "blas") found.insert(version);
    return found;
  };
  const std::set<std::string> before = blas_of(stored), now = blas_of(plan);
  if (!before.empty() && !now.empty() && !before.contains(*now.begin()))
    log.warning(
        fmt::format("{}: was begun on another kind of CPU or with another BLAS ({}; here: {}): "
                    "what is computed now may have other last digits",
                    file, printable(*before.begin()), *now.begin()));
}

}  // namespace

struct Store::Database {
  std::string name;  // of the file, in messages
  Results plan;
  WriterLock lock;
  Connection connection;
  PlannedCells cells;
  std::optional<Transaction> group;
  std::vector<CellState> before_group;

  Database(const std::filesystem::path& file, const Results& planned, const Log& log,
           const std::function<bool()>& stop);

  // The cell's place in `cells`; InputError for one that is not of the plan.
  std::size_t place_of(Index cell) const;
  void set_state(std::size_t at, CellState state, std::string_view reason, double seconds);
  // Writes a cell in place of whatever it was; `rest(id)` writes what it has in other tables.
  template <class Rest>
  void replace(std::size_t at, CellState state, std::string_view reason, double seconds,
               const Rest& rest);
  void write_run(Id id, const Cell& cell);

  // One transaction; all of it or nothing.
  template <class Work>
  void in_transaction(const Work& work) {
    try {
      if (group) return work();
      Transaction transaction(connection, true);
      work();
      transaction.commit();
    } catch (const SqliteError& error) {
      connection.check_patience();
      fail_to_write(name, error);
    }
  }
};

Store::Database::Database(const std::filesystem::path& file, const Results& planned, const Log& log,
                          const std::function<bool()>& stop)
    : name(printable(file.string(), kLongestName)),
      plan(checked_plan(planned)),
      lock(file, name),
      connection(open_to_write(file, name)) {
  connection.wait_patiently(stop, [log, this] {
    log.warning(fmt::format("{}: another program has it open; waiting until it lets go", name));
  });
  try {
    connection.distrust(std::numeric_limits<std::uintmax_t>::max(), kLongestBlob);
    connection.put_in_order();  // only then is the size of the file what it holds
    const bool fresh = is_new(file);
    std::error_code unknown;
    connection.limit_text(std::filesystem::file_size(file, unknown));
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
      if (check_schema(connection) < kSchemaVersion)
        throw Misfit(
            "it was begun by an earlier version of Sharpen, which kept less of every day; reports "
            "of it can still be made");
      stored = read_plan(connection);
      check_same_study(plan, stored.results, name);
    }
    cells = write_plan(connection, plan, stored);
    transaction.commit();
    if (std::ranges::find(cells.states, CellState::missing) != cells.states.end())
      warn_of_other_machine(plan, stored.results, name, log);
  } catch (const Misfit& misfit) {
    throw InputError(
        fmt::format("{}: is not a study that can be gone on with: {}; give another ‹--out›, or "
                    "remove the file to begin anew",
                    name, misfit.what()));
  } catch (const SqliteError& error) {
    std::error_code ignored;
    // It never became a study. A link to it is the user's, and stays; so does what another program
    // is writing.
    const bool busy = (error.code & 0xff) == SQLITE_BUSY;
    if (!busy && is_new(file)) std::filesystem::remove(link_target(file), ignored);
    connection.check_patience();
    fail_to_open(name, error);
  }
}

Store::Store(const std::filesystem::path& file, const Results& plan, const Log& log,
             const std::function<bool()>& stop)
    : database_(std::make_unique<Database>(file, plan, log, stop)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;

Store::Group::Group(Store& store) : database_(*store.database_) {
  try {
    database_.before_group = database_.cells.states;
    database_.group.emplace(database_.connection, true);
  } catch (const SqliteError& error) {
    database_.connection.check_patience();
    fail_to_write(database_.name, error);
  }
}

Store::Group::~Group() {
  if (!database_.group) return;
  database_.group.reset();
  database_.cells.states = std::move(database_.before_group);
}

void Store::Group::commit() {
  try {
    database_.group->commit();
    database_.group.reset();
  } catch (const SqliteError& error) {
    database_.connection.check_patience();
    fail_to_write(database_.name, error);
  }
}

const std::vector<CellState>& Store::states() const { return database_->cells.states; }

std::size_t Store::Database::place_of(Index cell) const {
  if (cell < 0 || at(cell) >= cells.ids.size())
    throw InputError(fmt::format("cell {} is not in [0, {}) of the plan", cell, cells.ids.size()));
  return at(cell);
}

void Store::Database::set_state(std::size_t at, CellState state, std::string_view reason,
                                double seconds) {
  Statement(connection, "UPDATE cells SET state = ?, reason = ?, seconds = ? WHERE cell = ?")
      .run(study::name(state), storable(reason, kLongestText),
           std::isfinite(seconds) && seconds > 0.0 ? seconds : 0.0, cells.ids[at]);
}

template <class Rest>
void Store::Database::replace(std::size_t at, CellState state, std::string_view reason,
                              double seconds, const Rest& rest) {
  const Id id = cells.ids[at];
  in_transaction([&] {
    for (const char* rows : {"runs WHERE", "metrics WHERE", "daily WHERE", "weights WHERE",
                             "warnings WHERE market = 0 AND"})
      Statement(connection, fmt::format("DELETE FROM {} cell = ?", rows)).run(id);
    set_state(at, state, reason, seconds);
    rest(id);
  });
  cells.states[at] = state;
}

void Store::Database::write_run(Id id, const Cell& cell) {
  const backtest::Run& run = cell.run;
  const RunSize size = {.periods = run.periods(),
                        .positions = static_cast<Id>(run.weights.size()),
                        .benchmark = !run.benchmark.empty()};
  Insert line(connection, "runs");
  line.number(id);
  run_columns(line, run, size, size.periods);
  line.run();

  Insert day(connection, "daily"), position(connection, "weights");
  for (Index t = 0; t < run.periods(); ++t) {
    day.number(id);
    day.number(t);
    day_columns(day, cell, at(t));
    day.run();
    for (const backtest::Position& held : run.weights_of(t))
      position.run(id, Id{t}, Id{held.asset}, held.weight);
  }
}

void Store::write_done(Index cell, const Cell& found) {
  Database& database = *database_;
  const std::size_t place = database.place_of(cell);
  const Index market = database.plan.cells[place].market;
  try {
    check_run(database.plan.markets[at(market)], found, true);
  } catch (const Misfit& misfit) {
    throw Failure(misfit.what());
  }
  database.replace(place, CellState::done, "", found.seconds, [&](Id id) {
    database.write_run(id, found);
    Insert metrics(database.connection, "metrics");
    metrics.number(id);
    metric_columns(metrics, found, found.run.periods());
    metrics.run();
    write_texts(database.connection, "INSERT INTO warnings VALUES (0, ?, ?, ?)", id,
                found.warnings);
  });
}

void Store::write_failed(Index cell, std::string_view reason, double seconds) {
  database_->replace(database_->place_of(cell), CellState::failed, reason, seconds, [](Id) {});
}

void Store::forget_failures() {
  Database& database = *database_;
  std::vector<CellState>& states = database.cells.states;
  database.in_transaction([&] {
    for (std::size_t at = 0; at < states.size(); ++at)
      if (states[at] == CellState::failed) database.set_state(at, CellState::missing, "", 0.0);
  });
  std::replace(states.begin(), states.end(), CellState::failed, CellState::missing);
}

std::optional<backtest::Expectations> Store::expectations(std::string_view key) const {
  try {
    database_->connection.limit_text(kLongestBlob);
    Query row(database_->connection, "SELECT found FROM expectations WHERE key = ?", key);
    if (!row.step()) return std::nullopt;
    return parse_expectations(row.blob(), database_->name);
  } catch (const InputError&) {
    return std::nullopt;  // damaged: they are made again
  } catch (const Misfit&) {
    return std::nullopt;
  } catch (const SqliteError& error) {
    database_->connection.check_patience();
    fail_to_write(database_->name, error);
  }
}

void Store::write_expectations(std::string_view key, const backtest::Expectations& found) {
  const std::string bytes = expectations_bytes(found);
  if (bytes.size() >= kLongestBlob) return;  // they can be made again, and SQLite has no room
  database_->in_transaction(
      [&] { Insert(database_->connection, "expectations").run(key, Blob{bytes}); });
}

void Store::drop_expectations(std::string_view key) {
  database_->in_transaction(
      [&] { Statement(database_->connection, "DELETE FROM expectations WHERE key = ?").run(key); });
}

}  // namespace sharpen::study
