// The work of a study as jobs that wait for each other: a training or perfect foresight first, then
// the cells that need it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/study/plan.hpp"

namespace sharpen::study {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Job {
  enum class Kind { training, oracle, cell };
  Kind kind = Kind::cell;
  Index cell = 0;                    // of the plan; of a shared job the first cell that needs it
  std::string key = {};              // of a shared job
  Index training = -1, oracle = -1;  // jobs that a cell waits for; -1: none
  std::vector<Index> cells = {};     // jobs that wait for a shared job
  double seconds = 0.0;              // estimated
  double gigabytes = 0.0;            // likewise
  bool kept = false;                 // a shared job's answer is in the file: it costs nothing
};

// For every cell that is missing. Costs are not filled in.
std::vector<Job> make_jobs(const Plan& plan, const std::vector<CellState>& states);

// Estimated seconds without measuring anything: good enough to say which jobs are long.
double rough_decision_seconds(const Plan& plan, Index cell);
Index decisions(const Plan& plan, Index cell);

// Costs of every job that is not kept. Trainings are timed by a few steps, one of each kind;
// decisions as well if `measure`, else they are guessed. Asks `stop` before each, and leaves the
// rest without costs once it is true.
void estimate_jobs(const Plan& plan, std::vector<Job>& jobs, bool measure,
                   const std::function<bool()>& stop = {});

// Jobs on worker threads: the longest that is ready and fits into memory first.
class Schedule {
 public:
  struct Limits {
    int workers = 1;
    double gigabytes = 0.0;
  };
  // Runs job `job` with that many threads inside. An exception stops the schedule and is rethrown
  // by run().
  using Work = std::function<void(Index job, int threads)>;

  Schedule(const std::vector<Job>& jobs, Limits limits, const Log& log);

  // Returns when every job has run, or `stop` was true when a job would have been started.
  void run(const Work& work, const std::function<bool()>& stop);

 private:
  void worker(const Work& work, const std::function<bool()>& stop);
  Index take();  // -1: none that can start now
  void finish(Index job);
  int threads_for_next() const;

  const std::vector<Job>& jobs_;
  Limits limits_;
  const Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> waits_for_;  // jobs before it that have not run
  std::vector<Index> ready_;    // longest last
  std::vector<double> urgency_;
  Index left_ = 0, running_ = 0;
  double in_use_ = 0.0;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace sharpen::study
