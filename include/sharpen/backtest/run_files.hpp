// A run as text: the CSV files of `sharpen backtest --out` (docs/backtest.md), and portfolios
// `asset,weight`, which can be read back. Numbers have the fewest digits that read back to the
// same double; names are quoted where CSV needs it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

// date,return,gross_return,cost,turnover,net_exposure,gross_exposure,holdings,status, then
// trading_cost,short_fee,financing, which add up to cost, and delayed_return,equal_return, as far
// as they are known.
std::string returns_csv(const Run& run, ConstVec delayed = {}, ConstVec equal = {});
// date,asset,weight: weights held over the period of that date, only those that are not zero; where
// they are counted, shares.
std::string weights_csv(const Run& run, std::span<const std::string> tickers,
                        const Stop& stop = {});
// date,asset,from,to,trade: what was traded for that period, before it began; where shares are
// counted, price,shares, negative for a sale.
std::string trades_csv(const Run& run, std::span<const std::string> tickers, const Stop& stop = {});
// date,return of the benchmark.
std::string benchmark_csv(const Run& run);

// The account after the last period (trade/positions.hpp), which can go on from there.
std::string last_positions_csv(const Run& run, std::span<const std::string> tickers);

// asset,weight.
std::string portfolio_csv(std::span<const Position> positions,
                          std::span<const std::string> tickers);

struct NamedWeight {
  std::string asset;
  double weight = 0.0;

  bool operator==(const NamedWeight&) const = default;
};

// The same back, in the order of the file: a header `asset,weight`, then one row per asset, none
// for all cash. A name given twice, a missing field or a weight that is not a finite number is an
// InputError that says FILE:LINE:COLUMN and the remedy.
std::vector<NamedWeight> read_portfolio(const std::filesystem::path& file);
std::vector<NamedWeight> parse_portfolio(std::string_view text, std::string_view name);

// A backtest read back from the folder it was written to, for comparing it with another.
//
//   DIR/returns.csv    a column `date` first, strictly increasing, and a column `return`: raw
//                      returns net of costs; other columns are not looked at
//   DIR/metrics.json   `periods_per_year`, and if it has them `risk_free` (per period), `label`
//                      and `stats_from_date`
// What does not fit is an InputError that says where, and the remedy.
struct SavedRun {
  std::string label;               // the folder's name if the file has none
  std::vector<std::string> dates;  // (T)
  std::vector<double> returns;     // (T)
  double periods_per_year = 252.0;
  double risk_free = 0.0;       // per period
  std::string stats_from_date;  // statistics start here; "": with the first row

  // The first date with a return of -1 or less; "" if there is none.
  std::string ruin_date() const;
};

SavedRun read_run(const std::filesystem::path& folder);
// The two files from memory; the names stand for them in messages.
SavedRun parse_run(std::string_view returns_text, std::string_view returns_name,
                   std::string_view metrics_text, std::string_view metrics_name);

// What two runs have in common: the dates in both from where the statistics of both have started,
// and each run's excess returns on them.
struct CommonPeriods {
  std::vector<std::string> dates;
  std::vector<double> a, b;  // r - risk_free, each by its own rate
  Index left_out_a = 0;      // rows of a without a partner, or before the statistics of either
  Index left_out_b = 0;
};

// Throws InputError if no date is common or the runs count their years differently.
CommonPeriods common_periods(const SavedRun& a, const SavedRun& b);

}  // namespace sharpen::backtest
