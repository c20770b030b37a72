// Reading a study from a file that may come from anyone. Rows are read in the order of their keys,
// and every key is checked to be the next one: a tree of pages that has been bent into a loop ends
// at its first wrong key, and nothing is allocated for rows that are not there.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

void require(bool holds, std::string_view what) {
  if (!holds) throw Misfit(std::string(what));
}

// Ids ascend: column 0 of every row is greater than the last.
std::int64_t next_id(const Statement& row, std::int64_t last) {
  const std::int64_t id = row.integer(0, 1, kHighest);
  require(id > last, "its rows are not in order");
  return id;
}

// The texts of (owner, 0), (owner, 1), ...
std::vector<std::string> texts(Statement& rows, std::int64_t owner, std::size_t longest) {
  std::vector<std::string> found;
  rows.bind(1, owner);
  while (rows.step()) {
    const auto expected = static_cast<std::int64_t>(found.size());
    require(rows.integer(0, 0, kHighest) == expected, "its rows are not in order");
    found.push_back(rows.text(1, longest));
  }
  rows.reset();
  return found;
}

// Puts rows into the order of their position column.
template <class T>
void arrange(std::vector<T>& items, std::vector<std::int64_t>& ids,
             const std::vector<std::int64_t>& positions) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions[a] < positions[b]; });
  std::vector<T> sorted;
  std::vector<std::int64_t> sorted_ids;
  sorted.reserve(items.size());
  for (const std::size_t at : order) {
    sorted.push_back(std::move(items[at]));
    sorted_ids.push_back(ids[at]);
  }
  items = std::move(sorted);
  ids = std::move(sorted_ids);
}

using Places = std::unordered_map<std::int64_t, Index>;

Places places(const std::vector<std::int64_t>& ids) {
  Places found;
  for (std::size_t at = 0; at < ids.size(); ++at) found.emplace(ids[at], static_cast<Index>(at));
  return found;
}

Index place_of(const Places& places, std::int64_t id, std::string_view what) {
  const auto found = places.find(id);
  if (found == places.end()) throw Misfit(fmt::format("a cell's {} does not exist", what));
  return found->second;
}

template <class T>
void require_unique_names(const std::vector<T>& items, std::string_view what) {
  std::set<std::string_view> names;
  for (const T& item : items)
    if (!names.insert(item.name).second)
      throw Misfit(fmt::format("two {} are called \"{}\"", what, printable(item.name)));
}

void read_study(Connection& connection, Results& results) {
  Statement rows(connection, "SELECT key, value FROM study");
  std::string last;
  int keys = 0;
  for (; rows.step(); ++keys) {
    const std::string key = rows.text(0, kLongestName);
    require(key > last, "its rows are not in order");
    require(key == "name" || key == "settings", "the table study has a key of something else");
    (key == "name" ? results.name : results.settings) = rows.text(1, kLongestText);
    last = key;
  }
  require(keys == 2, "the study's name or settings are missing");
  Statement versions(connection, "SELECT position, what, version FROM versions ORDER BY position");
  for (std::int64_t at = 0; versions.step();) {
    at = next_id(versions, at);
    results.versions.emplace_back(versions.text(1, kLongestName), versions.text(2, kLongestName));
  }
}

void read_markets(Connection& connection, Stored& stored) {
  Statement rows(connection,
                 "SELECT market, position, name, source, checksum, first_date, training_rows,"
                 " periods_per_year, risk_free FROM markets ORDER BY market");
  Statement tickers(connection, "SELECT asset, ticker FROM assets WHERE market = ? ORDER BY asset");
  Statement dates(connection, "SELECT period, date FROM periods WHERE market = ? ORDER BY period");
  Statement warnings(connection,
                     "SELECT number, text FROM warnings WHERE market = ? AND cell = 0"
                     " ORDER BY number");
  std::vector<std::int64_t> positions;
  for (std::int64_t id = 0; rows.step();) {
    id = next_id(rows, id);
    stored.markets.push_back(id);
    positions.push_back(rows.integer(1, 0, kHighest));
    Market market;
    market.name = rows.text(2, kLongestName);
    market.source = rows.text(3, kLongestText);
    market.checksum = rows.text(4, kLongestName);
    market.first_date = rows.text(5, kLongestName);
    market.training_rows = static_cast<Index>(rows.integer(6, 0, kMostPeriods));
    market.periods_per_year = rows.finite(7);
    market.risk_free = rows.finite(8);
    require(market.periods_per_year > 0.0, "a market has no periods in a year");
    market.tickers = texts(tickers, id, kLongestName);
    market.dates = texts(dates, id, kLongestName);
    market.warnings = texts(warnings, id, kLongestText);
    require(std::adjacent_find(market.dates.begin(), market.dates.end(), std::greater_equal<>()) ==
                market.dates.end(),
            "a market's dates do not ascend");
    stored.results.markets.push_back(std::move(market));
  }
  arrange(stored.results.markets, stored.markets, positions);
  require_unique_names(stored.results.markets, "markets");
}

void read_methods(Connection& connection, Stored& stored) {
  Statement rows(connection,
                 "SELECT method, position, name, label, role, framework, optimizer, training,"
                 " alpha, ensemble, cost_bps, settings FROM methods ORDER BY method");
  std::vector<std::int64_t> positions;
  for (std::int64_t id = 0; rows.step();) {
    id = next_id(rows, id);
    stored.methods.push_back(id);
    positions.push_back(rows.integer(1, 0, kHighest));
    Method method;
    method.name = rows.text(2, kLongestName);
    method.label = rows.text(3, kLongestName);
    method.role = role_of(rows.text(4, kLongestName));
    method.framework = rows.text(5, kLongestName);
    method.optimizer = rows.text(6, kLongestName);
    method.training = rows.text(7, kLongestName);
    method.alpha = rows.finite(8);
    method.ensemble = static_cast<Index>(rows.integer(9, 1, kMostAssets));
    method.cost_bps = rows.finite(10);
    method.settings = rows.text(11, kLongestText);
    stored.results.methods.push_back(std::move(method));
  }
  arrange(stored.results.methods, stored.methods, positions);
  require_unique_names(stored.results.methods, "methods");
}

void read_cells(Connection& connection, Stored& stored) {
  const Places markets = places(stored.markets), methods = places(stored.methods);
  Statement rows(connection,
                 "SELECT cell, position, market, method, k_given, k, seed, state, reason, seconds"
                 " FROM cells ORDER BY cell");
  Statement warnings(connection,
                     "SELECT number, text FROM warnings WHERE market = 0 AND cell = ?"
                     " ORDER BY number");
  std::vector<std::int64_t> positions;
  for (std::int64_t id = 0; rows.step();) {
    id = next_id(rows, id);
    stored.cells.push_back(id);
    positions.push_back(rows.integer(1, 0, kHighest));
    Cell cell;
    cell.market = place_of(markets, rows.integer(2, 1, kHighest), "market");
    cell.method = place_of(methods, rows.integer(3, 1, kHighest), "method");
    cell.k_given = rows.text(4, kLongestName);
    const auto& tickers = stored.results.markets[static_cast<std::size_t>(cell.market)].tickers;
    cell.k = static_cast<Index>(rows.integer(5, 0, static_cast<std::int64_t>(tickers.size())));
    if (!rows.is_null(6))
      cell.seed = static_cast<std::uint64_t>(rows.integer(6, kLowest, kHighest));
    cell.state = state_of(rows.text(7, kLongestName));
    cell.reason = rows.text(8, kLongestText);
    cell.seconds = rows.finite(9);
    require(cell.seconds >= 0.0, "a cell took less than no time");
    cell.warnings = texts(warnings, id, kLongestText);
    stored.results.cells.push_back(std::move(cell));
  }
  arrange(stored.results.cells, stored.cells, positions);
}

backtest::Drawdown read_drawdown(const Statement& row, int first, Index periods) {
  const auto period = [&](int column, Index low) {
    return row.is_null(column) ? backtest::Drawdown::kNever
                               : static_cast<Index>(row.integer(column, low, periods - 1));
  };
  return {.depth = row.real(first),
          .peak = period(first + 1, backtest::Drawdown::kStart),
          .trough = period(first + 2, 0),
          .recovery = period(first + 3, 0)};
}

void read_metrics(Connection& connection, std::int64_t id, Cell& cell) {
  std::string sql =
      "SELECT n_periods, n_rebalances, ruin, ruin_period, max_drawdown, drawdown_peak,"
      " drawdown_trough, drawdown_recovery, regret, regret_oracle";
  for (const MetricColumn& column : kMetricColumns) sql += fmt::format(", {}", column.name);
  Statement row(connection, sql + " FROM metrics WHERE cell = ?");
  row.bind(1, id);
  require(row.step(), "a cell that is done has no metrics");
  const Index periods = cell.run.periods();
  backtest::Metrics& metrics = cell.metrics;
  metrics.n_periods = static_cast<Index>(row.integer(0, 0, periods));
  metrics.n_rebalances = static_cast<Index>(row.integer(1, 0, periods));
  metrics.ruin = row.integer(2, 0, 1) == 1;
  if (!row.is_null(3)) metrics.ruin_period = static_cast<Index>(row.integer(3, 0, periods - 1));
  metrics.max_drawdown = read_drawdown(row, 4, periods);
  if (!row.is_null(8) || !row.is_null(9)) cell.regret = {row.real(8), row.real(9)};
  int at = 10;
  for (const MetricColumn& column : kMetricColumns) metrics.*column.field = row.real(at++);
}

// The line of `runs`; returns whether there is a benchmark, and the number of positions.
struct Counts {
  std::int64_t periods = 0, positions = 0;
  bool benchmark = false;
};

Counts read_counts(Connection& connection, std::int64_t id, const Market& market,
                   backtest::Run& run) {
  Statement row(connection,
                "SELECT first_row, stats_from, periods, positions, benchmark, risk_free, decisions,"
                " jittered, certified, iterations FROM runs WHERE cell = ?");
  row.bind(1, id);
  require(row.step(), "a cell that is done has no run");
  Counts counts;
  counts.periods = row.integer(2, 0, static_cast<std::int64_t>(market.dates.size()));
  counts.positions = row.integer(3, 0, kMostRows);
  counts.benchmark = row.integer(4, 0, 1) == 1;
  run.first_row = static_cast<Index>(row.integer(0, 0, kMostPeriods));
  run.stats_from = static_cast<Index>(row.integer(1, 0, counts.periods));
  run.risk_free = row.finite(5);
  run.n_decisions = static_cast<Index>(row.integer(6, 0, counts.periods));
  run.n_jittered = static_cast<Index>(row.integer(7, 0, run.n_decisions));
  run.n_certified = static_cast<Index>(row.integer(8, 0, run.n_decisions));
  run.iterations = static_cast<Index>(row.integer(9, 0, kHighest));
  return counts;
}

void read_daily(Connection& connection, std::int64_t id, const Counts& counts, backtest::Run& run) {
  std::string sql = "SELECT period, date, status, benchmark";
  for (const DailyColumn& column : kDailyColumns) sql += fmt::format(", {}", column.name);
  Statement rows(connection, sql + " FROM daily WHERE cell = ? ORDER BY period");
  rows.bind(1, id);
  std::int64_t period = 0;
  for (; rows.step(); ++period) {
    require(rows.integer(0, 0, counts.periods - 1) == period, "its days are not in order");
    run.dates.push_back(rows.text(1, kLongestName));
    run.status.push_back(status_of(rows.text(2, kLongestName)));
    if (counts.benchmark) run.benchmark.push_back(rows.real(3));
    int at = 4;
    for (const DailyColumn& column : kDailyColumns)
      (run.*column.column).push_back(column.finite ? rows.finite(at++) : rows.real(at++));
  }
  require(period == counts.periods, "days of a cell are missing");
}

void read_weights(Connection& connection, std::int64_t id, const Counts& counts, Index n,
                  backtest::Run& run) {
  Statement rows(connection,
                 "SELECT period, asset, weight FROM weights WHERE cell = ? ORDER BY period, asset");
  rows.bind(1, id);
  run.weights_begin.push_back(0);
  Index last = -1;
  while (rows.step()) {
    const auto period = static_cast<std::size_t>(rows.integer(0, 0, counts.periods - 1));
    require(period + 1 >= run.weights_begin.size(), "its weights are not in order");
    if (period + 1 > run.weights_begin.size()) last = -1;
    run.weights_begin.resize(period + 1, static_cast<Index>(run.weights.size()));
    const auto asset = static_cast<Index>(rows.integer(1, 0, n - 1));
    require(asset > last, "its weights are not in order");
    run.weights.push_back({.asset = asset, .weight = rows.finite(2)});
    last = asset;
  }
  require(static_cast<std::int64_t>(run.weights.size()) == counts.positions,
          "weights of a cell are missing");
  run.weights_begin.resize(static_cast<std::size_t>(counts.periods) + 1,
                           static_cast<Index>(run.weights.size()));
}

}  // namespace

Stored read_plan(Connection& connection) {
  Stored stored;
  read_study(connection, stored.results);
  read_markets(connection, stored);
  read_methods(connection, stored);
  read_cells(connection, stored);
  check_cells(stored.results);
  return stored;
}

void check_run(const Market& market, const Cell& cell, bool with_weights) {
  const backtest::Run& run = cell.run;
  const std::size_t periods = run.dates.size();
  require(periods > 0, "a run has no periods");
  require(
      periods <= market.dates.size() &&
          std::equal(run.dates.begin(), run.dates.end(), market.dates.begin()),
      "the periods of a run are not those of its market: methods of one study may not differ in "
      "what decides on its test periods");
  require(periods == market.dates.size() || run.ruined(), "a run ends before its market, unruined");
  require(run.stats_from >= 0 && static_cast<std::size_t>(run.stats_from) <= periods,
          "the statistics of a run begin outside it");
  require(
      run.status.size() == periods && (run.benchmark.empty() || run.benchmark.size() == periods),
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
      require(held.asset > last && static_cast<std::size_t>(held.asset) < market.tickers.size(),
              "the weights of a run are not in the order of the assets");
      if (!std::isfinite(held.weight))
        throw Misfit(
            fmt::format("a weight of {} is not finite", run.dates[static_cast<std::size_t>(t)]));
      last = held.asset;
    }
  }
}

void read_cell(Connection& connection, const Stored& stored, std::size_t at, Detail detail,
               Cell& cell) {
  const std::int64_t id = stored.cells[at];
  const Market& market = stored.results.markets[static_cast<std::size_t>(cell.market)];
  const Counts counts = read_counts(connection, id, market, cell.run);
  read_daily(connection, id, counts, cell.run);
  if (detail == Detail::all)
    read_weights(connection, id, counts, static_cast<Index>(market.tickers.size()), cell.run);
  read_metrics(connection, id, cell);
  check_run(market, cell, detail == Detail::all);
}

Results read_contents(Connection& connection, Detail detail) {
  Transaction snapshot(connection, false);
  check_schema(connection);
  Stored stored = read_plan(connection);
  if (detail != Detail::states)
    for (std::size_t at = 0; at < stored.cells.size(); ++at)
      if (stored.results.cells[at].state == CellState::done)
        read_cell(connection, stored, at, detail, stored.results.cells[at]);
  return std::move(stored.results);
}

Results read_bytes(std::string_view bytes, Detail detail) {
  Connection connection = Connection::of_bytes(bytes);
  connection.distrust(bytes.size());
  return read_contents(connection, detail);
}

}  // namespace sharpen::study
