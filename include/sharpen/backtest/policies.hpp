// The policy of a backtest: a source of expected returns (the framework) with an optimizer.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "sharpen/backtest/policy.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/solve/registry.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::backtest {

struct WalkSettings;

// Where mu comes from.
class SignalSource {
 public:
  virtual ~SignalSource() = default;
  // mu (m): expected returns of batch.assets over the row after window i.
  virtual void expected_returns(const WindowBatch& batch, Index i, Vec mu) const = 0;
  // Whether there is an expectation for the asset at the end of panel row `row`.
  virtual bool has(Index row, Index asset) const;
};

// rolling: the mean of the window.
class RollingMean : public SignalSource {
 public:
  void expected_returns(const WindowBatch& batch, Index i, Vec mu) const override;
};

// historic: the mean of the training part, rows (T, n), the same at every decision. Of an asset
// with gaps there: of the returns that it has, if they are `least` or more; else it has no
// expectation.
class TrainingMean : public SignalSource {
 public:
  explicit TrainingMean(ConstMat training, Index least = 1);
  void expected_returns(const WindowBatch& batch, Index i, Vec mu) const override;
  bool has(Index row, Index asset) const override;

 private:
  std::vector<double> mean_;  // (n), NaN for none
};

// What is expected of one asset at one decision: a return; none that could be computed, which makes
// the decision invalid_input; or nothing, and then that decision cannot hold the asset.
class Expectation {
 public:
  Expectation() = default;  // nothing
  // A return; what is not finite could not be computed.
  explicit Expectation(double value) : stored_(std::isfinite(value) ? value : kFailed) {}

  bool holdable() const { return !std::isnan(stored_); }
  // NaN where there is none.
  double value() const { return stored_ == kFailed ? kNothing : stored_; }

  // Eight bytes for files, and back.
  double stored() const { return stored_; }
  static Expectation from_stored(double stored) {
    return std::isnan(stored) ? Expectation() : Expectation(stored);
  }
  bool operator==(const Expectation& other) const {
    return stored_ == other.stored_ || (!holdable() && !other.holdable());
  }

 private:
  static constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kFailed = std::numeric_limits<double>::infinity();
  double stored_ = kNothing;
};

// signal: predictions by date. Row `date` of `signal` is what was expected at the end of that
// day, from what was known by then, for the row after it.
class GivenSignal : public SignalSource {
 public:
  // Matched to the panel by ticker and date, in any order of tickers; more of either is ignored.
  // `rows`: the panel rows that decisions are made at. A ticker or a date that the signal lacks
  // is an InputError that names it; so is a gap (NaN), unless this asset may lack a value at the
  // end of this row: it is then not held by that decision. optional: further rows, whose gaps are
  // nobody's mistake.
  GivenSignal(const market::Panel& signal, const market::Panel& returns,
              std::span<const Index> rows,
              const std::function<bool(Index row, Index asset)>& may_lack,
              std::span<const Index> optional = {});
  // values (rows, n): of the decisions at those rows of the panel.
  GivenSignal(const market::Panel& returns, std::span<const Index> rows,
              std::vector<Expectation> values);
  void expected_returns(const WindowBatch& batch, Index i, Vec mu) const override;
  bool has(Index row, Index asset) const override;

 private:
  void take(Index panel_row, ConstVec signal, std::span<const Index> columns);
  const Expectation* row(Index panel_row) const;  // (n); null where no decision is made

  Index n_;
  std::vector<Index> slot_;          // (rows of the panel): row of values_, or -1
  std::vector<Expectation> values_;  // (decisions, n)
};

// Who decides: an optimizer, or the layer in its place.
struct Decider {
  solve::Needs needs;
  bool remembers = false;  // as OptimizerInfo has it
  std::function<std::unique_ptr<solve::Optimizer>()> make;
};

Decider decider(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings);
// --decision soft.
Decider soft_decider(const layer::MandateSettings& settings, const layer::SoftSettings& layer);

// Limits from day to day; no book: none.
struct DatedLimits {
  std::shared_ptr<const layer::LimitBook> book;
  std::vector<std::string> dates;  // of the rows of the panel
  bool about_holdings = false;     // whether they limit turnover

  // Of a decision over the window, before which holdings (n, by column of the panel) are held.
  // Empty: that is not known, and turnover is not limited.
  layer::Limits at_decision(const WindowBatch& batch, Index i, ConstVec holdings = {}) const;
};

// How decisions look at the account.
struct Trading {
  trade::Ruling ruling = {};
  const solve::OptimizerInfo* optimizer = nullptr;  // null: not at all
  double periods_per_year = 252.0;
  bool frozen = false;   // names may be frozen
  bool reasons = false;  // decisions say why they trade
};

// mu from the source, Sigma of the window or of the training part: a portfolio by any optimizer.
class OptimizerPolicy : public Policy {
 public:
  // The source may be null where no signal is needed. months (rows of the panel): for each row a
  // number for the month of the period after it; empty: all are one.
  OptimizerPolicy(std::unique_ptr<const SignalSource> source, Decider decider,
                  const solve::OptimizerSettings& settings, std::vector<Index> months = {},
                  DatedLimits limits = {});
  OptimizerPolicy(std::unique_ptr<const SignalSource> source, const solve::OptimizerInfo& optimizer,
                  const solve::OptimizerSettings& settings, std::vector<Index> months = {});
  ~OptimizerPolicy() override;

  // Decisions that see what is held. Throws InputError for a rule that the optimizer has no ear
  // for.
  void trade_by(const Trading& trading);
  // The signal as it is remembered (trade/memory.hpp) at every decision of the walk, from the rows
  // before it. To be called last. Throws Interrupted.
  void remember(const market::Panel& returns, const WalkSettings& walk, Index memory,
                const Threads& threads, const Control& control);
  // The covariance of the training part (T, n) instead of the windows', of assets without a gap in
  // it.
  void fix_covariance(ConstMat training);

  Index least_history() const override;
  bool usable(Index row, Index asset) const override;
  // A remembered decision takes longer than its covariance; between batches a walk can be stopped.
  Index batch_size(Index m, Index T) const override;
  bool sequential() const override { return decider_.remembers; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override;
  bool sees_account() const override;
  std::unique_ptr<PreparedBatch> prepare(const WindowBatch& batch) const override;
  std::unique_ptr<Settler> settler() const override;

 private:
  struct Batch;
  class Trades;
  // The covariances of a batch: its windows', or that of the training part.
  struct BatchRisk {
    std::unique_ptr<risk::Risk> own;   // null: there is one for all
    std::vector<double> training;      // (T, m) where some of its columns are used
    const risk::Risk* risk = nullptr;  // null: none is needed
    bool fixed = false;                // one sample for all windows

    Index sample(Index i) const { return fixed ? 0 : i; }
  };
  BatchRisk risk_of(const WindowBatch& batch, const risk::RiskSettings& settings) const;
  solve::Problem problem(const WindowBatch& batch, Index i, const BatchRisk& risk) const;
  // q and variances (B, m) of every window (trade/memory.hpp); NaN where there are none.
  void directions(const WindowBatch& batch, std::vector<double>& q,
                  std::vector<double>& variances) const;
  // Whether even the portfolio that would be held if trading were free depends on what is held.
  bool decides_anew() const;

  std::unique_ptr<const SignalSource> source_;
  Decider decider_;
  solve::OptimizerSettings settings_;
  std::vector<Index> months_;
  DatedLimits limits_;
  Trading trading_;
  risk::RiskSettings risk_settings_;
  std::vector<double> training_;            // (T, n) a copy: a low-rank risk refers to it
  std::vector<char> trained_;               // (n) whether the asset has no gap there
  std::unique_ptr<risk::Risk> fixed_risk_;  // one sample, of all assets; null if some have gaps
  // Of decisions that come one at a time, from the one before.
  std::unique_ptr<solve::Optimizer> remembering_;
};

}  // namespace sharpen::backtest
