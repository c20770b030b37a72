#include "learn/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/vec.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::learn {

namespace {

// A root mean square of mu beyond this many times the returns' is an explosion.
constexpr double kExplosion = 1e6;

// Streams of the seed: a member's initial parameters, then the order of each of its epochs.
std::uint64_t stream(Index member, Index epoch) {
  return (static_cast<std::uint64_t>(member) << 32) + static_cast<std::uint64_t>(epoch);
}

Index first_with_risk(const SampleSplit& split, const TrainSettings& settings) {
  return settings.alpha > 0.0 ? 0 : split.validation_first;
}

std::unique_ptr<risk::Risk> make_risk(const Dataset& data, const TrainSettings& settings,
                                      const Threads& threads, const std::function<bool()>& stop) {
  const Index last = data.split.validation > 0 ? data.split.validation_first + data.split.validation
                     : settings.alpha > 0.0    ? data.split.training
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
  return risk::from_windows(data.returns, settings.lookback, ends, wanted, threads,
                            Control{.stop = stop});
}

std::vector<Index> all_assets(Index n) {
  std::vector<Index> assets(at(n));
  std::iota(assets.begin(), assets.end(), Index{0});
  return assets;
}

}  // namespace

Dataset::Dataset(ConstMat returns_, const TrainSettings& settings, const Threads& threads,
                 const std::function<bool()>& stop)
    : returns(returns_),
      split(split_samples(returns_.rows, settings)),
      scaling(learn_scaling(returns_, split)),
      unit(scaling.unit()),
      features(settings.network, settings.lookback, returns_, scaling, all_assets(returns_.cols)),
      first_with_risk(learn::first_with_risk(split, settings)),
      risk(make_risk(*this, settings, threads, stop)) {}

struct MemberTraining::Memory {
  Memory(const Dataset& data, const TrainSettings& settings, int max_threads)
      : pass(settings.shape(data.n()), settings.batch * data.features.rows_per_window(),
             max_threads),
        X(at(settings.batch * data.features.rows_per_window() * data.features.inputs())),
        out(at(settings.batch * data.n())),
        mu(out.size()),
        r(out.size()),
        dL_dmu(out.size()),
        threads(max_threads) {}

  Pass<float> pass;
  std::vector<float> X, out;  // out becomes dL/df
  std::vector<double> mu, r, dL_dmu;
  std::vector<Index> order, ends, risk_samples;
  int threads;  // at most

  // What decides, once it does; under limits every training sample starts where it was.
  std::optional<layer::SparseTangent> layer;
  std::optional<Objective> objective;
  std::optional<layer::LayerStarts> starts;
};

MemberTraining::MemberTraining(const Dataset& data, const TrainSettings& settings, Index member,
                               int max_threads)
    : data_(&data),
      settings_(&settings),
      member_(member),
      layer_(settings.layer_for(data.n(), data.limits)),
      memory_(std::make_unique<Memory>(data, settings, max_threads)) {
  const Shape shape = settings.shape(data.n());
  state_.network = Network<float>(shape);
  Random random(settings.seed, stream(member, 0));
  state_.network.initialize(random);
  state_.adam = AdamState<float>(shape);
}

MemberTraining::~MemberTraining() = default;

bool MemberTraining::finished() const {
  if (state_.epoch >= settings_->epochs) return true;
  // Until alpha applies there is nothing to give up.
  const Index since = std::max(state_.best_epoch, warm_start());
  return data_->split.validation > 0 && state_.epoch - since >= settings_->patience;
}

Index MemberTraining::batches() const {
  return (data_->split.training + settings_->batch - 1) / settings_->batch;
}

Member MemberTraining::result() const {
  return {.network = state_.best,
          .epochs = state_.epoch,
          .best_epoch = state_.best_epoch,
          .validation_loss = state_.best_loss,
          .validation_sharpe = state_.best_sharpe};
}

Index MemberTraining::warm_start() const {
  return std::min(settings_->warm_start, settings_->epochs - 1);
}

double MemberTraining::beta() const {
  const double first = settings_->layer.beta, last = settings_->beta_final;
  if (last == 0.0 || settings_->epochs == 1) return first;
  const double share =
      static_cast<double>(state_.epoch) / static_cast<double>(settings_->epochs - 1);
  return first * std::pow(last / first, share);
}

void MemberTraining::predict(std::span<const Index> samples, Mat mu, const Threads& threads) {
  const Index per_window = data_->features.rows_per_window();
  const Index rows = static_cast<Index>(samples.size()) * per_window;
  const BasicMat<float> X(memory_->X.data(), rows, data_->features.inputs());
  const BasicMat<float> out(memory_->out.data(), rows, per_window == 1 ? data_->n() : 1);
  memory_->ends.clear();
  for (const Index s : samples) memory_->ends.push_back(data_->split.end(s));
  data_->features.gather(memory_->ends, X);
  memory_->pass.forward(state_.network, X, out, threads);
  // For both kinds of network the outputs lie sample by sample, asset by asset.
  for (Index b = 0; b < mu.rows; ++b)
    for (Index i = 0; i < mu.cols; ++i)
      mu(b, i) = data_->unit * static_cast<double>(out.data[b * mu.cols + i]);
}

Loss MemberTraining::run_batch(std::span<const Index> samples, bool decides,
                               const Threads& threads) {
  const auto batch = static_cast<Index>(samples.size());
  const Index n = data_->n(), per_window = data_->features.rows_per_window();
  const Mat mu(memory_->mu.data(), batch, n), r(memory_->r.data(), batch, n),
      dL_dmu(memory_->dL_dmu.data(), batch, n);
  predict(samples, mu, threads);
  for (Index b = 0; b < batch; ++b)
    mean_target(data_->returns, data_->split.end(samples[at(b)]), settings_->horizon, r.row(b));

  Loss loss;
  if (!decides) {
    loss.total = loss.prediction = prediction_loss(mu, r, dL_dmu);
    loss.decision = kNaN;
  } else {
    memory_->risk_samples.clear();
    for (const Index s : samples) memory_->risk_samples.push_back(s - data_->first_with_risk);
    layer::BatchLimits own;
    if (memory_->starts) own = {.starts = &*memory_->starts, .places = samples};
    loss = memory_->objective->evaluate(memory_->risk_samples, mu, r, dL_dmu, threads, own);
  }
  if (!std::isfinite(loss.total) || loss.prediction > kExplosion * kExplosion * data_->unit *
                                                          data_->unit * static_cast<double>(n)) {
    loss.total = kNaN;
    return loss;
  }
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < n; ++i)
      memory_->out[at(b * n + i)] = static_cast<float>(dL_dmu(b, i) / data_->unit);
  const Index rows = batch * per_window;
  const BasicMat<const float> X(memory_->X.data(), rows, data_->features.inputs());
  const BasicMat<const float> dL_df(memory_->out.data(), rows, per_window == 1 ? n : 1);
  const StepReport step =
      memory_->pass.step(state_.network, state_.adam, settings_->adam, X, dL_df, threads);
  if (!step.finite) loss.total = kNaN;
  return loss;
}

Diverged MemberTraining::diverged(Index epoch, Index batch) const {
  return {fmt::format("the training diverged: the loss of member {}, epoch {}, batch {} of {} is "
                      "not finite or has exploded; the likeliest remedy is a smaller "
                      "‹--learning-rate› than {:g}{}",
                      member_ + 1, epoch, batch, batches(), settings_->adam.learning_rate,
                      settings_->adam.clip == 0.0 ? ", or ‹--clip 1›" : ""),
          std::nullopt};
}

void MemberTraining::prepare_decisions() {
  Memory& memory = *memory_;
  if (!memory.layer) {
    memory.layer.emplace(layer_, *data_->risk);
    memory.objective.emplace(*memory.layer, settings_->alpha, settings_->mixing,
                             settings_->decision_loss, settings_->batch, memory.threads);
    if (layer_.limits) memory.starts.emplace(data_->split.training);
  }
  memory.layer->set_beta(beta());
}

EpochReport MemberTraining::run_epoch(const Threads& threads, const Tick& tick) {
  const bool decides = settings_->alpha > 0.0 && state_.epoch >= warm_start();
  if (decides) prepare_decisions();
  const Index epoch = state_.epoch + 1;
  std::vector<Index>& order = memory_->order;
  order.resize(at(data_->split.training));
  std::iota(order.begin(), order.end(), Index{0});
  Random random(settings_->seed, stream(member_, epoch));
  random.shuffle(std::span(order));

  EpochReport report{.member = member_, .epoch = epoch};
  for (Index b = 0; b < batches(); ++b) {
    const Index first = b * settings_->batch;
    const Index count = std::min(settings_->batch, data_->split.training - first);
    const Loss loss =
        run_batch(std::span<const Index>(order).subspan(at(first), at(count)), decides, threads);
    if (!std::isfinite(loss.total)) throw diverged(epoch, b + 1);
    const double share = static_cast<double>(count) / static_cast<double>(data_->split.training);
    report.loss += share * loss.total;
    report.prediction_loss += share * loss.prediction;
    report.decision_loss += share * loss.decision;
    if (tick) tick();
  }
  state_.epoch = epoch;
  const auto& parameters = state_.network.parameters;
  if (!std::all_of(parameters.begin(), parameters.end(), [](float p) { return std::isfinite(p); }))
    throw diverged(epoch, batches());
  validate(report, threads);
  keep_best(report);
  report.best_epoch = state_.best_epoch;
  return report;
}

// By what would be held: the k best by the layer's score, re-solved. So the measure knows neither
// beta nor the mode of re-optimisation, and is the same for every alpha.
void MemberTraining::validate(EpochReport& report, const Threads& threads) {
  const SampleSplit& split = data_->split;
  if (split.validation == 0) return;
  const Index n = data_->n();
  std::vector<double> mu(at(split.validation * n)), q(at(split.validation)), unused(q.size());
  std::vector<Index> samples(at(split.validation)), risk_samples(samples.size());
  std::iota(samples.begin(), samples.end(), split.validation_first);
  std::iota(risk_samples.begin(), risk_samples.end(),
            split.validation_first - data_->first_with_risk);
  for (Index first = 0; first < split.validation; first += settings_->batch) {
    const Index count = std::min(settings_->batch, split.validation - first);
    predict(std::span<const Index>(samples).subspan(at(first), at(count)),
            Mat(mu.data() + first * n, count, n), threads);
  }
  // Cash for a network that has overflowed would look like prudence.
  if (!std::all_of(mu.begin(), mu.end(), [](double m) { return std::isfinite(m); }))
    throw diverged(report.epoch, batches());
  const select::SelectSettings select = {layer_, select::ranking_by(layer_.score)};
  const auto portfolios = select::select_batch(select, *data_->risk, risk_samples,
                                               ConstMat(mu.data(), split.validation, n), threads);
  for (std::size_t v = 0; v < q.size(); ++v) {
    const ConstVec r = data_->returns.row(split.end(samples[v]));
    for (const Index i : portfolios[v].support)
      if (portfolios[v].outcome.status != Status::invalid_input)
        q[v] += portfolios[v].weights[at(i)] * r[at(i)];
  }
  report.validation_loss = decision_loss(settings_->decision_loss, q, unused);
  report.validation_sharpe = -decision_loss(DecisionLoss::sharpe, q, unused);
}

void MemberTraining::keep_best(const EpochReport& report) {
  const bool better = data_->split.validation == 0 || state_.best_epoch == 0 ||
                      report.validation_loss < state_.best_loss;
  if (!better) return;
  state_.best = state_.network;
  state_.best_epoch = report.epoch;
  state_.best_loss = report.validation_loss;
  state_.best_sharpe = report.validation_sharpe;
}

}  // namespace sharpen::learn
