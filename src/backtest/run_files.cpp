#include "sharpen/backtest/run_files.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/csv.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

std::vector<std::string> fields(std::span<const std::string> texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(csv_field(text));
  return out;
}

}  // namespace

std::string returns_csv(const Run& run) {
  std::string out =
      "date,return,gross_return,cost,turnover,net_exposure,gross_exposure,holdings,status\n";
  for (std::size_t p = 0; p < run.dates.size(); ++p) {
    const double turnover = std::isnan(run.turnover[p]) ? 0.0 : run.turnover[p];
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", run.dates[p], shortest(run.returns[p]),
                       shortest(run.gross_returns[p]), shortest(run.costs[p]), shortest(turnover),
                       shortest(run.net[p]), shortest(run.gross[p]), shortest(run.holdings[p]),
                       name(run.status[p]));
  }
  return out;
}

std::string weights_csv(const Run& run, std::span<const std::string> tickers) {
  const std::vector<std::string> names = fields(tickers);
  std::string out = "date,asset,weight\n";
  for (Index p = 0; p < run.periods(); ++p)
    for (const Position& held : run.weights_of(p)) {
      out.append(run.dates[static_cast<std::size_t>(p)]).append(",");
      out.append(names[static_cast<std::size_t>(held.asset)]).append(",");
      out.append(shortest(held.weight)).append("\n");
    }
  return out;
}

std::string trades_csv(const Run& run, std::span<const std::string> tickers) {
  const std::vector<std::string> names = fields(tickers);
  std::string out = "date,asset,from,to,trade\n";
  for (Index p = 0; p < run.periods(); ++p)
    for (const Trade& trade : run.trades_of(p)) {
      out.append(run.dates[static_cast<std::size_t>(p)]).append(",");
      out.append(names[static_cast<std::size_t>(trade.asset)]).append(",");
      out.append(shortest(trade.from)).append(",").append(shortest(trade.to)).append(",");
      out.append(shortest(trade.to - trade.from)).append("\n");
    }
  return out;
}

std::string benchmark_csv(const Run& run) {
  std::string out = "date,return\n";
  for (std::size_t p = 0; p < run.benchmark.size(); ++p)
    out += fmt::format("{},{}\n", run.dates[p], shortest(run.benchmark[p]));
  return out;
}

std::string portfolio_csv(std::span<const Position> positions,
                          std::span<const std::string> tickers) {
  std::string out = "asset,weight\n";
  for (const Position& held : positions)
    out += fmt::format("{},{}\n", csv_field(tickers[static_cast<std::size_t>(held.asset)]),
                       shortest(held.weight));
  return out;
}

}  // namespace sharpen::backtest
