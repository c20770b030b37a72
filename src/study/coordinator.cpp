#include "sharpen/study/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/jobs.hpp"
#include "study/study_progress.hpp"

namespace sharpen::study {

namespace {

// What a killed study has left behind for cells that are done.
void drop_orphans(const Plan& plan, Store& store, const std::vector<Job>& jobs, const Stop& stop) {
  std::set<std::string> seen;
  for (const Job& job : jobs)
    if (!job.key.empty()) seen.insert(job.key);
  store.together([&] {
    for (Index cell = 0; cell < static_cast<Index>(plan.results.cells.size()); ++cell) {
      ask(stop);
      for (const std::string& key : {training_key(plan, cell), oracle_key(plan, cell)})
        if (!key.empty() && seen.insert(key).second) store.drop_shared(key);
    }
  });
}

std::vector<Job> jobs_of(const Plan& plan, Store& store, const RunSettings& settings,
                         const std::vector<bool>& wanted, const Control& control) {
  if (settings.retry) store.forget_failures();
  std::vector<Job> jobs = make_jobs(plan, store.states(), wanted, control.stop);
  drop_orphans(plan, store, jobs, control.stop);
  estimate_jobs(plan, jobs, false, control.stop);
  return jobs;
}

// Whether the cells of a market can use what a training has found; `rows`: of its panel.
bool fits(const Market& market, Index rows, const backtest::Expectations& found) {
  return !found.rows.empty() && found.rows.front() >= 0 && found.rows.back() < rows &&
         std::ranges::is_sorted(found.rows) &&
         found.values.size() == found.rows.size() * market.tickers.size();
}

// The same of perfect foresight.
bool fits(const Market& market, const backtest::Run& oracle) {
  const std::size_t periods = oracle.dates.size();
  return periods <= market.dates.size() && oracle.status.size() == periods &&
         oracle.gross_returns.size() == periods && oracle.net.size() == periods &&
         std::ranges::all_of(oracle.status, [](backtest::PeriodStatus each) {
           return static_cast<int>(each) < backtest::kPeriodStatuses;
         });
}

}  // namespace

struct Coordinator::State {
  // What the cells of a shared job wait for.
  struct Shared {
    std::shared_ptr<const backtest::Expectations> expectations;
    std::shared_ptr<const backtest::Run> oracle;
    Index users = 0;  // cells that still need it
  };

  struct Arrived {
    Index job = 0;
    Result result;
  };

  // A market as workers get it; made when the first task asks for it.
  struct Supply {
    std::string hash;
    TaskMarket market;
    std::string bytes;  // once somebody has asked for them
  };

  const Plan& plan;
  Store& store;
  const Control control;
  const Log& log;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  const std::vector<bool> wanted;  // cells
  const std::vector<Job> jobs;

  std::mutex mutex;  // of all below, the store, and what is above it
  Schedule schedule;
  std::vector<Shared> shared;       // by job
  std::vector<int> losses;          // likewise
  std::vector<char> arrived;        // likewise: its result is in the queue
  std::vector<std::string> hashes;  // likewise: of its task, once it was handed out
  std::vector<Arrived> queue;       // not committed yet
  std::map<Index, Supply> markets;
  std::map<std::pair<Index, Index>, decltype(Task::settings)> settings;  // by market and method
  StudyCount count;                                                      // has a mutex of its own
  std::atomic<bool> halted = false;
  bool told_of_other_kernels = false;

  State(const Plan& planned, Store& kept, const RunSettings& run, const Log& own_log,
        const Control& asked, const Watch& watch)
      : plan(planned),
        store(kept),
        control(asked),
        log(own_log),
        wanted(cells_in(planned, run.shard)),
        jobs(jobs_of(planned, kept, run, wanted, asked)),
        schedule(jobs, {run.threads, run.gigabytes}, own_log),
        shared(jobs.size()),
        losses(jobs.size(), 0),
        arrived(jobs.size(), 0),
        hashes(jobs.size()),
        count(planned, jobs, kept.states(), wanted, watch) {
    for (std::size_t job = 0; job < jobs.size(); ++job)
      shared[job].users = static_cast<Index>(jobs[job].cells.size());
  }

  bool stopped() const { return halted || (control.stop && control.stop()); }
  const Cell& cell_of(Index job) const { return plan.results.cells[at(jobs[at(job)].cell)]; }
  const Market& market_of(Index job) const { return plan.results.markets[at(cell_of(job).market)]; }
  Index rows_of(Index job) const { return plan.returns[at(cell_of(job).market)].rows(); }
  Index checked(Index number) const;
  std::optional<Handed> take();
  Task task_of(Index job);
  Supply& supply_of(Index market);
  void check(Index number, const Result& result);
  void put(Index number, Result result);
  void warn_of_other_kernels(const std::string& blas);
  bool take_kept(Index job);
  void write(Arrived& each);
  void write_cell(Index job, Result& result);
  void fail_cells(Index job, const std::string& reason);
  void give_up(Index job);
  void end_cell(Index job, bool failed);
  void commit();
};

// Numbers come from elsewhere.
Index Coordinator::State::checked(Index number) const {
  if (number < 0 || at(number) >= jobs.size() || hashes[at(number)].empty())
    throw InputError(
        fmt::format("no task of number {} was handed out; put the result of one that "
                    "was",
                    number));
  return number;
}

Coordinator::State::Supply& Coordinator::State::supply_of(Index market) {
  const auto [found, fresh] = markets.try_emplace(market);
  if (fresh) {
    found->second.market = {.returns = plan.returns[at(market)],
                            .standstills = plan.standstills[at(market)]};
    found->second.hash = content_hash(to_bytes(found->second.market));
  }
  return found->second;
}

Task Coordinator::State::task_of(Index job) {
  const Job& each = jobs[at(job)];
  const Cell& cell = cell_of(job);
  const auto [known, fresh] = settings.try_emplace({cell.market, cell.method});
  if (fresh) {
    const auto methods = static_cast<Index>(plan.results.methods.size());
    known->second = task_settings(plan.values[at(cell.market * methods + cell.method)]);
    std::erase_if(known->second,
                  [](const auto& given) { return given.first == "k" || given.first == "seed"; });
  }
  Task task = {.kind = each.kind, .market = supply_of(cell.market).hash, .settings = known->second};
  task.settings.emplace_back("k", cell.k_given);
  if (cell.seed) task.settings.emplace_back("seed", fmt::format("{}", *cell.seed));
  if (each.training >= 0) task.expectations = shared[at(each.training)].expectations;
  if (each.oracle >= 0) task.oracle = shared[at(each.oracle)].oracle;
  return task;
}

// What the store has kept of an earlier run is no work of this one, if its cells can use it.
bool Coordinator::State::take_kept(Index job) {
  const Job& each = jobs[at(job)];
  if (each.kind == TaskKind::training) {
    auto found = store.expectations(each.key);
    if (!found || !fits(market_of(job), rows_of(job), *found)) return false;
    shared[at(job)].expectations =
        std::make_shared<const backtest::Expectations>(*std::move(found));
  } else if (each.kind == TaskKind::oracle) {
    auto found = store.oracle(each.key);
    if (!found || !fits(market_of(job), *found)) return false;
    shared[at(job)].oracle = std::make_shared<const backtest::Run>(*std::move(found));
  } else {
    return false;
  }
  count.forget(job);
  schedule.finish(job);
  return true;
}

std::optional<Coordinator::Handed> Coordinator::State::take() {
  if (stopped()) return std::nullopt;
  for (;;) {
    const int threads = schedule.threads_for_next();
    const Index job = schedule.take();
    if (job < 0) return std::nullopt;
    if (take_kept(job)) continue;
    Handed out = {.number = job,
                  .task = task_of(job),
                  .market = &supply_of(cell_of(job).market).market,
                  .threads = threads};
    hashes[at(job)] = task_hash(out.task);
    count.begin(job);
    return out;
  }
}

// Whether it is a result of this task, and one that its cells can use.
void Coordinator::State::check(Index number, const Result& result) {
  const auto refuse = [&](std::string_view what) {
    throw InputError(fmt::format("the result of task {} {}; have it done again", number, what));
  };
  if (arrived[at(number)] != 0 || schedule.ended(number)) refuse("has come before");
  if (result.task != hashes[at(number)]) refuse("is that of another task");
  if (!result.failure.empty()) return;
  const TaskKind kind = jobs[at(number)].kind;
  if (result.expectations.has_value() != (kind == TaskKind::training) ||
      result.oracle.has_value() != (kind == TaskKind::oracle) ||
      result.cell.has_value() != (kind == TaskKind::cell))
    refuse("is of another kind");
  if (result.expectations && !fits(market_of(number), rows_of(number), *result.expectations))
    refuse("has expectations that do not fit its market");
  if (result.oracle && !fits(market_of(number), *result.oracle))
    refuse("has periods that do not fit its market");
}

// Once for all workers.
void Coordinator::State::warn_of_other_kernels(const std::string& blas) {
  const std::string ours = build_info().blas;
  if (told_of_other_kernels || blas.empty() || blas == ours) return;
  told_of_other_kernels = true;
  log.warning(
      fmt::format("a worker has another kind of CPU or another BLAS ({}; here: {}): what it finds "
                  "may have other last digits",
                  printable(blas, 200), ours));
}

void Coordinator::State::put(Index number, Result result) {
  check(checked(number), result);
  warn_of_other_kernels(result.blas);
  arrived[at(number)] = 1;
  queue.push_back({number, std::move(result)});
}

// Nobody needs it any more.
void Coordinator::State::give_up(Index job) {
  count.forget(job);
  schedule.finish(job);
}

// One cell less needs what it shares; after the last one nobody does.
void Coordinator::State::end_cell(Index job, bool failed) {
  for (const Index before : {jobs[at(job)].training, jobs[at(job)].oracle}) {
    if (before < 0 || --shared[at(before)].users > 0) continue;
    shared[at(before)] = {};
    store.drop_shared(jobs[at(before)].key);
    // Its cells have failed without it; one that is out is waited for.
    if (!schedule.ended(before) && !schedule.out(before)) give_up(before);
  }
  schedule.finish(job);
  count.end_cell(failed);
}

void Coordinator::State::fail_cells(Index job, const std::string& reason) {
  for (const Index cell : jobs[at(job)].cells) {
    if (schedule.ended(cell)) continue;
    store.write_failed(jobs[at(cell)].cell, reason, 0.0);
    count.forget(cell);
    end_cell(cell, true);
  }
}

// A run that no reader would accept (a return that is not finite) is a failure of its cell.
void Coordinator::State::write_cell(Index job, Result& result) {
  try {
    if (result.failure.empty()) {
      result.cell->seconds = result.seconds;
      store.write_done(jobs[at(job)].cell, *result.cell);
    }
  } catch (const Failure& error) {
    result.failure = error.what();
  }
  const bool failed = !result.failure.empty();
  if (failed) store.write_failed(jobs[at(job)].cell, result.failure, result.seconds);
  end_cell(job, failed);
}

void Coordinator::State::write(Arrived& each) {
  const Job& job = jobs[at(each.job)];
  Result& result = each.result;
  count.work(result.seconds);
  if (job.kind == TaskKind::cell) return write_cell(each.job, result);
  Shared& own = shared[at(each.job)];
  if (result.failure.empty() && own.users > 0 && job.kind == TaskKind::training) {
    store.write_expectations(job.key, *result.expectations);
    own.expectations =
        std::make_shared<const backtest::Expectations>(*std::move(result.expectations));
    count.end_training();
  }
  if (result.failure.empty() && own.users > 0 && job.kind == TaskKind::oracle) {
    store.write_oracle(job.key, *result.oracle);
    own.oracle = std::make_shared<const backtest::Run>(*std::move(result.oracle));
  }
  if (!result.failure.empty()) fail_cells(each.job, result.failure);
  // With its last cell it has ended, unless it was out.
  if (!schedule.ended(each.job)) schedule.finish(each.job);
}

void Coordinator::State::commit() {
  std::vector<Arrived> group = std::exchange(queue, {});
  if (group.empty()) return;
  const Tally before = count.tally();
  try {
    store.together([&] {
      for (Arrived& each : group) write(each);
    });
  } catch (...) {
    halted = true;  // nobody works on for a store that cannot be written
    count.restore(before);
    throw;
  }
  for (const Arrived& each : group) count.tell(each.job, 1.0);
}

Coordinator::Coordinator(const Plan& plan, Store& store, const RunSettings& settings,
                         const Log& log, const Control& control, const Watch& watch)
    : state_(std::make_unique<State>(plan, store, settings, log, control, watch)) {}
Coordinator::~Coordinator() = default;

std::optional<Coordinator::Handed> Coordinator::take() {
  const std::lock_guard lock(state_->mutex);
  return state_->take();
}

std::optional<Coordinator::Parcel> Coordinator::next() {
  const auto handed = take();
  if (!handed) return std::nullopt;
  return Parcel{
      .number = handed->number, .market = handed->task.market, .task = to_bytes(handed->task)};
}

const std::string& Coordinator::market(std::string_view hash) {
  const std::lock_guard lock(state_->mutex);
  for (auto& [market, supply] : state_->markets)
    if (supply.hash == hash) {
      if (supply.bytes.empty()) supply.bytes = to_bytes(supply.market);
      return supply.bytes;
    }
  throw InputError(fmt::format("{} is the hash of no market of this study; ask for that of a task",
                               printable(hash)));
}

void Coordinator::put(Index number, std::string_view bytes) {
  put(number, result_from_bytes(bytes));
}

void Coordinator::put(Index number, Result result) {
  const std::lock_guard lock(state_->mutex);
  state_->put(number, std::move(result));
}

void Coordinator::lost(Index number, std::string_view reason) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  const Index job = state.checked(number);
  if (!state.schedule.out(job) || state.arrived[at(job)] != 0) return;
  if (state.jobs[at(job)].kind != TaskKind::cell && state.shared[at(job)].users == 0)
    return state.give_up(job);
  if (++state.losses[at(job)] < kMostLosses) return state.schedule.give_back(job);
  Result failed;
  failed.task = state.hashes[at(job)];
  failed.failure = fmt::format("it was lost {} times; the last time: {}", kMostLosses, reason);
  state.put(job, std::move(failed));
}

void Coordinator::progress(Index number, double share) {
  if (number < 0 || at(number) >= state_->jobs.size())
    throw InputError(
        fmt::format("no task has the number {}; tell of one that was handed out", number));
  state_->count.tell(number, std::clamp(share, 0.0, 1.0));
}

Index Coordinator::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<Index>(state_->queue.size());
}

void Coordinator::commit() {
  const std::lock_guard lock(state_->mutex);
  state_->commit();
}

void Coordinator::stop() { state_->halted = true; }
bool Coordinator::stopped() const { return state_->stopped(); }

bool Coordinator::finished() const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->schedule.left() == 0) return true;
  }
  return stopped();
}

Tally Coordinator::tally() const {
  const std::lock_guard lock(state_->mutex);
  Tally tally = state_->count.tally();
  tally.interrupted = tally.done + tally.failed < tally.cells;
  tally.seconds = seconds_since(state_->start);
  return tally;
}

}  // namespace sharpen::study
