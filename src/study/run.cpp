#include "sharpen/study/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "sharpen/base/threads.hpp"
#include "sharpen/study/coordinator.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

namespace {

// The threads of this machine, at the tasks of a coordinator.
class Crew {
 public:
  explicit Crew(Coordinator& coordinator) : coordinator_(coordinator) {}

  // Returns when the study is finished or was told to stop; rethrows what kept it from going on.
  void work(int threads, const Log& log) {
    std::vector<std::thread> others;
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back([this] { work_to_end(); });
    } catch (const std::system_error& error) {
      log.warning(fmt::format("only {} of {} threads could be started: {}", others.size() + 1,
                              threads, error.what()));
    }
    work_to_end();
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work_to_end() {
    try {
      while (!coordinator_.finished()) {
        const Index seen = tasks_done();
        if (const auto handed = coordinator_.take())
          do_task(*handed);
        else
          wait(seen);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      coordinator_.stop();
    }
    changed_.notify_all();
  }

  void do_task(const Coordinator::Handed& handed) {
    const Control control = {.progress =
                                 [&](Index done, Index total) {
                                   if (total > 0)
                                     coordinator_.progress(
                                         handed.number,
                                         static_cast<double>(done) / static_cast<double>(total));
                                 },
                             .stop = [&] { return coordinator_.stopped(); }};
    try {
      coordinator_.put(handed.number,
                       study::run(handed.task, *handed.market, Threads(handed.threads), control));
      coordinator_.commit();
    } catch (const Interrupted&) {
      coordinator_.stop();  // what was found is not kept
    }
    {
      const std::lock_guard lock(mutex_);
      ++done_;
    }
    changed_.notify_all();
  }

  Index tasks_done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  // Until another thread has done a task; woken now and then, to see whether to stop.
  void wait(Index seen) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(200), [&] { return done_ != seen; });
  }

  Coordinator& coordinator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Index done_ = 0;
  std::exception_ptr failure_;
};

int workers_of(const RunSettings& settings) { return Threads(settings.threads).count(); }

double budget_of(const RunSettings& settings) {
  return settings.gigabytes > 0.0 ? settings.gigabytes : 0.8 * free_gigabytes();
}

// Of a study that was given up while its work was being listed.
Tally stopped_before(const Plan& plan, const Store& store, const RunSettings& settings) {
  Tally out{.interrupted = true};
  const std::vector<bool> mine = cells_in(plan, settings.shard);
  for (std::size_t cell = 0; cell < mine.size(); ++cell) {
    if (!mine[cell]) continue;
    ++out.cells;
    out.done += store.states()[cell] == CellState::done ? 1 : 0;
    out.failed += store.states()[cell] == CellState::failed ? 1 : 0;
  }
  return out;
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
  RunSettings own = settings;
  own.threads = workers_of(settings);
  own.gigabytes = budget_of(settings);
  std::unique_ptr<Coordinator> coordinator;
  try {
    coordinator = std::make_unique<Coordinator>(plan, store, own, log, control, watch);
  } catch (const Interrupted&) {
    return stopped_before(plan, store, settings);
  }
  Crew(*coordinator).work(own.threads, log);
  return coordinator->tally();
}

Estimate estimate_study(const Plan& plan, const std::vector<CellState>& states,
                        const RunSettings& settings, const std::set<std::string>& kept,
                        const Stop& stop) {
  Estimate out;
  const std::vector<bool> mine = cells_in(plan, settings.shard);
  std::vector<CellState> wanted = states;
  for (std::size_t cell = 0; cell < wanted.size(); ++cell) {
    if (!mine[cell]) continue;
    CellState& state = wanted[cell];
    ++out.cells;
    out.done += state == CellState::done ? 1 : 0;
    out.failed += state == CellState::failed ? 1 : 0;
    if (settings.retry && state == CellState::failed) state = CellState::missing;
    out.missing += state == CellState::missing ? 1 : 0;
  }
  std::vector<Job> jobs = make_jobs(plan, wanted, mine, stop);
  for (Job& job : jobs) job.kept = kept.contains(job.key);
  estimate_jobs(plan, jobs, true, stop);
  ask(stop);
  double total = 0.0, longest = 0.0;
  std::vector<double> memory;
  for (const Job& job : jobs) {
    out.trainings += job.kind == TaskKind::training && !job.kept ? 1 : 0;
    out.oracles += job.kind == TaskKind::oracle && !job.kept ? 1 : 0;
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
