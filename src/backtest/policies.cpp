#include "sharpen/backtest/policies.hpp"

#include <algorithm>
#include <cmath>

#include "backtest/choice.hpp"
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

class SelectingChooser : public Chooser {
 public:
  SelectingChooser(const select::SelectSettings& settings, const risk::Risk& risk)
      : selector_(settings, risk) {}
  void choose(const risk::Risk& risk, Index sample, ConstVec mu, Choice& out) override {
    selector_.run(risk, sample, mu, out.portfolio);
  }

 private:
  select::Selector selector_;
};

}  // namespace

void take(const Choice& choice, std::span<const Index> assets, Decision& out) {
  const select::Portfolio& portfolio = choice.portfolio;
  out.outcome = portfolio.outcome;
  out.iterations = choice.iterations;
  out.certified = choice.certified;
  out.positions.clear();
  if (out.outcome.status == Status::invalid_input) return;
  for (const Index i : portfolio.support) {
    const double weight = portfolio.weights[static_cast<std::size_t>(i)];
    if (!std::isfinite(weight)) {
      out.outcome.status = Status::invalid_input;
      out.positions.clear();
      return;
    }
    if (weight != 0.0) out.positions.push_back({assets[static_cast<std::size_t>(i)], weight});
  }
}

bool SignalSource::has(Index, Index) const { return true; }

void RollingMean::expected_returns(const WindowBatch& batch, Index i, Vec mu) const {
  column_means(batch.window(i), mu);
}

TrainingMean::TrainingMean(ConstMat training) : mean_(static_cast<std::size_t>(training.cols)) {
  column_means(training, mean_);
}

void TrainingMean::expected_returns(const WindowBatch& batch, Index, Vec mu) const {
  for (std::size_t j = 0; j < mu.size(); ++j)
    mu[j] = mean_[static_cast<std::size_t>(batch.assets[j])];
}

Index names_to_hold(const settings::CountOrShare& k, Index m) {
  const bool count = k.percent == 0.0;
  return count ? std::min(static_cast<Index>(k.count), m) : k.of(m, "k");
}

RiskPolicy::RiskPolicy(std::unique_ptr<const SignalSource> source,
                       const OptimizerSettings& settings, risk::Parts parts)
    : source_(std::move(source)),
      settings_(settings),
      risk_settings_{.shrinkage = settings.shrinkage, .form = settings.form, .parts = parts} {
  risk_settings_.validate();
  settings_.sizing.validate();
}

void RiskPolicy::fix_risk(ConstMat training) {
  for (Index t = 0; t < training.rows; ++t)
    training_.insert(training_.end(), training.row(t).begin(), training.row(t).end());
  const Index rows = training.rows;
  fixed_risk_ = risk::from_windows({training_.data(), rows, training.cols}, rows,
                                   std::span(&rows, 1), risk_settings_, Threads(1));
}

Index RiskPolicy::batch_size(Index m, Index T) const {
  // Doubles per sample. Which form it will be is for the risk model to say; far from the border,
  // where it matters, this is right.
  const auto assets = static_cast<double>(m), rows = static_cast<double>(T);
  const bool low_rank =
      settings_.form == risk::Form::low_rank || (settings_.form == risk::Form::automatic &&
                                                 assets > 4.0 * rows && settings_.shrinkage > 1e-4);
  const double doubles =
      low_rank ? (assets + rows) * (rows + 16.0) : 3.0 * assets * assets + rows * assets;
  const double most = kBatchBytes / (8.0 * std::max(1.0, doubles));
  return std::clamp(static_cast<Index>(most), Index{1}, kMostPerBatch);
}

void RiskPolicy::decide(const WindowBatch& batch, std::span<Decision> out) const {
  const auto m = static_cast<Index>(batch.assets.size());
  std::unique_ptr<risk::Risk> own;
  if (!fixed_risk_)
    own = risk::from_windows(batch.returns, batch.lookback, batch.ends, risk_settings_, Threads(1));
  const risk::Risk& risk = fixed_risk_ ? *fixed_risk_ : *own;
  const std::unique_ptr<Chooser> optimizer = chooser(batch, risk, names_to_hold(settings_.k, m));
  Choice choice;
  std::vector<double> mu(static_cast<std::size_t>(m));
  for (Index i = 0; i < batch.size(); ++i) {
    source_->expected_returns(batch, i, mu);
    optimizer->choose(risk, fixed_risk_ ? 0 : i, mu, choice);
    take(choice, batch.assets, out[static_cast<std::size_t>(i)]);
  }
}

SelectingPolicy::SelectingPolicy(std::unique_ptr<const SignalSource> source,
                                 const OptimizerSettings& settings)
    : RiskPolicy(std::move(source), settings,
                 {.lower = settings.optimizer == select::Optimizer::oscar,
                  .root = settings.optimizer == select::Optimizer::symmetric,
                  .restriction = false}) {}

SelectingPolicy::SelectingPolicy(std::unique_ptr<const SignalSource> source,
                                 const OptimizerSettings& settings, ConstMat training)
    : SelectingPolicy(std::move(source), settings) {
  fix_risk(training);
}

std::unique_ptr<Chooser> SelectingPolicy::chooser(const WindowBatch&, const risk::Risk& risk,
                                                  Index k) const {
  return std::make_unique<SelectingChooser>(
      select::SelectSettings{.k = k,
                             .optimizer = settings().optimizer,
                             .net = settings().net,
                             .sizing = settings().sizing},
      risk);
}

void EqualWeights::decide(const WindowBatch& batch, std::span<Decision> out) const {
  const double weight = 1.0 / static_cast<double>(batch.assets.size());
  for (Decision& decision : out) {
    decision.outcome.status = Status::ok;
    decision.positions.clear();
    for (const Index asset : batch.assets) decision.positions.push_back({asset, weight});
  }
}

}  // namespace sharpen::backtest
