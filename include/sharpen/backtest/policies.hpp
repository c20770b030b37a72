// The policies there are: a source of expected returns (the framework) with an optimizer, and
// equal weights.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sharpen/backtest/policy.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::backtest {

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

// historic: the mean of the training part, rows (T, n), the same at every decision.
class TrainingMean : public SignalSource {
 public:
  explicit TrainingMean(ConstMat training);
  void expected_returns(const WindowBatch& batch, Index i, Vec mu) const override;

 private:
  std::vector<double> mean_;  // (n)
};

// signal: predictions by date. Row `date` of `signal` is what was expected at the end of that
// day, from what was known by then, for the row after it.
class GivenSignal : public SignalSource {
 public:
  // Matched to the panel by ticker and date, in any order of tickers; more of either is ignored.
  // `rows`: the panel rows that decisions are made at. A ticker or a date that the signal lacks
  // is an InputError that names it; so is a gap (NaN), unless gaps are allowed: the asset is
  // then not held by that decision.
  GivenSignal(const market::Panel& signal, const market::Panel& returns,
              std::span<const Index> rows, bool gaps_allowed);
  // values (rows, n): of the decisions at those rows of the panel; NaN where there is none, and
  // infinity where it could not be computed: the decision is then invalid_input.
  GivenSignal(const market::Panel& returns, std::span<const Index> rows,
              std::vector<double> values);
  void expected_returns(const WindowBatch& batch, Index i, Vec mu) const override;
  bool has(Index row, Index asset) const override;

 private:
  Index n_;
  std::vector<Index> slot_;     // (rows of the panel): row of values_, or -1
  std::vector<double> values_;  // (decisions, n)
};

struct OptimizerSettings {
  select::Optimizer optimizer = select::Optimizer::swap;
  settings::CountOrShare k = {.count = 0, .percent = 10.0};  // of the assets of the day
  layer::Net net = layer::Net::positive;
  layer::SizingSettings sizing;
  double shrinkage = 0.10;
  risk::Form form = risk::Form::automatic;
  baseline::Recovery sdr_recovery = baseline::Recovery::top_k;  // for SdrPolicy
  baseline::SdrSettings sdr;                                    // likewise
  // For SdrPolicy with recovery match: (rows of the panel) a number for each decision row. The
  // first decision with a number finds kappa, and the others with it keep that. Empty: each finds
  // its own.
  std::vector<Index> sdr_spell;
};

// The count among the m assets of a day: at least 1, at most m.
Index names_to_hold(const settings::CountOrShare& k, Index m);

// What an optimizer gives for one decision.
struct Choice {
  select::Portfolio portfolio;
  Index iterations = 0;
  bool certified = false;
};

// An optimizer at work on one batch, with memory of its own.
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual void choose(const risk::Risk& risk, Index sample, ConstVec mu, Choice& out) = 0;
};

// mu from the source, Sigma of the window: what every optimizer over a risk model shares.
class RiskPolicy : public Policy {
 public:
  Index least_history() const override { return fixed_risk_ ? 0 : 2; }
  bool usable(Index row, Index asset) const override { return source_->has(row, asset); }
  Index batch_size(Index m, Index T) const override;
  void decide(const WindowBatch& batch, std::span<Decision> out) const override;

 protected:
  RiskPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
             risk::Parts parts);
  // Sigma of the training part (T, n) instead of the windows'. Needs panels without gaps.
  void fix_risk(ConstMat training);

  // For the decisions of `batch`, of at most k names each.
  virtual std::unique_ptr<Chooser> chooser(const WindowBatch& batch, const risk::Risk& risk,
                                           Index k) const = 0;

  const OptimizerSettings& settings() const { return settings_; }

 private:
  std::unique_ptr<const SignalSource> source_;
  OptimizerSettings settings_;
  risk::RiskSettings risk_settings_;
  std::vector<double> training_;            // a copy: a low-rank risk refers to it
  std::unique_ptr<risk::Risk> fixed_risk_;  // one sample
};

// At most k names by settings.optimizer (select.hpp).
class SelectingPolicy : public RiskPolicy {
 public:
  SelectingPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings);
  // Sigma of the training part (T, n).
  SelectingPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
                  ConstMat training);

 private:
  std::unique_ptr<Chooser> chooser(const WindowBatch& batch, const risk::Risk& risk,
                                   Index k) const override;
};

// --decision soft: the layer's own weights, as training sees them (layer/sparse_tangent.hpp). They
// are not sparse. settings.optimizer is not used; k, net and sizing of `layer` are the settings'.
class SoftPolicy : public RiskPolicy {
 public:
  SoftPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
             const layer::LayerSettings& layer);

 private:
  std::unique_ptr<Chooser> chooser(const WindowBatch& batch, const risk::Risk& risk,
                                   Index k) const override;

  layer::LayerSettings layer_;
};

// mssrm: projected ascent on the Sharpe ratio (baseline/mssrm.hpp). settings.optimizer is not
// used.
class MssrmPolicy : public RiskPolicy {
 public:
  MssrmPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings);
  MssrmPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
              ConstMat training);

 private:
  std::unique_ptr<Chooser> chooser(const WindowBatch& batch, const risk::Risk& risk,
                                   Index k) const override;
};

// sdr: the semidefinite relaxation (baseline/sdr.hpp), started at each decision from the one before
// as long as the assets are the same. settings.optimizer is not used.
class SdrPolicy : public RiskPolicy {
 public:
  SdrPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings);
  SdrPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
            ConstMat training);
  ~SdrPolicy() override;

  bool sequential() const override { return true; }
  // A relaxation takes far longer than its covariance; between batches a walk can be stopped.
  Index batch_size(Index, Index) const override { return 1; }

 private:
  std::unique_ptr<Chooser> chooser(const WindowBatch& batch, const risk::Risk& risk,
                                   Index k) const override;

  struct Memory;  // of the decision before; decisions come one at a time
  std::unique_ptr<Memory> memory_;
};

// mssrm-long: fully invested and long only, from the plain covariance of the window, or of the
// training part: no shrinkage, no sizing.
class MssrmLongPolicy : public Policy {
 public:
  MssrmLongPolicy(std::unique_ptr<const SignalSource> source, const settings::CountOrShare& k);
  // The covariance of the training part (T, n). Needs panels without gaps.
  MssrmLongPolicy(std::unique_ptr<const SignalSource> source, const settings::CountOrShare& k,
                  ConstMat training);

  Index least_history() const override { return training_.empty() ? 2 : 0; }
  bool usable(Index row, Index asset) const override { return source_->has(row, asset); }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override;

 private:
  std::unique_ptr<const SignalSource> source_;
  settings::CountOrShare k_;
  std::vector<double> training_;  // (T, n)
};

// 1/m of wealth in each of the day's m assets, fully invested: no sizing, no k, no history.
class EqualWeights : public Policy {
 public:
  Index least_history() const override { return 0; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override;
};

}  // namespace sharpen::backtest
