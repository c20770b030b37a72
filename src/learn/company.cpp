#include "learn/company.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "learn/checkpoint.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::learn {

Company::Company(const Dataset& data, const TrainSettings& settings, const TrainControl& control,
                 double periods_per_year, std::uint64_t identity)
    : data_(&data),
      settings_(&settings),
      control_(&control),
      identity_(identity),
      steps_(steps_per_epoch(data.split, settings)),
      conductor_(control, settings.ensemble * settings.epochs * steps_),
      results_(at(settings.ensemble)),
      faults_(at(settings.ensemble)) {
  if (data.split.validation > 0) validation_.emplace(data, settings, periods_per_year);
}

void Company::run(const Threads& threads) {
  if (validation_)
    train_in_step(threads);
  else
    for_each_member(threads, [&](Index member, Workspace& workspace, const Threads& own) {
      train_alone(member, workspace, own);
    });
}

std::vector<Member> Company::results() const {
  std::vector<Member> out;
  for (const auto& result : results_)
    if (result) out.push_back(*result);
  return out;
}

std::string Company::fault() const {
  for (const std::string& fault : faults_)
    if (!fault.empty()) return fault;
  return {};
}

void Company::for_each_member(const Threads& threads, const Body& body) {
  const Index members = settings_->ensemble;
  const int inner = std::max(1, threads.count() / static_cast<int>(std::min<Index>(members, 1024)));
  workspaces_.resize(std::max(workspaces_.size(), at(threads.count())));
  const auto run = [&](Index m, int slot, const Threads& own) {
    auto& workspace = workspaces_[at(slot)];
    if (!workspace) workspace = std::make_unique<Workspace>(*data_, *settings_, own.count());
    try {
      body(m, *workspace, own);
    } catch (const Diverged& diverged) {
      faults_[at(m)] = diverged.marked();
    }
  };
  if (members == 1)
    run(0, 0, threads);
  else
    threads.for_each(members, [&](Index m, int slot) { run(m, slot, Threads(inner)); });
}

EpochReport Company::run_epoch(MemberTraining& training, Workspace& workspace,
                               const Threads& threads) {
  Index left = steps_;
  const EpochReport report = training.run_epoch(workspace, threads, [&] {
    --left;
    conductor_.done();
    conductor_.ask();
  });
  conductor_.done(left);
  return report;
}

bool Company::finished(const MemberState& state) const {
  if (state.epoch >= settings_->epochs) return true;
  // Until alpha applies there is nothing to give up.
  const Index since = std::max(state.best_epoch, warm_start_epochs(*settings_));
  return validation_ && state.epoch - since >= settings_->patience;
}

// Whether there was anything to go on with.
bool Company::restore(MemberTraining& training, Index member) {
  if (control_->checkpoints.empty() || !control_->resume) return false;
  auto state = read_checkpoint(checkpoint_file(control_->checkpoints, member), identity_,
                               settings_->shape(data_->n()));
  if (!state) return false;
  if (!state->cpu.empty() && state->cpu != cpu_kind() && control_->warn)
    conductor_.alone([&] {
      control_->warn(fmt::format(
          "resumed on another kind of CPU ({}) than it was begun on ({}): the last digits may be "
          "others",
          cpu_kind(), printable(state->cpu)));
    });
  training.resume(std::move(*state));
  results_[at(member)] = training.result();
  conductor_.done(training.state().epoch * steps_);
  return true;
}

// On the disk before the one before it is gone.
void Company::store(const MemberTraining& training, Index member) const {
  if (control_->checkpoints.empty()) return;
  const MemberState& state = training.state();
  write_file(checkpoint_file(control_->checkpoints, member),
             checkpoint_bytes(identity_, state, finished(state), cpu_kind()), Durable::yes);
}

// Without validation: no member has to wait for another.
void Company::train_alone(Index member, Workspace& workspace, const Threads& threads) {
  MemberTraining training(*data_, *settings_, member);
  restore(training, member);
  while (!finished(training.state())) {
    EpochReport report = run_epoch(training, workspace, threads);
    training.keep(std::nullopt);
    results_[at(member)] = training.result();
    store(training, member);
    report.best_epoch = training.state().best_epoch;
    if (control_->epoch) conductor_.alone([&] { control_->epoch(report); });
  }
}

void Company::train_in_step(const Threads& threads) {
  for (Index m = 0; m < settings_->ensemble; ++m) {
    members_.emplace_back(*data_, *settings_, m);
    restore(members_.back(), m);
  }
  catch_up(threads);
  std::vector<EpochReport> reports(members_.size());
  while (fault().empty() && !finished(members_.front().state())) {
    for_each_member(threads, [&](Index m, Workspace& workspace, const Threads& own) {
      reports[at(m)] = run_epoch(members_[at(m)], workspace, own);
      members_[at(m)].predict(validation_->first(), workspace, validation_->expectations(m), own);
    });
    if (fault().empty()) judge(reports, threads);
  }
  // An early stop saves the rest.
  for (const MemberTraining& training : members_)
    conductor_.done((settings_->epochs - training.state().epoch) * steps_);
}

// A training that was killed while it wrote has members that are an epoch behind. Those ahead know
// what the validation said of it.
void Company::catch_up(const Threads& threads) {
  const auto ahead = std::ranges::max_element(
      members_, {}, [](const MemberTraining& training) { return training.state().epoch; });
  const Index epoch = ahead->state().epoch, best = ahead->state().best_epoch;
  if (epoch == 0) return;
  const Verdict verdict = {.loss = ahead->state().best_loss.value(),
                           .sharpe = ahead->state().best_sharpe.value()};
  for_each_member(threads, [&](Index m, Workspace& workspace, const Threads& own) {
    MemberTraining& training = members_[at(m)];
    if (training.state().epoch == epoch) return;
    while (training.state().epoch < epoch) {
      run_epoch(training, workspace, own);
      if (training.state().epoch == best) training.keep(verdict);
    }
    results_[at(m)] = training.result();
    store(training, m);
  });
}

void Company::judge(std::vector<EpochReport>& reports, const Threads& threads) {
  const Verdict verdict = validation_->judge(threads);
  const MemberState& before = members_.front().state();
  const bool better = before.best_epoch == 0 || verdict.loss < before.best_loss;
  threads.for_each(settings_->ensemble, [&](Index m, int) {
    MemberTraining& training = members_[at(m)];
    if (better) training.keep(verdict);
    results_[at(m)] = training.result();
    store(training, m);
  });
  for (EpochReport& report : reports) {
    report.validation_loss = verdict.loss;
    report.validation_sharpe = verdict.sharpe;
    report.best_epoch = members_.front().state().best_epoch;
    if (control_->epoch) conductor_.alone([&] { control_->epoch(report); });
  }
}

}  // namespace sharpen::learn
