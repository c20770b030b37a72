#include "sharpen/backtest/backtest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backtest/aim.hpp"
#include "backtest/benchmark.hpp"
#include "backtest/ready.hpp"
#include "backtest/remembering.hpp"
#include "backtest/tradable.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/members.hpp"
#include "sharpen/solve/solve.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::backtest {

namespace {

Index min_history(const BacktestSettings& settings) {
  if (settings.min_history) return static_cast<Index>(*settings.min_history);
  return settings.lookback.all ? risk::kWindowRows : static_cast<Index>(settings.lookback.count);
}

// Rows of the training part; 0 without a split. What a given model has seen is never traded.
Index training_rows(const BacktestSettings& settings, const market::Panel& returns,
                    const learn::Model* model) {
  const Index last = returns.rows() - 1;
  Index seen = model != nullptr ? first_unseen_row(returns, *model) : 0;
  if (settings.ahead) seen = std::min(seen, last);  // who asks about the past is warned
  if (model != nullptr && seen > last)
    throw InputError(fmt::format(
        "the model was trained on returns up to {}, and the panel ends on {}: nothing is left to "
        "test it on",
        model->last_date, returns.dates.back()));
  if (model != nullptr && settings.split.empty()) return seen;
  const bool trains = learn::info(settings.framework).trains();
  const std::string split = settings.split.empty() && trains ? kTrainingSplit : settings.split;
  if (split == "none" && trains)
    throw InputError(
        fmt::format("split = none leaves framework = {} nothing to train on; give a share such as "
                    "80%, or a date",
                    name(settings.framework)));
  const Index rows = split.empty() || split == "none" ? 0 : split_row(returns.dates, split);
  if (rows < seen)
    throw InputError(fmt::format(
        "split = {} would test the model on returns it was trained on, which reach to {}; give a "
        "later split, or none",
        printable(settings.split), model->last_date));
  return rows;
}

WalkSettings walk_settings(const BacktestSettings& settings, const market::Panel& returns,
                           Index training) {
  const bool fixed =
      settings.fixes_covariance() && solve::optimizer_named(settings.optimizer).needs.history();
  WalkSettings walk;
  walk.lookback =
      settings.lookback.all ? WalkSettings::kAllRows : static_cast<Index>(settings.lookback.count);
  // Fixed weights need no windows; what was asked for is kept all the same.
  walk.min_history = fixed && !settings.min_history ? 0 : min_history(settings);
  walk.first_row = training;
  if (!settings.stats_from.empty()) walk.stats_from = stats_row(returns.dates, settings.stats_from);
  walk.rebalance = static_cast<Index>(settings.rebalance);
  walk.risk_free = settings.risk_free / settings.periods_per_year;
  walk.short_fee = settings.account.short_fee / settings.periods_per_year;
  walk.financing = settings.account.financing / settings.periods_per_year;
  walk.delay = static_cast<Index>(settings.account.delay);
  if (settings.ahead) walk.begin = returns.rows() - 1;
  walk.validate(returns.rows());
  walk.frozen = frozen_names(settings, returns, walk.first_decided() - 1);
  if (settings.prices) walk.shares = share_settings(settings, returns);
  return walk;
}

// Trades are made at the ends of these rows' dates, from before the first traded period on.
std::shared_ptr<const trade::CostBook> cost_book(const BacktestSettings& settings,
                                                 const market::Panel& returns,
                                                 const WalkSettings& walk) {
  const Index first_trade = walk.first_decided() - 1;
  return std::make_shared<const trade::CostBook>(
      settings.account.cost_bps, returns.tickers, returns.left_out,
      first_trade < 0 ? kBeforeAllDates : std::string_view(returns.dates[at(first_trade)]));
}

// Who may be held when. Who is a member on the first decision is known.
void take_members(const BacktestSettings& settings, const market::Panel& returns,
                  WalkSettings& walk, std::vector<std::string>& warnings) {
  if (settings.members.empty()) return;
  const market::MemberBook book(settings.members);
  walk.members = book.states(returns.dates, returns.tickers, returns.left_out);
  const Index first = walk.first_decided();
  if (first > 0)
    book.check_first(returns.dates[at(first - 1)],
                     std::span(walk.members).subspan(at(first * returns.n()), at(returns.n())));
  for (std::string& warning :
       book.warnings(returns.dates, returns.tickers, returns.left_out, !settings.gaps))
    warnings.push_back(std::move(warning));
}

// The same without an account: decisions are compared, not what they cost.
WalkSettings without_account(WalkSettings walk) {
  walk.costs = nullptr;
  walk.short_fee = walk.financing = 0.0;
  walk.delay = 0;
  walk.frozen.clear();
  walk.shares.reset();
  return walk;
}

// The rows of the panel that decisions are made at.
std::vector<Index> decision_rows(const WalkSettings& walk, const market::Panel& returns) {
  std::vector<Index> rows = walk.decided_rows(returns.rows());
  for (Index& row : rows) --row;
  return rows;
}

// What the bootstrap is asked for must fit the periods the statistics will cover. That is checked
// before the work; a run that ends early, in ruin, makes do with shorter blocks.
void check_bootstrap(const BootstrapSettings& settings, const WalkSettings& walk, Index rows) {
  settings.validate(rows - walk.stats_from.value_or(walk.first_traded()));
}

BootstrapSettings fitted(BootstrapSettings settings, const Run& run, Index periods) {
  // 0, where no period is left, has the length chosen from the data, which are none.
  if (run.ruined()) settings.block = std::min(settings.block, static_cast<double>(periods));
  return settings;
}

// Of a framework that learns nothing.
std::unique_ptr<const SignalSource> plain_source(const BacktestSettings& settings,
                                                 const market::Panel& returns,
                                                 const WalkSettings& walk,
                                                 const market::Panel* signal) {
  const learn::FrameworkInfo& framework = learn::info(settings.framework);
  if (framework.needs_file) {
    const std::vector<Index> rows = decision_rows(walk, returns);
    const trade::Ruling ruling = ruling_of(settings);
    return std::make_unique<GivenSignal>(
        *signal, returns, rows,
        [&](Index row, Index asset) {
          return settings.gaps || !walk.is_member(row, asset, returns.n());
        },
        ruling.normalizes() ? remembered_rows(rows, trade::Memory(ruling.memory).rows(),
                                              std::max<Index>(0, walk.min_history - 1))
                            : std::vector<Index>());
  }
  if (framework.training_mean)
    return std::make_unique<TrainingMean>(
        returns.matrix().middle_rows(0, walk.first_row),
        std::min<Index>(walk.first_row,
                        settings.lookback.all ? risk::kWindowRows : settings.lookback.count));
  return std::make_unique<RollingMean>();
}

// The settings of a training as the rest of the settings has them.
LearnedSettings learned_settings(const BacktestSettings& settings, const WalkSettings& walk,
                                 std::shared_ptr<const trade::CostBook> costs) {
  LearnedSettings out;
  if (settings.train_at_account_costs) out.costs = std::move(costs);
  out.training = settings.training;
  out.training.mandate = settings;
  if (settings.training_sizing) out.training.mandate.sizing = *settings.training_sizing;
  out.training.shrinkage = settings.shrinkage;
  out.training.form = settings.form;
  if (!learn::info(settings.framework).decides) out.training.alpha = 0.0;
  out.periods_per_year = settings.periods_per_year;
  out.training_rows = walk.first_row;
  out.members = walk.members;
  out.retrain = static_cast<Index>(settings.retrain);
  if (const trade::Ruling ruling = ruling_of(settings); ruling.normalizes())
    out.memory = ruling.memory;
  return out;
}

// The layer as the last epoch has it.
layer::SoftSettings last_layer(const BacktestSettings& settings) {
  layer::SoftSettings layer = settings.training.layer;
  if (settings.training.beta_final != 0.0) layer.beta = settings.training.beta_final;
  return layer;
}

// For each row the month of the period after it, which a decision there is made for.
std::vector<Index> months_of_periods(std::span<const std::string> dates) {
  constexpr std::size_t kMonth = 7;  // YYYY-MM
  std::vector<Index> out(dates.size(), 0);
  for (std::size_t t = 1; t + 1 < dates.size(); ++t)
    out[t] = out[t - 1] + (dates[t + 1].compare(0, kMonth, dates[t], 0, kMonth) != 0 ? 1 : 0);
  return out;
}

DatedLimits limits_of(const BacktestSettings& settings, const market::Panel& returns) {
  if (!settings.limits) return {};
  return {std::make_shared<layer::LimitBook>(settings.limits, returns.tickers, returns.left_out,
                                             settings.net, settings.objective.kind,
                                             returns.dates.front(), returns.dates.back()),
          returns.dates, settings.limits->max_turnover.has_value()};
}

// Without an account, and with the signal as the source has it.
std::unique_ptr<OptimizerPolicy> policy_of(const BacktestSettings& settings,
                                           const market::Panel& returns, const WalkSettings& walk,
                                           std::unique_ptr<const SignalSource> source) {
  const solve::OptimizerInfo& optimizer = solve::optimizer_named(settings.optimizer);
  // A count that the whole universe cannot fill is a mistake; one that a day cannot, is not.
  if (!optimizer.ignores_setting("k")) static_cast<void>(settings.k.of(returns.n(), "k"));
  auto policy = std::make_unique<OptimizerPolicy>(
      std::move(source),
      settings.decision == DecisionKind::soft ? soft_decider(settings, last_layer(settings))
                                              : decider(optimizer, settings),
      settings, settings.sdr_monthly ? months_of_periods(returns.dates) : std::vector<Index>(),
      limits_of(settings, returns));
  if (!settings.fixes_covariance() || !optimizer.needs.history()) return policy;
  if (walk.first_row < 2)
    throw InputError(
        "‹historic-risk› = train needs 2 rows of training at least; choose a later ‹--split›");
  policy->fix_covariance(returns.matrix().middle_rows(0, walk.first_row));
  return policy;
}

}  // namespace

Ready ready(const market::Panel& panel, const BacktestSettings& settings,
            const market::Panel* signal, const learn::Model* model, BacktestResult& result) {
  check_settings(settings, signal, model);
  Ready out;
  out.returns = panel;
  out.benchmark = take_benchmark(settings.benchmark, out.returns);
  result.benchmark = out.benchmark.name;
  for (const std::string& warning : out.benchmark.warnings) result.warnings.push_back(warning);
  if (model != nullptr) out.returns = match_model(out.returns, *model, result.warnings);
  if (model != nullptr && model->settings.mandate.limits && !settings.limits)
    result.warnings.push_back(
        "the model was trained under limits, and these decisions have none; give them here too "
        "(‹sharpen inspect› shows them)");
  result.tickers = out.returns.tickers;
  result.training_rows = training_rows(settings, out.returns, model);
  out.walk = walk_settings(settings, out.returns, result.training_rows);
  out.costs = cost_book(settings, out.returns, out.walk);
  if (out.costs->any()) out.walk.costs = out.costs;
  take_members(settings, out.returns, out.walk, result.warnings);
  if (!settings.ahead) check_bootstrap(settings.bootstrap, out.walk, out.returns.rows());
  out.rows = decision_rows(out.walk, out.returns);
  return out;
}

namespace {

Expectations expectations_of(const Ready& ready, const BacktestSettings& settings,
                             const learn::Model* model, const Threads& threads,
                             const Control& control) {
  return learned_expectations(ready.returns, ready.rows,
                              learned_settings(settings, ready.walk, ready.costs), model, threads,
                              control);
}

Run oracle_of(const Ready& ready, const BacktestSettings& settings, const Threads& threads,
              const Control& control) {
  control.begin("deciding with hindsight, for the regret");
  const auto policy =
      policy_of(settings, ready.returns, ready.walk, hindsight(ready.returns, ready.rows));
  return walk_forward(ready.returns, *policy, without_account(ready.walk), threads, control);
}

}  // namespace

std::unique_ptr<const SignalSource> source_of(const Ready& ready, const BacktestSettings& settings,
                                              const market::Panel* signal,
                                              const learn::Model* model, const Threads& threads,
                                              const Control& control,
                                              std::vector<TrainingRecord>& trainings) {
  if (learn::learns(settings.framework)) {
    Expectations learned = expectations_of(ready, settings, model, threads, control);
    trainings = std::move(learned.trainings);
    return std::make_unique<GivenSignal>(ready.returns, learned.rows, std::move(learned.values));
  }
  if (!solve::optimizer_named(settings.optimizer).needs.signal) return nullptr;
  return plain_source(settings, ready.returns, ready.walk, signal);
}

std::unique_ptr<const Policy> trading_policy(const Ready& ready, const BacktestSettings& settings,
                                             std::unique_ptr<const SignalSource> source,
                                             const Threads& threads, const Control& control) {
  auto policy = policy_of(settings, ready.returns, ready.walk, std::move(source));
  const trade::Ruling ruling = ruling_of(settings);
  const solve::OptimizerInfo& optimizer = solve::optimizer_named(settings.optimizer);
  if (settings.decision == DecisionKind::exact)
    policy->trade_by({.ruling = ruling,
                      .optimizer = &optimizer,
                      .periods_per_year = settings.periods_per_year,
                      .frozen = !ready.walk.frozen.empty(),
                      .reasons = settings.ahead});
  // A learned signal has its memory already.
  if (ruling.normalizes() && optimizer.needs.signal && !learn::learns(settings.framework))
    policy->remember(ready.returns, ready.walk, ruling.memory, threads, control);
  return policy;
}

namespace {

// The walk and everything after it.
void run_through(const Ready& ready, const BacktestSettings& settings,
                 std::unique_ptr<const SignalSource> source, const Run* oracle,
                 const Threads& threads, const Control& control, BacktestResult& result) {
  control.begin("deciding");
  const auto policy = trading_policy(ready, settings, std::move(source), threads, control);
  Companions beside;
  result.run = walk_forward(ready.returns, *policy, ready.walk, threads, control, &beside);
  result.delayed_returns = std::move(beside.delayed);
  result.equal_returns = std::move(beside.equal);
  if (learn::learns(settings.framework))
    result.regret = regret(
        result.run, oracle != nullptr ? *oracle : oracle_of(ready, settings, threads, control));
  if (!ready.benchmark.name.empty()) result.run.benchmark = ready.benchmark.over(result.run);

  Track track = result.run.track(settings.periods_per_year);
  track.delayed = result.delayed_returns;
  track.equal = result.equal_returns;
  result.metrics = metrics(track);
  result.aim = volatility_aim(settings, result);
  const BootstrapSettings bootstrap =
      fitted(settings.bootstrap, result.run, result.metrics.n_periods);
  result.statistics = sharpe_statistics(excess_returns(track), settings.trials, bootstrap, threads);
  result.after_costs = after_costs(track, bootstrap, threads);
  warn_of_run(result, ruling_of(settings).rule);
}

void check_expectations(const Expectations& given, const Ready& ready,
                        const BacktestSettings& settings) {
  if (given.rows != ready.rows || static_cast<Index>(given.values.size()) !=
                                      static_cast<Index>(ready.rows.size()) * ready.returns.n())
    throw InputError(
        "the expectations were made for other decisions or assets; make them from the same panel "
        "and settings");
  const trade::Ruling ruling = ruling_of(settings);
  if (given.memory != (ruling.normalizes() ? std::optional(ruling.memory) : std::nullopt))
    throw InputError(
        "the expectations were made with another memory; make them with the same rule and memory");
}

void check_oracle(const Run& given, const Ready& ready) {
  const std::vector<std::string>& dates = ready.returns.dates;
  const Index traded = ready.walk.first_traded();
  const Index first = std::min(traded, ready.walk.stats_from.value_or(traded));
  const std::size_t periods = given.dates.size();
  if (given.first_row != first || periods > dates.size() - at(first) ||
      !std::equal(given.dates.begin(), given.dates.end(), dates.begin() + first) ||
      given.status.size() != periods || given.gross_returns.size() != periods ||
      given.net.size() != periods)
    throw InputError(
        "the run with perfect foresight was made for other periods; make it from the same panel "
        "and settings");
}

}  // namespace

double check_backtest(const market::Panel& panel, const BacktestSettings& settings) {
  BacktestResult unused;
  const Ready prepared = ready(panel, settings, nullptr, nullptr, unused);
  static_cast<void>(limits_of(settings, prepared.returns));
  if (learn::learns(settings.framework))
    check_learning(prepared.returns, learned_settings(settings, prepared.walk, prepared.costs));
  if (settings.account.cost_bps.file.empty()) return settings.account.cost_bps.number;
  const std::span<const std::string> dates = prepared.returns.dates;
  const Index first = std::max<Index>(0, prepared.walk.first_traded() - 1);
  const std::size_t traded = std::max<std::size_t>(1, dates.size() - 1 - at(first));
  return prepared.costs->mean_bps(dates.subspan(at(first), traded));
}

Expectations expectations(const market::Panel& panel, const BacktestSettings& settings,
                          const Threads& threads, const Control& control) {
  if (!learn::learns(settings.framework))
    throw InputError(fmt::format("framework = {} learns nothing; use framework pfl or dfl",
                                 name(settings.framework)));
  BacktestResult unused;
  return expectations_of(ready(panel, settings, nullptr, nullptr, unused), settings, nullptr,
                         threads, control);
}

Run hindsight_run(const market::Panel& panel, const BacktestSettings& settings,
                  const Threads& threads, const Control& control) {
  BacktestResult unused;
  return oracle_of(ready(panel, settings, nullptr, nullptr, unused), settings, threads, control);
}

BacktestResult backtest(const market::Panel& panel, const BacktestSettings& settings,
                        const Threads& threads, const market::Panel* signal, const Control& control,
                        const learn::Model* model) {
  BacktestResult result;
  const Ready prepared = ready(panel, settings, signal, model, result);
  std::unique_ptr<const SignalSource> source =
      source_of(prepared, settings, signal, model, threads, control, result.trainings);
  run_through(prepared, settings, std::move(source), nullptr, threads, control, result);
  return result;
}

BacktestResult backtest(const market::Panel& panel, const BacktestSettings& settings,
                        const Prepared& prepared, const Threads& threads, const Control& control) {
  if (prepared.expectations == nullptr && !learn::learns(settings.framework))
    return backtest(panel, settings, threads, nullptr, control);
  BacktestResult result;
  const Ready fitting = ready(panel, settings, nullptr, nullptr, result);
  if (!learn::learns(settings.framework))
    throw InputError(
        fmt::format("expectations have no meaning for framework = {}", name(settings.framework)));
  const Expectations* given = prepared.expectations;
  Expectations own;
  if (given == nullptr) {
    own = expectations_of(fitting, settings, nullptr, threads, control);
    given = &own;
  }
  check_expectations(*given, fitting, settings);
  if (prepared.oracle != nullptr) check_oracle(*prepared.oracle, fitting);
  result.trainings = given->trainings;
  run_through(fitting, settings,
              std::make_unique<GivenSignal>(fitting.returns, given->rows, given->values),
              prepared.oracle, threads, control, result);
  return result;
}

}  // namespace sharpen::backtest
