#include "sharpen/learn/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "learn/checkpoint.hpp"
#include "learn/member.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::learn {

namespace {

void check_panel(const market::Panel& returns) {
  for (Index t = 0; t < returns.rows(); ++t)
    for (Index i = 0; i < returns.n(); ++i)
      if (!std::isfinite(returns.matrix()(t, i)))
        throw InputError(fmt::format(
            "{} has no return on {}: training needs every asset throughout; use universe complete",
            returns.tickers[at(i)], returns.dates[at(t)]));
}

// The limits of the mandate on the days of the samples of the risk model: as of the last day that
// is known to a decision.
std::shared_ptr<const layer::LimitSchedule> limits_of(const market::Panel& returns,
                                                      const TrainSettings& settings,
                                                      const Dataset& data) {
  const layer::MandateSettings& mandate = settings.mandate;
  if (!mandate.limits || !data.risk) return nullptr;
  layer::refuse_holdings(*mandate.limits, "a training");
  const layer::LimitBook book(mandate.limits, returns.tickers, returns.left_out, mandate.net,
                              mandate.objective.kind, returns.dates.front(), returns.dates.back());
  std::vector<Index> columns(at(returns.n()));
  std::iota(columns.begin(), columns.end(), Index{0});
  auto out = std::make_shared<layer::LimitSchedule>();
  const Index samples = book.changes() ? data.risk->samples() : 1;
  for (Index s = 0; s < samples; ++s) {
    const Index end = data.split.end(data.first_with_risk + s);
    const ConstMat window =
        returns.matrix().middle_rows(end - settings.lookback, settings.lookback);
    out->limits.push_back(book.at(columns, returns.dates[at(end - 1)], window, {}));
    if (book.changes()) out->of_sample.push_back(s);
  }
  return out;
}

Dataset dataset_of(const market::Panel& returns, const TrainSettings& settings,
                   const Threads& threads, const std::function<bool()>& stop = {}) {
  Dataset data(returns.matrix(), settings, threads, stop);
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

struct Job {
  const Dataset& data;
  const TrainSettings& settings;
  const TrainControl& control;
  std::uint64_t identity;
};

// Fills `out` with the best so far after every epoch, so that something is left after a failure.
void train_member(const Job& job, Index member, const Threads& threads, Conductor& conductor,
                  std::optional<Member>& out) {
  MemberTraining training(job.data, job.settings, member, threads.count());
  const bool keeps = !job.control.checkpoints.empty();
  const auto file = checkpoint_file(job.control.checkpoints, member);
  if (keeps && job.control.resume) {
    auto state = read_checkpoint(file, job.identity, job.settings.shape(job.data.n()));
    if (state && !state->cpu.empty() && state->cpu != cpu_kind() && job.control.warn)
      conductor.alone([&] {
        job.control.warn(
            fmt::format("resumed on another kind of CPU ({}) than it was begun on "
                        "({}): the last digits may be others",
                        cpu_kind(), printable(state->cpu)));
      });
    if (state) {
      training.resume(std::move(*state));
      out = training.result();
      conductor.done(training.state().epoch * training.batches());
    }
  }
  while (!training.finished()) {
    const EpochReport report = training.run_epoch(threads, [&] {
      conductor.done();
      conductor.ask();
    });
    out = training.result();
    if (keeps)  // on the disk before the one before it is gone
      write_file(file,
                 checkpoint_bytes(job.identity, training.state(), training.finished(), cpu_kind()),
                 Durable::yes);
    if (job.control.epoch) conductor.alone([&] { job.control.epoch(report); });
  }
  // An early stop saves the rest.
  conductor.done((job.settings.epochs - training.state().epoch) * training.batches());
}

// A short training on the newest rows: a few batches, and as much validation as keeps its share.
struct Trial {
  TrainSettings settings;
  market::Panel returns;
};

Trial short_trial(const market::Panel& returns, const TrainSettings& settings) {
  constexpr Index kBatches = 4;
  Trial trial{settings, returns};
  trial.settings.ensemble = 1;
  trial.settings.warm_start = 0;
  trial.settings.epochs = 1;
  const double validation =
      settings.validation > 0.0 ? std::clamp(settings.validation, 0.1, 0.8) : 0.0;
  const auto samples = static_cast<Index>(
      static_cast<double>((kBatches + 1) * settings.batch + 20) / (1.0 - validation));
  const Index rows = std::min(returns.rows(), settings.lookback + samples);
  if (rows < returns.rows()) {  // the whole panel splits as it is; a part of it must, too
    trial.settings.validation = validation;
    trial.settings.horizon = 1;
  }
  market::Panel& some = trial.returns;
  some.dates.erase(some.dates.begin(), some.dates.end() - rows);
  some.values.erase(some.values.begin(), some.values.end() - rows * returns.n());
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
  const bool restricted = settings.layer.reoptimization == layer::Reoptimization::restricted;
  double layer_bytes = 0.0;
  if (settings.alpha > 0.0)
    layer_bytes =
        running * static_cast<double>(settings.batch) * sizeof(double) *
        static_cast<double>(12 * returns.n() + (restricted ? data.risk->restriction_size() : 0));
  return (network * (4.0 * running + members) +
          running * static_cast<double>(settings.batch) * rows_per_window * widths * sizeof(float) +
          (data.risk ? static_cast<double>(data.risk->bytes()) * share : 0.0) + layer_bytes +
          static_cast<double>(returns.rows() * returns.n()) * 12.0) /
         1e9;
}

}  // namespace

Model train(const market::Panel& returns, const TrainSettings& settings, double periods_per_year,
            const Threads& threads, const TrainControl& control) {
  settings.validate(returns.n());
  check_panel(returns);
  const Dataset data = dataset_of(returns, settings, threads, control.stop);
  Model model = untrained(returns, settings, periods_per_year, data);
  const Job job{data, settings, control, training_identity(returns, settings, periods_per_year)};

  const Index members = settings.ensemble;
  const Index batches = (data.split.training + settings.batch - 1) / settings.batch;
  Conductor conductor(control, members * settings.epochs * batches);
  std::vector<std::optional<Member>> results(at(members));
  std::vector<std::string> faults(at(members));
  // Members side by side need no waiting for each other; threads that are left over go inside.
  const int inner = std::max(1, threads.count() / static_cast<int>(std::min<Index>(members, 1024)));
  // A member that diverges leaves the others alone: what is kept must not depend on who was first.
  const auto run = [&](Index m, const Threads& own) {
    try {
      train_member(job, m, own, conductor, results[at(m)]);
    } catch (const Diverged& diverged) {
      faults[at(m)] = diverged.marked();
    }
  };
  if (members == 1)
    run(0, threads);
  else
    threads.for_each(members, [&](Index m, int) { run(m, Threads(inner)); });
  for (auto& result : results)
    if (result) model.members.push_back(std::move(*result));
  for (const std::string& fault : faults) {
    if (fault.empty()) continue;
    model.settings.ensemble = static_cast<Index>(model.members.size());
    throw Diverged(fault, model.members.empty() ? std::nullopt : std::optional(std::move(model)));
  }
  return model;
}

TrainingPlan plan_training(const market::Panel& returns, const TrainSettings& settings,
                           const Threads& threads) {
  settings.validate(returns.n());
  check_panel(returns);
  const SampleSplit split = split_samples(returns.rows(), settings);
  TrainingPlan plan;
  plan.samples = split.training;
  plan.validation_samples = split.validation;
  plan.batches = (split.training + settings.batch - 1) / settings.batch;
  plan.parameters = settings.shape(returns.n()).parameters();

  const Trial trial = short_trial(returns, settings);
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  const auto start = Clock::now();
  const Dataset data = dataset_of(trial.returns, trial.settings, threads);
  const double risk_seconds = seconds(start);
  MemberTraining training(data, trial.settings, 0, threads.count());
  const auto first = Clock::now();
  training.run_epoch(threads, {});
  const double epoch_seconds = seconds(first);

  const double share = static_cast<double>(plan.batches) / static_cast<double>(training.batches());
  const auto members = static_cast<double>(settings.ensemble);
  plan.minutes = (risk_seconds * share +
                  epoch_seconds * share * static_cast<double>(settings.epochs) * members) /
                 60.0;
  plan.gigabytes = gigabytes_of(plan, returns, settings, data, share, threads.count());
  return plan;
}

}  // namespace sharpen::learn
