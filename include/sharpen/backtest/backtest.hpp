// A whole backtest: a framework (where mu comes from), an optimizer (what is held for it), the
// walk through the panel, and what it amounts to (docs/backtest.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/after_costs.hpp"
#include "sharpen/backtest/learned.hpp"
#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/market/standstills.hpp"
#include "sharpen/solve/optimizer.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::backtest {

using learn::Framework;

enum class HistoricRisk { rolling, train };
constexpr std::array<std::string_view, 2> names(HistoricRisk) { return {"rolling", "train"}; }

// What is held for a signal: at most k names, or the layer's own weights, which are dense.
enum class DecisionKind { exact, soft };
constexpr std::array<std::string_view, 2> names(DecisionKind) { return {"exact", "soft"}; }

// What the split is where there is training and nobody says so.
constexpr const char* kTrainingSplit = "80%";

// What the optimizer is told, and the rest.
struct BacktestSettings : solve::OptimizerSettings {
  Framework framework = Framework::rolling;
  std::string optimizer = "swap";                        // the name of its row
  std::optional<layer::SizingSettings> training_sizing;  // of networks; none: `sizing`
  HistoricRisk historic_risk = HistoricRisk::rolling;
  // For pfl and dfl, and the layer of a soft decision. Its mandate, shrinkage and lookback are
  // those above.
  learn::TrainSettings training;
  // Trainings charge the mean of account.cost_bps over their dates, not training.train_cost_bps.
  bool train_at_account_costs = false;
  std::int64_t retrain = 0;  // periods between trainings; 0: once
  DecisionKind decision = DecisionKind::exact;

  settings::CountOrAll lookback = {.count = risk::kWindowRows, .all = false};
  std::optional<std::int64_t> min_history;  // none: lookback, or 100 for a lookback of all rows
  std::string split;       // share or date (split_row); "": none, 80% where there is training
  std::string stats_from;  // row from 1 or date (stats_row); "": the first traded period
  std::int64_t rebalance = 1;
  trade::AccountSettings account;
  trade::RuleSettings rules;
  double risk_free = 0.0;  // a year; risk_free / periods_per_year per period
  double periods_per_year = 252.0;
  std::string benchmark;  // ticker, taken out of the universe, a file or its text; "": none
  std::string members;    // file of who may be held when (market/members.hpp); "": everybody
  std::vector<market::Standstill> standstills = {};  // what cannot be traded when, by cleaning
  bool gaps = false;                                 // the panel may hold NaN (universe available)
  // With a capital: the prices that the returns are made of, a row more than these.
  std::shared_ptr<const market::Panel> prices;
  bool ahead = false;  // the panel's last row is yet to come, and only it is walked

  std::int64_t trials = 1;
  BootstrapSettings bootstrap;

  // Whether Sigma is that of the training part throughout.
  bool fixes_covariance() const {
    return learn::info(framework).training_mean && historic_risk == HistoricRisk::train;
  }
};

// Of a command that takes the settings of a backtest. What no flag can hold (a signal, a stop for
// the bootstrap) is left to the caller.
BacktestSettings backtest_settings(const settings::Values& values);

// The rule in force: soft decisions have none.
trade::Ruling ruling_of(const BacktestSettings& settings);

// What to say of numbers that are allowed and more likely a mistake: percents given as shares,
// basis points as something else, a year given as a row. `dates`: of the returns.
std::vector<std::string> likely_mistakes(const settings::Values& values,
                                         std::span<const std::string> dates);

// Throws InputError for settings that contradict each other whatever the panel; backtest() does it
// first. `signal`, `model`: as there.
void check_settings(const BacktestSettings& settings, const market::Panel* signal = nullptr,
                    const learn::Model* model = nullptr);

// Throws InputError as backtest() of a framework without a file would, before it decides or trains
// anything. Answers what trading costs, in basis points: the mean over the assets and the dates
// that trades can be made on.
double check_backtest(const market::Panel& returns, const BacktestSettings& settings);

// The volatility that portfolios were sized to, and the one that came out.
struct VolatilityAim {
  static constexpr double kFar = 1.5;  // a factor beyond which something is amiss

  double target = 0.0, realised = 0.0;  // a year
  std::string reason;                   // the likely one, where they are far apart

  double ratio() const { return realised / target; }
  bool far() const { return !(ratio() <= kFar && ratio() >= 1.0 / kFar); }
};

struct BacktestResult {
  std::vector<std::string> tickers;  // the universe: columns that weights refer to
  Index training_rows = 0;           // rows before the split; 0 without one
  std::string benchmark;             // what it is called; "": none
  Run run;
  // Returns after costs over the periods of the run, 0 after ruin: of the same settings with trades
  // one period later, and of equal weights of the same universe, rebalanced as often.
  std::vector<double> delayed_returns, equal_returns;
  Metrics metrics;
  SharpeStatistics statistics;
  AfterCosts after_costs;
  std::optional<VolatilityAim> aim;       // where something is sized to a volatility
  std::optional<Regret> regret;           // of pfl and dfl
  std::vector<TrainingRecord> trainings;  // likewise
  std::vector<std::string> warnings;
};

// `signal` is for Framework::signal only, `model` for pfl and dfl, which train their own without.
// Throws InputError for settings that do not fit each
// other or the panel, Interrupted when asked to stop.
BacktestResult backtest(const market::Panel& returns, const BacktestSettings& settings,
                        const Threads& threads, const market::Panel* signal = nullptr,
                        const Control& control = {}, const learn::Model* model = nullptr);

// The learned signal of a backtest, apart: of the optimizer it depends on the rule and its memory
// only, and not on k, unless the training does; it can serve several. For pfl and dfl; settings as
// for backtest().
Expectations expectations(const market::Panel& returns, const BacktestSettings& settings,
                          const Threads& threads, const Control& control = {});

// The same backtest with perfect foresight, for the regret: it does not depend on the signal, looks
// at no account and pays no costs.
Run hindsight_run(const market::Panel& returns, const BacktestSettings& settings,
                  const Threads& threads, const Control& control = {});

// What was done before and is not done again; null: it is.
struct Prepared {
  const Expectations* expectations = nullptr;  // of the same panel, split and rebalancing
  const Run* oracle = nullptr;                 // likewise, and of the same k, optimizer and sizing
};

// To the bits of backtest(). Throws InputError for expectations of other rows or assets, and for an
// oracle of other periods.
BacktestResult backtest(const market::Panel& returns, const BacktestSettings& settings,
                        const Prepared& prepared, const Threads& threads,
                        const Control& control = {});

// Rows of the training part. "80%" or "0.8": that share of the rows, rounded half away from
// zero; a date (YYYY-MM-DD, YYYY-MM, YYYY): the rows before it. Each part keeps one row at least.
Index split_row(std::span<const std::string> dates, const std::string& split);

// A row of the returns, from 0: "2" is the second row; a date (YYYY-MM-DD, YYYY-MM) the first
// row that is not before it.
Index stats_row(std::span<const std::string> dates, const std::string& stats_from);

// Throw InputError for a text that these two cannot read, whatever the dates.
void check_split(const std::string& split);
void check_stats_from(const std::string& stats_from);

}  // namespace sharpen::backtest
