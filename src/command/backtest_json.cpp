// The answer of `sharpen backtest --json`, which is also metrics.json.
#include <algorithm>
#include <cmath>

#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::command {

namespace {

using Answer = BacktestAnswer;
using backtest::Metrics;

// Parts of the section: the run, and what it is compared with.
enum BacktestPart { kRun, kBenchmark };

// Json of a figure of the metrics.
template <class Field>
auto metric(Field field) {
  return [field](const Answer& answer) { return answer.result.metrics.*field; };
}
// A date of the run, null for what never happened.
template <class Period>
auto date_of(Period period) {
  return [period](const Answer& answer) { return text_or_null(answer.date(period(answer))); };
}

// One rate for all, or the name of a file; what was given as a text has none.
Json number_or_name(const settings::NumberOrFile& held) {
  if (held.file.empty()) return held.number;
  return held.file.find('\n') == std::string::npos ? Json(held.file) : Json(nullptr);
}

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
    case Kind::number_or_file: return number_or_name(values.number_or_file(name));
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

Json status_counts(const backtest::Run& run) {
  Json out;
  for (int s = 0; s < backtest::kPeriodStatuses; ++s) {
    const auto status = static_cast<backtest::PeriodStatus>(s);
    out[std::string(backtest::name(status))] =
        std::count(run.status.begin() + run.stats_from, run.status.end(), status);
  }
  return out;
}

const solve::OptimizerInfo& optimizer_of(const Answer& answer) {
  return solve::optimizer_named(answer.settings.optimizer);
}

Keys<Answer> sharpe_keys() {
  return {
      {"label", "name of the result: `--label`, or framework and optimizer", &Answer::label},
      {"framework", "`rolling`, `historic`, `signal`, `pfl` or `dfl`",
       [](auto& a) { return learn::name(a.settings.framework); }},
      {"optimizer",
       solve::names_of_optimizers([](const solve::OptimizerInfo&) { return true; }, " or ", "`"),
       [](auto& a) { return a.settings.optimizer; }},
      {"sharpe", "mean / standard deviation of excess returns after costs, per period",
       metric(&Metrics::sharpe)},
      {"sharpe_annualized", "`sharpe` × √`periods_per_year`", metric(&Metrics::sharpe_annualized)},
      {"sharpe_gross", "the same before all costs", metric(&Metrics::sharpe_gross)},
      {"sharpe_gross_annualized", "", metric(&Metrics::sharpe_gross_annualized)},
      {"sharpe_delay_1_annualized",
       "Sharpe ratio a year, after costs, if every trade were made one period later than it is, "
       "`delay` + 1 periods after its decision",
       metric(&Metrics::sharpe_delayed_annualized)},
      {"sharpe_ci",
       "95 % interval of `sharpe`, [low, high], per period, by the stationary bootstrap",
       [](auto& a) {
         const auto& interval = a.result.statistics.interval;
         return Json{interval.low, interval.high};
       }},
      {"sharpe_standard_error", "standard deviation of the bootstrap replications",
       [](auto& a) { return a.result.statistics.interval.standard_error; }},
      {"bootstrap_block", "mean block length used",
       [](auto& a) { return a.result.statistics.interval.block; }},
      {"replications", "as given", [](auto& a) { return a.settings.bootstrap.replications; }},
      {"probabilistic_sharpe", "probability that the true Sharpe ratio is above 0",
       [](auto& a) { return a.result.statistics.probabilistic; }},
      {"deflated_sharpe", "the same against the best of `trials` strategies without skill",
       [](auto& a) { return a.result.statistics.deflated; }},
      {"trials", "as given", [](auto& a) { return a.result.statistics.trials; }},
      {"skewness", "of excess returns; 3 is a normal's kurtosis",
       [](auto& a) { return a.result.statistics.moments.skewness; }},
      {"kurtosis", "", [](auto& a) { return a.result.statistics.moments.kurtosis; }},
  };
}

Keys<Answer> return_keys() {
  return {
      {"mean_return", "per period, net of costs", metric(&Metrics::mean_return)},
      {"mean_excess_return", "", metric(&Metrics::mean_excess_return)},
      {"return_annualized", "compound growth a year", metric(&Metrics::return_annualized)},
      {"volatility", "standard deviation of returns", metric(&Metrics::volatility)},
      {"volatility_annualized", "", metric(&Metrics::volatility_annualized)},
      {"target_volatility",
       "a year, that portfolios were sized to; `null` where they were sized otherwise",
       [](auto& a) { return a.result.aim ? Json(a.result.aim->target) : Json(nullptr); }},
      {"volatility_ratio",
       "`volatility_annualized` / `target_volatility`; beyond 1.5 or 1/1.5 a warning says why",
       [](auto& a) { return a.result.aim ? Json(a.result.aim->ratio()) : Json(nullptr); }},
      {"sortino", "mean excess return over the root mean square of its negative part",
       metric(&Metrics::sortino)},
      {"sortino_annualized", "", metric(&Metrics::sortino_annualized)},
      {"max_drawdown", "deepest fall of wealth from an earlier high, as a share of it",
       [](auto& a) { return a.result.metrics.max_drawdown.depth; }},
      {"max_drawdown_peak_date",
       "periods at whose end wealth was highest, lowest, and back; `null` for a high before the "
       "first period, and for what has not happened",
       date_of([](auto& a) { return a.result.metrics.max_drawdown.peak; })},
      {"max_drawdown_trough_date", "",
       date_of([](auto& a) { return a.result.metrics.max_drawdown.trough; })},
      {"max_drawdown_recovery_date", "",
       date_of([](auto& a) { return a.result.metrics.max_drawdown.recovery; })},
      {"calmar", "`return_annualized` / `max_drawdown`", metric(&Metrics::calmar)},
      {"hit_rate", "share of periods with a positive return", metric(&Metrics::hit_rate)},
      {"best_return", "of a period", metric(&Metrics::best_return)},
      {"worst_return", "", metric(&Metrics::worst_return)},
      {"final_wealth", "of 1 at the start, over every period of the run",
       metric(&Metrics::final_wealth)},
      {"ruin", "whether a return of −1 or less ended the run, and when; else `null`",
       metric(&Metrics::ruin)},
      {"ruin_date", "",
       [](auto& a) {
         const backtest::Run& run = a.result.run;
         return run.ruined() ? Json(run.dates.back()) : Json(nullptr);
       }},
  };
}

Key<Answer> costs_key() {
  return group<Answer>(
      "costs", "`total_cost` by kind",
      {{"trading", "of buying and selling", metric(&Metrics::trading_cost)},
       {"short_fee", "`--short-fee`, of what is sold short", metric(&Metrics::short_fee)},
       {"financing", "`--financing`, of what is borrowed", metric(&Metrics::financing)}});
}

Key<Answer> equal_key() {
  const auto yearly = [](auto value) {
    return [value](const Answer& a) {
      const double year = a.settings.periods_per_year;
      return Json(year * std::invoke(value, a.result.after_costs.regression));
    };
  };
  const auto ends = [](backtest::Interval interval, double scale) {
    return Json{scale * interval.low, scale * interval.high};
  };
  return group<Answer>(
      "equal_weights",
      "the run against equal weights of the same universe, rebalanced as often, after the same "
      "costs",
      {{"sharpe_annualized", "of equal weights", metric(&Metrics::equal_sharpe_annualized)},
       {"sharpe_difference_annualized",
        "the run's less that, and its 95 % interval by the test of `sharpen compare`",
        [](auto& a) {
          return std::sqrt(a.settings.periods_per_year) *
                 a.result.after_costs.difference.difference;
        }},
       {"sharpe_difference_ci", "",
        [ends](auto& a) {
          const auto& d = a.result.after_costs.difference;
          return ends({d.low, d.high}, std::sqrt(a.settings.periods_per_year));
        }},
       {"alpha_annualized",
        "of the run's excess returns, regressed on those of equal weights, a year, and its 95 % "
        "interval",
        yearly(&backtest::Regression::alpha)},
       {"alpha_ci", "",
        [ends](auto& a) {
          return ends(a.result.after_costs.regression.alpha_interval, a.settings.periods_per_year);
        }},
       {"beta", "of the same regression, and its 95 % interval",
        [](auto& a) { return a.result.after_costs.regression.beta; }},
       {"beta_ci", "",
        [ends](auto& a) { return ends(a.result.after_costs.regression.beta_interval, 1.0); }}},
      kRun, [](auto& a) { return !a.result.equal_returns.empty(); });
}

// Per period in the result, a year in the answer.
Json cost_curve(const Answer& answer) {
  const double root = std::sqrt(answer.settings.periods_per_year);
  Json out = Json::array();
  for (const backtest::CostPoint& point : answer.result.after_costs.cost_curve)
    out.push_back({{"bps", point.bps},
                   {"sharpe_annualized", root * point.sharpe},
                   {"low", root * point.interval.low},
                   {"high", root * point.interval.high}});
  return out;
}

Keys<Answer> trading_keys() {
  const auto ruling = [](auto value) {
    return [value](const Answer& a) {
      return Json(std::invoke(value, backtest::ruling_of(a.settings)));
    };
  };
  using trade::Ruling;
  return {
      equal_key(),
      {"cost_curve",
       "list of `bps`, `sharpe_annualized`, `low`, `high`: the Sharpe ratio a year if trading cost "
       "0, 5, ..., 50 basis points of what is traded, of every asset, with the trades and the fees "
       "as they are, and its 95 % interval",
       cost_curve},
      {"rule", "`cost`, `band` or `none`: what decisions made of what was held",
       ruling([](const Ruling& r) { return trade::name(r.rule); })},
      {"memory", "periods that the signal was averaged over; 1: none", ruling(&Ruling::memory)},
      {"expected_sharpe", "a year, and periods: what trades had to pay for themselves by",
       ruling(&Ruling::expected_sharpe)},
      {"holding_horizon", "", ruling(&Ruling::holding_horizon)},
      {"delay", "periods from a decision to its trades",
       [](auto& a) { return a.settings.account.delay; }},
      {"cost_bps", "as given: a number, or the name of the file; `null` for a table in memory",
       [](auto& a) { return number_or_name(a.settings.account.cost_bps); }},
  };
}

Keys<Answer> weight_keys() {
  return {
      {"turnover", "mean per rebalance of Σ\\|weight − drifted weight\\|",
       metric(&Metrics::turnover)},
      {"turnover_annualized", "Σ of it a year", metric(&Metrics::turnover_annualized)},
      {"n_rebalances", "periods with a decision or a trade", metric(&Metrics::n_rebalances)},
      {"mean_holding_period",
       "periods that a position lasts: 2 × `mean_gross_exposure` / mean turnover of a period",
       metric(&Metrics::mean_holding_period)},
      {"total_cost", "sum of the costs, as shares of wealth at the time",
       metric(&Metrics::total_cost)},
      costs_key(),
      {"break_even_bps",
       "cost per unit of turnover, in basis points, at which nothing would be left of the mean "
       "excess return, with the trades and the fees as they are",
       metric(&Metrics::break_even_bps)},
      {"mean_gross_exposure", "means of Σ\\|w\\| and Σw", metric(&Metrics::mean_gross)},
      {"mean_net_exposure", "", metric(&Metrics::mean_net)},
      {"mean_cardinality", "names held", metric(&Metrics::mean_cardinality)},
      {"max_cardinality", "", metric(&Metrics::max_cardinality)},
      {"mean_effective_names", "mean of 1 / Σ(w/Σ\\|w\\|)²",
       metric(&Metrics::mean_effective_names)},
      {"mean_largest_weight", "of the largest \\|weight\\| of a period",
       metric(&Metrics::mean_largest_weight)},
      {"max_largest_weight", "", metric(&Metrics::max_largest_weight)},
  };
}

Keys<Answer> period_keys() {
  return {
      {"n_periods", "periods in the statistics", metric(&Metrics::n_periods)},
      {"n_assets", "assets in the universe", [](auto& a) { return a.result.tickers.size(); }},
      {"training_rows", "returns before the split; 0 without one",
       [](auto& a) { return a.result.training_rows; }},
      {"split_date", "first date after these; `null` without a split",
       [](auto& a) { return text_or_null(a.split_date()); }},
      {"first_traded_date", "first period held, first of the statistics, last",
       [](auto& a) { return text_or_null(a.first_traded()); }},
      {"stats_from_date", "", date_of([](auto& a) { return a.result.run.stats_from; })},
      {"last_date", "", date_of([](auto& a) { return a.result.run.periods() - 1; })},
      {"periods_per_year", "the number used to annualise",
       [](auto& a) { return a.settings.periods_per_year; }},
      {"risk_free", "per period", [](auto& a) { return a.result.run.risk_free; }},
      {"rebalance", "periods between decisions", [](auto& a) { return a.settings.rebalance; }},
      {"status_counts",
       "periods of the statistics by status: `ok`, `neutral_face`, `no_signal`, `not_converged`, "
       "`invalid_input` of decisions; `held` without a decision, `idle` before the first, `ruin`. "
       "With `no_signal` and `invalid_input` a rule keeps what was held, `rule` `none` holds cash",
       [](auto& a) { return status_counts(a.result.run); }},
      {"n_jittered", "decisions whose covariance needed jitter on its diagonal",
       [](auto& a) { return a.result.run.n_jittered; }},
      {"iterations", "only for `mssrm`, `mssrm-long` and `sdr`: steps made, over all decisions",
       [](auto& a) { return optimizer_of(a).iterates ? Json(a.result.run.iterations) : absent(); }},
      {"n_certified",
       "only for `exact`: decisions before the costs of trading that are proved to be the best; "
       "for "
       "`mssrm-long`: decisions that are proved globally optimal for its own problem; for `sdr`: "
       "decisions whose relaxation is solved to the gap asked for",
       [](auto& a) { return optimizer_of(a).proves ? Json(a.result.run.n_certified) : absent(); }},
      {"share_certified", "`n_certified` as a share of all decisions; `null` without any",
       [](auto& a) {
         const backtest::Run& run = a.result.run;
         if (!optimizer_of(a).proves) return absent();
         if (run.n_decisions == 0) return Json(nullptr);
         return Json(static_cast<double>(run.n_certified) / static_cast<double>(run.n_decisions));
       }},
  };
}

// Trainings are described in words.
Json trainings(const Answer& answer) {
  if (!answer.result.regret) return absent();
  Json out = Json::array();
  for (const backtest::TrainingRecord& training : answer.result.trainings) {
    Json members = Json::array();
    for (const learn::Member& member : training.members)
      members.push_back({{"epochs", member.epochs},
                         {"best_epoch", member.best_epoch},
                         {"validation_sharpe_annualized",
                          value_or_null(member.yearly_sharpe(answer.settings.periods_per_year))}});
    out.push_back({{"from", training.first_date},
                   {"to", training.last_date},
                   {"members", std::move(members)}});
  }
  return out;
}

Keys<Answer> learning_keys() {
  const auto of = [](auto value) {
    return [value](const Answer& a) {
      return a.result.regret ? Json(std::invoke(value, *a.result.regret)) : absent();
    };
  };
  using backtest::Regret;
  return {
      {"regret",
       "only for `pfl` and `dfl`: mean over the decisions of what perfect foresight would have "
       "earned more with the same optimizer, r'w(r) − r'w(μ), before costs",
       of(&Regret::mean)},
      {"regret_relative", "likewise: `regret` / `oracle_return`, and the mean of r'w(r)",
       of(&Regret::relative)},
      {"oracle_return", "", of(&Regret::oracle)},
      {"trainings",
       "likewise: one object per training, with `from` and `to`, the dates of the returns it saw, "
       "and `members`: `epochs`, `best_epoch`, `validation_sharpe_annualized`",
       trainings},
  };
}

Key<Answer> benchmark_key() {
  Keys<Answer> keys = {
      {"ticker", "the asset, or the title of the file's column",
       [](auto& a) { return a.result.benchmark; }},
      {"sharpe", "of its excess returns", metric(&Metrics::benchmark_sharpe)},
      {"sharpe_annualized", "", metric(&Metrics::benchmark_sharpe_annualized)},
      {"beta", "of the run's excess returns to the benchmark's", metric(&Metrics::beta)},
      {"correlation", "", metric(&Metrics::correlation)},
      {"tracking_error", "standard deviation of the difference of returns",
       metric(&Metrics::tracking_error)},
      {"tracking_error_annualized", "", metric(&Metrics::tracking_error_annualized)},
      {"information_ratio", "mean of the difference over its standard deviation",
       metric(&Metrics::information_ratio)},
      {"information_ratio_annualized", "", metric(&Metrics::information_ratio_annualized)},
  };
  return group<Answer>("benchmark", "what the run is compared with, over the same periods",
                       in_part(kBenchmark, std::move(keys)), kBenchmark,
                       [](auto& a) { return !a.result.benchmark.empty(); });
}

Key<Answer> cleaning_key() {
  using market::Dropped;
  using market::Finding;
  // The row of the list names them.
  const Keys<Finding> finding =
      in_part<Finding>(kNoTable, {{"rule", "", [](auto& f) { return market::name(f.rule); }},
                                  {"ticker", "", [](auto& f) { return text_or_null(f.ticker); }},
                                  {"from", "", &Finding::first_date},
                                  {"to", "", &Finding::last_date},
                                  {"size", "", &Finding::size},
                                  {"question", "", &Finding::question},
                                  {"done", "", &Finding::done}});
  const Keys<Dropped> dropped = in_part<Dropped>(
      kNoTable, {{"ticker", "", &Dropped::ticker}, {"reason", "", &Dropped::reason}});
  return group<Answer>(
      "cleaning", "what was done to the panel before the walk, with hindsight",
      {{"universe", "as given", [](auto& a) { return market::name(a.input.settings.universe); }},
       {"on_suspect", "", [](auto& a) { return market::name(a.input.settings.on_suspect); }},
       list<Answer>(
           "findings",
           "list of `rule`, `ticker` (`null` for a whole row), `from`, `to`, `size`, "
           "`question`, `done`, as in `sharpen doctor --json`",
           finding, [](auto& a) -> auto& { return a.input.cleaning.findings; }),
       {"findings_left_out", kLeftOutMeaning,
        [](auto& a) { return object_of(a.input.cleaning.left_out()); }},
       list<Answer>(
           "dropped", "list of `ticker`, `reason`", dropped,
           [](auto& a) -> auto& { return a.input.cleaning.dropped; }),
       {"dropped_days", "dates", [](auto& a) { return a.input.cleaning.dropped_days; }}});
}

Keys<Answer> backtest_keys() {
  return answer_keys<Answer>(
      "backtest", "`backtest`",
      {sharpe_keys(),
       return_keys(),
       weight_keys(),
       trading_keys(),
       period_keys(),
       learning_keys(),
       {benchmark_key(),
        {"settings", "every setting with a value, by its name",
         [](auto& a) { return settings_json(a.values); }},
        cleaning_key(),
        {"warnings", kWarningsMeaning, [](auto& a) { return plain(a.warnings); }}}});
}

}  // namespace

std::string backtest_json(const BacktestAnswer& answer) { return json_text<backtest_keys>(answer); }

Section backtest_section() {
  return {"backtest",
          {"The same object is written to `metrics.json` by `--out`. Statistics cover the periods "
           "from\n`stats_from_date` on; docs/statistics.md explains them. Figures without "
           "`_annualized` are per period.",
           "With `--benchmark` there is also:"},
          listed(backtest_keys())};
}

}  // namespace sharpen::command
