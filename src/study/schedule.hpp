// Jobs on worker threads: the longest that is ready and fits into memory first.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/view.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

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
