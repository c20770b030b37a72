// Rows of the tables and the structs they hold. Every function names the fields of a struct once,
// in the order of its table's columns: a Query fills them from a row, an Insert writes them to one.
// What a reader accepts is said with the field.
#pragma once

#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include "study/store_schema.hpp"

namespace sharpen::study {

using Id = std::int64_t;  // of a market, a method or a cell in the file; from 1

constexpr Id kHighest = std::numeric_limits<Id>::max();

// The first name that two of them have; null: none.
template <class T>
const std::string* name_given_twice(const std::vector<T>& items) {
  std::set<std::string_view> names;
  for (const T& item : items)
    if (!names.insert(item.name).second) return &item.name;
  return nullptr;
}

// Of markets, after its id and position.
template <class Row, class M>
void market_columns(Row& row, M& market) {
  row.text(market.name, kLongestName);
  row.text(market.source, kLongestText);
  row.text(market.checksum, kLongestName);
  row.text(market.first_date, kLongestName);
  row.number(market.training_rows, 0, kMostPeriods);
  row.finite(market.periods_per_year);
  row.finite(market.risk_free);
}

// Of methods, likewise.
template <class Row, class M>
void method_columns(Row& row, M& method) {
  row.text(method.name, kLongestName);
  row.text(method.label, kLongestName);
  row.word(method.role, Role::sweep, "role");
  row.text(method.framework, kLongestName);
  row.text(method.optimizer, kLongestName);
  row.text(method.training, kLongestName);
  row.finite(method.alpha);
  row.number(method.ensemble, 1, kMostAssets);
  row.finite(method.cost_bps);
  row.text(method.settings, kLongestText);
}

// Of cells, after its id, position, market and method. n: assets of the market.
template <class Row, class C>
void cell_columns(Row& row, C& cell, Id n) {
  row.text(cell.k_given, kLongestName);
  row.number(cell.k, 0, n);
  row.bits(cell.seed);
  row.word(cell.state, CellState::failed, "state");
  row.text(cell.reason, kLongestText);
  row.finite(cell.seconds);
}

// What runs has of a run besides its numbers.
struct RunSize {
  Id periods = 0, positions = 0;  // rows of daily and weights
  bool benchmark = false;
};

// Of runs, after the cell. most_periods: of the market.
template <class Row, class R, class S>
void run_columns(Row& row, R& run, S& size, Id most_periods) {
  row.number(run.first_row, 0, kMostPeriods);
  row.number(run.stats_from, 0, most_periods);
  row.number(size.periods, 0, most_periods);
  row.number(size.positions, 0, kHighest);
  row.flag(size.benchmark);
  row.finite(run.risk_free);
  row.number(run.n_decisions, 0, size.periods);
  row.number(run.n_jittered, 0, run.n_decisions);
  row.number(run.n_certified, 0, run.n_decisions);
  row.number(run.iterations, 0, kHighest);
}

// Of metrics, after the cell. periods: of its run.
template <class Row, class C>
void metric_columns(Row& row, C& cell, Id periods, int version = kSchemaVersion) {
  auto& metrics = cell.metrics;
  row.number(metrics.n_periods, 0, periods);
  row.number(metrics.n_rebalances, 0, periods);
  row.flag(metrics.ruin);
  row.number_or(metrics.ruin_period, backtest::Drawdown::kNever, 0, periods - 1);
  row.real(metrics.max_drawdown.depth);
  row.number_or(metrics.max_drawdown.peak, backtest::Drawdown::kNever, backtest::Drawdown::kStart,
                periods - 1);
  row.number_or(metrics.max_drawdown.trough, backtest::Drawdown::kNever, 0, periods - 1);
  row.number_or(metrics.max_drawdown.recovery, backtest::Drawdown::kNever, 0, periods - 1);
  auto regret = cell.regret.value_or(
      backtest::Regret{.mean = backtest::kNotComputed, .oracle = backtest::kNotComputed});
  row.real(regret.mean);
  row.real(regret.oracle);
  if constexpr (!std::is_const_v<C>)
    if (!std::isnan(regret.mean) || !std::isnan(regret.oracle)) cell.regret = regret;
  for (const MetricColumn& column : kMetricColumns)
    if (column.since <= version) row.real(metrics.*column.field);
}

// One that may be missing as a whole, of which a reader has made room for every period.
template <class Row, class Column>
void optional_column(Row& row, Column& column, std::size_t period) {
  if (!column.empty())
    row.real(column[period]);
  else if constexpr (std::is_const_v<Column>)
    row.real(backtest::kNotComputed);
}

// Of daily, after the cell and the period, which the columns of the run have a place for.
template <class Row, class C>
void day_columns(Row& row, C& cell, std::size_t period, int version = kSchemaVersion) {
  auto& run = cell.run;
  row.text(run.dates[period], kLongestName);
  row.word(run.status[period], static_cast<backtest::PeriodStatus>(backtest::kPeriodStatuses - 1),
           "status");
  for (const DailyColumn& column : kDailyColumns) {
    if (column.since > version) continue;
    auto& value = (run.*column.column)[period];
    if (column.finite)
      row.finite(value);
    else
      row.real(value);
  }
  if (version > 1) {
    optional_column(row, cell.delayed_returns, period);
    optional_column(row, cell.equal_returns, period);
  }
  optional_column(row, run.benchmark, period);
}

}  // namespace sharpen::study
