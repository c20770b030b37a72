// What a study's results promise, whoever hands them over: a plan, a file or another machine.
#include "study/results_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sharpen/base/text.hpp"
#include "study/bytes.hpp"

namespace sharpen::study {

namespace {

template <class T>
void require_own_names(const std::vector<T>& items, std::string_view what) {
  std::set<std::string_view> names;
  for (const T& item : items)
    if (!names.insert(item.name).second)
      throw Misfit(fmt::format("two {} are called \"{}\"", what, printable(item.name)));
}

void check_market(const Market& market) {
  require(market.training_rows >= 0, "a market's training part has less than no rows");
  require(std::isfinite(market.periods_per_year) && market.periods_per_year > 0.0,
          "a market has no periods in a year");
  require(std::isfinite(market.risk_free), "a market's risk-free rate is not finite");
  require(std::ranges::adjacent_find(market.dates, std::greater_equal<>()) == market.dates.end(),
          "a market's dates do not ascend");
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

CellKey key_of(const Results& results, const Cell& cell) {
  return {results.markets[at(cell.market)].name, results.methods[at(cell.method)].name,
          cell.k_given, cell.k, cell.seed};
}

std::string spelled(const CellKey& key) {
  const auto& [market, method, k_given, k, seed] = key;
  return fmt::format("market \"{}\", method \"{}\", k = {}{}", printable(market), printable(method),
                     printable(k_given), seed ? fmt::format(", seed {}", *seed) : "");
}

std::set<std::string> versions_of(const Results& results, std::string_view what) {
  std::set<std::string> out;
  for (const auto& [of, version] : results.versions)
    if (of == what) out.insert(version);
  return out;
}

void check_results(const Results& results) {
  const Shard& shard = results.shard;
  require(shard.of >= 1 && shard.of <= static_cast<Index>(kMostCells) && shard.part >= 1 &&
              shard.part <= shard.of && results.shard_cells >= 0 &&
              results.shard_cells <= static_cast<Index>(results.cells.size()),
          "its part of the study is none");
  const std::size_t methods = results.methods.size();
  if (methods > kMostMethods)
    throw Misfit(fmt::format("it has {} methods, more than {}", methods, kMostMethods));
  require_own_names(results.markets, "markets");
  require_own_names(results.methods, "methods");
  for (const Market& market : results.markets) check_market(market);
  for (const Method& method : results.methods)
    require(method.role <= Role::sweep && std::isfinite(method.alpha) && method.ensemble >= 1 &&
                std::isfinite(method.cost_bps),
            "a method has a role or a number that none has");
  std::map<std::pair<Index, std::string_view>, Index> names;  // of a market and a k as given
  std::set<CellKey> seen;
  std::set<Index> used;
  for (const Cell& cell : results.cells) {
    require(cell.market >= 0 && at(cell.market) < results.markets.size(),
            "a cell's market does not exist");
    require(cell.method >= 0 && at(cell.method) < methods, "a cell's method does not exist");
    const Market& market = results.markets[at(cell.market)];
    require(cell.k >= 0 && at(cell.k) <= market.tickers.size(),
            "a cell may hold more names than its market has");
    used.insert(cell.method);
    CellKey key = key_of(results, cell);
    const auto [found, fresh] = names.try_emplace({cell.market, cell.k_given}, cell.k);
    std::get<Index>(key) = 0;
    if (!seen.insert(key).second)
      throw Misfit(fmt::format("it has the same cell twice ({})", spelled(key)));
    if (found->second != cell.k)
      throw Misfit(fmt::format("k = {} of market \"{}\" is {} names in one cell and {} in another",
                               printable(cell.k_given), printable(market.name), found->second,
                               cell.k));
    if (fresh && names.size() * methods > kMostCells)
      throw Misfit(fmt::format(
          "its markets, numbers of names and {} methods make more than {} entries of a table",
          methods, kMostCells));
  }
  for (Index method = 0; at(method) < methods; ++method)
    if (!used.contains(method))
      throw Misfit(
          fmt::format("method \"{}\" has no cell", printable(results.methods[at(method)].name)));
}

void check_run(const Market& market, const Cell& cell) {
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
  check_weights(market, run);
}

}  // namespace sharpen::study
