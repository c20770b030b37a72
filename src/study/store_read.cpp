// Reading a study from a file that may come from anyone.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/error.hpp"
#include "study/store_beside.hpp"
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
    check_run(stored.results.markets[at(cells[i].market)], cells[i], true);
    if (detail == Detail::all) continue;
    cells[i].run.weights = {};
    cells[i].run.weights_begin = {};
  }
  return std::move(stored.results);
}

void check_is_file(const fs::path& file, const std::string& name) {
  std::error_code failed;
  const auto status = fs::status(file, failed);
  if (!fs::status_known(status))
    throw InputError(fmt::format("{}: cannot be read: {}; check the folder and its permissions",
                                 name, failed.message()));
  if (!fs::exists(status))
    throw InputError(fmt::format(
        "{}: does not exist; name the study.db that `‹sharpen study --out›` has written", name));
  if (fs::is_directory(status))
    throw InputError(fmt::format("{}: is a folder; name the study.db in it", name));
  if (!fs::is_regular_file(status))
    throw InputError(fmt::format("{}: is not a file; name a study.db", name));
  if (fs::file_size(file, failed) == 0)
    throw InputError(
        fmt::format("{}: is empty: its study has not begun; run `sharpen study` again", name));
}

// What `read` finds in a file that may come from anyone, or why nothing can be found there. Whoever
// is writing it, or waits to, is waited for.
template <class Read>
auto read_any(const fs::path& file, const Log& log, const Stop& stop, const Read& read) {
  const std::string name = shown(file);
  const auto say = [&] {
    log.warning(fmt::format("{}: another program is writing it; waiting until it lets go", name));
  };
  // `most`: bytes that were really there; a journal can make a file of holes longer than that.
  const auto read_file = [&](const fs::path& there, std::uintmax_t most) {
    std::error_code failed;
    Connection connection(there, Connection::Mode::read, stop, say);
    connection.distrust(std::min(fs::file_size(there, failed), most));
    connection.run("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; BEGIN");
    check_schema(connection);
    return read(connection, name);
  };
  try {
    check_is_file(file, name);
    check_beside(file);
    try {
      return read_file(file, fs::file_size(file));
    } catch (const SqliteError& error) {
      if (error.extended != SQLITE_READONLY_ROLLBACK) throw;
      // A process that was killed in the middle of a write has left a journal beside the file.
      const OrderedCopy copy(file, name, stop, say);
      return read_file(copy.file(), copy.bytes());
    }
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format(
        "{}: is not a study that can be read: {}; name the study.db of `sharpen study`, or run "
        "the study again",
        name, misfit.what()));
  } catch (const SqliteError& error) {
    explain(name, error, Doing::reading);
  }
}

// Whether it is a period of the run, or stands for none.
bool is_period(Index period, const backtest::Run& run) {
  return period == backtest::Drawdown::kNever || (period >= 0 && period < run.periods());
}

void check_weights(const Market& market, const backtest::Run& run) {
  require(run.weights_begin.size() == run.dates.size() + 1 && run.weights_begin.front() == 0 &&
              run.weights_begin.back() == static_cast<Index>(run.weights.size()) &&
              std::is_sorted(run.weights_begin.begin(), run.weights_begin.end()),
          "the weights of a run do not fit its periods");
  for (Index t = 0; t < run.periods(); ++t) {
    Index last = -1;
    for (const backtest::Position& held : run.weights_of(t)) {
      require(held.asset > last && at(held.asset) < market.tickers.size(),
              "the weights of a run are not in the order of the assets");
      if (!std::isfinite(held.weight))
        throw Misfit(fmt::format("a weight of {} is not finite", run.dates[at(t)]));
      last = held.asset;
    }
  }
}

}  // namespace

void check_run(const Market& market, const Cell& cell, bool with_weights) {
  const backtest::Run& run = cell.run;
  const std::size_t periods = run.dates.size();
  require(periods > 0, "a run has no periods");
  require(periods <= market.dates.size() &&
              std::equal(run.dates.begin(), run.dates.end(), market.dates.begin()),
          "the periods of a run are not those of its market: methods of one study may not differ "
          "in what decides on its test periods");
  require(periods == market.dates.size() || run.ruined(), "a run ends before its market, unruined");
  require(run.stats_from >= 0 && at(run.stats_from) <= periods,
          "the statistics of a run begin outside it");
  require(std::isfinite(run.risk_free), "the risk-free rate of a run is not finite");
  require(run.status.size() == periods, "the columns of a run have different lengths");
  for (const backtest::PeriodStatus status : run.status)
    require(static_cast<int>(status) < backtest::kPeriodStatuses, "the status of a day is unknown");
  for (const auto* column : {&run.benchmark, &cell.delayed_returns, &cell.equal_returns})
    require(column->empty() || column->size() == periods,
            "the columns of a run have different lengths");
  for (const DailyColumn& column : kDailyColumns) {
    const std::vector<double>& values = run.*column.column;
    require(values.size() == periods, "the columns of a run have different lengths");
    for (std::size_t t = 0; column.finite && t < periods; ++t)
      if (!std::isfinite(values[t]))
        throw Misfit(fmt::format("the {} of {} is not finite", column.name, run.dates[t]));
  }
  const backtest::Drawdown& drawdown = cell.metrics.max_drawdown;
  require((drawdown.peak == backtest::Drawdown::kStart || is_period(drawdown.peak, run)) &&
              is_period(drawdown.trough, run) && is_period(drawdown.recovery, run) &&
              is_period(cell.metrics.ruin_period, run),
          "the metrics of a run speak of periods that it does not have");
  if (with_weights) check_weights(market, run);
}

Results read_store(const fs::path& file, Detail detail, const Log& log, const Stop& stop) {
  return read_any(file, log, stop, [&](Connection& connection, const std::string& name) {
    return read_contents(connection, detail, name);
  });
}

std::set<std::string> kept_in(const fs::path& file, const Log& log, const Stop& stop) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  return read_any(file, log, stop, [](Connection& connection, const std::string&) {
    std::set<std::string> keys;
    Statement rows(connection, "SELECT key FROM shared");
    while (rows.step()) require(keys.insert(rows.text(0)).second, "its rows are not in order");
    return keys;
  });
}

}  // namespace sharpen::study
