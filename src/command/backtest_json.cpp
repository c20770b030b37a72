// The answer of `sharpen backtest --json`, which is also metrics.json; docs/json.md lists every
// key.
#include <algorithm>
#include <cmath>

#include "command/json_text.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/reference.hpp"
#include "sharpen/command/backtest.hpp"

namespace sharpen::command {

namespace {

Json date_or_null(const std::string& date) { return date.empty() ? Json(nullptr) : Json(date); }

Json value_json(const settings::Values& values, const settings::Setting& setting) {
  using settings::Kind;
  const std::string_view name = setting.name;
  switch (setting.kind) {
    case Kind::flag: return values.flag(name);
    case Kind::integer: return values.integer(name);
    case Kind::real: return values.real(name);
    case Kind::choice:
    case Kind::text: return values.text(name);
    case Kind::list: return values.list(name);
    case Kind::count_or_share: return settings::write(setting, values.count_or_share(name));
    case Kind::count_or_all: return settings::write(setting, values.count_or_all(name));
    case Kind::of_field: break;
  }
  return nullptr;
}

Json settings_json(const settings::Values& values) {
  Json out = Json::object();
  for (const settings::Setting& setting : settings::table())
    if ((setting.commands & values.command()) != 0 && values.has(setting.name) && setting.in_file)
      out[std::string(setting.name)] = value_json(values, setting);
  return out;
}

Json cleaning_json(const market::PanelInput& input) {
  Json out;
  out["universe"] = market::name(input.settings.universe);
  out["on_suspect"] = market::name(input.settings.on_suspect);
  out["findings"] = Json::array();
  for (const market::Finding& finding : input.cleaning.findings) {
    Json item;
    item["rule"] = market::name(finding.rule);
    item["ticker"] = finding.ticker.empty() ? Json(nullptr) : Json(finding.ticker);
    item["from"] = finding.first_date;
    item["to"] = finding.last_date;
    item["size"] = finding.size;
    item["question"] = finding.question;
    item["done"] = finding.done;
    out["findings"].push_back(item);
  }
  out["dropped"] = Json::array();
  for (const market::Dropped& dropped : input.cleaning.dropped) {
    Json item;
    item["ticker"] = dropped.ticker;
    item["reason"] = dropped.reason;
    out["dropped"].push_back(item);
  }
  out["dropped_days"] = input.cleaning.dropped_days;
  return out;
}

Json status_counts(const backtest::Run& run) {
  Json out;
  for (int s = 0; s < backtest::kPeriodStatuses; ++s) {
    const auto status = static_cast<backtest::PeriodStatus>(s);
    out[std::string(backtest::name(status))] =
        std::count(run.status.begin() + run.stats_from, run.status.end(), status);
  }
  return out;
}

void add_sharpe(const BacktestAnswer& answer, Json& out) {
  const backtest::Metrics& m = answer.result.metrics;
  const backtest::SharpeStatistics& s = answer.result.statistics;
  out["sharpe"] = m.sharpe;
  out["sharpe_annualized"] = m.sharpe_annualized;
  out["sharpe_ci"] = {s.interval.low, s.interval.high};
  out["sharpe_standard_error"] = s.interval.standard_error;
  out["bootstrap_block"] = s.interval.block;
  out["replications"] = answer.settings.bootstrap.replications;
  out["probabilistic_sharpe"] = s.probabilistic;
  out["deflated_sharpe"] = s.deflated;
  out["trials"] = s.trials;
  out["skewness"] = s.moments.skewness;
  out["kurtosis"] = s.moments.kurtosis;
}

void add_returns(const BacktestAnswer& answer, Json& out) {
  const backtest::Metrics& m = answer.result.metrics;
  const backtest::Run& run = answer.result.run;
  out["mean_return"] = m.mean_return;
  out["mean_excess_return"] = m.mean_excess_return;
  out["return_annualized"] = m.return_annualized;
  out["volatility"] = m.volatility;
  out["volatility_annualized"] = m.volatility_annualized;
  out["sortino"] = m.sortino;
  out["sortino_annualized"] = m.sortino_annualized;
  out["max_drawdown"] = m.max_drawdown.depth;
  out["max_drawdown_peak_date"] = date_or_null(answer.date(m.max_drawdown.peak));
  out["max_drawdown_trough_date"] = date_or_null(answer.date(m.max_drawdown.trough));
  out["max_drawdown_recovery_date"] = date_or_null(answer.date(m.max_drawdown.recovery));
  out["calmar"] = m.calmar;
  out["hit_rate"] = m.hit_rate;
  out["best_return"] = m.best_return;
  out["worst_return"] = m.worst_return;
  out["final_wealth"] = m.final_wealth;
  out["ruin"] = m.ruin;
  out["ruin_date"] = date_or_null(run.ruined() ? run.dates.back() : std::string());
}

void add_weights(const BacktestAnswer& answer, Json& out) {
  const backtest::Metrics& m = answer.result.metrics;
  out["turnover"] = m.turnover;
  out["turnover_annualized"] = m.turnover_annualized;
  out["n_rebalances"] = m.n_rebalances;
  double cost = 0.0;
  const backtest::Run& run = answer.result.run;
  for (Index p = run.stats_from; p < run.periods(); ++p)
    cost += run.costs[static_cast<std::size_t>(p)];
  out["total_cost"] = cost;
  out["mean_gross_exposure"] = m.mean_gross;
  out["mean_net_exposure"] = m.mean_net;
  out["mean_cardinality"] = m.mean_cardinality;
  out["max_cardinality"] = m.max_cardinality;
  out["mean_effective_names"] = m.mean_effective_names;
  out["mean_largest_weight"] = m.mean_largest_weight;
  out["max_largest_weight"] = m.max_largest_weight;
}

void add_periods(const BacktestAnswer& answer, Json& out) {
  const backtest::Run& run = answer.result.run;
  out["n_periods"] = answer.result.metrics.n_periods;
  out["n_assets"] = answer.result.tickers.size();
  out["training_rows"] = answer.result.training_rows;
  out["first_traded_date"] = date_or_null(answer.first_traded());
  out["stats_from_date"] = date_or_null(answer.date(run.stats_from));
  out["last_date"] = date_or_null(answer.date(run.periods() - 1));
  out["periods_per_year"] = answer.settings.periods_per_year;
  out["risk_free"] = run.risk_free;
  out["cost_bps"] = answer.settings.cost_bps;
  out["rebalance"] = answer.settings.rebalance;
  out["status_counts"] = status_counts(run);
  out["n_jittered"] = run.n_jittered;
  const solve::OptimizerInfo& optimizer = solve::optimizer_named(answer.settings.optimizer);
  if (optimizer.iterates) out["iterations"] = run.iterations;
  if (optimizer.proves) out["n_certified"] = run.n_certified;
}

// Of pfl and dfl.
void add_learning(const BacktestAnswer& answer, Json& out) {
  if (!answer.result.regret) return;
  out["regret"] = answer.result.regret->mean;
  out["regret_relative"] = answer.result.regret->relative();
  out["oracle_return"] = answer.result.regret->oracle;
  out["trainings"] = Json::array();
  const double root_year = std::sqrt(answer.settings.periods_per_year);
  for (const backtest::TrainingRecord& training : answer.result.trainings) {
    Json one;
    one["from"] = training.first_date;
    one["to"] = training.last_date;
    one["members"] = Json::array();
    for (const learn::Member& member : training.members) {
      Json m;
      m["epochs"] = member.epochs;
      m["best_epoch"] = member.best_epoch;
      m["validation_sharpe_annualized"] = member.validation_sharpe * root_year;
      one["members"].push_back(m);
    }
    out["trainings"].push_back(one);
  }
}

Json benchmark_json(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  Json out;
  out["ticker"] = answer.settings.benchmark;
  out["sharpe"] = m.benchmark_sharpe;
  out["sharpe_annualized"] = m.benchmark_sharpe_annualized;
  out["beta"] = m.beta;
  out["correlation"] = m.correlation;
  out["tracking_error"] = m.tracking_error;
  out["tracking_error_annualized"] = m.tracking_error_annualized;
  out["information_ratio"] = m.information_ratio;
  out["information_ratio_annualized"] = m.information_ratio_annualized;
  return out;
}

}  // namespace

std::string backtest_json(const BacktestAnswer& answer) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "backtest";
  out["label"] = answer.label;
  out["framework"] = learn::name(answer.settings.framework);
  out["optimizer"] = answer.settings.optimizer;
  add_sharpe(answer, out);
  add_returns(answer, out);
  add_weights(answer, out);
  add_periods(answer, out);
  add_learning(answer, out);
  if (!answer.settings.benchmark.empty()) out["benchmark"] = benchmark_json(answer);
  out["settings"] = settings_json(answer.values);
  out["cleaning"] = cleaning_json(answer.input);
  out["warnings"] = plain(answer.warnings);
  return json_text(out);
}

std::vector<std::string> backtest_file_names() {
  return {"returns.csv",      "weights.csv",   "trades.csv",
          "weights_last.csv", "benchmark.csv", "metrics.json"};
}

std::vector<std::pair<std::string, std::string>> backtest_files(const BacktestAnswer& answer) {
  const backtest::Run& run = answer.result.run;
  const std::vector<std::string>& tickers = answer.result.tickers;
  std::vector<std::pair<std::string, std::string>> files = {
      {"returns.csv", backtest::returns_csv(run)},
      {"weights.csv", backtest::weights_csv(run, tickers)},
      {"trades.csv", backtest::trades_csv(run, tickers)},
      {"weights_last.csv", backtest::portfolio_csv(run.weights_of(run.periods() - 1), tickers)}};
  if (!run.benchmark.empty()) files.emplace_back("benchmark.csv", backtest::benchmark_csv(run));
  files.emplace_back("metrics.json", backtest_json(answer));
  return files;
}

}  // namespace sharpen::command
