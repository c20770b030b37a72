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

namespace sharpen::backtest {

// date,return,gross_return,cost,turnover,net_exposure,gross_exposure,holdings,status
std::string returns_csv(const Run& run);
// date,asset,weight: weights held over the period of that date, only those that are not zero.
std::string weights_csv(const Run& run, std::span<const std::string> tickers);
// date,asset,from,to,trade: what was traded for that period, before it began.
std::string trades_csv(const Run& run, std::span<const std::string> tickers);
// date,return of the benchmark.
std::string benchmark_csv(const Run& run);

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

}  // namespace sharpen::backtest
