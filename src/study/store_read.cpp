// Reading a study from a file that may come from anyone. Rows are read in the order of their keys,
// and every key is checked to be the next one: a tree of pages that has been bent into a loop ends
// at its first wrong key, and nothing is allocated for rows that are not there.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/shard.hpp"
#include "study/store_beside.hpp"
#include "study/store_rows.hpp"

namespace sharpen::study {

namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw Misfit(std::string(what));
}

// The texts of (owner, 0), (owner, 1), ...
std::vector<std::string> texts(Query& rows, Id owner, std::size_t longest) {
  std::vector<std::string> found;
  rows.bind(owner);
  while (rows.step()) {
    const auto expected = static_cast<Id>(found.size());
    require(rows.integer(0, kHighest) == expected, "its rows are not in order");
    found.push_back(rows.text(longest));
  }
  rows.reset();
  return found;
}

// The rows of a table whose first columns are an id and a position, by position. `read(row, id)`
// gives what the other columns hold.
template <class T, class Read>
void read_table(Connection& connection, std::string_view table, std::vector<T>& items,
                std::vector<Id>& ids, const Read& read) {
  struct Row {
    Id id = 0, position = 0;
    T item;
  };
  std::vector<Row> found;
  Query rows(connection, fmt::format("SELECT * FROM {} ORDER BY 1", table));
  while (rows.step()) {
    Row row;
    rows.number(row.id, 1, kHighest);
    require(found.empty() || row.id > found.back().id, "its rows are not in order");
    rows.number(row.position, 0, kHighest);
    row.item = read(rows, row.id);
    found.push_back(std::move(row));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Row& a, const Row& b) { return a.position < b.position; });
  for (Row& row : found) {
    items.push_back(std::move(row.item));
    ids.push_back(row.id);
  }
}

// Where in `ids` the one in the next column is.
using Places = std::unordered_map<Id, Index>;

Places places(const std::vector<Id>& ids) {
  Places found;
  for (const Id id : ids) found.emplace(id, static_cast<Index>(found.size()));
  return found;
}

Index read_place(Query& row, const Places& places, std::string_view what) {
  const auto found = places.find(row.integer(1, kHighest));
  if (found == places.end()) throw Misfit(fmt::format("a cell's {} does not exist", what));
  return found->second;
}

template <class T>
void require_unique_names(const std::vector<T>& items, std::string_view what) {
  if (const std::string* name = name_given_twice(items))
    throw Misfit(fmt::format("two {} are called \"{}\"", what, printable(*name)));
}

// "3/100 12": part 3 of 100, to which 12 cells fell.
void read_shard(std::string_view text, Results& results) {
  const auto space = std::min(text.find(' '), text.size());
  const std::string_view cells = text.substr(std::min(space + 1, text.size()));
  try {
    results.shard = shard_of(text.substr(0, space));
  } catch (const InputError&) {
    throw Misfit("its part of the study is none");
  }
  const auto [end, failed] =
      std::from_chars(cells.data(), cells.data() + cells.size(), results.shard_cells);
  require(failed == std::errc() && end == cells.data() + cells.size() && results.shard_cells >= 0,
          "its part of the study is none");
}

void read_study(Connection& connection, Results& results) {
  Query rows(connection, "SELECT key, value FROM study");
  std::set<std::string> keys;
  while (rows.step()) {
    const std::string key = rows.text(kLongestName);
    require(keys.insert(key).second, "its rows are not in order");
    const std::string value = rows.text(kLongestText);
    if (key == "name")
      results.name = value;
    else if (key == "settings")
      results.settings = value;
    else if (key == "shard")
      read_shard(value, results);
    else
      throw Misfit("the table study has a key of something else");
  }
  require(keys.contains("name") && keys.contains("settings"),
          "the study's name or settings are missing");
  Query versions(connection, "SELECT position, what, version FROM versions ORDER BY position");
  for (Id position = 0, last = 0; versions.step(); last = position) {
    versions.number(position, 1, kHighest);
    require(position > last, "its rows are not in order");
    auto& [what, version] = results.versions.emplace_back();
    versions.text(what, kLongestName);
    versions.text(version, kLongestName);
  }
}

void read_markets(Connection& connection, Stored& stored) {
  Query tickers(connection, "SELECT asset, ticker FROM assets WHERE market = ? ORDER BY asset");
  Query dates(connection, "SELECT period, date FROM periods WHERE market = ? ORDER BY period");
  Query warnings(connection,
                 "SELECT number, text FROM warnings WHERE market = ? AND cell = 0 ORDER BY number");
  read_table(connection, "markets", stored.results.markets, stored.markets, [&](Query& row, Id id) {
    Market market;
    market_columns(row, market);
    market.tickers = texts(tickers, id, kLongestName);
    market.dates = texts(dates, id, kLongestName);
    market.warnings = texts(warnings, id, kLongestText);
    require(market.periods_per_year > 0.0, "a market has no periods in a year");
    require(std::ranges::adjacent_find(market.dates, std::greater_equal<>()) == market.dates.end(),
            "a market's dates do not ascend");
    return market;
  });
  require_unique_names(stored.results.markets, "markets");
}

void read_methods(Connection& connection, Stored& stored) {
  read_table(connection, "methods", stored.results.methods, stored.methods, [](Query& row, Id) {
    Method method;
    method_columns(row, method);
    return method;
  });
  require_unique_names(stored.results.methods, "methods");
}

void read_cells(Connection& connection, Stored& stored) {
  const Places markets = places(stored.markets), methods = places(stored.methods);
  Query warnings(connection,
                 "SELECT number, text FROM warnings WHERE market = 0 AND cell = ? ORDER BY number");
  read_table(connection, "cells", stored.results.cells, stored.cells, [&](Query& row, Id id) {
    Cell cell;
    cell.market = read_place(row, markets, "market");
    cell.method = read_place(row, methods, "method");
    const Market& market = stored.results.markets[at(cell.market)];
    cell_columns(row, cell, static_cast<Id>(market.tickers.size()));
    require(cell.seconds >= 0.0, "a cell took less than no time");
    cell.warnings = texts(warnings, id, kLongestText);
    return cell;
  });
  check_cells(stored.results);
}

// The row of a table that has one for every cell that is done.
Query row_of_cell(Connection& connection, std::string_view table, Id cell, std::string_view what) {
  Query row(connection, fmt::format("SELECT * FROM {} WHERE cell = ?", table), cell);
  if (!row.step()) throw Misfit(fmt::format("a cell that is done has no {}", what));
  row.skip();
  return row;
}

// A column of which a file has nothing is none.
void drop_if_absent(std::vector<double>& column) {
  if (std::ranges::all_of(column, [](double value) { return std::isnan(value); })) column.clear();
}

void read_daily(Connection& connection, Id id, const RunSize& size, int version, Cell& cell) {
  const auto periods = at(size.periods);
  backtest::Run& run = cell.run;
  run.dates.resize(periods);
  run.status.resize(periods);
  for (const DailyColumn& column : kDailyColumns) (run.*column.column).resize(periods);
  if (size.benchmark) run.benchmark.resize(periods);
  if (version > 1)
    for (auto* column : {&cell.delayed_returns, &cell.equal_returns}) column->resize(periods);
  Query row(connection, "SELECT * FROM daily WHERE cell = ? ORDER BY period", id);
  std::size_t period = 0;
  for (; row.step(); ++period) {
    row.skip();
    require(row.integer(0, size.periods - 1) == static_cast<Id>(period),
            "its days are not in order");
    day_columns(row, cell, period, version);
  }
  require(period == periods, "days of a cell are missing");
  drop_if_absent(cell.delayed_returns);
  drop_if_absent(cell.equal_returns);
  if (version == 1) run.trading_costs = run.costs;  // there was no other kind
}

void read_weights(Connection& connection, Id id, const RunSize& size, Index n, backtest::Run& run) {
  Query row(connection,
            "SELECT period, asset, weight FROM weights WHERE cell = ? ORDER BY period, asset", id);
  const auto held = [&] { return static_cast<Index>(run.weights.size()); };
  run.weights_begin.push_back(0);
  while (row.step()) {
    const auto period = at(row.integer(0, size.periods - 1));
    require(period + 1 >= run.weights_begin.size(), "its weights are not in order");
    run.weights_begin.resize(period + 1, held());
    const auto asset = static_cast<Index>(row.integer(0, n - 1));
    run.weights.push_back({.asset = asset, .weight = row.finite()});
  }
  require(held() == size.positions, "weights of a cell are missing");
  run.weights_begin.resize(at(size.periods) + 1, held());
}

// The rest of a cell that is done.
void read_cell(Connection& connection, Id id, const Market& market, Detail detail, int version,
               Cell& cell) {
  RunSize size;
  Query run = row_of_cell(connection, "runs", id, "run");
  run_columns(run, cell.run, size, static_cast<Id>(market.dates.size()));
  read_daily(connection, id, size, version, cell);
  if (detail == Detail::all)
    read_weights(connection, id, size, static_cast<Index>(market.tickers.size()), cell.run);
  Query metrics = row_of_cell(connection, "metrics", id, "metrics");
  metric_columns(metrics, cell, cell.run.periods(), version);
  check_run(market, cell, detail == Detail::all);
}

Results read_contents(Connection& connection, Detail detail) {
  Transaction snapshot(connection, false);
  const int version = check_schema(connection);
  Stored stored = read_plan(connection);
  if (detail != Detail::states)
    for (std::size_t i = 0; i < stored.cells.size(); ++i)
      if (Cell& cell = stored.results.cells[i]; cell.state == CellState::done)
        read_cell(connection, stored.cells[i], stored.results.markets[at(cell.market)], detail,
                  version, cell);
  return std::move(stored.results);
}

constexpr std::uintmax_t kAnySize = std::numeric_limits<std::uintmax_t>::max();

// `most`: bytes that were really there; a journal can make a file of holes longer than that.
template <class Read>
auto read_file(const std::filesystem::path& file, const Read& read, const std::string& name,
               std::uintmax_t most) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  if (!failed && bytes == 0)
    throw InputError(
        fmt::format("{}: is empty: its study has not begun; run `sharpen study` again", name));
  Connection connection(file, Connection::Mode::read);
  connection.distrust(std::min(bytes, most));
  return read(connection);
}

// What `read` finds, in a copy if need be.
template <class Read>
auto read_in_order(const std::filesystem::path& file, const Read& read, const std::string& name) {
  try {
    check_beside(file);
    return read_file(file, read, name, kAnySize);
  } catch (const SqliteError& error) {
    if (error.extended != SQLITE_READONLY_ROLLBACK) throw;
    // A process that was killed in the middle of a write has left a journal beside the file.
    const OrderedCopy copy(file, name);
    return read_file(copy.file(), read, name, copy.bytes());
  }
}

// Unless it passes.
void fail_to_read(const std::string& name, const SqliteError& error) {
  const int code = error.code;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return;
  if (code == SQLITE_NOTADB)
    throw InputError(
        fmt::format("{}: is not a study: it is no SQLite file; name the study.db "
                    "that `‹sharpen study --out›` has written",
                    name));
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_PERM)
    throw InputError(fmt::format("{}: cannot be read: {}; check the file and its permissions", name,
                                 error.what()));
  throw InputError(
      fmt::format("{}: is damaged: {}; copy it again, or run the study again", name, error.what()));
}

void check_is_file(const std::filesystem::path& file, const std::string& name) {
  std::error_code failed;
  const auto status = std::filesystem::status(file, failed);
  if (!std::filesystem::status_known(status))
    throw InputError(fmt::format("{}: cannot be read: {}; check the folder and its permissions",
                                 name, failed.message()));
  if (!std::filesystem::exists(status))
    throw InputError(fmt::format(
        "{}: does not exist; name the study.db that `‹sharpen study --out›` has written", name));
  if (std::filesystem::is_directory(status))
    throw InputError(fmt::format("{}: is a folder; name the study.db in it", name));
  if (!std::filesystem::is_regular_file(status))
    throw InputError(fmt::format("{}: is not a file; name a study.db", name));
}

// What `read` finds in a file that may come from anyone, or why nothing can be found there. Whoever
// is writing it, or waits to, is waited for.
template <class Read>
auto read_any(const std::filesystem::path& file, const Log& log, const Stop& stop,
              const Read& read) {
  const std::string name = printable(file.string(), kLongestName);
  check_is_file(file, name);
  for (int waits = 0;; ++waits) {
    try {
      return read_in_order(file, read, name);
    } catch (const Misfit& misfit) {
      throw InputError(fmt::format(
          "{}: is not a study that can be read: {}; name the study.db of `sharpen study`, or run "
          "the study again",
          name, misfit.what()));
    } catch (const SqliteError& error) {
      fail_to_read(name, error);
    }
    wait_for_others(waits, stop, [&] {
      log.warning(fmt::format("{}: another program is writing it; waiting until it lets go", name));
    });
  }
}

}  // namespace

Stored read_plan(Connection& connection) {
  Stored stored;
  read_study(connection, stored.results);
  read_markets(connection, stored);
  read_methods(connection, stored);
  read_cells(connection, stored);
  return stored;
}

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
  require(run.status.size() == periods, "the columns of a run have different lengths");
  for (const auto* column : {&run.benchmark, &cell.delayed_returns, &cell.equal_returns})
    require(column->empty() || column->size() == periods,
            "the columns of a run have different lengths");
  for (const DailyColumn& column : kDailyColumns) {
    const std::vector<double>& values = run.*column.column;
    require(values.size() == periods, "the columns of a run have different lengths");
    if (!column.finite) continue;
    for (std::size_t t = 0; t < periods; ++t)
      if (!std::isfinite(values[t]))
        throw Misfit(fmt::format("the {} of {} is not finite", column.name, run.dates[t]));
  }
  if (!with_weights) return;
  require(run.weights_begin.size() == periods + 1 && run.weights_begin.front() == 0 &&
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

Results read_store(const std::filesystem::path& file, Detail detail, const Log& log,
                   const Stop& stop) {
  return read_any(file, log, stop,
                  [&](Connection& connection) { return read_contents(connection, detail); });
}

std::set<std::string> kept_in(const std::filesystem::path& file, const Log& log, const Stop& stop) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  return read_any(file, log, stop, [](Connection& connection) {
    sqlite3_limit(connection.get(), SQLITE_LIMIT_LENGTH, kLongestBlob);  // of rows, not of keys
    Transaction snapshot(connection, false);
    static_cast<void>(check_schema(connection));
    std::set<std::string> keys;
    Query rows(connection, "SELECT key FROM expectations ORDER BY key");
    while (rows.step())
      require(keys.insert(rows.text(kLongestText)).second, "its rows are not in order");
    return keys;
  });
}

}  // namespace sharpen::study
