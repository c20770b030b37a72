#include "study/store_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "sharpen/base/text.hpp"

namespace sharpen::study {

namespace {

constexpr int kApplicationId = 0x53687270;  // "Shrp"

// Texts of the schema, comments included, are what a researcher sees on `.schema`.
constexpr std::string_view kTables = R"(
CREATE TABLE study (
  name TEXT NOT NULL,
  settings TEXT NOT NULL,          -- TOML: sharpen study --config repeats the study
  plan BLOB NOT NULL               -- all of markets, methods and cells; what Sharpen reads
) STRICT;
CREATE TABLE versions (
  what TEXT NOT NULL,              -- sharpen, compiler, BLAS; twice if finished by another
  version TEXT NOT NULL
) STRICT;
CREATE TABLE markets (
  market INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  source TEXT NOT NULL,            -- file, or the words of a simulation
  checksum TEXT NOT NULL,          -- of the file's bytes, or panel: and of what was simulated
  tickers TEXT NOT NULL,           -- one to a line
  dates TEXT NOT NULL              -- of the test periods, likewise
) STRICT;
CREATE TABLE readings (
  market INTEGER NOT NULL,
  setting TEXT NOT NULL,           -- that decides how the market's data is read
  value TEXT NOT NULL,
  PRIMARY KEY (market, setting)
) STRICT, WITHOUT ROWID;
CREATE TABLE methods (
  method INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  framework TEXT NOT NULL,
  optimizer TEXT NOT NULL,
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
CREATE TABLE runs (
  cell INTEGER PRIMARY KEY,
  returns BLOB NOT NULL,           -- of the market's dates, after costs: 8-byte floats
  found BLOB NOT NULL              -- all of the run and the metrics; what Sharpen reads
) STRICT;
CREATE TABLE shared (
  key TEXT NOT NULL PRIMARY KEY,   -- what it depends on, for cells that are still missing
  kind TEXT NOT NULL,              -- expectations, oracle
  found BLOB NOT NULL
) STRICT, WITHOUT ROWID;
)";

std::string metrics_table() {
  std::string sql =
      "CREATE TABLE metrics (\n"
      "  cell INTEGER PRIMARY KEY,\n"
      "  n_periods INTEGER NOT NULL,      -- in the statistics\n"
      "  n_rebalances INTEGER NOT NULL,\n"
      "  ruin INTEGER NOT NULL,           -- 1: wealth was lost\n"
      "  max_drawdown REAL,\n"
      "  regret REAL,                     -- NULL unless learned\n"
      "  regret_oracle REAL";
  for (const MetricColumn& column : kMetricColumns) sql += fmt::format(",\n  {} REAL", column.name);
  return sql + "  -- NULL: cannot be computed\n) STRICT;\n";
}

// Type, name and SQL of everything in a schema.
using Entries = std::set<std::array<std::string, 3>>;

Entries entries(Connection& connection) {
  Statement list(connection, "SELECT type, name, sql FROM sqlite_schema");
  Entries found;
  while (list.step()) found.insert({list.text(0), list.text(1), list.text(2)});
  return found;
}

// As SQLite keeps those of create_schema: asked once, as asking takes as long as reading a file.
const Entries& our_entries() {
  static const Entries ours = [] {
    Connection fresh("ours", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY);
    create_schema(fresh);
    return entries(fresh);
  }();
  return ours;
}

}  // namespace

void create_schema(Connection& connection) {
  connection.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                             kApplicationId, kSchemaVersion) +
                 std::string(kTables) + metrics_table());
}

void check_schema(Connection& connection) {
  if (connection.number("PRAGMA application_id") != kApplicationId)
    throw Misfit("it is a database of something else");
  if (const Id version = connection.number("PRAGMA user_version"); version != kSchemaVersion)
    throw Misfit(fmt::format(
        "it is of version {} of the file, and this Sharpen has version {}: compute the study "
        "again, or report it with the Sharpen that wrote it",
        version, kSchemaVersion));
  const Entries& ours = our_entries();
  const Entries found = entries(connection);
  for (const auto& entry : found)
    if (!ours.contains(entry))
      throw Misfit(fmt::format("its {} \"{}\" is not one of a study's", printable(entry[0]),
                               printable(entry[1])));
  for (const auto& entry : ours)
    if (!found.contains(entry)) throw Misfit(fmt::format("it has no table \"{}\"", entry[1]));
}

}  // namespace sharpen::study
