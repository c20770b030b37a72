#include "sharpen/backtest/policies.hpp"

#include <algorithm>
#include <cmath>

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

TrainingMean::TrainingMean(ConstMat training, Index least) : mean_(at(training.cols)) {
  column_means(training, mean_);
  for (Index j = 0; j < training.cols; ++j) {
    if (!std::isnan(mean_[at(j)])) continue;
    double sum = 0.0;
    Index count = 0;
    for (Index t = 0; t < training.rows; ++t)
      if (const double r = training(t, j); std::isfinite(r)) {
        sum += r;
        ++count;
      }
    if (count >= std::max<Index>(1, least)) mean_[at(j)] = sum / static_cast<double>(count);
  }
}

bool TrainingMean::has(Index, Index asset) const { return !std::isnan(mean_[at(asset)]); }

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
  trained_.assign(at(training.cols), 1);
  for (Index t = 0; t < training.rows; ++t)
    for (Index j = 0; j < training.cols; ++j)
      if (!std::isfinite(training(t, j))) trained_[at(j)] = 0;
  const Index rows = training.rows;
  if (decider_.needs.risk && std::ranges::find(trained_, 0) == trained_.end())
    fixed_risk_ = risk::from_windows({training_.data(), rows, training.cols}, rows,
                                     std::span(&rows, 1), risk_settings_, Threads(1));
}

Index OptimizerPolicy::least_history() const {
  return decider_.needs.history() && training_.empty() ? 2 : 0;
}

bool OptimizerPolicy::usable(Index row, Index asset) const {
  return (source_ == nullptr || source_->has(row, asset)) &&
         (trained_.empty() || trained_[at(asset)] != 0);
}

Index OptimizerPolicy::batch_size(Index m, Index T) const {
  if (decider_.remembers) return 1;
  if (!decider_.needs.risk) return Policy::batch_size(m, T);
  const auto assets = static_cast<double>(m), rows = static_cast<double>(T);
  const bool low_rank = risk_settings_.form_for(m, T) == risk::Form::low_rank;
  double doubles =  // per sample
      low_rank ? (assets + rows) * (rows + 16.0) : 3.0 * assets * assets + rows * assets;
  if (limits_.book) doubles += static_cast<double>(limits_.book->rows()) * (assets + 16.0);
  const double most = kBatchBytes / (8.0 * std::max(1.0, doubles));
  return std::clamp(static_cast<Index>(most), Index{1}, kMostPerBatch);
}

OptimizerPolicy::BatchRisk OptimizerPolicy::risk_of(const WindowBatch& batch,
                                                    const risk::RiskSettings& settings) const {
  BatchRisk out;
  const std::size_t m = batch.assets.size();
  out.fixed = !training_.empty();
  if (out.fixed && m < trained_.size())
    for (std::size_t first = 0; first < training_.size(); first += trained_.size())
      for (const Index asset : batch.assets) out.training.push_back(training_[first + at(asset)]);
  if (!decider_.needs.risk) return out;
  if (!out.fixed) {
    out.own = risk::from_windows(batch.returns, batch.lookback, batch.ends, settings, Threads(1),
                                 {.stop = batch.stop});
  } else if (m < trained_.size()) {
    const auto rows = static_cast<Index>(out.training.size() / m);
    out.own = risk::from_windows({out.training.data(), rows, static_cast<Index>(m)}, rows,
                                 std::span(&rows, 1), settings, Threads(1), {.stop = batch.stop});
  }
  out.risk = out.own ? out.own.get() : fixed_risk_.get();
  return out;
}

solve::Problem OptimizerPolicy::problem(const WindowBatch& batch, Index i,
                                        const BatchRisk& risk) const {
  const auto m = static_cast<Index>(batch.assets.size());
  solve::Problem out{.n = m,
                     .k = solve::names_to_hold(settings_.k, m),
                     .risk = risk.risk,
                     .sample = risk.sample(i),
                     .assets = batch.assets,
                     .row = batch.decision_row(i),
                     .stop = batch.stop};
  if (decider_.needs.plain)
    out.window =
        !risk.fixed ? batch.window(i)
        : risk.training.empty()
            ? ConstMat(training_.data(), static_cast<Index>(training_.size()) / m, m)
            : ConstMat(risk.training.data(), static_cast<Index>(risk.training.size()) / m, m);
  if (!months_.empty() && out.row >= 0) out.month = months_[at(out.row)];
  return out;
}

}  // namespace sharpen::backtest
