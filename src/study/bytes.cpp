#include "study/bytes.hpp"

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
    {"sharpe_gross", &Metrics::sharpe_gross},
    {"sharpe_gross_annualized", &Metrics::sharpe_gross_annualized},
    {"sharpe_delayed", &Metrics::sharpe_delayed},
    {"sharpe_delayed_annualized", &Metrics::sharpe_delayed_annualized},
    {"equal_sharpe", &Metrics::equal_sharpe},
    {"equal_sharpe_annualized", &Metrics::equal_sharpe_annualized},
    {"mean_holding_period", &Metrics::mean_holding_period},
    {"break_even_bps", &Metrics::break_even_bps},
    {"trading_cost", &Metrics::trading_cost},
    {"short_fee", &Metrics::short_fee},
    {"financing", &Metrics::financing},
    {"total_cost", &Metrics::total_cost},
    {"cost_annualized", &Metrics::cost_annualized},
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
    {"trading_cost", &Run::trading_costs, true},
    {"short_fee", &Run::short_fees, true},
    {"financing", &Run::financing, true},
}};

// Of this file, but not in a namespace of its own, where Bytes would not find them.

static void fields(Bytes& bytes, backtest::Drawdown& drawdown) {
  bytes(drawdown.depth, drawdown.peak, drawdown.trough, drawdown.recovery);
}

static void fields(Bytes& bytes, Metrics& metrics) {
  bytes(metrics.n_periods, metrics.n_rebalances, metrics.ruin, metrics.ruin_period,
        metrics.max_drawdown);
  for (const MetricColumn& column : kMetricColumns) bytes(metrics.*column.field);
}

static void fields(Bytes& bytes, backtest::Regret& regret) { bytes(regret.mean, regret.oracle); }

static void fields(Bytes& bytes, backtest::Position& held) { bytes(held.asset, held.weight); }

static void fields(Bytes& bytes, learn::Member& member) {
  bytes(member.epochs, member.best_epoch, member.validation_loss, member.validation_sharpe);
}

static void fields(Bytes& bytes, backtest::TrainingRecord& training) {
  bytes(training.first_date, training.last_date, training.members);
}

static void fields(Bytes& bytes, backtest::Expectation& value) {
  double stored = value.stored();
  bytes(stored);
  if (bytes.reads()) value = backtest::Expectation::from_stored(stored);
}

void fields(Bytes& bytes, Run& run) {
  bytes(run.first_row, run.stats_from, run.dates, run.status, run.benchmark, run.risk_free,
        run.n_decisions, run.n_jittered, run.n_certified, run.iterations, run.weights_begin,
        run.weights);
  for (const DailyColumn& column : kDailyColumns) bytes(run.*column.column);
}

void fields(Bytes& bytes, backtest::Expectations& found) {
  bytes(found.rows, found.values, found.trainings, found.memory);
}

void found_fields(Bytes& bytes, Cell& cell) {
  bytes(cell.metrics, cell.regret, cell.run, cell.delayed_returns, cell.equal_returns,
        cell.warnings);
}

}  // namespace sharpen::study
