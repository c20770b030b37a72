#include "learn/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/vec.hpp"

namespace sharpen::learn {

namespace {

// A root mean square of mu beyond this many times the returns' is an explosion.
constexpr double kExplosion = 1e6;

// Streams of the seed: a member's initial parameters, then the order of each of its epochs.
std::uint64_t stream(Index member, Index epoch) {
  return (static_cast<std::uint64_t>(member) << 32) + static_cast<std::uint64_t>(epoch);
}

// Validation remembers days before it.
Index first_with_risk(const SampleSplit& split, const TrainSettings& settings) {
  return settings.needs_risk()
             ? 0
             : std::max<Index>(0, split.validation_first - settings.memory_rows());
}

std::unique_ptr<risk::Risk> make_risk(const Dataset& data, const TrainSettings& settings,
                                      const Threads& threads, const std::function<bool()>& stop) {
  const Index last = data.split.validation > 0 ? data.split.validation_first + data.split.validation
                     : settings.needs_risk()   ? data.split.training
                                               : 0;
  std::vector<Index> ends;
  for (Index s = data.first_with_risk; s < last; ++s) ends.push_back(data.split.end(s));
  if (ends.empty()) return nullptr;
  const bool cholesky = settings.layer.score == layer::Score::cholesky;
  const bool restricted =
      settings.alpha > 0.0 && settings.layer.reoptimization == layer::Reoptimization::restricted;
  const risk::RiskSettings wanted = {
      .shrinkage = settings.shrinkage,
      .form = settings.form,
      .parts = {.lower = cholesky, .root = !cholesky, .restriction = restricted}};
  if (!data.eligible.empty())
    return std::make_unique<PartedRisk>(
        data.returns, settings.lookback, ends,
        std::span(data.eligible)
            .subspan(at(data.first_with_risk * data.n()), ends.size() * at(data.n())),
        wanted, threads, Control{.stop = stop});
  return risk::from_windows(data.returns, settings.lookback, ends, wanted, threads,
                            Control{.stop = stop});
}

bool has_gaps(ConstMat returns) {
  for (Index t = 0; t < returns.rows; ++t)
    for (const double r : returns.row(t))
      if (!std::isfinite(r)) return true;
  return false;
}

// With 0 for gaps; empty if there are none.
std::vector<double> without_gaps(ConstMat returns) {
  std::vector<double> out;
  if (!has_gaps(returns)) return out;
  for (Index t = 0; t < returns.rows; ++t)
    for (const double r : returns.row(t)) out.push_back(std::isfinite(r) ? r : 0.0);
  return out;
}

// Of all samples; empty if every one is of every asset.
std::vector<char> eligible_of(ConstMat returns, const SampleSplit& split,
                              std::span<const char> members) {
  std::vector<Index> ends;
  for (Index end = split.lookback; end < returns.rows; ++end) ends.push_back(end);
  std::vector<char> out = eligible_names(returns, split.lookback, ends, members);
  if (std::ranges::find(out, 0) == out.end() && !has_gaps(returns)) out.clear();
  return out;
}

LossSettings loss_of(const TrainSettings& settings, double unit) {
  return {.alpha = settings.alpha,
          .mixing = settings.mixing,
          .decision = settings.decision_loss,
          .prediction = settings.prediction_loss,
          .unit = unit};
}

std::vector<Index> all_assets(Index n) {
  std::vector<Index> assets(at(n));
  std::iota(assets.begin(), assets.end(), Index{0});
  return assets;
}

}  // namespace

Dataset::Dataset(ConstMat returns_, const TrainSettings& settings, const Threads& threads,
                 const std::function<bool()>& stop, std::span<const char> members)
    : eligible(eligible_of(returns_, split_samples(returns_.rows, settings), members)),
      filled(without_gaps(returns_)),
      returns(filled.empty() ? returns_ : ConstMat(filled.data(), returns_.rows, returns_.cols)),
      split(split_samples(returns_.rows, settings)),
      scaling(learn_scaling(returns_, split)),
      unit(scaling.unit()),
      features(settings.network, settings.inputs, settings.lookback, returns_, scaling,
               all_assets(returns_.cols)),
      first_with_risk(learn::first_with_risk(split, settings)),
      risk(make_risk(*this, settings, threads, stop)),
      parted(eligible.empty() ? nullptr : static_cast<PartedRisk*>(risk.get())) {}

Index warm_start_epochs(const TrainSettings& settings) {
  return std::min(settings.warm_start, settings.epochs - 1);
}

Index steps_per_epoch(const SampleSplit& split, const TrainSettings& settings) {
  const Index batches = (split.training + settings.batch - 1) / settings.batch;
  if (!settings.in_blocks()) return batches;
  // Blocks begin anywhere, so that there may be one more.
  const Index warm = settings.memory_rows(), scored = settings.train_block - warm;
  const Index blocks = (split.training - warm + scored - 2) / scored + 1;
  return settings.warm_start > 0 ? std::max(batches, blocks) : blocks;
}

Index most_samples(const TrainSettings& settings) {
  return settings.in_blocks() ? std::max(settings.batch, settings.train_block) : settings.batch;
}

Workspace::Workspace(const Dataset& data, const TrainSettings& settings, int max_threads)
    : pass(settings.shape(data.n()), most_samples(settings) * data.features.rows_per_window(),
           max_threads),
      X(at(most_samples(settings) * data.features.rows_per_window() * data.features.inputs())),
      out(at(most_samples(settings) * data.n())),
      mu(out.size()),
      r(out.size()),
      dL_dmu(out.size()),
      threads(max_threads) {}

MemberTraining::MemberTraining(const Dataset& data, const TrainSettings& settings, Index member)
    : data_(&data),
      settings_(&settings),
      member_(member),
      layer_(settings.layer_for(data.n(), data.limits)) {
  const Shape shape = settings.shape(data.n());
  state_.network = Network<float>(shape);
  Random random(settings.seed, stream(member, 0));
  state_.network.initialize(random);
  state_.adam = AdamState<float>(shape);
}

MemberTraining::~MemberTraining() = default;
MemberTraining::MemberTraining(MemberTraining&&) noexcept = default;

Member MemberTraining::result() const {
  return {.network = state_.best,
          .epochs = state_.epoch,
          .best_epoch = state_.best_epoch,
          .validation_loss = state_.best_loss,
          .validation_sharpe = state_.best_sharpe};
}

double MemberTraining::beta() const {
  const double first = settings_->layer.beta, last = settings_->beta_final;
  if (last == 0.0 || settings_->epochs == 1) return first;
  const double share =
      static_cast<double>(state_.epoch) / static_cast<double>(settings_->epochs - 1);
  return first * std::pow(last / first, share);
}

void MemberTraining::predict(std::span<const Index> samples, Workspace& workspace, Mat mu,
                             const Threads& threads) const {
  const Index per_window = data_->features.rows_per_window();
  const Index rows = static_cast<Index>(samples.size()) * per_window;
  const BasicMat<float> X(workspace.X.data(), rows, data_->features.inputs());
  const BasicMat<float> out(workspace.out.data(), rows, per_window == 1 ? data_->n() : 1);
  workspace.ends.clear();
  for (const Index s : samples) workspace.ends.push_back(data_->split.end(s));
  data_->features.gather(workspace.ends, X);
  // Nothing is seen of an asset that is not there, and nothing learned.
  for (Index b = 0; b < mu.rows && !data_->eligible.empty(); ++b)
    for (Index i = 0; i < mu.cols; ++i)
      if (!data_->has(samples[at(b)], i)) std::ranges::fill(X.row(b * mu.cols + i), 0.0F);
  workspace.pass.forward(state_.network, X, out, threads);
  // For both kinds of network the outputs lie sample by sample, asset by asset.
  for (Index b = 0; b < mu.rows; ++b)
    for (Index i = 0; i < mu.cols; ++i)
      mu(b, i) = data_->has(samples[at(b)], i)
                     ? data_->unit * static_cast<double>(out.data[b * mu.cols + i])
                     : 0.0;
}

void MemberTraining::predict(Index first, Workspace& workspace, Mat mu,
                             const Threads& threads) const {
  std::vector<Index>& samples = workspace.order;
  samples.resize(at(mu.rows));
  std::iota(samples.begin(), samples.end(), first);
  for (Index done = 0; done < mu.rows; done += settings_->batch) {
    const Index count = std::min(settings_->batch, mu.rows - done);
    predict(std::span<const Index>(samples).subspan(at(done), at(count)), workspace,
            mu.middle_rows(done, count), threads);
  }
  // Cash for a network that has overflowed would look like prudence.
  for (Index t = 0; t < mu.rows; ++t)
    for (const double m : mu.row(t))
      if (!std::isfinite(m)) {
        const Index steps = steps_per_epoch(data_->split, *settings_);
        throw diverged(state_.epoch, steps, steps);
      }
}

// Of days that may be anywhere, or in blocks.
Loss MemberTraining::decide(const SampleBlock& step, std::span<const Index> samples,
                            Workspace& workspace, const Threads& threads) {
  const Index days = step.days(), n = data_->n();
  const ConstMat mu(workspace.mu.data(), days, n), r(workspace.r.data(), step.scored, n);
  const Mat dL_dmu(workspace.dL_dmu.data(), days, n);
  workspace.risk_samples.clear();
  for (const Index s : samples) workspace.risk_samples.push_back(s - data_->first_with_risk);
  const std::span<const Index> scored = samples.subspan(at(step.warm));
  layer::BatchLimits own;
  if (starts_) own = {.starts = &*starts_, .places = scored};
  if (!workspace.blocks)
    return workspace.objective->evaluate(workspace.risk_samples, mu, r, dL_dmu, threads, own);
  const ConstMat rho = data_->returns.middle_rows(data_->split.end(scored[0]), step.scored);
  return workspace.blocks->evaluate(workspace.risk_samples, mu, r, rho, dL_dmu, threads, own);
}

Loss MemberTraining::run_step(const SampleBlock& step, bool decides, Workspace& workspace,
                              const Threads& threads) {
  const Index days = step.days(), n = data_->n(), per_window = data_->features.rows_per_window();
  const auto samples = std::span<const Index>(workspace.order).subspan(at(step.first), at(days));
  const Mat mu(workspace.mu.data(), days, n), r(workspace.r.data(), step.scored, n),
      dL_dmu(workspace.dL_dmu.data(), days, n);
  predict(samples, workspace, mu, threads);
  for (Index b = 0; b < step.scored; ++b) {
    const Index sample = samples[at(step.warm + b)];
    mean_target(data_->returns, data_->split.end(sample), settings_->horizon, r.row(b));
    for (Index i = 0; i < n; ++i)
      if (!data_->has(sample, i)) r(b, i) = 0.0;
  }

  Loss loss;
  if (decides) {
    loss = decide(step, samples, workspace, threads);
  } else {
    workspace.risk_samples.clear();
    for (const Index s : samples) workspace.risk_samples.push_back(s - data_->first_with_risk);
    if (settings_->prediction_loss == PredictionLoss::risk)
      workspace.scratch.resize(at(workspace.threads * (data_->risk->scratch_size() + n)));
    loss.prediction = settings_->prediction_loss == PredictionLoss::squared
                          ? prediction_loss(mu, r, dL_dmu)
                          : prediction_loss(*data_->risk, workspace.risk_samples, data_->unit, mu,
                                            r, dL_dmu, workspace.scratch, threads);
    loss.total = loss.prediction;
    loss.decision = kNaN;
  }
  if (!std::isfinite(loss.total) || loss.prediction > kExplosion * kExplosion * data_->unit *
                                                          data_->unit * static_cast<double>(n)) {
    loss.total = kNaN;
    return loss;
  }
  for (Index b = 0; b < days; ++b)
    for (Index i = 0; i < n; ++i)
      workspace.out[at(b * n + i)] = static_cast<float>(dL_dmu(b, i) / data_->unit);
  const Index rows = days * per_window;
  const BasicMat<const float> X(workspace.X.data(), rows, data_->features.inputs());
  const BasicMat<const float> dL_df(workspace.out.data(), rows, per_window == 1 ? n : 1);
  const StepReport report =
      workspace.pass.step(state_.network, state_.adam, settings_->adam, X, dL_df, threads);
  if (!report.finite) loss.total = kNaN;
  return loss;
}

Diverged MemberTraining::diverged(Index epoch, Index batch, Index batches) const {
  return {fmt::format("the training diverged: the loss of member {}, epoch {}, batch {} of {} is "
                      "not finite or has exploded; the likeliest remedy is a smaller "
                      "‹--learning-rate› than {:g}{}",
                      member_ + 1, epoch, batch, batches, settings_->adam.learning_rate,
                      settings_->adam.clip == 0.0 ? ", or ‹--clip 1›" : ""),
          std::nullopt};
}

void MemberTraining::prepare_decisions(Workspace& workspace) {
  const TrainSettings& s = *settings_;
  if (!workspace.blocks && !workspace.objective) {
    std::unique_ptr<Decisions> decisions = decisions_for(workspace);
    if (s.in_blocks())
      workspace.blocks.emplace(std::move(decisions), loss_of(s, data_->unit), s.ruling().memory,
                               s.train_cost_bps / 1e4, s.train_block, workspace.threads);
    else
      workspace.objective.emplace(std::move(decisions), loss_of(s, data_->unit), s.batch,
                                  workspace.threads);
  }
  if (s.mandate.limits && !starts_) starts_.emplace(data_->split.training);
  if (workspace.parts != nullptr)
    workspace.parts->set_beta(beta());
  else
    workspace.layer->set_beta(beta());
}

std::unique_ptr<Decisions> MemberTraining::decisions_for(Workspace& workspace) const {
  const TrainSettings& s = *settings_;
  const Index most = s.in_blocks() ? s.train_block - s.memory_rows() : s.batch;
  if (data_->parted == nullptr)
    return decisions_of(workspace.layer.emplace(layer_, *data_->risk), most, workspace.threads);
  auto parts = std::make_unique<PartedDecisions>(
      *data_->parted,
      [&s](const SamplePart& part) { return s.layer_of_day(part.m(), part.limits); }, most,
      workspace.threads);
  workspace.parts = parts.get();
  return parts;
}

std::vector<SampleBlock> MemberTraining::draw_steps(Index epoch, bool decides,
                                                    Workspace& workspace) const {
  const Index training = data_->split.training;
  std::vector<Index>& order = workspace.order;
  order.resize(at(training));
  std::iota(order.begin(), order.end(), Index{0});
  Random random(settings_->seed, stream(member_, epoch));
  if (decides && settings_->in_blocks())
    return draw_blocks(training, settings_->train_block, settings_->memory_rows(), random);
  random.shuffle(std::span(order));
  std::vector<SampleBlock> batches;
  for (Index first = 0; first < training; first += settings_->batch)
    batches.push_back({.first = first, .scored = std::min(settings_->batch, training - first)});
  return batches;
}

EpochReport MemberTraining::run_epoch(Workspace& workspace, const Threads& threads,
                                      const Tick& tick) {
  const bool decides = settings_->alpha > 0.0 && state_.epoch >= warm_start_epochs(*settings_);
  if (decides) prepare_decisions(workspace);
  const Index epoch = state_.epoch + 1;
  const std::vector<SampleBlock> steps = draw_steps(epoch, decides, workspace);
  Index scored = 0;
  for (const SampleBlock& step : steps) scored += step.scored;

  EpochReport report{.member = member_, .epoch = epoch};
  const auto count = static_cast<Index>(steps.size());
  for (Index b = 0; b < count; ++b) {
    const Loss loss = run_step(steps[at(b)], decides, workspace, threads);
    if (!std::isfinite(loss.total)) throw diverged(epoch, b + 1, count);
    const double share = static_cast<double>(steps[at(b)].scored) / static_cast<double>(scored);
    report.loss += share * loss.total;
    report.prediction_loss += share * loss.prediction;
    report.decision_loss += share * loss.decision;
    if (tick) tick();
  }
  state_.epoch = epoch;
  const auto& parameters = state_.network.parameters;
  if (!std::all_of(parameters.begin(), parameters.end(), [](float p) { return std::isfinite(p); }))
    throw diverged(epoch, count, count);
  return report;
}

void MemberTraining::keep(const std::optional<Verdict>& verdict) {
  state_.best = state_.network;
  state_.best_epoch = state_.epoch;
  state_.best_loss = state_.best_sharpe = std::nullopt;
  if (!verdict) return;
  state_.best_loss = verdict->loss;
  state_.best_sharpe = verdict->sharpe;
}

}  // namespace sharpen::learn
