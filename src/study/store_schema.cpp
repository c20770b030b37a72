#include "study/store_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "sharpen/base/text.hpp"

namespace sharpen::study {

using backtest::Metrics;
using backtest::Run;

const std::array<MetricColumn, 45> kMetricColumns = {{
    {"periods_per_year", &Metrics::periods_per_year},
    {"mean_return", &Metrics::mean_return},
    {"mean_excess_return", &Metrics::mean_excess_return},
    {"volatility", &Metrics::volatility},
    {"volatility_annualized", &Metrics::volatility_annualized},
    {"sharpe", &Metrics::sharpe},
    {"sharpe_annualized", &Metrics::sharpe_annualized},
    {"sortino", &Metrics::sortino},
    {"sortino_annualized", &Metrics::sortino_annualized},
    {"return_annualized", &Metrics::return_annualized},
    {"final_wealth", &Metrics::final_wealth},
    {"calmar", &Metrics::calmar},
    {"hit_rate", &Metrics::hit_rate},
    {"best_return", &Metrics::best_return},
    {"worst_return", &Metrics::worst_return},
    {"turnover", &Metrics::turnover},
    {"turnover_annualized", &Metrics::turnover_annualized},
    {"mean_gross", &Metrics::mean_gross},
    {"mean_net", &Metrics::mean_net},
    {"mean_cardinality", &Metrics::mean_cardinality},
    {"max_cardinality", &Metrics::max_cardinality},
    {"mean_effective_names", &Metrics::mean_effective_names},
    {"mean_largest_weight", &Metrics::mean_largest_weight},
    {"max_largest_weight", &Metrics::max_largest_weight},
    {"beta", &Metrics::beta},
    {"correlation", &Metrics::correlation},
    {"tracking_error", &Metrics::tracking_error},
    {"tracking_error_annualized", &Metrics::tracking_error_annualized},
    {"information_ratio", &Metrics::information_ratio},
    {"information_ratio_annualized", &Metrics::information_ratio_annualized},
    {"benchmark_sharpe", &Metrics::benchmark_sharpe},
    {"benchmark_sharpe_annualized", &Metrics::benchmark_sharpe_annualized},
    {"sharpe_gross", &Metrics::sharpe_gross, 2},
    {"sharpe_gross_annualized", &Metrics::sharpe_gross_annualized, 2},
    {"sharpe_delayed", &Metrics::sharpe_delayed, 2},
    {"sharpe_delayed_annualized", &Metrics::sharpe_delayed_annualized, 2},
    {"equal_sharpe", &Metrics::equal_sharpe, 2},
    {"equal_sharpe_annualized", &Metrics::equal_sharpe_annualized, 2},
    {"mean_holding_period", &Metrics::mean_holding_period, 2},
    {"break_even_bps", &Metrics::break_even_bps, 2},
    {"trading_cost", &Metrics::trading_cost, 2},
    {"short_fee", &Metrics::short_fee, 2},
    {"financing", &Metrics::financing, 2},
    {"total_cost", &Metrics::total_cost, 2},
    {"cost_annualized", &Metrics::cost_annualized, 2},
}};

const std::array<DailyColumn, 12> kDailyColumns = {{
    {"return", &Run::returns, true},
    {"gross_return", &Run::gross_returns, true},
    {"cost", &Run::costs, true},
    {"turnover", &Run::turnover, false},
    {"net", &Run::net, true},
    {"gross", &Run::gross, true},
    {"holdings", &Run::holdings, true},
    {"effective_names", &Run::effective_names, true},
    {"largest", &Run::largest, true},
    {"trading_cost", &Run::trading_costs, true, 2},
    {"short_fee", &Run::short_fees, true, 2},
    {"financing", &Run::financing, true, 2},
}};

namespace {

constexpr int kApplicationId = 0x53687270;  // "Shrp"

// Texts of the schema, comments included, are what a researcher sees on `.schema`.
constexpr std::string_view kTables = R"(
CREATE TABLE study (
  key TEXT NOT NULL PRIMARY KEY,  -- name, settings (TOML: sharpen study --config repeats the study)
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE versions (
  position INTEGER PRIMARY KEY,
  what TEXT NOT NULL,     -- sharpen, compiler, BLAS; twice if the study was finished by another
  version TEXT NOT NULL
) STRICT;
CREATE TABLE markets (
  market INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,       -- in tables, from 0
  name TEXT NOT NULL,
  source TEXT NOT NULL,            -- file, or the words of a simulation
  checksum TEXT NOT NULL,
  first_date TEXT NOT NULL,        -- of the training part
  training_rows INTEGER NOT NULL,
  periods_per_year REAL NOT NULL,
  risk_free REAL NOT NULL          -- per period
) STRICT;
CREATE TABLE assets (
  market INTEGER NOT NULL,
  asset INTEGER NOT NULL,          -- from 0
  ticker TEXT NOT NULL,
  PRIMARY KEY (market, asset)
) STRICT, WITHOUT ROWID;
CREATE TABLE periods (
  market INTEGER NOT NULL,
  period INTEGER NOT NULL,         -- of the test part, from 0
  date TEXT NOT NULL,
  PRIMARY KEY (market, period)
) STRICT, WITHOUT ROWID;
CREATE TABLE methods (
  method INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,       -- in tables, from 0
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  role TEXT NOT NULL,              -- paper, own, sweep
  framework TEXT NOT NULL,
  optimizer TEXT NOT NULL,
  training TEXT NOT NULL,          -- preset; empty: nothing is trained
  alpha REAL NOT NULL,
  ensemble INTEGER NOT NULL,
  cost_bps REAL NOT NULL,
  settings TEXT NOT NULL           -- TOML: sharpen backtest --config repeats it
) STRICT;
CREATE TABLE cells (
  cell INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,       -- by market, k, method, seed; from 0
  market INTEGER NOT NULL,
  method INTEGER NOT NULL,
  k_given TEXT NOT NULL,           -- 10% or 5
  k INTEGER NOT NULL,              -- names held at most
  seed INTEGER,                    -- NULL: nothing is random; seeds from 2^63 on less 2^64
  state TEXT NOT NULL,             -- missing, done, failed
  reason TEXT NOT NULL,            -- of failed
  seconds REAL NOT NULL            -- of work, its share of a training left out
) STRICT;
CREATE TABLE warnings (
  market INTEGER NOT NULL,         -- what cleaning found in it; 0: of a cell
  cell INTEGER NOT NULL,           -- 0: of a market
  number INTEGER NOT NULL,         -- from 0
  text TEXT NOT NULL,
  PRIMARY KEY (market, cell, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
  cell INTEGER PRIMARY KEY,
  first_row INTEGER NOT NULL,      -- of the market's returns, that period 0 is
  stats_from INTEGER NOT NULL,     -- first period of the metrics
  periods INTEGER NOT NULL,        -- rows of daily; fewer than the market's after ruin
  positions INTEGER NOT NULL,      -- rows of weights
  benchmark INTEGER NOT NULL,      -- 1: daily has one
  risk_free REAL NOT NULL,         -- per period
  decisions INTEGER NOT NULL,
  jittered INTEGER NOT NULL,
  certified INTEGER NOT NULL,
  iterations INTEGER NOT NULL
) STRICT;
CREATE TABLE weights (
  cell INTEGER NOT NULL,
  period INTEGER NOT NULL,
  asset INTEGER NOT NULL,          -- of the market's assets; what is not here is not held
  weight REAL NOT NULL,
  PRIMARY KEY (cell, period, asset)
) STRICT, WITHOUT ROWID;
CREATE TABLE expectations (
  key TEXT NOT NULL PRIMARY KEY,   -- shared by cells that are still missing
  found BLOB NOT NULL
) STRICT, WITHOUT ROWID;
)";

std::string metrics_table(int version) {
  std::string sql =
      "CREATE TABLE metrics (\n"
      "  cell INTEGER PRIMARY KEY,\n"
      "  n_periods INTEGER NOT NULL,      -- in the statistics\n"
      "  n_rebalances INTEGER NOT NULL,\n"
      "  ruin INTEGER NOT NULL,           -- 1: wealth was lost\n"
      "  ruin_period INTEGER,\n"
      "  max_drawdown REAL,\n"
      "  drawdown_peak INTEGER,           -- period; -1: the start; NULL: none\n"
      "  drawdown_trough INTEGER,\n"
      "  drawdown_recovery INTEGER,       -- NULL: not yet\n"
      "  regret REAL,                     -- NULL unless learned\n"
      "  regret_oracle REAL";
  for (const MetricColumn& column : kMetricColumns)
    if (column.since <= version) sql += fmt::format(",\n  {} REAL", column.name);
  return sql + "  -- NULL: cannot be computed\n) STRICT;\n";
}

std::string daily_table(int version) {
  std::string sql =
      "CREATE TABLE daily (\n"
      "  cell INTEGER NOT NULL,\n"
      "  period INTEGER NOT NULL,\n"
      "  date TEXT NOT NULL,\n"
      "  status TEXT NOT NULL";
  for (const DailyColumn& column : kDailyColumns)
    if (column.since <= version)
      sql += fmt::format(",\n  {} REAL{}", column.name, column.finite ? " NOT NULL" : "");
  sql += ",\n";
  if (version > 1)
    sql +=
        "  delayed_return REAL,     -- of the same rule with trades one period later\n"
        "  equal_return REAL,       -- of equal weights; both after costs, NULL: not recorded\n";
  return sql +
         "  benchmark REAL,\n  PRIMARY KEY (cell, period)\n"
         ") STRICT, WITHOUT ROWID;\n";
}

using Entry = std::array<std::string, 4>;  // type, name, table, SQL

std::set<Entry> entries(Connection& connection) {
  constexpr std::size_t kMost = 100, kLongest = 1 << 16;
  Query list(connection, "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema");
  std::set<Entry> found;
  while (list.step() && found.size() < kMost)
    found.insert(
        {list.text(kLongest), list.text(kLongest), list.text(kLongest), list.text(kLongest)});
  return found;
}

std::set<Entry> our_entries(int version) {
  Connection connection = Connection::in_memory();
  create_schema(connection, version);
  return entries(connection);
}

}  // namespace

std::string storable(std::string_view text, std::size_t longest) {
  // printable() counts characters, of at most four bytes.
  if (text.size() > longest || !is_utf8(text)) return printable(text, longest / 4);
  return std::string(text);
}

void create_schema(Connection& connection, int version) {
  connection.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version));
  connection.run(std::string(kTables) + metrics_table(version) + daily_table(version));
}

int check_schema(Connection& connection) {
  if (connection.number("PRAGMA application_id") != kApplicationId)
    throw Misfit("it is a database of something else");
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (version < 1 || version > kSchemaVersion)
    throw Misfit(
        fmt::format("its tables are of version {}, and this program knows versions 1 to {}",
                    version, kSchemaVersion));
  static const std::array<std::set<Entry>, kSchemaVersion> kOurs = {our_entries(1), our_entries(2)};
  const std::set<Entry>& ours = kOurs[static_cast<std::size_t>(version - 1)];
  const std::set<Entry> found = entries(connection);
  for (const Entry& entry : found)
    if (!ours.contains(entry))
      throw Misfit(fmt::format("its {} \"{}\" is not one of a study's", printable(entry[0]),
                               printable(entry[1])));
  for (const Entry& entry : ours)
    if (!found.contains(entry)) throw Misfit(fmt::format("it has no table \"{}\"", entry[1]));
  return static_cast<int>(version);
}

}  // namespace sharpen::study
