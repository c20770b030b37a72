#include "study/study_progress.hpp"

#include <fmt/format.h>

namespace sharpen::study {

StudyCount::StudyCount(const Plan& plan, const std::vector<Job>& jobs,
                       const std::vector<CellState>& states, const Watch& watch)
    : plan_(plan), jobs_(jobs), watch_(watch), share_(jobs.size(), 0.0) {
  for (const Job& job : jobs_) {
    work_.push_back(job.seconds);
    total_ += job.seconds;
  }
  for (const CellState state : states) {
    tally_.done += state == CellState::done ? 1 : 0;
    tally_.failed += state == CellState::failed ? 1 : 0;
    ++tally_.cells;
  }
}

std::string StudyCount::name(Index job) const {
  const Job& each = jobs_[at(job)];
  const Cell& cell = plan_.results.cells[at(each.cell)];
  const std::string& method = plan_.results.methods[at(cell.method)].name;
  const std::string seed = cell.seed ? fmt::format(", seed {}", *cell.seed) : "";
  const std::string where = plan_.results.markets[at(cell.market)].name;
  if (each.kind == TaskKind::oracle)
    return fmt::format("{}, k = {}: foresight for {}", where, cell.k_given, method);
  if (each.kind == TaskKind::training)
    return fmt::format("{}: training for {}{}", where, method, seed);
  return fmt::format("{}, k = {}: {}{}", where, cell.k_given, method, seed);
}

void StudyCount::set(Index job, double share) {
  done_ += (share - share_[at(job)]) * work_[at(job)];
  share_[at(job)] = share;
}

void StudyCount::show() const {
  if (!watch_) return;
  watch_({.done = done_,
          .total = total_,
          .cells_done = tally_.done,
          .cells = tally_.cells,
          .failed = tally_.failed,
          .worker_seconds = tally_.worker_seconds,
          .doing = doing_});
}

void StudyCount::begin(Index job) {
  const std::lock_guard lock(mutex_);
  doing_ = name(job);
  set(job, 0.0);
  show();
}

void StudyCount::tell(Index job, double share) {
  const std::lock_guard lock(mutex_);
  set(job, share);
  show();
}

void StudyCount::forget(Index job) {
  const std::lock_guard lock(mutex_);
  total_ -= work_[at(job)];
  done_ -= share_[at(job)] * work_[at(job)];
  work_[at(job)] = 0.0;
}

void StudyCount::work(double seconds) {
  const std::lock_guard lock(mutex_);
  tally_.worker_seconds += seconds;
}

void StudyCount::end_cell(bool failed) {
  const std::lock_guard lock(mutex_);
  ++tally_.computed;
  ++(failed ? tally_.failed : tally_.done);
}

void StudyCount::end_training() {
  const std::lock_guard lock(mutex_);
  ++tally_.trained;
}

Tally StudyCount::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

void StudyCount::restore(const Tally& before) {
  const std::lock_guard lock(mutex_);
  tally_ = before;
}

}  // namespace sharpen::study
