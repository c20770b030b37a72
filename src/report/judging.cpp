#include "report/judging.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace sharpen::report {

namespace {

using study::CellState;

struct MeanDay {
  double excess = 0.0, trading_cost = 0.0, turnover = 0.0, equal = 0.0;
  Index cells = 0;
};

// What a cell adds to the days that count for its statistics.
void add_counted_days(const study::Cell& cell, const study::Market& market,
                      std::map<std::string, MeanDay>& days) {
  const backtest::Track track = cell.track(market.periods_per_year);
  const std::vector<double> excess = backtest::excess_returns(track),
                            equal = backtest::excess_returns(track, track.equal);
  const backtest::BeforeTrading before = backtest::before_trading(track);
  for (std::size_t t = 0; t < excess.size(); ++t) {
    MeanDay& day = days[cell.run.dates[at(cell.run.stats_from) + t]];
    day.excess += excess[t];
    if (!before.turnover.empty()) {
      day.trading_cost += track.trading_costs[at(track.stats_from) + t];
      day.turnover += before.turnover[t];
    }
    if (!equal.empty()) day.equal += equal[t];
    ++day.cells;
  }
}

// The averaged days as one run. They are excess returns already.
backtest::Track track_of(const Entry& entry) {
  backtest::Track track;
  track.returns = entry.excess;
  track.trading_costs = entry.trading_costs;
  track.turnover = entry.turnover;
  track.equal = entry.equal;
  return track;
}

}  // namespace

void average_days(const study::Results& results, Entry& entry) {
  std::map<std::string, MeanDay> days;
  bool every_equal = true;
  for (const Index c : entry.cells) {
    const study::Cell& cell = results.cells[at(c)];
    if (cell.state != CellState::done) continue;
    add_counted_days(cell, results.markets[at(cell.market)], days);
    every_equal = every_equal && !cell.equal_returns.empty();
  }
  const auto cells = static_cast<double>(entry.done);
  for (const auto& [date, day] : days) {
    if (day.cells != entry.done) continue;
    entry.dates.push_back(date);
    entry.excess.push_back(day.excess / cells);
    entry.trading_costs.push_back(day.trading_cost / cells);
    entry.turnover.push_back(day.turnover / cells);
    if (every_equal) entry.equal.push_back(day.equal / cells);
  }
}

void judge_entries(Summary& summary, const backtest::BootstrapSettings& settings,
                   const Threads& threads) {
  summary.judged = summary.entries.size() <= Summary::kMostJudged;
  if (!summary.judged) return;
  backtest::BootstrapSettings fewer = settings;
  fewer.replications = std::min(settings.replications, Summary::kMostResamples);
  for (Entry& entry : summary.entries) {
    if (entry.ruined > 0 || entry.excess.size() < kFewestDays) continue;
    entry.interval = backtest::sharpe_interval(entry.excess, fewer, threads);
    entry.after_costs = backtest::after_costs(track_of(entry), fewer, threads);
  }
}

}  // namespace sharpen::report
