// The tables of a study's file, and what its reader and its writer agree on (docs/study-file.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/study/results.hpp"
#include "sharpen/study/store.hpp"
#include "study/store_sqlite.hpp"

namespace sharpen::study {

// Longest texts, in bytes: names, tickers and dates; and settings, reasons and warnings.
constexpr std::size_t kLongestName = 4096, kLongestText = std::size_t{4} << 20;
constexpr std::int64_t kMostPeriods = 10'000'000, kMostAssets = 1'000'000;
constexpr int kLongestBlob = 500'000'000;  // of what a training found

// The text as it can be stored: what is not UTF-8 or longer comes as printable() has it.
std::string storable(std::string_view text, std::size_t longest);

// Of the tables. Files of version 1 are read, with what they have, and not written any more: they
// knew of no cost but that of trades.
constexpr int kSchemaVersion = 2;

// The columns of metrics that are numbers of backtest::Metrics.
struct MetricColumn {
  std::string_view name;
  double backtest::Metrics::*field;
  int since = 1;  // version of the tables
};
extern const std::array<MetricColumn, 45> kMetricColumns;

// The columns of daily that are numbers of backtest::Run.
struct DailyColumn {
  std::string_view name;
  std::vector<double> backtest::Run::*column;
  bool finite;  // in every period
  int since = 1;
};
extern const std::array<DailyColumn, 12> kDailyColumns;  // without the benchmark

// Makes the tables, and marks the file as a store of this version.
void create_schema(Connection& connection, int version = kSchemaVersion);

// The version of the tables. Misfit for a file that is not a store, or whose tables are not exactly
// those that create_schema makes: a view or a trigger is refused before anything is read through
// it.
int check_schema(Connection& connection);

// Whatever is in a store except runs, metrics and expectations, and the ids of its rows.
struct Stored {
  Results results;                                    // in the order of the last plan
  std::vector<std::int64_t> markets, methods, cells;  // ids, likewise
};
Stored read_plan(Connection& connection);

// Misfit for methods and cells that no grid has: the same cell twice, a k of a market that is now
// so many names and now others, a method without cells, or more groups (market x k) x methods than
// a study may have cells, which a report would lay out in full.
void check_cells(const Results& results);

// Misfit for a done cell that no reader would accept.
void check_run(const Market& market, const Cell& cell, bool with_weights);

std::string expectations_bytes(const backtest::Expectations& found);
backtest::Expectations parse_expectations(std::string_view bytes, std::string_view name);

}  // namespace sharpen::study
