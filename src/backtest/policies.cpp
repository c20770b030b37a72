#include "sharpen/backtest/policies.hpp"

#include <algorithm>

#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::backtest {

namespace {

// What one batch may keep in memory for its covariances.
constexpr double kBatchBytes = 48e6;
constexpr Index kMostPerBatch = 32;

void column_means(ConstMat rows, Vec mean) {
  std::fill(mean.begin(), mean.end(), 0.0);
  for (Index t = 0; t < rows.rows; ++t) {
    const double* r = rows.row(t).data();
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += r[j];
  }
  for (double& m : mean) m /= static_cast<double>(rows.rows);
}

}  // namespace

layer::Limits DatedLimits::at_decision(const WindowBatch& batch, Index i, ConstVec holdings) const {
  const Index row = batch.decision_row(i);
  std::vector<double> held;
  if (!holdings.empty())
    for (const Index asset : batch.assets) held.push_back(holdings[at(asset)]);
  return book->at(batch.assets, row < 0 ? kBeforeAllDates : std::string_view(dates[at(row)]),
                  batch.window(i), held);
}

bool SignalSource::has(Index, Index) const { return true; }

void RollingMean::expected_returns(const WindowBatch& batch, Index i, Vec mu) const {
  column_means(batch.window(i), mu);
}

TrainingMean::TrainingMean(ConstMat training) : mean_(at(training.cols)) {
  column_means(training, mean_);
}

void TrainingMean::expected_returns(const WindowBatch& batch, Index, Vec mu) const {
  for (std::size_t j = 0; j < mu.size(); ++j) mu[j] = mean_[at(batch.assets[j])];
}

Decider decider(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings) {
  return {.needs = optimizer.needs,
          .remembers = optimizer.remembers,
          .make = [&optimizer, settings] { return optimizer.make(settings); }};
}

Decider soft_decider(const layer::MandateSettings& settings, const layer::SoftSettings& layer) {
  return {.needs = {.parts = solve::soft_parts(layer)},
          .make = [settings, layer] { return solve::soft_decision(settings, layer); }};
}

OptimizerPolicy::OptimizerPolicy(std::unique_ptr<const SignalSource> source, Decider decider,
                                 const solve::OptimizerSettings& settings,
                                 std::vector<Index> months, DatedLimits limits)
    : source_(std::move(source)),
      decider_(std::move(decider)),
      settings_(settings),
      months_(std::move(months)),
      limits_(std::move(limits)),
      risk_settings_{
          .shrinkage = settings.shrinkage, .form = settings.form, .parts = decider_.needs.parts} {
  if (decider_.needs.risk) {
    risk_settings_.validate();
    settings_.sizing.validate();
  }
  if (decider_.remembers) remembering_ = decider_.make();
}

OptimizerPolicy::OptimizerPolicy(std::unique_ptr<const SignalSource> source,
                                 const solve::OptimizerInfo& optimizer,
                                 const solve::OptimizerSettings& settings,
                                 std::vector<Index> months)
    : OptimizerPolicy(std::move(source), decider(optimizer, settings), settings,
                      std::move(months)) {}

OptimizerPolicy::~OptimizerPolicy() = default;

void OptimizerPolicy::fix_covariance(ConstMat training) {
  for (Index t = 0; t < training.rows; ++t)
    training_.insert(training_.end(), training.row(t).begin(), training.row(t).end());
  const Index rows = training.rows;
  if (decider_.needs.risk)
    fixed_risk_ = risk::from_windows({training_.data(), rows, training.cols}, rows,
                                     std::span(&rows, 1), risk_settings_, Threads(1));
}

Index OptimizerPolicy::least_history() const {
  return decider_.needs.history() && training_.empty() ? 2 : 0;
}

bool OptimizerPolicy::usable(Index row, Index asset) const {
  return source_ == nullptr || source_->has(row, asset);
}

Index OptimizerPolicy::batch_size(Index m, Index T) const {
  if (decider_.remembers) return 1;
  if (!decider_.needs.risk) return Policy::batch_size(m, T);
  const auto assets = static_cast<double>(m), rows = static_cast<double>(T);
  const bool low_rank = risk_settings_.form_for(m, T) == risk::Form::low_rank;
  const double doubles =  // per sample
      low_rank ? (assets + rows) * (rows + 16.0) : 3.0 * assets * assets + rows * assets;
  const double most = kBatchBytes / (8.0 * std::max(1.0, doubles));
  return std::clamp(static_cast<Index>(most), Index{1}, kMostPerBatch);
}

std::unique_ptr<risk::Risk> OptimizerPolicy::own_risk(const WindowBatch& batch,
                                                      const risk::RiskSettings& settings) const {
  if (fixed_risk_) return nullptr;
  return risk::from_windows(batch.returns, batch.lookback, batch.ends, settings, Threads(1),
                            {.stop = batch.stop});
}

solve::Problem OptimizerPolicy::problem(const WindowBatch& batch, Index i,
                                        const risk::Risk* own) const {
  const auto m = static_cast<Index>(batch.assets.size());
  solve::Problem out{.n = m,
                     .k = solve::names_to_hold(settings_.k, m),
                     .risk = fixed_risk_ ? fixed_risk_.get() : own,
                     .sample = fixed_risk_ ? 0 : i,
                     .assets = batch.assets,
                     .row = batch.decision_row(i),
                     .stop = batch.stop};
  if (decider_.needs.plain)
    out.window = training_.empty()
                     ? batch.window(i)
                     : ConstMat(training_.data(), static_cast<Index>(training_.size()) / m, m);
  if (!months_.empty() && out.row >= 0) out.month = months_[at(out.row)];
  return out;
}

}  // namespace sharpen::backtest
