// Reading a study from a file that may come from anyone.
#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

namespace fs = std::filesystem;

Results read_contents(Connection& connection, Detail detail, const std::string& name) {
  Stored stored = read_plan(connection, name);
  std::vector<Cell>& cells = stored.results.cells;
  for (std::size_t i = 0; i < cells.size() && detail != Detail::states; ++i) {
    if (cells[i].state != CellState::done) continue;
    Statement row(connection, "SELECT found FROM runs WHERE cell = ?", stored.ids[i]);
    require(row.step(), "a cell that is done has no run");
    const std::string found = row.blob(0);
    Bytes bytes(found, name, kCellBytes);
    found_fields(bytes, cells[i]);
    bytes.end();
    check_run(stored.results.markets[at(cells[i].market)], cells[i]);
    if (detail == Detail::all) continue;
    cells[i].run.weights = {};
    cells[i].run.weights_begin = {};
  }
  return std::move(stored.results);
}

void check_is_file(const fs::path& file, const std::string& name) {
  std::error_code failed;
  const auto status = fs::status(file, failed);
  const std::string what =
      !fs::status_known(status)
          ? fmt::format("cannot be read: {}; check the folder and its permissions",
                        failed.message())
      : !fs::exists(status)
          ? "does not exist; name the study.db that `‹sharpen study --out›` has written"
      : fs::is_directory(status)     ? "is a folder; name the study.db in it"
      : !fs::is_regular_file(status) ? "is not a file; name a study.db"
      : fs::file_size(file, failed) == 0
          ? "is empty: its study has not begun; run `sharpen study` again"
          : "";
  if (!what.empty()) throw InputError(name + ": " + what);
}

// What `read` finds in a file that may come from anyone, or why nothing can be found there. Whoever
// is writing it, or waits to, is waited for.
template <class Read>
auto read_any(const fs::path& file, const Log& log, const Stop& stop, const Read& read) {
  const std::string name = shown(file);
  Doing doing = Doing::reading;
  const auto read_file = [&](int flags) {
    std::error_code failed;
    Connection connection(file, flags, stop, [&] {
      log.warning(fmt::format("{}: another program is writing it; waiting until it lets go", name));
    });
    connection.run("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; BEGIN");
    check_schema(connection);
    connection.limit(fs::file_size(file, failed));  // which nobody changes any more
    return read(connection, name);
  };
  try {
    check_is_file(file, name);
    check_beside(file);
    try {
      return read_file(SQLITE_OPEN_READONLY);
    } catch (const SqliteError& error) {
      if (error.extended != SQLITE_READONLY_ROLLBACK) throw;
      // A process that was killed in the middle of a write has left a journal: SQLite, which knows
      // by its locks that nobody writes, plays it back where it may write.
      doing = Doing::ordering;
      return read_file(SQLITE_OPEN_READWRITE);
    }
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format(
        "{}: is not a study that can be read: {}; name the study.db of `sharpen study`, or run "
        "the study again",
        name, misfit.what()));
  } catch (const SqliteError& error) {
    explain(name, error, doing);
  }
}

}  // namespace

Results read_store(const fs::path& file, Detail detail, const Log& log, const Stop& stop) {
  return read_any(file, log, stop, [&](Connection& connection, const std::string& name) {
    return read_contents(connection, detail, name);
  });
}

Kept kept_in(const fs::path& file, const Results& plan, const Log& log, const Stop& stop) {
  Kept kept;
  Stored stored;
  const Results planned = checked_plan(plan);
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    stored = read_any(file, log, stop, [&](Connection& connection, const std::string& name) {
      Statement rows(connection, "SELECT key FROM shared");
      while (rows.step()) kept.shared.insert(rows.text(0));
      return read_plan(connection, name);
    });
    check_same_study(planned, stored.results, shown(file));
  }
  for (const Cell& cell : joined(planned, stored).results.cells) kept.states.push_back(cell.state);
  return kept;
}

}  // namespace sharpen::study
