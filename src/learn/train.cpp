#include "sharpen/learn/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "learn/checkpoint.hpp"
#include "learn/company.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::learn {

namespace {

// One network for all assets needs all of them throughout.
void check_panel(const market::Panel& returns, const TrainSettings& settings,
                 std::span<const char> members) {
  if (settings.network == NetworkKind::shared) return;
  if (!members.empty())
    throw InputError(
        "members cannot go with network = joint, which needs every asset throughout; use network "
        "shared, or leave the members out");
  for (Index t = 0; t < returns.rows(); ++t)
    for (Index i = 0; i < returns.n(); ++i)
      if (!std::isfinite(returns.matrix()(t, i)))
        throw InputError(fmt::format(
            "{} has no return on {}: network = joint needs every asset throughout; use universe "
            "complete, or network shared",
            returns.tickers[at(i)], returns.dates[at(t)]));
}

// There is something to learn from.
void check_names(const market::Panel& returns, const Dataset& data) {
  if (data.eligible.empty()) return;
  const auto training = data.eligible.begin() + data.split.training * data.n();
  if (std::find(data.eligible.begin(), training, 1) == training)
    throw InputError(fmt::format(
        "no asset could be held on any day of the training part, {} to {}: none has {} returns in "
        "a row while it is a member; give more rows, a shorter ‹--lookback› or earlier members",
        returns.dates.front(), returns.dates.back(), data.split.lookback));
}

// The limits of the mandate on the days of the samples of the risk model: as of the last day that
// is known to a decision.
std::shared_ptr<const layer::LimitSchedule> limits_of(const market::Panel& returns,
                                                      const TrainSettings& settings,
                                                      Dataset& data) {
  const layer::MandateSettings& mandate = settings.mandate;
  if (!mandate.limits || !data.risk) return nullptr;
  layer::refuse_holdings(*mandate.limits, "a training");
  const layer::LimitBook book(mandate.limits, returns.tickers, returns.left_out, mandate.net,
                              mandate.objective.kind, returns.dates.front(), returns.dates.back());
  const auto schedule = [&](std::span<const Index> columns, ConstMat all, Index first_row,
                            Index first, Index count) {
    auto out = std::make_shared<layer::LimitSchedule>();
    const Index samples = book.changes() ? count : 1;
    for (Index s = 0; s < samples; ++s) {
      const Index end = data.split.end(data.first_with_risk + first + s);
      const ConstMat window =
          all.middle_rows(end - settings.lookback - first_row, settings.lookback);
      out->limits.push_back(book.at(columns, returns.dates[at(end - 1)], window, {}));
      if (book.changes()) out->of_sample.push_back(s);
    }
    return out;
  };
  if (data.parted == nullptr) {
    std::vector<Index> columns(at(returns.n()));
    std::iota(columns.begin(), columns.end(), Index{0});
    return schedule(columns, returns.matrix(), 0, 0, data.risk->samples());
  }
  for (SamplePart& part : data.parted->parts_of_samples()) {
    if (part.assets.empty()) continue;
    const Index first_row = data.split.end(data.first_with_risk + part.first) - settings.lookback;
    const auto rows = static_cast<Index>(part.returns.size()) / part.m();
    part.limits = schedule(part.assets, {part.returns.data(), rows, part.m()}, first_row,
                           part.first, part.count);
  }
  return nullptr;
}

Dataset dataset_of(const market::Panel& returns, const TrainSettings& settings,
                   std::span<const char> members, const Threads& threads,
                   const std::function<bool()>& stop = {}) {
  Dataset data(returns.matrix(), settings, threads, stop, members);
  check_names(returns, data);
  data.limits = limits_of(returns, settings, data);
  return data;
}

Model untrained(const market::Panel& returns, const TrainSettings& settings,
                double periods_per_year, const Dataset& data) {
  Model model;
  model.settings = settings;
  model.tickers = returns.tickers;
  model.first_date = returns.dates.front();
  model.last_date = returns.dates.back();
  const SampleSplit& split = data.split;
  if (split.validation > 0)
    model.validation_from = returns.dates[at(split.end(split.validation_first))];
  model.samples = split.training;
  model.validation_samples = split.validation;
  model.periods_per_year = periods_per_year;
  model.scaling = data.scaling;
  return model;
}

// A short training on the newest rows: a few batches, and as much validation as keeps its share.
struct Trial {
  TrainSettings settings;
  market::Panel returns;
  std::span<const char> members;
};

Trial short_trial(const market::Panel& returns, const TrainSettings& settings,
                  std::span<const char> members) {
  constexpr Index kBatches = 4;
  Trial trial{settings, returns, members};
  trial.settings.ensemble = 1;
  trial.settings.warm_start = 0;
  trial.settings.epochs = 1;
  const double validation =
      settings.validation > 0.0 ? std::clamp(settings.validation, 0.1, 0.8) : 0.0;
  const auto samples = static_cast<Index>(
      static_cast<double>((kBatches + 1) * most_samples(settings) + 20) / (1.0 - validation));
  const Index rows = std::min(returns.rows(), settings.lookback + samples);
  if (rows < returns.rows()) {  // the whole panel splits as it is; a part of it must, too
    trial.settings.validation = validation;
    trial.settings.horizon = 1;
  }
  market::Panel& some = trial.returns;
  some.dates.erase(some.dates.begin(), some.dates.end() - rows);
  some.values.erase(some.values.begin(), some.values.end() - rows * returns.n());
  if (!members.empty()) trial.members = members.last(at((rows + 1) * returns.n()));
  return trial;
}

// What a training holds at its fullest; `share`: how many times the risk of the trial's data.
double gigabytes_of(const TrainingPlan& plan, const market::Panel& returns,
                    const TrainSettings& settings, const Dataset& data, double share, int threads) {
  const double network = static_cast<double>(plan.parameters) * sizeof(float);
  const auto rows_per_window = static_cast<double>(data.features.rows_per_window());
  double widths = static_cast<double>(data.features.inputs()) + 2.0;
  for (const Index width : settings.hidden) widths += 2.0 * static_cast<double>(width);
  const auto members = static_cast<double>(settings.ensemble);
  const double running = std::min<double>(threads, members);
  const double in_step = plan.validation_samples > 0 ? members : running;  // with their gradients
  const auto samples = static_cast<double>(most_samples(settings));
  const bool restricted = settings.layer.reoptimization == layer::Reoptimization::restricted;
  double layer_bytes = 0.0;
  if (settings.alpha > 0.0)
    layer_bytes = running * samples * sizeof(double) *
                  static_cast<double>((settings.in_blocks() ? 20 : 12) * returns.n() +
                                      (restricted ? data.risk->restriction_size() : 0));
  return (network * (4.0 * in_step + members) +
          running * samples * rows_per_window * widths * sizeof(float) +
          (data.risk ? static_cast<double>(data.risk->bytes()) * share : 0.0) + layer_bytes +
          static_cast<double>(returns.rows() * returns.n()) * 12.0) /
         1e9;
}

// Seconds that one validation takes, beside what the members expect.
double time_validation(const Dataset& data, const TrainSettings& settings,
                       const MemberTraining& training, Workspace& workspace,
                       const Threads& threads) {
  if (data.split.validation == 0) return 0.0;
  constexpr double kAnyPeriods = 252.0;
  Validation validation(data, settings, kAnyPeriods);
  training.predict(validation.first(), workspace, validation.expectations(0), threads);
  const auto start = std::chrono::steady_clock::now();
  validation.judge(threads);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void check_training(const market::Panel& returns, const TrainSettings& settings,
                    std::span<const char> members) {
  settings.validate(returns.n());
  check_panel(returns, settings, members);
  static_cast<void>(split_samples(returns.rows(), settings));
}

Model train(const market::Panel& returns, const TrainSettings& settings, double periods_per_year,
            const Threads& threads, const TrainControl& control, std::span<const char> members) {
  check_training(returns, settings, members);
  const Dataset data = dataset_of(returns, settings, members, threads, control.stop);
  Model model = untrained(returns, settings, periods_per_year, data);
  Company company(data, settings, control, periods_per_year,
                  training_identity(returns, settings, periods_per_year, members));
  company.run(threads);
  model.members = company.results();
  if (const std::string fault = company.fault(); !fault.empty()) {
    model.settings.ensemble = static_cast<Index>(model.members.size());
    throw Diverged(fault, model.members.empty() ? std::nullopt : std::optional(std::move(model)));
  }
  return model;
}

TrainingPlan plan_training(const market::Panel& returns, const TrainSettings& settings,
                           const Threads& threads, std::span<const char> members,
                           const Stop& stop) {
  check_training(returns, settings, members);
  const SampleSplit split = split_samples(returns.rows(), settings);
  TrainingPlan plan;
  plan.samples = split.training;
  plan.validation_samples = split.validation;
  plan.batches = steps_per_epoch(split, settings);
  plan.parameters = settings.shape(returns.n()).parameters();

  const Trial trial = short_trial(returns, settings, members);
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  const auto start = Clock::now();
  const Dataset data = dataset_of(trial.returns, trial.settings, trial.members, threads, stop);
  const double risk_seconds = seconds(start);
  Workspace workspace(data, trial.settings, threads.count());
  MemberTraining training(data, trial.settings, 0);
  const auto first = Clock::now();
  training.run_epoch(workspace, threads, [&] { ask(stop); });
  const double epoch_seconds = seconds(first);
  const double validation_seconds =
      time_validation(data, trial.settings, training, workspace, threads);

  const auto ratio = [](Index whole, Index part) {
    return static_cast<double>(whole) / static_cast<double>(std::max<Index>(1, part));
  };
  const double share = ratio(plan.batches, steps_per_epoch(data.split, trial.settings));
  const auto networks = static_cast<double>(settings.ensemble);
  const auto epochs = static_cast<double>(settings.epochs);
  plan.minutes =
      (risk_seconds * share + epoch_seconds * share * epochs * networks +
       validation_seconds * ratio(plan.validation_samples, data.split.validation) * epochs) /
      60.0;
  plan.gigabytes = gigabytes_of(plan, returns, settings, data, share, threads.count());
  return plan;
}

}  // namespace sharpen::learn
