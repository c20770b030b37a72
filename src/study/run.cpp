#include "sharpen/study/run.hpp"
#include "sharpen/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>

#include "sharpen/backtest/backtest.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

namespace {

using Clock = std::chrono::steady_clock;

// What the cells of a shared job wait for, or why they will never get it.
struct Shared {
  std::shared_ptr<const backtest::Expectations> expectations;
  std::shared_ptr<const backtest::Run> oracle;
  std::string failure;
  Index users = 0;  // cells that still need it
};

class Runner {
 public:
  Runner(const Plan& plan, Store& store, const Control& control, const Watch& watch,
         std::vector<Job> jobs)
      : plan_(plan),
        store_(store),
        control_(control),
        watch_(watch),
        jobs_(std::move(jobs)),
        shared_(jobs_.size()),
        share_(jobs_.size(), 0.0),
        work_(jobs_.size(), 0.0) {
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      shared_[job].users = static_cast<Index>(jobs_[job].cells.size());
      work_[job] = jobs_[job].seconds;
      total_ += work_[job];
    }
    for (const CellState state : store_.states()) {
      tally_.done += state == CellState::done ? 1 : 0;
      tally_.failed += state == CellState::failed ? 1 : 0;
      ++tally_.cells;
    }
  }

  const std::vector<Job>& jobs() const { return jobs_; }
  Tally tally() const { return tally_; }

  void run(Index job, int threads) {
    const Threads own(threads);
    try {
      switch (jobs_[at(job)].kind) {
        case Job::Kind::training: train(job, own); break;
        case Job::Kind::oracle: foresee(job, own); break;
        case Job::Kind::cell: decide(job, own); break;
      }
    } catch (const Interrupted&) {
      return;  // in a wait for another program: what was found is not kept
    } catch (...) {
      broken_ = true;  // nobody works on for a store that cannot be written
      throw;
    }
    tell(job, 1.0, false);
  }

 private:
  const market::Panel& returns(Index cell) const {
    return plan_.returns[at(plan_.results.cells[at(cell)].market)];
  }

  backtest::BacktestSettings settings(Index cell) const {
    backtest::BacktestSettings out = plan_.settings_of(cell);
    out.bootstrap.replications = 1;  // intervals are the report's
    return out;
  }

  Control control(Index job) {
    return {.progress =
                [this, job](Index done, Index total) {
                  tell(job,
                       total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0,
                       false);
                },
            .stop = [this] { return stopped(); }};
  }

  bool stopped() const { return broken_ || (control_.stop && control_.stop()); }

  std::string name(Index job) const {
    const Job& each = jobs_[at(job)];
    const Cell& cell = plan_.results.cells[at(each.cell)];
    const std::string& method = plan_.results.methods[at(cell.method)].name;
    const std::string seed = cell.seed ? fmt::format(", seed {}", *cell.seed) : "";
    const std::string where = plan_.results.markets[at(cell.market)].name;
    if (each.kind == Job::Kind::oracle)
      return fmt::format("{}, k = {}: foresight for {}", where, cell.k_given, method);
    if (each.kind == Job::Kind::training)
      return fmt::format("{}: training for {}{}", where, method, seed);
    return fmt::format("{}, k = {}: {}{}", where, cell.k_given, method, seed);
  }

  // Progress of one job, as a share of its estimated seconds.
  void tell(Index job, double share, bool starts) {
    const std::lock_guard lock(progress_mutex_);
    if (starts) doing_ = name(job);
    done_ += (share - share_[at(job)]) * work_[at(job)];
    share_[at(job)] = share;
    if (!watch_) return;
    watch_({.done = done_,
            .total = total_,
            .cells_done = tally_.done,
            .cells = tally_.cells,
            .failed = tally_.failed,
            .doing = doing_});
  }

  // What the store has kept of an earlier run is no work of this one.
  template <class T>
  std::optional<T> kept(Index job, std::optional<T> (Store::*read)(std::string_view) const) {
    auto found = [&] {
      const std::lock_guard lock(store_mutex_);
      return (store_.*read)(jobs_[at(job)].key);
    }();
    if (!found) return found;
    const std::lock_guard lock(progress_mutex_);
    total_ -= work_[at(job)];
    done_ -= share_[at(job)] * work_[at(job)];
    work_[at(job)] = 0.0;
    return found;
  }

  // Runs the work of a shared job; a reason why it cannot be done becomes that of its cells.
  template <class Work>
  void guarded(Index job, const Work& work) {
    tell(job, 0.0, true);
    try {
      work();
    } catch (const Interrupted&) {
      shared_[at(job)].failure = kInterrupted;
    } catch (const StoreFailure&) {
      throw;
    } catch (const std::bad_alloc&) {
      shared_[at(job)].failure = "not enough memory";
    } catch (const std::exception& error) {
      shared_[at(job)].failure = error.what();
    }
  }

  void train(Index job, const Threads& threads) {
    guarded(job, [&] {
      const Job& each = jobs_[at(job)];
      auto found = kept(job, &Store::expectations);
      if (!found) {
        found =
            backtest::expectations(returns(each.cell), settings(each.cell), threads, control(job));
        {
          const std::lock_guard lock(store_mutex_);
          store_.write_expectations(each.key, *found);
        }
        const std::lock_guard lock(progress_mutex_);
        ++tally_.trained;
      }
      shared_[at(job)].expectations =
          std::make_shared<const backtest::Expectations>(*std::move(found));
    });
  }

  void foresee(Index job, const Threads& threads) {
    guarded(job, [&] {
      const Job& each = jobs_[at(job)];
      auto found = kept(job, &Store::oracle);
      if (!found) {
        found =
            backtest::hindsight_run(returns(each.cell), settings(each.cell), threads, control(job));
        const std::lock_guard lock(store_mutex_);
        store_.write_oracle(each.key, *found);
      }
      shared_[at(job)].oracle = std::make_shared<const backtest::Run>(*std::move(found));
    });
  }

  void decide(Index job, const Threads& threads) {
    tell(job, 0.0, true);
    const Job& each = jobs_[at(job)];
    const auto start = Clock::now();
    std::string failure;
    Cell found = plan_.results.cells[at(each.cell)];
    for (const Index before : {each.training, each.oracle})
      if (before >= 0 && failure.empty()) failure = shared_[at(before)].failure;
    if (failure == kInterrupted) return;
    try {
      if (failure.empty()) found = walked(job, threads);
    } catch (const Interrupted&) {
      return;
    } catch (const std::bad_alloc&) {
      failure = "not enough memory";
    } catch (const std::exception& error) {
      failure = error.what();
    }
    record(job, found, failure, seconds_since(start));
    for (const Index before : {each.training, each.oracle})
      if (before >= 0) release(before);
  }

  Cell walked(Index job, const Threads& threads) {
    const Job& each = jobs_[at(job)];
    backtest::Prepared prepared;
    if (each.training >= 0) prepared.expectations = shared_[at(each.training)].expectations.get();
    if (each.oracle >= 0) prepared.oracle = shared_[at(each.oracle)].oracle.get();
    backtest::BacktestResult result = backtest::backtest(returns(each.cell), settings(each.cell),
                                                         prepared, threads, control(job));
    Cell found = plan_.results.cells[at(each.cell)];
    found.metrics = result.metrics;
    found.regret = result.regret;
    found.run = std::move(result.run);
    found.delayed_returns = std::move(result.delayed_returns);
    found.equal_returns = std::move(result.equal_returns);
    found.run.trades.clear();
    found.run.trades_begin.clear();
    found.warnings = plain(std::move(result.warnings));
    return found;
  }

  // A run that no reader would accept (a return that is not finite) is a failure of its cell.
  void record(Index job, Cell& found, std::string failure, double seconds) {
    const Index cell = jobs_[at(job)].cell;
    found.seconds = seconds;
    {
      const std::lock_guard lock(store_mutex_);
      try {
        if (failure.empty()) store_.write_done(cell, found);
      } catch (const Failure& error) {
        failure = error.what();
      }
      if (!failure.empty()) store_.write_failed(cell, failure, seconds);
    }
    const std::lock_guard lock(progress_mutex_);
    ++tally_.computed;
    ++(failure.empty() ? tally_.done : tally_.failed);
  }

  // One cell less needs it; after the last one nobody does.
  void release(Index job) {
    const std::lock_guard lock(store_mutex_);
    Shared& shared = shared_[at(job)];
    if (--shared.users > 0) return;
    shared.expectations.reset();
    shared.oracle.reset();
    store_.drop_shared(jobs_[at(job)].key);
  }

  static constexpr std::string_view kInterrupted = "interrupted";

  const Plan& plan_;
  Store& store_;
  const Control& control_;
  const Watch& watch_;
  std::vector<Job> jobs_;
  std::vector<Shared> shared_;
  std::mutex store_mutex_, progress_mutex_;
  std::atomic<bool> broken_ = false;
  std::vector<double> share_, work_;  // of each job: the part done, the seconds it takes
  double done_ = 0.0, total_ = 0.0;
  std::string doing_;
  Tally tally_;
};

// What a killed study has left behind for cells that are done.
void drop_orphans(const Plan& plan, Store& store, const std::vector<Job>& jobs) {
  std::set<std::string> needed;
  for (const Job& job : jobs)
    if (!job.key.empty()) needed.insert(job.key);
  std::set<std::string> seen = needed;
  Store::Group group(store);
  for (Index cell = 0; cell < static_cast<Index>(plan.results.cells.size()); ++cell)
    for (const std::string& key : {training_key(plan, cell), oracle_key(plan, cell)})
      if (!key.empty() && seen.insert(key).second) store.drop_shared(key);
  group.commit();
}

int workers_of(const RunSettings& settings) { return Threads(settings.threads).count(); }

double budget_of(const RunSettings& settings) {
  return settings.gigabytes > 0.0 ? settings.gigabytes : 0.8 * free_gigabytes();
}

}  // namespace

double free_gigabytes() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  while (in >> word)
    if (double kilobytes = 0.0; word == "MemAvailable:" && in >> kilobytes)
      return kilobytes * 1024e-9;
  return 8.0;
}

Tally run_study(const Plan& plan, Store& store, const RunSettings& settings, const Log& log,
                const Control& control, const Watch& watch) {
  const auto start = Clock::now();
  if (settings.retry) store.forget_failures();
  std::vector<Job> jobs = make_jobs(plan, store.states());
  drop_orphans(plan, store, jobs);
  estimate_jobs(plan, jobs, false, control.stop);
  Runner runner(plan, store, control, watch, std::move(jobs));
  Schedule schedule(runner.jobs(), {workers_of(settings), budget_of(settings)}, log);
  schedule.run([&](Index job, int threads) { runner.run(job, threads); }, control.stop);
  Tally tally = runner.tally();
  tally.interrupted = tally.done + tally.failed < tally.cells;
  tally.seconds = seconds_since(start);
  return tally;
}

Estimate estimate_study(const Plan& plan, const std::vector<CellState>& states,
                        const RunSettings& settings, const std::set<std::string>& kept) {
  Estimate out;
  std::vector<CellState> wanted = states;
  for (CellState& state : wanted) {
    ++out.cells;
    out.done += state == CellState::done ? 1 : 0;
    out.failed += state == CellState::failed ? 1 : 0;
    if (settings.retry && state == CellState::failed) state = CellState::missing;
    out.missing += state == CellState::missing ? 1 : 0;
  }
  std::vector<Job> jobs = make_jobs(plan, wanted);
  for (Job& job : jobs) job.kept = kept.contains(job.key);
  estimate_jobs(plan, jobs, true);
  double total = 0.0, longest = 0.0;
  std::vector<double> memory;
  for (const Job& job : jobs) {
    out.trainings += job.kind == Job::Kind::training && !job.kept ? 1 : 0;
    out.oracles += job.kind == Job::Kind::oracle && !job.kept ? 1 : 0;
    total += job.seconds;
    double before = 0.0;
    for (const Index first : {job.training, job.oracle})
      if (first >= 0) before = std::max(before, jobs[at(first)].seconds);
    longest = std::max(longest, before + job.seconds);
    memory.push_back(job.gigabytes);
  }
  const int workers = workers_of(settings);
  out.minutes = std::max(total / workers, longest) / 60.0;
  std::sort(memory.rbegin(), memory.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(memory.size(), at(workers)); ++i)
    if (i == 0 || out.gigabytes + memory[i] <= budget_of(settings)) out.gigabytes += memory[i];
  return out;
}

}  // namespace sharpen::study
